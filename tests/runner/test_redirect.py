"""A change of direction, and what it takes off the branch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.doubles.workspaces import MemoryWorkspace
from tests.runner.story import FIRST_PLAN

from dwindle.kernel.events import OverrideBinding, Redirected, RunStarted
from dwindle.kernel.model import Atom, AtomId, Binding, CorrectionType, Plan, Status
from dwindle.kernel.transitions import apply
from dwindle.runner.redirect import redirect

GROUND, UPON, OTHER, UPON_OTHER = (AtomId(name) for name in ("A1", "A2", "A3", "A4"))


@dataclass
class Entangled(MemoryWorkspace):
    """Without A2, the work of A3 does not replay."""

    taken_off: list[tuple[AtomId, ...]] = field(default_factory=list)

    async def rebuild(self, without: Sequence[AtomId]) -> tuple[AtomId, ...]:
        self.taken_off.append(tuple(without))
        return (OTHER,) if UPON in without else ()


def done(name: AtomId, *needs: AtomId) -> Atom:
    return Atom(id=name, description=f"do {name}", status=Status.RESOLVED, depends_on=needs)


def test_what_was_built_upon_what_got_lost_comes_off_too(tmp_path: Path) -> None:
    atoms = (done(GROUND), done(UPON, GROUND), done(OTHER), done(UPON_OTHER, OTHER))
    plan = replace(
        FIRST_PLAN,
        atoms={atom.id: atom for atom in atoms},
        bindings={atom.id: Binding(summary="done") for atom in atoms},
        spent=replace(FIRST_PLAN.spent, created=len(atoms)),
    )
    plan = apply(plan, RunStarted(run_id="01RUN"))
    wanted = Redirected(
        type=CorrectionType.BINDINGS_OVERRIDE,
        edits=(OverrideBinding(atom=GROUND, summary="something else"),),
        description="it came to something else",
    )
    workspace = Entangled(folder=tmp_path)
    recorded: list[tuple[Redirected, Plan]] = []

    def record(event: Redirected) -> Plan:
        recorded.append((event, apply(plan, event)))
        return recorded[-1][1]

    async def quiet() -> None:
        """No session is at work."""

    asyncio.run(redirect(plan, (wanted,), workspace.rebuild, quiet, record))

    ((event, after),) = recorded
    assert event == replace(wanted, unreplayed=(OTHER,))
    assert workspace.taken_off == [(UPON,), (UPON_OTHER,)]
    assert {name: atom.status for name, atom in after.atoms.items()} == {
        GROUND: Status.RESOLVED,
        UPON: Status.PENDING,
        OTHER: Status.PENDING,
        UPON_OTHER: Status.PENDING,
    }
