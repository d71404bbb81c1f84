"""What each event does to a plan: one function an event, and the table that names them.

Each function first refuses (IllegalEvent) what cannot have happened to this plan, then returns
the plan after it. Consequences are not drawn here: `settle` does that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dwindle.kernel import branches, growth, sessions, winds
from dwindle.kernel.errors import IllegalEvent
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
    Gap,
    IterationCommitted,
    ProbeEnded,
    Redirected,
    RedirectRequested,
    Replanned,
    RunEnded,
    RunStarted,
    SessionInterrupted,
    SessionReaped,
    SessionStarted,
    Settled,
    StopRequested,
    VerificationEnded,
    Waited,
    WindBegan,
)
from dwindle.kernel.graph import (
    attempts_left,
    evolve,
    view,
    with_atom,
)
from dwindle.kernel.measure import measure, rounds_left, winds_left
from dwindle.kernel.model import (
    Answer,
    AtomId,
    Plan,
    Question,
    Role,
    RunStatus,
    Status,
    StopCode,
    Verification,
)
from dwindle.kernel.redirects import redirected

# --- the run -----------------------------------------------------------------------------------


def run_started(plan: Plan, event: RunStarted) -> Plan:
    """Flags are cleared and orphans put back; every counter is kept."""
    control = replace(
        plan.control,
        status=RunStatus.RUNNING,
        stop_requested=False,
        stop_reason=None,
        stop_code=None,
        redirect_requested=False,
        run_id=plan.control.run_id or event.run_id,
        aligned=plan.control.aligned or event.aligned,
    )
    if "max_atoms" not in plan.limits.stated:  # its default follows the number of atoms: freeze it
        plan = replace(plan, limits=plan.limits.stating("max_atoms"))
    for atom in plan.atoms.values():
        if atom.status is Status.IN_PROGRESS and atom.id not in plan.sessions:
            plan = with_atom(plan, replace(atom, status=Status.PENDING))
    return evolve(plan, control=control)


def run_ended(plan: Plan, event: RunEnded) -> Plan:
    if plan.sessions:
        raise IllegalEvent(event, f"sessions are still running: {', '.join(plan.sessions)}")
    status = RunStatus.STOPPED
    if event.code is StopCode.COMPLETED:
        if not sessions.is_verified(plan):
            raise IllegalEvent(event, "the base case has not been seen to hold")
        status = RunStatus.COMPLETED
    return evolve(
        plan,
        control=replace(
            plan.control, status=status, stop_code=event.code, stop_reason=event.reason
        ),
    )


def stop_requested(plan: Plan, event: StopRequested) -> Plan:
    if event.code is StopCode.COMPLETED:
        raise IllegalEvent(event, "completion is found out, not asked for")
    return sessions.asked_to_stop(plan, event.reason, event.code)


def redirect_requested(plan: Plan, event: RedirectRequested) -> Plan:
    return evolve(plan, control=replace(plan.control, redirect_requested=event.active))


def noted(plan: Plan, _event: Waited | IterationCommitted) -> Plan:
    return plan


def settled(plan: Plan, event: Settled) -> Plan:
    denied = [q for q in plan.verification.questions if q.answer is Answer.NO]
    if not denied and not view(plan).unsettled:
        raise IllegalEvent(event, "nothing is unsettled")
    if not denied:
        return plan
    gaps = tuple(Gap(item=q.item, evidence=q.words) for q in denied)
    after = growth.with_fixes(plan, gaps)
    return replace(after, verification=Verification())


# --- choices -----------------------------------------------------------------------------------


def choice_failed(plan: Plan, event: ChoiceFailed) -> Plan:
    refuse_unknown_losses(plan, event)
    wanted = (branches.switch_rung(plan, a) for a in branches.stuck(plan))
    if not any(r and (r.group, r.choice) == (event.group, event.choice) for r in wanted):
        raise IllegalEvent(event, f"no exhausted atom asks for {event.choice} to be failed")
    after = branches.switched(plan, event.group, event.choice, event.reason, event.at)
    if not event.unreplayed:
        return after
    if measure(plan).backjumps <= 0:
        raise IllegalEvent(event, "commits were lost and no backjump is left to pay for them")
    after = branches.with_lost_commits(after, event.unreplayed)
    return replace(after, spent=replace(after.spent, backjumps=after.spent.backjumps + 1))


def backjumped(plan: Plan, event: Backjumped) -> Plan:
    refuse_unknown_losses(plan, event)
    step = branches.rung(plan, event.atom) if event.atom in branches.stuck(plan) else None
    if not isinstance(step, branches.BackjumpRung) or step.group != event.group:
        raise IllegalEvent(event, f"{event.atom} does not ask to turn back to {event.group}")
    after = branches.backjumped(plan, step, event.reason, event.at)
    return branches.with_lost_commits(after, event.unreplayed)


def wind_began(plan: Plan, event: WindBegan) -> Plan:
    if not winds.is_due(plan) and not winds.pays_for_switch(plan):
        raise IllegalEvent(event, "no wind may begin: something can still go on, or none would")
    return winds.begun(plan, event.reason, event.at)


def refuse_unknown_losses(plan: Plan, event: ChoiceFailed | Backjumped) -> None:
    for name in event.unreplayed:
        if name not in plan.atoms or plan.atoms[name].status is not Status.RESOLVED:
            raise IllegalEvent(event, f"{name} has no commit that could be lost")


# --- verification ------------------------------------------------------------------------------


def verification_ended(plan: Plan, event: VerificationEnded) -> Plan:
    """Passed, or fix atoms for what failed while fuel and a round, or a wind for more, is left."""
    if event.passed and event.gaps:
        raise IllegalEvent(event, "a base case with gaps did not pass")
    before = plan.verification
    plan = sessions.ended(plan, event)
    if event.passed:
        asked = tuple(Question(item=item) for item in event.questions)
        return evolve(plan, verification=Verification(passed=True, questions=asked))
    items = tuple(dict.fromkeys((*(gap.item for gap in event.gaps), *event.unjudged)))
    missed = Verification(not_passed=items if rounds_left(plan) <= 0 else ())
    if not event.gaps:
        again = replace(missed, rounds_without_gaps=before.rounds_without_gaps + 1)
        return evolve(plan, verification=again)
    if rounds_left(plan) <= 0 and winds_left(plan) <= 0:
        return evolve(plan, verification=replace(missed, unmended=len(event.gaps)))
    after = growth.with_fixes(plan, event.gaps)
    if after.spent.created == plan.spent.created:
        missed = Verification(unmended=len(event.gaps), not_passed=items)
    return replace(after, verification=missed)


def early_checked(plan: Plan, event: EarlyChecked) -> Plan:
    if not sessions.wants_early_check(plan):
        raise IllegalEvent(event, "an early look at the base case was not asked for")
    seen = Verification(passed=True) if event.passed else plan.verification
    return evolve(plan, pace=replace(plan.pace, branch_changed=False), verification=seen)


def confirmed(plan: Plan, event: Confirmed) -> Plan:
    asked = plan.verification.questions
    if event.item not in [q.item for q in asked]:
        raise IllegalEvent(event, f"the run did not ask about {event.item!r}")
    answered = tuple(
        replace(q, answer=event.answer, words=event.words) if q.item == event.item else q
        for q in asked
    )
    return evolve(plan, verification=replace(plan.verification, questions=answered))


# --- the table ---------------------------------------------------------------------------------

EFFECTS: Mapping[type[Event], Callable[[Plan, Any], Plan]] = {
    RunStarted: run_started,
    RunEnded: run_ended,
    StopRequested: stop_requested,
    RedirectRequested: redirect_requested,
    Waited: noted,
    IterationCommitted: noted,
    Settled: settled,
    SessionStarted: sessions.session_started,
    AtomResolved: sessions.atom_resolved,
    AttemptFailed: sessions.attempt_failed,
    Replanned: sessions.replanned,
    DeclaredInfeasible: sessions.attempt_failed,
    ProbeEnded: sessions.probe_ended,
    SessionInterrupted: sessions.interrupted,
    SessionReaped: sessions.reaped,
    Decomposed: sessions.decomposed,
    AlternativesProposed: sessions.alternatives_proposed,
    ChoiceFailed: choice_failed,
    Backjumped: backjumped,
    WindBegan: wind_began,
    VerificationEnded: verification_ended,
    EarlyChecked: early_checked,
    Confirmed: confirmed,
    Redirected: redirected,
}


def advances(plan: Plan, event: Event) -> bool:
    """Does it count as getting somewhere? A resolved atom, or a rung above the retry, does."""
    match event:
        case AtomResolved() | Decomposed() | AlternativesProposed() | Replanned():
            return not sessions.is_abandoned(plan, event)
        case ChoiceFailed() | Backjumped() | WindBegan() | VerificationEnded() | Redirected():
            return True
        case ProbeEnded():  # a look before the work is a step, too
            return _looks(plan, event.atom)
        case SessionStarted(role=Role.PROBE):
            return event.atom in view(plan).exhausted
        case SessionStarted(role=Role.VERIFIER):
            return True
    return False


def _looks(plan: Plan, name: AtomId) -> bool:
    """Is the probe at work on it a first look, rather than the ladder's last hope?"""
    return attempts_left(plan, plan.atoms[name], view(plan).shape) > 0
