"""A person changes direction: what each kind of edit does.

Every redirect costs one of a limited number, whatever its scope, and may reset anything else; so
halting holds with redirects too. Sessions were killed before it and what they had been charged is
given back. Afterwards there is at least one verification round, no stall, and the run runs.
A redirect that changes nothing is refused and costs nothing.
"""

from __future__ import annotations

from dataclasses import replace

from dwindle.kernel import branches, edits, rewriting
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AddAtom,
    ChangeObjective,
    Edit,
    ForceChoice,
    OverrideBinding,
    Redirected,
    RemoveAtom,
    Retry,
    RewriteGraph,
    SetLimit,
)
from dwindle.kernel.graph import selected, view
from dwindle.kernel.measure import measure, rounds_left
from dwindle.kernel.model import (
    ROOT,
    Correction,
    CorrectionType,
    Pace,
    Plan,
    Role,
    RunStatus,
    Status,
    TrailEntry,
    TrailType,
    Verification,
)
from dwindle.kernel.problems import limit_problems, objective_problems
from dwindle.kernel.structure import structure_problems

SCOPES: dict[CorrectionType, tuple[type, ...]] = {
    CorrectionType.OBJECTIVE_CHANGE: (ChangeObjective,),
    CorrectionType.DAG_ADJUSTMENT: (AddAtom, RemoveAtom, ForceChoice, Retry, RewriteGraph),
    CorrectionType.CONSTRAINT_CHANGE: (SetLimit,),
    CorrectionType.BINDINGS_OVERRIDE: (OverrideBinding,),
}


def redirected(plan: Plan, event: Redirected) -> Plan:
    if measure(plan).redirects <= 0:
        raise IllegalEvent(event, "no redirect is left (max_redirects)")
    if plan.control.status is RunStatus.RUNNING and plan.control.stop_requested:
        raise IllegalEvent(event, f"the run is stopping: {plan.control.stop_reason}")
    if not event.edits or any(type(e) not in SCOPES[event.type] for e in event.edits):
        raise IllegalEvent(event, f"not every edit is a {event.type}")
    quiet = without_sessions(plan)
    after = quiet
    clears = event.type is CorrectionType.OBJECTIVE_CHANGE
    for edit in event.edits:
        before, after = after, edited(after, edit, event)
        if event.type is CorrectionType.DAG_ADJUSTMENT and not is_same(before, after):
            for about in corrected(before, after, edit):
                after = branches.with_trail(after, correction_entry(about, event))
    if is_same(quiet, after):
        raise IllegalEvent(event, "it would change nothing")
    if clears:
        after = with_new_epoch(after)
    if event.aligned is not None:
        after = replace(after, control=replace(after.control, aligned=event.aligned))
    after = branches.with_lost_commits(
        after, tuple(a for a in event.unreplayed if a in after.atoms)
    )
    refuse_broken(after, event)
    return restarted(after, event, trail_cleared=clears)


def edited(plan: Plan, edit: Edit, event: Redirected) -> Plan:
    match edit:
        case ChangeObjective():
            return edits.with_objective(plan, edit, event)
        case AddAtom():
            return edits.with_added(plan, edit, event)
        case RemoveAtom():
            return edits.with_removed(plan, edit, event)
        case ForceChoice():
            return edits.with_forced(plan, edit, event)
        case Retry():
            return edits.with_retried(plan, edit, event)
        case RewriteGraph():
            return rewriting.with_rewritten(plan, edit, event)
        case SetLimit():
            return edits.with_limit(plan, edit, event)
        case _:
            return edits.with_override(plan, edit, event)


