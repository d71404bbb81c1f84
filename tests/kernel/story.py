"""Short words for telling a story in code: a plan from one line, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

import pytest
from tests.model.small_plans import plan_from

from dwindle.kernel.actions import Backjump, BeginWind, FailChoice, Probe, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AttemptFailed,
    Backjumped,
    ChoiceFailed,
    Edit,
    Event,
    Redirected,
    SessionStarted,
    WindBegan,
)
from dwindle.kernel.model import AtomId, CorrectionType, GroupId, Limits, Plan, Role
from dwindle.kernel.redirects import SCOPES
from dwindle.kernel.transitions import apply

LIMITS = Limits(max_atoms=5)


def running(text: str, **limits: Any) -> Plan:
    """A running plan with fuel for five more atoms, unless told otherwise."""
    return plan_from(text, replace(LIMITS, **limits))


def calm(text: str, **limits: Any) -> Plan:
    """A plan without probes, in which one atom after the other is tried once, and three winds."""
    given = {"max_probes": 0, "max_attempts": 1, "max_parallel_agents": 1, "max_winds": 3}
    return running(text, **{**given, "max_iterations": 10**6, "max_stall_count": 10**6, **limits})


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


def unlucky_step(plan: Plan) -> Plan:
    """What is decided first is done, and every session fails."""
    action = decide(plan).actions[0]
    match action:
        case Work() | Probe():
            role = Role.PROBE if isinstance(action, Probe) else Role.WORKER
            begun = after(plan, started(action.atom, role))
            nonce = begun.sessions[action.atom].nonce
            return after(begun, AttemptFailed(atom=action.atom, nonce=nonce, reason="red"))
        case FailChoice():
            return after(plan, ChoiceFailed(group=action.group, choice=action.choice, reason="r"))
        case Backjump():
            return after(plan, Backjumped(group=action.group, atom=action.atom, reason="r"))
        case BeginWind():
            return after(plan, WindBegan(reason=action.because))
    raise AssertionError(action)


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
