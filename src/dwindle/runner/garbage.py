"""Looking for garbage less often while a run goes on.

Nearly all that a run makes is freed when the last one lets go of it. To look for rings of objects
that hold each other, Python goes through everything it knows, every few hundred objects, and a run
makes as many in a few events: that was a tenth of its work. So what is there when a run begins is
left out of it, and the rest is looked at when some thousands have come together.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (10_000, 20, 20)


@contextmanager
def rarely_collected() -> Iterator[None]:
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
