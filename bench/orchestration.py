"""What a whole atom costs besides its agent and its check, with git and durability on.

Ours is the real loop with a real repository, one atom after the other: decide, the start on record,
lease, order and prompt, logs, the change, the commit on the integration branch, the result on
record, the tree given back. The agent's program and the check are not started: a stand-in writes
the one file and the report in no time.

The floor is the seven git commands that an atom cannot do without (see `workspaces.py`, with the
same settings for durability) and two appends with `fdatasync`, one for the start and one for the
end. Both take turns; the median of the rounds counts.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script, only this folder is on it

from bench._runs import RUN, Cast, line, plan_of, ran, scratch
from bench.workspaces import Bare, git, repository

from dwindle.adapters.agents.command import CommandAgent
from dwindle.adapters.git.worktrees.workspace import GitWorkspace
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Check
from dwindle.ports.checks import CheckResult
from dwindle.ports.process import Command, Ended, Strength

FILES = 200
ATOMS = 20
ROUNDS = 5
LIMIT = 3
RECORD = bytes(300)
"""As long as a line of the journal."""


class StandIn:
    """Does what the agent would do, without starting anything; and no check says no."""

    strength = Strength.WEAK
    mechanism = "none"

    def __init__(self) -> None:
        self._count = 0

    async def run(self, command: Command, watch: object = None) -> Ended:
        del watch
        self._count += 1
        (command.cwd / f"new{self._count}.txt").write_text(f"{self._count}\n")
        report = Path(command.environment["DWINDLE_REPORT"])
        report.write_text('{"success":true,"summary":"done"}')  # noqa: ASYNC240 - at once
        return Ended(exit_code=0)


class Yes:
    async def run(self, check: Check, tree: Path, fixed: Sequence[str] = ()) -> CheckResult:
        del tree, fixed
        return CheckResult(check=check, verdict=Verdict.PASSED)


async def ours(place: Path, turn: int) -> float:
    """Seconds per atom."""
    root = place / f"ours{turn}"
    repository(root, FILES)
    workspace = await GitWorkspace.open(
        root, run=RUN, aligned="main", checkouts=place, guard_refs=False
    )
    cast = Cast(
        workspace=workspace,
        agent=CommandAgent(argv=("true",)),
        containment=StandIn(),
        checks=Yes(),
    )
    told = (await ran(root, plan_of(ATOMS, width=1), cast)).told
    workspace.close()
    # The first one makes the trees, which the others use again.
    ended = told.when("AtomResolved")
    return (ended[-1] - ended[0]) / (ATOMS - 1)


def floor(bare: Bare, other: Path, journal: int) -> float:
    """Seconds per atom."""
    seconds = 0.0
    for _ in range(ATOMS):
        bare.count += 1
        (bare.path / f"new{bare.count}.txt").write_text(f"{bare.count}\n")
        began = time.perf_counter()
        for _ in range(2):
            os.write(journal, RECORD)
            os.fdatasync(journal)
        bare.whole_atom(other)
        seconds += time.perf_counter() - began
    return seconds / ATOMS


def main(folder: Path | None = None) -> None:
    with scratch(folder) as place:
        bare = Bare(repository(place / "bare", FILES), place / "tree")
        bare.make()
        other = place / "other"
        git(bare.place, "worktree", "add", "--quiet", "--detach", str(other), "main")
        journal = os.open(place / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        times = [
            (asyncio.run(ours(place, turn)), floor(bare, other, journal)) for turn in range(ROUNDS)
        ]
        os.close(journal)
    spent, least = (median(column) for column in zip(*times, strict=True))
    line("an_atom_without_agent_and_check", spent * 1e3, "ms", spent / least, LIMIT)
    line("its_git_commands_and_syncs_bare", least * 1e3, "ms", 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
