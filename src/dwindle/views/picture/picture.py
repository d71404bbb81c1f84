"""The content of a picture of a plan, for Mermaid, Graphviz and JSON.

The hierarchy is the kernel's, not the file's: a choice stands under its group, and depending on a
choice means depending on its group.
"""

from __future__ import annotations

from dataclasses import dataclass

from dwindle.app.plans.standing import AtomStanding, standings
from dwindle.kernel.graph import selected, view
from dwindle.kernel.model import ROOT, Decomposition, Plan, PlanKind, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomShown:
    id: str
    description: str
    status: Status
    standing: AtomStanding
    parent: str | None
    """The atom or the group that it stands under."""
    depends_on: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShown:
    id: str
    parent: str | None
    choices: tuple[str, ...]
    selected: str | None
    """The choice in force."""
    failed: tuple[str, ...]
    unwritten: tuple[str, ...]
    """Choices that are no atoms yet."""
    speculative: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPicture:
    kind: PlanKind
    atoms: tuple[AtomShown, ...]
    groups: tuple[GroupShown, ...]
    decompositions: tuple[Decomposition, ...]


def picture(plan: Plan) -> PlanPicture:
    shape, how = view(plan).shape, standings(plan)
    return PlanPicture(
        kind=plan.kind,
        atoms=tuple(
            AtomShown(
                id=name,
                description=atom.description,
                status=atom.status,
                standing=how[name],
                parent=_id_or_none(shape.parent[name]),
                depends_on=shape.needs.get(name, ()),
            )
            for name, atom in plan.atoms.items()
        ),
        groups=tuple(
            GroupShown(
                id=group.id,
                parent=_id_or_none(shape.parent[group.id]),
                choices=group.choices,
                selected=selected(plan, group),
                failed=group.failed,
                unwritten=tuple(c for c in group.choices if c not in plan.atoms),
                speculative=group.speculative,
            )
            for group in plan.groups.values()
        ),
        decompositions=plan.decompositions,
    )


def _id_or_none(node: str) -> str | None:
    return None if node == ROOT else node
