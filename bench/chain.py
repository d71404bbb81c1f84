"""A chain of 2,000 atoms: does an atom cost more at the end than at the beginning?

The time from one resolved atom to the next (the median) for the last 200 atoms, against that of
atoms 100 to 300. In-memory workspace, durability on, and an agent that is one shell line; so
whatever grows with the plan would be seen. The chain is run twice, and the end of the first is also
compared with the beginning of the second, its neighbour in time; the median of the comparisons
counts, so that a machine that is busy now and idle then is not taken for growth. Beside it the same
for the time of the processor that our own process used, which depends less on what else there is.
"""

from __future__ import annotations

import asyncio
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script, only this folder is on it

from bench._runs import REPORT_LINE, Cast, Told, line, plan_of, ran, scratch
from tests.doubles.workspaces import MemoryWorkspace

from dwindle.adapters.agents.command import CommandAgent
from dwindle.adapters.sandbox import ProcessGroup

ATOMS = 2_000
EARLY, LATE = (100, 300), (ATOMS - 200, ATOMS)
KIND = "AtomResolved"
LIMIT = 1.5


def steps(at: list[float], window: tuple[int, int]) -> float:
    begin, end = window
    return median([after - before for before, after in pairwise(at[begin - 1 : end])])


def told(place: Path) -> Told:
    (place / "trees").mkdir()
    cast = Cast(
        workspace=MemoryWorkspace(folder=place / "trees"),
        agent=CommandAgent(argv=("/bin/sh", "-c", REPORT_LINE)),
        containment=ProcessGroup(),
    )
    plan = plan_of(ATOMS, needs=lambda n: (n - 1,) if n > 1 else ())
    return asyncio.run(ran(place, plan, cast)).told


def main(folder: Path | None = None) -> None:
    with scratch(folder) as place, scratch(folder) as another:
        first, second = told(place), told(another)
    for name, of in (("an_atom", Told.when), ("our_cpu_for_an_atom", Told.spent)):
        one, two = of(first, KIND), of(second, KIND)
        pairs = ((one, one), (one, two), (two, two))
        ratio = median([steps(late, LATE) / steps(early, EARLY) for late, early in pairs])
        line(f"{name}_at_the_end_of_{ATOMS}", steps(two, LATE) * 1e3, "ms", ratio, LIMIT)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
