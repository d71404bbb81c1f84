"""A plan drawn from chance: parts, choices, races, dependencies, and limits that bite."""

from __future__ import annotations

import random
from dataclasses import fields, replace
from functools import partial

from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Check,
    ChecklistItem,
    CheckType,
    Control,
    Decomposition,
    Dispatch,
    GroupId,
    Limits,
    Objective,
    OrGroup,
    Plan,
    Spent,
)
from dwindle.kernel.problems import validate

ALL_GOOD = "all-good"
"""The check of the base case: something was made, and none of it is bad."""
BELIEVED = "it looks right"
"""An assertion: a verifier judges it, and a person has the last word."""


def drawn(chance: random.Random) -> Plan:
    atoms: dict[AtomId, Atom] = {}
    parts: list[Decomposition] = []
    groups: dict[GroupId, OrGroup] = {}

    def new(**given: object) -> AtomId:
        name = AtomId(f"A{len(atoms) + 1}")
        check = Check(type=CheckType.COMMAND, value=f"good {name}")
        made = partial(Atom, id=name, description=f"do {name}")
        atoms[name] = made(
            check=check if chance.random() < 0.4 else None,
            probe=chance.random() < 0.1,
            max_attempts=chance.choice((None, None, None, 1, 2)),
            touches=(f"{chance.choice('xyz')}.txt",) if chance.random() < 0.1 else (),
            **given,  # type: ignore[arg-type]
        )
        return name

    def leaf_or_parts(depth: int, **given: object) -> AtomId:
        name = new(**given)
        if depth and chance.random() < 0.25:
            below = tuple(leaf_or_parts(depth - 1) for _ in range(chance.randint(1, 2)))
            parts.append(Decomposition(parent=name, children=below, reason="parts"))
        return name

    for _ in range(chance.randint(1, 5)):
        if chance.random() < 0.35:
            group = GroupId(f"way{len(groups) + 1}")
            choices = [leaf_or_parts(1, or_group=group) for _ in range(chance.randint(1, 3))]
            if len(choices) == 1 or chance.random() < 0.1:
                choices.append(AtomId(f"A{50 + len(groups)}"))  # unwritten
            groups[group] = OrGroup(
                id=group,
                choices=tuple(choices),
                selected=choices[0],
                speculative=chance.random() < 0.3,
            )
        else:
            leaf_or_parts(2)

    plan = Plan(
        objective=_objective(chance),
        limits=_limits(chance, len(atoms) + len(groups)),
        spent=Spent(created=len(atoms)),
        control=Control(),
        atoms=atoms,
        decompositions=tuple(parts),
        groups=groups,
    )
    return _with_dependencies(plan, chance)


def _with_dependencies(plan: Plan, chance: random.Random) -> Plan:
    targets = [*plan.atoms, *plan.groups]
    for _ in range(chance.randint(0, 4)):
        name = chance.choice(list(plan.atoms))
        atom = plan.atoms[name]
        on = chance.choice(targets)
        if on in atom.depends_on:
            continue
        tied = replace(atom, depends_on=(*atom.depends_on, on))
        tried = replace(plan, atoms={**plan.atoms, name: tied})
        if not [problem for problem in validate(tried) if not problem.warning]:
            plan = tried
    return plan


def _objective(chance: random.Random) -> Objective:
    found = [ChecklistItem(item="good", check=Check(type=CheckType.COMMAND, value=ALL_GOOD))]
    if chance.random() < 0.15:
        said = Check(type=CheckType.ASSERTION, value=BELIEVED)
        found.append(ChecklistItem(item="looks", check=said))
    return Objective(
        goal="make it good",
        base_case=BaseCase(checklist=tuple(found)),
        background_intent="to see what can happen",
        deliverables="files",
        definition_of_done="all is good",
    )


def _limits(chance: random.Random, atoms: int) -> Limits:
    """`atoms`: those that there are, and those that unwritten choices may become."""
    optional = tuple(field.name for field in fields(Limits))[3:-1]
    tokens = chance.choice((None, None, None, 2000))
    return Limits(
        max_iterations=chance.choice((6, 12, 40)),
        max_parallel_agents=chance.randint(1, 4),
        max_stall_count=chance.randint(2, 4),
        max_atoms=atoms + 2 + chance.randint(0, 6),
        max_depth=chance.randint(2, 4),
        max_attempts=chance.randint(1, 3),
        max_probes=chance.randint(0, 1),
        max_verifications=chance.randint(1, 3),
        max_redirects=chance.randint(0, 4),
        max_forgiven=chance.choice((0, 2, 10)),
        max_backjumps=chance.randint(0, 2),
        max_wall_seconds=chance.choice((300, 3600, 86400)),
        max_tokens=tokens,
        session_timeout_seconds=chance.choice((20, 60, 1800)),
        dispatch=chance.choice(tuple(Dispatch)),
        early_verify=chance.random() < 0.2,
        stated=tuple(n for n in optional if n not in ("max_cost_usd", "max_tokens"))
        if tokens is None
        else tuple(n for n in optional if n != "max_cost_usd"),
    )
