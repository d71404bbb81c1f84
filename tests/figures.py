"""Everything that is tried at night, one after the other, and one table of what came of it.

    python -m tests.figures [RUNS [KILLS]]

A part that breaks down is a violation like any other, and the next one is tried all the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tests.loop import kill_sweep
from tests.simulation import run, sweep

RUNS, KILLS = 100_000, 1_000
FIRST = 10_000
"""The first seed: those below are tried all day."""
STEP = 10_000
"""Simulated runs after which it is said how far it has come."""
SHOWN = 20
"""Violations that are told, of many."""
KILLING = ("kill", "power cut")
FAILING = ("disk", "git")
COLUMNS = ("runs", "faults", "kills", "survivors", "violations", "seconds")
NONE = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One suite. What it does not do is not 0 but None."""

    name: str
    runs: int = 0
    faults: int | None = None
    kills: int | None = None
    survivors: int | None = None
    violations: Sequence[str] = field(default_factory=tuple)
    seconds: float = 0.0

    @property
    def held(self) -> bool:
        return not self.violations and not self.survivors

    def __str__(self) -> str:
        counts = (self.runs, self.faults, self.kills, self.survivors, len(self.violations))
        cells = [*(NONE if n is None else f"{n:,}" for n in counts), f"{self.seconds:,.0f}"]
        return _line(self.name, cells)


Part = Callable[[], Row]


def simulation(runs: int) -> Row:
    found = run.night(FIRST, runs, _simulated_so_far)
    return Row(
        name="simulated runs",
        runs=_played(found),
        faults=sum(found.faults[what] for what in FAILING),
        kills=sum(found.faults[what] for what in KILLING),
        violations=found.violations,
    )


def _played(found: run.Figures) -> int:
    return found.runs + len(found.violations)


def _simulated_so_far(found: run.Figures) -> None:
    if not _played(found) % STEP:
        _say(f"{_played(found)} simulated runs, {len(found.violations)} violations")


def crashes(every: int = 1) -> Row:
    found = sweep.swept(every)
    return Row(
        name="crash sweep",
        runs=found.runs,
        faults=found.faults,
        kills=found.kills + found.disks,
        violations=found.violations,
    )


def kills(count: int) -> Row:
    found = kill_sweep.night(count, say=_so_far)
    return Row(
        name="kill -9",
        runs=found.runs,
        kills=found.kills,
        survivors=found.survivors,
        violations=found.violations,
    )


def _so_far(swept: kill_sweep.Swept) -> None:
    _say(str(swept))


def _say(words: str) -> None:
    """Progress for the user: it takes hours."""
    print(f"  {words}", file=sys.stderr, flush=True)  # noqa: T201 - what was asked for


def adversaries(*names: str) -> Row:
    """Whether anything of them is alive afterwards is among what has to hold."""
    words = [sys.executable, "-m", "dwindle", "torture", "--json", *names]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    if not said.stdout:
        raise RuntimeError(f"dwindle torture ended with {said.returncode}: {said.stderr.strip()}")
    found = json.loads(said.stdout)["adversaries"]
    broken = tuple(
        f"{one['name']}: {'; '.join(one['broken']) or 'did not run'}"
        for one in found
        if not one["held"]
    )
    return Row(name="adversaries", runs=len(found), violations=broken)


def parts(runs: int, count: int) -> tuple[Part, ...]:
    return (partial(simulation, runs), crashes, partial(kills, count), adversaries)


def tried(part: Part) -> Row:
    began = time.monotonic()
    try:
        row = part()
    except Exception as error:  # noqa: BLE001 - the other figures are still made, and the exit code is 1
        name = getattr(part, "func", part).__name__
        row = Row(name=name, violations=(f"{name} broke down: {type(error).__name__}: {error}",))
    return replace(row, seconds=time.monotonic() - began)


def summary(rows: Sequence[Row]) -> str:
    """The table, and under it what did not hold."""
    wrong = [said for row in rows for said in row.violations]
    alive = [f"{row.name}: {row.survivors} processes survived" for row in rows if row.survivors]
    more = [f"... and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
    verdict = "everything held" if all(row.held for row in rows) else "NOT EVERYTHING HELD"
    lines = [_line("", COLUMNS), *map(str, rows), str(_total(rows)), "", f"{verdict}."]
    return "\n".join([*lines, *alive, *wrong[:SHOWN], *more])


def _total(rows: Sequence[Row]) -> Row:
    return Row(
        name="all",
        runs=sum(row.runs for row in rows),
        faults=sum(row.faults or 0 for row in rows),
        kills=sum(row.kills or 0 for row in rows),
        survivors=sum(row.survivors or 0 for row in rows),
        violations=[said for row in rows for said in row.violations],
        seconds=sum(row.seconds for row in rows),
    )


def _line(name: str, cells: Sequence[str]) -> str:
    return " ".join([f"{name:<15}", *(f"{cell:>10}" for cell in cells)])


def night(some: Sequence[Part]) -> int:
    """Tell each part when it is over, and all of them at the end."""
    print(_line("", COLUMNS), flush=True)  # noqa: T201 - what was asked for
    rows = []
    for part in some:
        rows.append(tried(part))
        print(rows[-1], flush=True)  # noqa: T201
    print(f"\n{summary(rows)}")  # noqa: T201
    return not all(row.held for row in rows)


def main(words: Sequence[str]) -> int:
    runs, count = (*map(int, words), *(RUNS, KILLS)[len(words) :])
    return night(parts(runs, count))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