def without_sessions(plan: Plan) -> Plan:
    """Everything in flight is over, and what it was charged is given back: the redirect pays."""
    atoms, spent = dict(plan.atoms), plan.spent
    for orphan in plan.atoms.values():
        if orphan.status is Status.IN_PROGRESS and orphan.id not in plan.sessions:
            atoms[orphan.id] = replace(orphan, status=Status.PENDING)
    for name, session in plan.sessions.items():
        if name == ROOT:
            spent = replace(spent, verifications=spent.verifications - 1)
            continue
        atom = replace(atoms[name], status=Status.PENDING)
        atoms[name] = (
            replace(atom, probes=atom.probes - 1)
            if session.role is Role.PROBE
            else replace(atom, attempts=atom.attempts - 1)
        )
    return replace(plan, atoms=atoms, spent=spent, sessions={})


def restarted(plan: Plan, event: Redirected, *, trail_cleared: bool) -> Plan:
    """Charged, recorded, and able to go on."""
    spent = replace(plan.spent, redirects=plan.spent.redirects + 1)
    if rounds_left(plan) < 1:
        spent = replace(spent, verifications=plan.limits.max_verifications - 1)
    noted = Correction(
        timestamp=event.at,
        type=event.type,
        description=event.description,
        trail_cleared=trail_cleared,
    )
    control = replace(
        plan.control,
        status=RunStatus.RUNNING,
        stall_count=0,
        stop_requested=False,
        stop_reason=None,
        stop_code=None,
        redirect_requested=False,
    )
    pace = Pace(started=plan.pace.started, branch_changed=plan.pace.branch_changed)
    return replace(
        plan,
        spent=spent,
        control=control,
        pace=pace,
        corrections=(*plan.corrections, noted),
        verification=Verification(),
    )


def refuse_broken(plan: Plan, event: Redirected) -> None:
    problems = (
        *objective_problems(plan),
        *(p for p in limit_problems(plan) if not p.warning),
        *structure_problems(plan),
    )
    if problems:
        raise IllegalEvent(event, "the plan would not be sound", problems)
    now, reserve = measure(plan), view(plan).reserve
    if now.fuel < reserve:
        raise IllegalEvent(
            event,
            f"{reserve} unwritten alternatives need fuel and {now.fuel} is left; "
            "raise max_atoms first",
        )
    if min(now) < 0:
        raise IllegalEvent(event, "a limit would be below what is spent")


def is_same(before: Plan, after: Plan) -> bool:
    """Order counts: it says what comes first."""
    orders = [(*plan.atoms, *plan.groups) for plan in (before, after)]
    return before == after and orders[0] == orders[1]


def corrected(before: Plan, after: Plan, edit: Edit) -> tuple[str, ...]:
    """What the correction was about, for the Trail.

    A choice that a person took is named, and so its group counts as decided then. Of everything
    else that happens to a choice the group is named: to be given another way is no decision.
    """
    match edit:
        case ForceChoice():
            return (edit.choice,)
        case RemoveAtom():
            return (edit.atom,)
        case Retry():
            if edit.node == ROOT:
                return ()
            about: str = edit.node
        case AddAtom():
            about = next(n for n in after.atoms if n not in before.atoms)
        case _:
            if taken := rewriting.taken_choices(before, after):
                return taken
            about = rewriting.first_change(before, after)
    return (view(after).shape.group_of.get(about, about),)


def correction_entry(about: str, event: Redirected) -> TrailEntry:
    return TrailEntry(
        type=TrailType.USER_CORRECTION, atom=about, reason=event.description, timestamp=event.at
    )


def with_new_epoch(plan: Plan) -> Plan:
    """A new objective: every budget but the redirects is refilled; past failures are no guide."""
    return replace(
        plan,
        spent=replace(
            plan.spent, forgiven=0, winds=0, verifications=0, backjumps=0, created=len(plan.atoms)
        ),
        groups={
            n: replace(g, failed=(), selected=selected(plan, g) or g.selected)
            for n, g in plan.groups.items()
        },
        atoms={n: a if a.status is Status.RESOLVED else a.unspent() for n, a in plan.atoms.items()},
        trail=(),
    )
