from __future__ import annotations

import gc

import pytest

from dwindle.runner.garbage import SELDOM, rarely_collected


def test_it_is_as_before_afterwards_also_if_something_failed() -> None:
    seen: list[object] = []

    def failing() -> None:
        with rarely_collected():
            seen.extend((gc.get_threshold(), gc.get_freeze_count() > 0))
            raise LookupError

    before = gc.get_threshold()
    with pytest.raises(LookupError):
        failing()
    assert seen == [SELDOM, True]
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
