"""Iterations by a process that may not read what is closed to it, even if root started it.

Called as `python humble_in_place_child.py REPOSITORY`.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
from pathlib import Path

from tests.adapters.git.in_place_places import at_home, subject
from tests.adapters.git.places import write

PR_CAPBSET_READ, PR_CAPBSET_DROP = 23, 24
OVERRIDE, SEARCH = 1, 2


def become_humble() -> None:
    """Start again without the right to overlook permissions."""
    libc = ctypes.CDLL(None)
    if os.geteuid() == 0 and libc.prctl(PR_CAPBSET_READ, OVERRIDE) == 1:
        for right in (OVERRIDE, SEARCH):
            libc.prctl(PR_CAPBSET_DROP, right)
        os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606


async def main(place: Path) -> None:
    home = await at_home(place)
    base = await home.head()
    write(place, {"closed.txt": "x\n", "closed/in.txt": "x\n"})
    for name in ("closed.txt", "closed"):
        (place / name).chmod(0)
    told = await home.difference(base)
    assert told.paths == ("closed.txt", "closed/in.txt"), told
    base = await home.commit(base, subject(1))
    assert await home.dirt() == ()
    write(place, {"src/more.txt": "x\n"})
    (place / "src").chmod(0o500)
    kept = await home.set_aside(base, "A/2")
    assert kept == "refs/dwindle/attempts/01RUN/A/2", kept
    assert await home.dirt() == ()


become_humble()
asyncio.run(main(Path(sys.argv[1])))
