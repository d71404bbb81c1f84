"""Iterations, until somebody kills them or there were enough.

Called as `python in_place_child.py REPOSITORY [COUNT]`; says `ready` after the first commit.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.adapters.git.in_place_places import at_home, subject
from tests.adapters.git.places import write


async def main(place: Path, count: int) -> None:
    home = await at_home(place)
    for number in range(1, count + 1):
        base = await home.head()
        assert await home.dirt() == ()
        await home.hand_over(base)
        write(place, {f"by/{number % 5}.txt": f"{number}\n", "new.txt": f"{number}\n"})
        if number % 3 == 0:
            await home.set_aside(base, f"A/{number}")
        await home.difference(base)
        await home.commit(base, subject(number))
        if number == 1:
            print("ready", flush=True)  # noqa: T201 - for the parent


asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 10_000))
