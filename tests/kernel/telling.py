"""Short words for telling a story in code: a plan from one line, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

import pytest

from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import Edit, Event, Redirected, SessionStarted
from dwindle.kernel.model import AtomId, CorrectionType, GroupId, Limits, Plan, Role
from dwindle.kernel.redirects import SCOPES
from dwindle.kernel.transitions import apply
from dwindle.testing.small_plans import plan_from

LIMITS = Limits(max_atoms=5)


def running(text: str, **limits: Any) -> Plan:
    """A running plan with fuel for five more atoms, unless told otherwise."""
    return plan_from(text, replace(LIMITS, **limits))


def with_atoms(plan: Plan, **changes: dict[str, Any]) -> Plan:
    changed = {AtomId(n): replace(plan.atoms[AtomId(n)], **fields) for n, fields in changes.items()}
    return replace(plan, atoms={**plan.atoms, **changed})


def with_groups(plan: Plan, **changes: dict[str, Any]) -> Plan:
    changed = {
        GroupId(n): replace(plan.groups[GroupId(n)], **fields) for n, fields in changes.items()
    }
    return replace(plan, groups={**plan.groups, **changed})


def after(plan: Plan, *events: Event) -> Plan:
    return reduce(apply, events, plan)


def started(atom: str, role: Role = Role.WORKER) -> SessionStarted:
    return SessionStarted(atom=AtomId(atom), role=role)


def redirect(*edits: Edit) -> Redirected:
    """A redirect of whatever scope its first edit has."""
    kind = next(k for k, kinds in SCOPES.items() if isinstance(edits[0], kinds))
    return Redirected(type=CorrectionType(kind), edits=edits, description="because")


def refusal(plan: Plan, event: Event) -> str:
    """What is said when the event is refused; the plan is not touched by the attempt."""
    before = replace(plan)
    with pytest.raises(IllegalEvent) as refused:
        apply(plan, event)
    assert plan == before
    assert refused.value.event == event
    return str(refused.value)
