"""New atoms: decompositions, alternatives, fix atoms, and alternatives that were only named.

Everything here is paid from fuel, one unit for each atom, and fuel never comes back; that is why
a plan cannot grow for ever. Fuel for named but unwritten alternatives is set aside, so growth may
only use what is left over (`measure.spare_fuel`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dwindle.kernel.base_case import MECHANICAL, check_problems
from dwindle.kernel.events import Gap, NewAtom
from dwindle.kernel.graph import depth, unfailed, view
from dwindle.kernel.measure import spare_fuel
from dwindle.kernel.model import (
    Atom,
    AtomId,
    Check,
    Decomposition,
    GroupId,
    OrGroup,
    Plan,
    Problem,
    TrailType,
)
from dwindle.kernel.structure import ID_LENGTH, is_valid_id

LONGEST_NUMBER = 10
"""Ids that look like ours but are longer than this are names."""

EVIDENCE_KEPT = 2000
"""Characters of a failed check's output that go into the description of its fix atom."""


def next_ids(plan: Plan, count: int) -> tuple[AtomId, ...]:
    """`A<n>` beyond every number used for this objective: a removed atom's id does not return."""
    named = [*plan.atoms, *view(plan).shape.group_of, *plan.groups]
    tails = (n[1:] for n in named if n[0] == "A" and len(n) <= LONGEST_NUMBER)
    numbers = [int(tail) for tail in tails if tail.isascii() and tail.isdecimal()]
    first = max([plan.spent.created, *numbers]) + 1
    return tuple(AtomId(f"A{first + i}") for i in range(count))


def written_out(
    new: Iterable[NewAtom], ids: tuple[AtomId, ...], inherited: tuple[str, ...]
) -> tuple[Atom, ...]:
    """Proposals with ids, `#n` replaced by the n-th of them, and inherited dependencies first."""
    earlier = {f"#{i + 1}": name for i, name in enumerate(ids)}
    return tuple(
        Atom(
            id=name,
            description=proposal.description,
            depends_on=tuple(
                dict.fromkeys((*inherited, *(earlier.get(d, d) for d in proposal.depends_on)))
            ),
            check=proposal.check,
        )
        for name, proposal in zip(ids, new, strict=True)
    )


def with_atoms(plan: Plan, new: Iterable[Atom], beside: AtomId | None = None) -> Plan:
    """The plan with these atoms at its end, paid for; beside: listed with it under its parent."""
    added = {a.id: a for a in new}
    plan = replace(
        plan,
        atoms={**plan.atoms, **added},
        spent=replace(plan.spent, created=plan.spent.created + len(added)),
    )
    return listed_beside(plan, tuple(added), beside) if beside is not None else plan


def listed_beside(plan: Plan, new: tuple[AtomId, ...], beside: AtomId) -> Plan:
    def lengthened(children: tuple[AtomId, ...]) -> tuple[AtomId, ...]:
        at = children.index(beside) + 1
        return (*children[:at], *new, *children[at:])

    return replace(
        plan,
        decompositions=tuple(
            replace(d, children=lengthened(d.children)) if beside in d.children else d
            for d in plan.decompositions
        ),
    )


def decomposed(plan: Plan, parent: AtomId, new: tuple[NewAtom, ...], reason: str) -> Plan:
    """The parent becomes composite; its dependencies are also written into each child."""
    ids = next_ids(plan, len(new))
    # Whether it is feasible is a question of its children now.
    split = replace(plan.atoms[parent], infeasible=None)
    plan = replace(plan, atoms={**plan.atoms, parent: split})
    plan = with_atoms(plan, written_out(new, ids, split.depends_on))
    made = Decomposition(parent=parent, children=ids, reason=reason)
    return replace(plan, decompositions=(*plan.decompositions, made))


def with_alternatives(plan: Plan, atom: AtomId, new: tuple[NewAtom, ...]) -> Plan:
    """New choices beside the atom, in its group or in a new one. The caller fails the atom."""
    shape = view(plan).shape
    ids = next_ids(plan, len(new))
    group = plan.groups.get(GroupId(shape.group_of.get(atom, "")))
    if group is None:
        name = free_group_id(plan, atom)
        group = OrGroup(id=name, choices=(atom,), selected=atom)
        alone = replace(plan.atoms[atom], or_group=name)
        plan = replace(plan, atoms={**plan.atoms, atom: alone})
    written = written_out(new, ids, plan.atoms[atom].depends_on)
    choices = (replace(a, or_group=group.id) for a in written)
    plan = with_atoms(plan, choices, beside=atom)
    group = replace(group, choices=(*group.choices, *ids))
    return replace(plan, groups={**plan.groups, group.id: group})


