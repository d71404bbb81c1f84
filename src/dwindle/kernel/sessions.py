"""What the start and the end of a session do to a plan.

A start is charged. An end puts the atom back, resolves it, or grows the plan. Each function first
refuses (IllegalEvent) what cannot have happened; consequences are drawn by `settle`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dwindle.kernel import branches, growth, pace, tree_edits
from dwindle.kernel.base_case import is_mechanical
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AlternativesProposed,
    AtomResolved,
    AttemptFailed,
    DeclaredInfeasible,
    Decomposed,
    Event,
    Interruption,
    NewAtom,
    ProbeEnded,
    Replanned,
    SessionInterrupted,
    SessionNews,
    SessionReaped,
    SessionStarted,
)
from dwindle.kernel.graph import (
    attempts_left,
    evolve,
    failures,
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
    Plan,
    PlanKind,
    Role,
    Session,
    Status,
    StopCode,
    TrailEntry,
    TrailType,
    TreeEdit,
    Verification,
)
from dwindle.kernel.settle import resolved
from dwindle.kernel.structure import structure_problems


def is_verified(plan: Plan) -> bool:
    """The end has been seen to hold. A tree needs no round of its own: each leaf had its guard."""
    if plan.kind is PlanKind.TREE:
        return is_finished(plan)
    seen = plan.verification
    return seen.passed and all(q.answer is Answer.YES for q in seen.questions)


# --- sessions ----------------------------------------------------------------------------------


def session_started(plan: Plan, event: SessionStarted) -> Plan:
    """Charge it and put it in flight."""
    if plan.control.stop_requested or plan.control.redirect_requested:
        raise IllegalEvent(event, "a stop or a redirect was requested")
    if ROOT in plan.sessions:
        raise IllegalEvent(event, "a verification is under way")
    if plan.kind is PlanKind.GRAPH and rounds_left(plan) <= 0:
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
    inner = event.atom in seen.shape.kids and not _is_repair(plan, event)
    if atom is None or atom.id not in seen.live or inner:
        raise IllegalEvent(event, f"{event.atom} is not a live leaf")
    if atom.status is not Status.PENDING:
        raise IllegalEvent(event, f"{atom.id} is {atom.status}")
    if not is_startable(seen.shape, seen.unmet, atom.id):
        raise IllegalEvent(event, f"{atom.id} has unmet dependencies")
    if atom.infeasible is not None and event.role is Role.WORKER:
        raise IllegalEvent(event, f"{atom.id} was called infeasible; only a probe may look at it")
    if not charges_left(plan, atom, event.role):
        raise IllegalEvent(event, f"{atom.id} has no {event.role} session left")
    if not pace.may_start(plan):
        raise IllegalEvent(event, "there is no free slot")
    if pace.begins_iteration(plan) and pace.iterations_left(plan) <= 0:
        raise IllegalEvent(event, "no iteration is left")


def _is_repair(plan: Plan, event: SessionStarted) -> bool:
    """Only to repair a tree does a session work on a node that has children: its root."""
    is_root = event.atom == tree_edits.TREE_ROOT and event.role is Role.PROBE
    return is_root and tree_edits.wants_repair(plan)


def charges_left(plan: Plan, atom: Atom, role: Role) -> int:
    if role is Role.PROBE:
        return probes_left(plan, atom)
    return attempts_left(plan, atom, view(plan).shape)


def ended(plan: Plan, event: SessionNews, atom: Atom | None = None) -> Plan:
    """The session is gone and its atom pending again (or as given)."""
    sessions = _sessions_without(plan, event.atom)
    if event.atom == ROOT:
        return evolve(plan, sessions=sessions)
    after = replace(atom or plan.atoms[event.atom], status=Status.PENDING)
    return with_atom(plan, after, sessions=sessions)


def _sessions_without(plan: Plan, atom: AtomId) -> dict[AtomId, Session]:
    return {a: s for a, s in plan.sessions.items() if a != atom}


def is_abandoned(plan: Plan, event: SessionNews) -> bool:
    """Its branch was given up while it ran: whatever it says comes too late."""
    return event.atom not in view(plan).live


def atom_resolved(plan: Plan, event: AtomResolved) -> Plan:
    if is_abandoned(plan, event):
        return ended(plan, event)
    if event.edit is None:
        plan_after = evolve(plan, sessions=_sessions_without(plan, event.atom))
    else:
        plan_after = _as_edited(ended(plan, event), event.edit, event)
    if event.atom not in plan_after.atoms or event.atom in view(plan_after).shape.kids:
        raise IllegalEvent(event, f"{event.atom} is no leaf of the tree any more")
    if plan.kind is PlanKind.TREE:  # the file counts failures, and this session was none
        atom = plan_after.atoms[event.atom]
        plan_after = with_atom(plan_after, replace(atom, attempts=atom.attempts - 1))
    binding = Binding(summary=event.summary, artifacts=event.artifacts)
    plan_after = resolved(plan_after, event.atom, binding, event.at)
    return evolve(
        plan_after,
        pace=replace(plan_after.pace, branch_changed=True),
        verification=Verification(),
        refused_edits=0,
    )


def attempt_failed(plan: Plan, event: AttemptFailed | DeclaredInfeasible) -> Plan:
    atom = plan.atoms[event.atom]
    role = plan.sessions[event.atom].role
    if is_abandoned(plan, event):
        return ended(plan, event)
    after, planner = atom, None
    if isinstance(event, DeclaredInfeasible):
        after = _given_up(plan, atom, event.reason)
    elif role is Role.PROBE and plan.kind is PlanKind.TREE:
        after = _failed_planning(plan, atom)
        planner = event.atom if after.probes == atom.probes else None
    refused = _refusals(plan, event)
    plan = evolve(ended(plan, event, after), refused_edits=refused)
    if isinstance(event, AttemptFailed):
        plan = _as_edited(plan, event.edit, event, planner)
    if role is Role.PROBE and isinstance(event, AttemptFailed):
        return plan
    entry = TrailEntry(
        type=TrailType.FAILURE,
        atom=event.atom,
        attempt=failures(plan).get(event.atom, 0) + 1,
        reason=event.reason,
        timestamp=event.at,
    )
    plan = branches.with_trail(plan, entry)
    return branches.with_next_turn(plan, event.atom, event.at)


def _given_up(plan: Plan, atom: Atom, reason: str) -> Atom:
    """Its attempts are used up and the reason is kept, until a probe disagrees.

    What a wind granted is forgotten when it is called infeasible for the first time: the next wind
    grants anew and asks. If it is granted something already, it has been asked about.
    """
    allowed = None if atom.infeasible is None else atom.allowed
    after = replace(atom, infeasible=reason, allowed=allowed)
    most = max_attempts(plan, after, view(plan).shape)
    return replace(after, attempts=max(atom.attempts, most))


def _failed_planning(plan: Plan, atom: Atom) -> Atom:
    """In a tree every failure is an attempt, beyond `max_attempts` too.

    Where one was left, it is used in place of the planning session. So what stands in the file up
    to `max_attempts` was never planning, and what is above it always was: from that, and its
    commits, it follows how many planning sessions a node has used.
    """
    failed = replace(atom, attempts=atom.attempts + 1)
    if attempts_left(plan, atom, view(plan).shape):
        return replace(failed, probes=atom.probes - 1)
    return failed


def replanned(plan: Plan, event: Replanned) -> Plan:
    """A worker who only planned has its attempt back for a planning session, if one is left."""
    if plan.kind is not PlanKind.TREE:
        raise IllegalEvent(event, "only a tree is planned by editing it")
    atom = plan.atoms[event.atom]
    is_planner = plan.sessions[event.atom].role is Role.PROBE
    if not is_planner and probes_left(plan, atom):
        atom = replace(given_back(plan, event.atom), probes=atom.probes + 1)
    after = evolve(ended(plan, event, atom), refused_edits=0)
    return _as_edited(after, event.edit, event, event.atom if is_planner else None)


def _refusals(plan: Plan, event: AttemptFailed | DeclaredInfeasible) -> int:
    """How many edits in a row were refused; a repair without a result counts as one."""
    planned = plan.sessions[event.atom].role is Role.PROBE and event.atom == tree_edits.TREE_ROOT
    if planned and tree_edits.is_refused(plan):
        return plan.refused_edits + 1
    return int(isinstance(event, AttemptFailed) and event.refused)


def _as_edited(
    plan: Plan, edit: TreeEdit | None, event: SessionNews, planner: AtomId | None = None
) -> Plan:
    if edit is None:
        return plan
    if plan.kind is not PlanKind.TREE:
        raise IllegalEvent(_event(event), "only a tree is planned by editing it")
    problems = tuple(tree_edits.edit_problems(plan, edit))
    if problems:
        raise IllegalEvent(_event(event), "the edit of the tree cannot be taken", problems)
    return tree_edits.edited(plan, edit, planner)


def probe_ended(plan: Plan, event: ProbeEnded) -> Plan:
    """It ended without a plan, so it takes the atom to be feasible."""
    if is_abandoned(plan, event):
        return ended(plan, event)
    return ended(plan, event, replace(plan.atoms[event.atom], infeasible=None))


def interrupted(plan: Plan, event: SessionInterrupted) -> Plan:
    """Forgiven while the pool lasts; after that it stays charged, and a rate limit ends the run."""
    if event.atom != ROOT and is_abandoned(plan, event):
        return ended(plan, event)
    if measure(plan).forgiven <= 0:
        plan = ended(plan, event)
        if event.cause is not Interruption.RATE_LIMIT:
            return plan
        reason = "the agent is rate limited and no interruption can be forgiven any more"
        return asked_to_stop(plan, reason, StopCode.AGENT_UNAVAILABLE)
    spent = replace(plan.spent, forgiven=plan.spent.forgiven + 1)
    if event.atom == ROOT:
        spent = replace(spent, verifications=spent.verifications - 1)
        return evolve(ended(plan, event), spent=spent)
    return evolve(ended(plan, event, given_back(plan, event.atom)), spent=spent)


def wants_early_check(plan: Plan) -> bool:
    """The branch changed in an iteration that is over, and machines alone can judge it."""
    return (
        plan.limits.early_verify
        and plan.pace.branch_changed
        and ROOT not in plan.sessions
        and (pace.begins_iteration(plan) or not plan.sessions)
        and not is_finished(plan)
        and is_mechanical(plan.objective.base_case)
    )


def asked_to_stop(plan: Plan, reason: str, code: StopCode) -> Plan:
    control = replace(plan.control, stop_requested=True, stop_reason=reason, stop_code=code)
    return evolve(plan, control=control)


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


def _growing(plan: Plan, event: SessionNews, new: tuple[NewAtom, ...], *, deeper: bool) -> Plan:
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
