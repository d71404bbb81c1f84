"""A runner to be killed: leases trees, writes into them, says so, and waits.

Called as `python leasing_child.py REPOSITORY COMMIT`.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.adapters.git.places import RUN, trailers, write

from dwindle.adapters.git.worktrees.workspace import GitWorkspace


async def main(place: Path, aligned: str) -> None:
    workspace = await GitWorkspace.open(place, run=RUN, aligned=aligned, checkouts=place.parent)
    await workspace.recover()
    leases = [await workspace.lease(session) for session in (1, 2, 3)]
    for number, lease in enumerate(leases, 1):
        write(lease.path, {f"by {number}.txt": f"{number}\n", "trace.log": f"{number}\n"})
    await workspace.integrate(leases[0], trailers("A1", 1))
    await workspace.release(leases[0])
    await workspace.checkout(aligned)
    print("ready", flush=True)  # noqa: T201 - the parent waits for it
    await asyncio.sleep(60)


async def busy(place: Path, aligned: str, number: int) -> None:
    """Integrate one atom after the other, two at a time, and say which are done."""
    workspace = await GitWorkspace.open(place, run=RUN, aligned=aligned, checkouts=place.parent)
    await workspace.recover()

    async def one(session: int) -> None:
        lease = await workspace.lease(session)
        write(lease.path, {f"{session}.txt": f"{session}\n"})
        await workspace.integrate(lease, trailers(f"A{session}", session))
        print(f"done {session}", flush=True)  # noqa: T201
        await workspace.release(lease)

    while True:
        await asyncio.gather(one(number), one(number + 1))
        number += 2


if len(sys.argv) == 4:
    asyncio.run(busy(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
else:
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