def free_group_id(plan: Plan, atom: AtomId) -> GroupId:
    """`or_<atom>`, shortened and numbered where that is too long or taken."""
    taken: dict[str, None] = dict.fromkeys((*plan.atoms, *view(plan).shape.group_of, *plan.groups))
    name, number = f"or_{atom}"[:ID_LENGTH], 2
    while name in taken or not is_valid_id(name):
        name, number = f"or_{atom}"[: ID_LENGTH - 8] + f"_{number}", number + 1
    return GroupId(name)


def with_fixes(plan: Plan, gaps: tuple[Gap, ...]) -> Plan:
    """One atom under the root for each check that said no, as far as the fuel goes."""
    affordable = gaps[: max(0, spare_fuel(plan))]
    ids = next_ids(plan, len(affordable))
    return with_atoms(
        plan,
        (
            Atom(id=name, description=fix_description(gap), check=usable_check(gap))
            for name, gap in zip(ids, affordable, strict=True)
        ),
    )


def usable_check(gap: Gap) -> Check | None:
    """The failed check judges its fix, if a machine can run it."""
    check = gap.check
    if check is None or check.type not in MECHANICAL or any(check_problems(check, ())):
        return None
    return check


def fix_description(gap: Gap) -> str:
    wanted = f" ({gap.check.value})" if gap.check is not None and gap.check.value else ""
    evidence = gap.evidence.strip()
    if len(evidence) > EVIDENCE_KEPT:
        evidence = f"{evidence[:EVIDENCE_KEPT]} [...]"
    return f"Make this check pass: {gap.item}{wanted}" + (f"\n{evidence}" if evidence else "")


def with_written_choice(plan: Plan, choice: AtomId) -> Plan:
    """A named alternative becomes an atom, with the dependencies of the first written choice."""
    shape = view(plan).shape
    group = plan.groups[GroupId(shape.group_of[choice])]
    first = plan.atoms[next(c for c in group.choices if c in plan.atoms)]
    atom = Atom(
        id=choice,
        description=alternative_description(plan, group, choice, first),
        depends_on=first.depends_on,
        or_group=group.id,
    )
    return with_atoms(plan, (atom,), beside=first.id)


def alternative_description(plan: Plan, group: OrGroup, choice: AtomId, first: Atom) -> str:
    why = ""
    for entry in reversed(plan.trail):
        if entry.atom in group.failed and entry.type is TrailType.FAILURE:
            why = f" ({entry.reason})"
            break
    failed = ", ".join(group.failed) or first.id
    return f"{choice}: an alternative to {failed}{why}. To reach the same: {first.description}"


def growth_problems(
    plan: Plan, atom: AtomId, new: tuple[NewAtom, ...], *, deeper: bool
) -> tuple[Problem, ...]:
    """Why a proposal cannot be taken; empty if it can. Structure is judged by `problems.py`."""
    found: list[Problem] = []
    room = spare_fuel(plan)
    if not new:
        found.append(_refusal("nothing is proposed", "name at least one atom"))
    if len(new) > room:
        found.append(
            _refusal(
                f"{len(new)} new atoms are proposed and fuel for {max(0, room)} is left",
                "propose fewer, or raise max_atoms by a redirect",
            )
        )
    if deeper and depth(plan, atom) >= plan.limits.max_depth:
        found.append(
            _refusal(
                f"{atom} stands at depth {depth(plan, atom)} and max_depth is "
                f"{plan.limits.max_depth}",
                "solve it as it is, or propose alternatives",
            )
        )
    found.extend(
        _refusal(f"proposal {i + 1} has no description", "say what is to be done")
        for i, proposal in enumerate(new)
        if not proposal.description.strip()
    )
    known: Mapping[str, None] = dict.fromkeys(
        (*plan.atoms, *plan.groups, *(c for g in plan.groups.values() for c in unfailed(g)))
    )
    for i, proposal in enumerate(new):
        for target in proposal.depends_on:
            if target.startswith("#"):
                if target not in [f"#{n + 1}" for n in range(i)]:
                    found.append(
                        _refusal(
                            f"proposal {i + 1} depends on {target}, which is not an earlier one",
                            "name earlier proposals as #1, #2, ...",
                        )
                    )
            elif target not in known:
                found.append(
                    _refusal(
                        f"proposal {i + 1} depends on {target}, which does not exist",
                        "name an atom, a group, or an earlier proposal as #1",
                    )
                )
    return tuple(found)


def _refusal(what: str, hint: str) -> Problem:
    return Problem(where=(), what=what, hint=hint)
