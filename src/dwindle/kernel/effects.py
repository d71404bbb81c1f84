"""What each event does to a plan: one function an event, and the table that names them.

Each function first refuses (IllegalEvent) what cannot have happened to this plan, then returns
the plan after it. Consequences are not drawn here: `settle` does that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dwindle.kernel import branches, growth, pace
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
    Interruption,
    NewAtom,
    ProbeEnded,
    Redirected,
    RedirectRequested,
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
)
from dwindle.kernel.graph import (
    attempts_left,
    evolve,
    is_finished,
    is_startable,
    max_attempts,
    probes_left,
    view,
    with_atom,
)
from dwindle.kernel.measure import measure, rounds_left
from dwindle.kernel.model import (
    ROOT,
    Answer,
    Atom,
    AtomId,
    Binding,
    Pace,
    Plan,
    Question,
    Role,
    RunStatus,
    Session,
    Status,
    StopCode,
    TrailEntry,
    TrailType,
    Verification,
)
from dwindle.kernel.problems import structure_problems
from dwindle.kernel.redirects import redirected
from dwindle.kernel.settle import resolved

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
    stated = plan.limits.stated
    if "max_atoms" not in stated:  # its default follows the number of atoms: freeze it
        plan = replace(plan, limits=replace(plan.limits, stated=(*stated, "max_atoms")))
    for atom in plan.atoms.values():
        if atom.status is Status.IN_PROGRESS and atom.id not in plan.sessions:
            plan = with_atom(plan, replace(atom, status=Status.PENDING))
    return evolve(plan, control=control)


def run_ended(plan: Plan, event: RunEnded) -> Plan:
    if plan.sessions:
        raise IllegalEvent(event, f"sessions are still running: {', '.join(plan.sessions)}")
    status = RunStatus.STOPPED
    if event.code is StopCode.COMPLETED:
        if not is_verified(plan):
            raise IllegalEvent(event, "the base case has not been seen to hold")
        status = RunStatus.COMPLETED
    if event.code is StopCode.OR_EXHAUSTED:
        for atom in view(plan).exhausted:
            around = branches.innermost_choice(plan, atom)
            if around is not None and isinstance(branches.rung(plan, atom), branches.LastRung):
                plan = branches.with_failed_choice(plan, *around)
                break
    return evolve(
        plan,
        control=replace(
            plan.control, status=status, stop_code=event.code, stop_reason=event.reason
        ),
    )


def is_verified(plan: Plan) -> bool:
    seen = plan.verification
    return seen.passed and all(q.answer is Answer.YES for q in seen.questions)


def stop_requested(plan: Plan, event: StopRequested) -> Plan:
    if event.code is StopCode.COMPLETED:
        raise IllegalEvent(event, "completion is found out, not asked for")
    return evolve(
        plan,
        control=replace(
            plan.control, stop_requested=True, stop_reason=event.reason, stop_code=event.code
        ),
    )


def redirect_requested(plan: Plan, event: RedirectRequested) -> Plan:
    return evolve(plan, control=replace(plan.control, redirect_requested=event.active))


def waited(plan: Plan, _event: Waited) -> Plan:
    return plan


def settled(plan: Plan, event: Settled) -> Plan:
    if not view(plan).unsettled:
        raise IllegalEvent(event, "nothing is unsettled")
    return plan


# --- sessions ----------------------------------------------------------------------------------


def session_started(plan: Plan, event: SessionStarted) -> Plan:
    """Charge it and put it in flight."""
    if plan.control.stop_requested or plan.control.redirect_requested:
        raise IllegalEvent(event, "somebody asked to stop or to redirect")
    if ROOT in plan.sessions:
        raise IllegalEvent(event, "a verification is under way")
    if rounds_left(plan) <= 0:
        raise IllegalEvent(event, "no verification round is left, so nothing can be completed")
    if is_verified(plan):
        raise IllegalEvent(event, "the base case holds already")
    session = Session(
        nonce=plan.control.revision + 1, number=plan.spent.sessions + 1, role=event.role
    )
    spent = replace(plan.spent, sessions=session.number)
    sessions = {**plan.sessions, event.atom: session}
    if event.role is Role.VERIFIER:
        if event.atom != ROOT or not is_finished(plan) or plan.sessions:
            raise IllegalEvent(event, "something is still open or running")
        spent = replace(spent, verifications=spent.verifications + 1)
        return evolve(plan, spent=spent, sessions=sessions)
    refuse_start(plan, event)
    before = plan.atoms[event.atom]
    charged = (
        replace(before, attempts=before.attempts + 1)
        if event.role is Role.WORKER
        else replace(before, probes=before.probes + 1)
    )
    after = replace(charged, status=Status.IN_PROGRESS)
    started = with_atom(plan, after, spent=spent, sessions=sessions)
    return pace.counted_start(plan, started, session.nonce)


def refuse_start(plan: Plan, event: SessionStarted) -> None:
    seen = view(plan)
    atom = plan.atoms.get(event.atom)
    if atom is None or atom.id not in seen.live or atom.id in seen.shape.kids:
        raise IllegalEvent(event, f"{event.atom} is not a live leaf")
    if atom.status is not Status.PENDING:
        raise IllegalEvent(event, f"{atom.id} is {atom.status}")
    if not is_startable(seen.shape, seen.unmet, atom.id):
        raise IllegalEvent(event, f"{atom.id} has unmet dependencies")
    if not charges_left(plan, atom, event.role):
        raise IllegalEvent(event, f"{atom.id} has no {event.role} session left")
    if not pace.may_start(plan):
        raise IllegalEvent(event, "there is no free slot")
    if pace.begins_iteration(plan) and pace.iterations_left(plan) <= 0:
        raise IllegalEvent(event, "no iteration is left")


def charges_left(plan: Plan, atom: Atom, role: Role) -> int:
    if role is Role.PROBE:
        return probes_left(plan, atom)
    return attempts_left(plan, atom, view(plan).shape)


def ended(plan: Plan, event: SessionNews, atom: Atom | None = None) -> Plan:
    """The session is gone and its atom pending again (or as given)."""
    sessions = {a: s for a, s in plan.sessions.items() if a != event.atom}
    if event.atom == ROOT:
        return evolve(plan, sessions=sessions)
    after = replace(atom or plan.atoms[event.atom], status=Status.PENDING)
    return with_atom(plan, after, sessions=sessions)


def is_abandoned(plan: Plan, event: SessionNews) -> bool:
    """Its branch was given up while it ran: whatever it says comes too late."""
    return event.atom not in view(plan).live


def atom_resolved(plan: Plan, event: AtomResolved) -> Plan:
    plan_after = ended(plan, event)
    if is_abandoned(plan, event):
        return plan_after
    binding = Binding(summary=event.summary, artifacts=event.artifacts)
    plan_after = resolved(plan_after, event.atom, binding, event.at)
    return evolve(
        plan_after,
        pace=replace(plan_after.pace, branch_changed=True),
        verification=Verification(),
    )


def attempt_failed(plan: Plan, event: AttemptFailed | DeclaredInfeasible) -> Plan:
    atom = plan.atoms[event.atom]
    role = plan.sessions[event.atom].role
    if is_abandoned(plan, event):
        return ended(plan, event)
    after = atom
    if isinstance(event, DeclaredInfeasible):
        most = max_attempts(plan, atom, view(plan).shape)
        after = replace(atom, attempts=max(atom.attempts, most))
    plan = ended(plan, event, after)
    if role is Role.PROBE and isinstance(event, AttemptFailed):
        return plan
    entry = TrailEntry(
        type=TrailType.FAILURE,
        atom=event.atom,
        attempt=atom.attempts,
        reason=event.reason,
        timestamp=event.at,
    )
    return branches.with_trail(plan, entry)


def probe_ended(plan: Plan, event: ProbeEnded) -> Plan:
    return ended(plan, event)


def interrupted(plan: Plan, event: SessionInterrupted) -> Plan:
    """Forgiven while the pool lasts; after that it stays charged, and a rate limit ends the run."""
    if event.atom != ROOT and is_abandoned(plan, event):
        return ended(plan, event)
    if measure(plan).forgiven <= 0:
        plan = ended(plan, event)
        if event.cause is not Interruption.RATE_LIMIT:
            return plan
        reason = "the agent is rate limited and no interruption can be forgiven any more"
        halt = StopRequested(reason=reason, code=StopCode.AGENT_UNAVAILABLE)
        return stop_requested(plan, halt)
    spent = replace(plan.spent, forgiven=plan.spent.forgiven + 1)
    if event.atom == ROOT:
        spent = replace(spent, verifications=spent.verifications - 1)
        return evolve(ended(plan, event), spent=spent)
    return evolve(ended(plan, event, given_back(plan, event.atom)), spent=spent)


def given_back(plan: Plan, name: AtomId) -> Atom:
    """The atom without the charge of the session it is in."""
    atom = plan.atoms[name]
    if plan.sessions[name].role is Role.PROBE:
        return replace(atom, probes=atom.probes - 1)
    return replace(atom, attempts=atom.attempts - 1)


def reaped(plan: Plan, event: SessionReaped) -> Plan:
    if not is_abandoned(plan, event):
        raise IllegalEvent(event, f"{event.atom} is live; it cannot be reaped")
    return ended(plan, event)


# --- growth ------------------------------------------------------------------------------------


def decomposed(plan: Plan, event: Decomposed) -> Plan:
    if is_abandoned(plan, event):
        return ended(plan, event)
    after = growth.decomposed(
        _growing(plan, event, event.children, deeper=True), event.atom, event.children, event.reason
    )
    return _with_sound_structure(after, event)


def alternatives_proposed(plan: Plan, event: AlternativesProposed) -> Plan:
    if is_abandoned(plan, event):
        return ended(plan, event)
    after = growth.with_alternatives(
        _growing(plan, event, event.alternatives, deeper=False), event.atom, event.alternatives
    )
    group, choice = branches.enclosing_choices(after, event.atom)[0]
    after = branches.switched(after, group, choice, event.reason, event.at)
    return _with_sound_structure(after, event)


def _growing(
    plan: Plan, event: SessionNews, new: tuple[NewAtom, ...], *, deeper: bool
) -> Plan:
    problems = growth.growth_problems(plan, event.atom, new, deeper=deeper)
    if problems:
        raise IllegalEvent(_event(event), "the proposal cannot be taken", problems)
    return ended(plan, event)


def _with_sound_structure(plan: Plan, event: SessionNews) -> Plan:
    problems = structure_problems(plan)
    if problems:
        raise IllegalEvent(_event(event), "the proposal does not fit into the plan", problems)
    return plan


def _event(event: Any) -> Event:
    """Every SessionNews that is built is a member of the Event union."""
    found: Event = event
    return found


# --- choices -----------------------------------------------------------------------------------


def choice_failed(plan: Plan, event: ChoiceFailed) -> Plan:
    wanted = (branches.switch_rung(plan, a) for a in view(plan).exhausted)
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
    wanted = (branches.rung(plan, a) for a in view(plan).exhausted if a == event.atom)
    if branches.BackjumpRung(event.atom, event.group) not in wanted:
        raise IllegalEvent(event, f"{event.atom} does not ask to turn back to {event.group}")
    after = branches.backjumped(plan, event.group, event.reason, event.at)
    return branches.with_lost_commits(after, event.unreplayed)


# --- verification ------------------------------------------------------------------------------


def verification_ended(plan: Plan, event: VerificationEnded) -> Plan:
    """Passed, or fix atoms for what failed while a round and fuel are left."""
    if event.passed and event.gaps:
        raise IllegalEvent(event, "a base case with gaps did not pass")
    before = plan.verification
    plan = ended(plan, event)
    if event.passed:
        asked = tuple(Question(item=item) for item in event.questions)
        return evolve(plan, verification=Verification(passed=True, questions=asked))
    if not event.gaps:
        again = Verification(rounds_without_gaps=before.rounds_without_gaps + 1)
        return evolve(plan, verification=again)
    if rounds_left(plan) <= 0:
        return evolve(plan, verification=Verification(unmended=len(event.gaps)))
    after = growth.with_fixes(plan, event.gaps)
    unmended = len(event.gaps) if after.spent.created == plan.spent.created else 0
    return replace(after, verification=Verification(unmended=unmended))


def early_checked(plan: Plan, event: EarlyChecked) -> Plan:
    seen = Verification(passed=True) if event.passed else plan.verification
    return evolve(plan, pace=replace(plan.pace, branch_changed=False), verification=seen)


def confirmed(plan: Plan, event: Confirmed) -> Plan:
    asked = plan.verification.questions
    if event.item not in [q.item for q in asked]:
        raise IllegalEvent(event, f"nobody asked about {event.item!r}")
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
    Waited: waited,
    Settled: settled,
    SessionStarted: session_started,
    AtomResolved: atom_resolved,
    AttemptFailed: attempt_failed,
    DeclaredInfeasible: attempt_failed,
    ProbeEnded: probe_ended,
    SessionInterrupted: interrupted,
    SessionReaped: reaped,
    Decomposed: decomposed,
    AlternativesProposed: alternatives_proposed,
    ChoiceFailed: choice_failed,
    Backjumped: backjumped,
    VerificationEnded: verification_ended,
    EarlyChecked: early_checked,
    Confirmed: confirmed,
    Redirected: redirected,
}


def advances(plan: Plan, event: Event) -> bool:
    """Does it count as getting somewhere? A resolved atom, or a rung above the retry, does."""
    match event:
        case AtomResolved() | Decomposed() | AlternativesProposed():
            return not is_abandoned(plan, event)
        case ChoiceFailed() | Backjumped() | VerificationEnded() | Redirected():
            return True
        case SessionStarted(role=Role.PROBE):
            return event.atom in view(plan).exhausted
        case SessionStarted(role=Role.VERIFIER):
            return True
    return False


__all__ = ["EFFECTS", "Pace", "advances", "is_verified"]
