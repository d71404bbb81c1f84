"""What may follow what, and `apply`: the one way in which a plan changes.

Legality is data. `RUN_NEXT` says in which state of the run an event may happen and what state it
leads to; `ATOM_NEXT` says the same of one atom; `PAYS` names the part of the measure that each
event spends. The pictures in `docs/kernel.md` are drawn from these tables.

`apply` works in four steps: refuse what cannot have happened, do it, settle what follows, and
check that the measure fell. A refusal raises and leaves the plan as it was. News about a session
that is not in flight any more (a late report) is no mistake: it is counted and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dwindle.kernel import effects
from dwindle.kernel.errors import IllegalEvent, NotDwindling
from dwindle.kernel.events import (
    AlternativesProposed,
    AtomResolved,
    AttemptFailed,
    Backjumped,
    ChoiceFailed,
    Confirmed,
    DeclaredInfeasible,
    Decomposed,
    EarlyChecked,
    Event,
    IterationCommitted,
    ProbeEnded,
    Redirected,
    RedirectRequested,
    Replanned,
    RunEnded,
    RunStarted,
    SessionInterrupted,
    SessionNews,
    SessionReaped,
    SessionStarted,
    Settled,
    StopRequested,
    VerificationEnded,
    Waited,
    WindBegan,
)
from dwindle.kernel.graph import evolve, view
from dwindle.kernel.measure import Measure, measure
from dwindle.kernel.model import Plan, Role, RunStatus, Status
from dwindle.kernel.pace import counted_end
from dwindle.kernel.settle import settle

_ALL = tuple(RunStatus)
_RUNNING = (RunStatus.RUNNING,)

RUN_NEXT: Mapping[type[Event], Mapping[RunStatus, tuple[RunStatus, ...]]] = {
    RunStarted: {
        RunStatus.PENDING: (RunStatus.RUNNING,),
        RunStatus.STOPPED: (RunStatus.RUNNING,),
        RunStatus.RUNNING: (RunStatus.RUNNING,),
    },
    RunEnded: {RunStatus.RUNNING: (RunStatus.STOPPED, RunStatus.COMPLETED)},
    Redirected: {
        RunStatus.PENDING: (RunStatus.RUNNING,),
        RunStatus.STOPPED: (RunStatus.RUNNING,),
        RunStatus.RUNNING: (RunStatus.RUNNING,),
    },
    Waited: {status: (status,) for status in _ALL},
    Confirmed: {
        RunStatus.STOPPED: (RunStatus.STOPPED,),
        RunStatus.RUNNING: (RunStatus.RUNNING,),
    },
    **{
        kind: {RunStatus.RUNNING: _RUNNING}
        for kind in (
            StopRequested,
            RedirectRequested,
            IterationCommitted,
            Settled,
            SessionStarted,
            AtomResolved,
            AttemptFailed,
            Replanned,
            DeclaredInfeasible,
            ProbeEnded,
            Decomposed,
            AlternativesProposed,
            SessionInterrupted,
            SessionReaped,
            ChoiceFailed,
            Backjumped,
            WindBegan,
            VerificationEnded,
            EarlyChecked,
        )
    },
}
"""Event -> state of the run -> states it may lead to."""

ATOM_NEXT: Mapping[tuple[Status, type[Event]], Status] = {
    (Status.PENDING, SessionStarted): Status.IN_PROGRESS,
    (Status.IN_PROGRESS, AtomResolved): Status.RESOLVED,
    (Status.IN_PROGRESS, RunStarted): Status.PENDING,
    **{
        (Status.IN_PROGRESS, kind): Status.PENDING
        for kind in (
            AttemptFailed,
            Replanned,
            DeclaredInfeasible,
            ProbeEnded,
            Decomposed,
            AlternativesProposed,
            SessionInterrupted,
            SessionReaped,
            ChoiceFailed,
            Backjumped,
            Redirected,
        )
    },
    **{(Status.RESOLVED, kind): Status.PENDING for kind in (ChoiceFailed, Backjumped, Redirected)},
    (Status.RESOLVED, WindBegan): Status.PENDING,  # under a choice that some file calls failed
}
"""How news may move one atom. Parents, which settle, only go from pending to resolved and back."""

REPORTED_BY: Mapping[type[Event], tuple[Role, ...]] = {
    AtomResolved: (Role.WORKER,),
    AttemptFailed: (Role.WORKER, Role.PROBE),
    Replanned: (Role.WORKER, Role.PROBE),
    DeclaredInfeasible: (Role.WORKER, Role.PROBE),
    ProbeEnded: (Role.PROBE,),
    Decomposed: (Role.WORKER, Role.PROBE),
    AlternativesProposed: (Role.WORKER, Role.PROBE),
    SessionInterrupted: tuple(Role),
    SessionReaped: (Role.WORKER, Role.PROBE),
    VerificationEnded: (Role.VERIFIER,),
}

PAYS: Mapping[type[Event], str] = {
    SessionStarted: "A (a verification: V)",
    AtomResolved: "Q (new nodes of a tree: F)",
    AttemptFailed: "I (new nodes of a tree: F)",
    Replanned: "F for new nodes, else I",
    DeclaredInfeasible: "A or I",
    ProbeEnded: "I",
    Decomposed: "F",
    AlternativesProposed: "F",
    SessionInterrupted: "L (nothing left: I)",
    SessionReaped: "I",
    ChoiceFailed: "C (commits that do not replay: J)",
    Backjumped: "J",
    WindBegan: "W",
    VerificationEnded: "F for fix atoms, else I",
    Settled: "F or Q",
    Redirected: "E",
    RunEnded: "T",
}
"""Everything else changes no part of the measure; `RunStarted` alone sets T."""


def apply(plan: Plan, event: Event) -> Plan:
    """The plan after the event, and after all that follows from it."""
    before = measure(plan)
    after = _with_number_and_costs(plan, outcome(plan, event), event)
    assert_dwindled(before, measure(after), event, fenced=is_fenced(plan, event))
    return after


def outcome(plan: Plan, event: Event) -> Plan:
    """What the event does, before it is numbered, charged and measured."""
    if is_fenced(plan, event):
        return plan
    refuse_impossible(plan, event)
    after = effects.EFFECTS[type(event)](plan, event)
    if type(event) in PAYS:
        after = settle(after, event.at)
    return counted_end(
        plan,
        after,
        advanced=effects.advances(plan, event),
        forgiven=isinstance(event, SessionInterrupted)
        and after.spent.forgiven > plan.spent.forgiven,
    )


def is_fenced(plan: Plan, event: Event) -> bool:
    """News of a session counts only under the nonce that is in flight."""
    if not isinstance(event, SessionNews):
        return False
    session = plan.sessions.get(event.atom)
    if session is None or session.nonce != event.nonce:
        return True
    return event.run is not None and event.run != plan.control.run_id


def refuse_impossible(plan: Plan, event: Event) -> None:
    status = plan.control.status
    if status not in RUN_NEXT[type(event)]:
        raise IllegalEvent(event, f"the run is {status}")
    if isinstance(event, SessionNews):
        role = plan.sessions[event.atom].role
        if role not in REPORTED_BY[type(event)]:
            raise IllegalEvent(event, f"{event.atom or 'the verification'} is with a {role}")


def _with_number_and_costs(before: Plan, after: Plan, event: Event) -> Plan:
    """Number the event and add up what it cost, whatever it did."""
    spent, control = after.spent, after.control
    used = event.usage if isinstance(event, SessionNews) else None
    if event.elapsed or used is not None:
        spent = replace(
            spent,
            seconds=spent.seconds + max(0.0, event.elapsed),
            tokens=spent.tokens + (max(0, used.tokens) if used else 0),
            usd=spent.usd + (max(0.0, used.usd) if used else 0.0),
        )
    return evolve(
        after, spent=spent, control=replace(control, revision=before.control.revision + 1)
    )


def assert_dwindled(before: Measure, after: Measure, event: Event, *, fenced: bool) -> None:
    """The law, in production too: what this refuses would be a loop without an end."""
    if min(after) < 0:
        raise NotDwindling(event, before, after)
    if isinstance(event, RunStarted):
        kept = before[:-1] == after[:-1]
    elif fenced or type(event) not in PAYS:
        kept = before == after
    else:
        kept = after < before
    if not kept:
        raise NotDwindling(event, before, after)


__all__ = ["ATOM_NEXT", "PAYS", "REPORTED_BY", "RUN_NEXT", "apply", "view"]
