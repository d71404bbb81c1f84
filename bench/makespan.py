"""How long a run takes whose agents take their time. Peer: ideal list scheduling.

24 independent atoms whose agents sleep for two to eight seconds, three at a time, `refill`, in a
real repository. The ideal is worked out from the same lengths: whenever a slot is free, the next
atom of the plan starts at once and nothing costs anything. Measured is from the first start on
record to the last atom resolved, checks and commits included.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script, only this folder is on it

from bench._runs import ATOM, REPORT_LINE, RUN, WIDTH, Cast, line, plan_of, ran, scratch
from bench.workspaces import repository

from dwindle.adapters.agents.command import CommandAgent
from dwindle.adapters.git.worktrees.workspace import GitWorkspace
from dwindle.adapters.sandbox import choose

SEED = 3
LIMIT = 1.05
LENGTHS = [round(random.Random(SEED + n).uniform(2.0, 8.0), 2) for n in range(24)]  # noqa: S311
LENGTH = ATOM.replace("atom", "description")
AGENT = f"sleep $({LENGTH}); {ATOM} > $({ATOM}).txt; {REPORT_LINE}"


def ideal(lengths: list[float]) -> float:
    """The end of the last, if each starts when the first of the slots is free."""
    slots = [0.0] * WIDTH
    for length in lengths:
        heapq.heappush(slots, heapq.heappop(slots) + length)
    return max(slots)


async def measured(place: Path, root: Path) -> float:
    workspace = await GitWorkspace.open(
        root, run=RUN, aligned="main", checkouts=place, guard_refs=False
    )
    cast = Cast(
        workspace=workspace,
        agent=CommandAgent(argv=("/bin/sh", "-c", AGENT)),
        containment=choose(),
    )
    plan = plan_of(len(LENGTHS), description=lambda n: str(LENGTHS[n - 1]))
    told = (await ran(root, plan, cast)).told
    workspace.close()
    return told.when("AtomResolved")[-1] - told.when("SessionStarted")[0]


def main(folder: Path | None = None) -> None:
    with scratch(folder) as place:
        seconds = asyncio.run(measured(place, repository(place / "repository", 200)))
    line("makespan_of_24_atoms", seconds, "s", seconds / ideal(LENGTHS), LIMIT)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
