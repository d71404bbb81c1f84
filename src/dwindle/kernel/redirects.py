"""A person changes direction: what each kind of edit does.

Every redirect costs one of a limited number, whatever its scope, and may reset anything else; so
halting holds with redirects too. Sessions were killed before it and what they had been charged is
given back. Afterwards there is at least one verification round, no stall, and the run runs.
A redirect that changes nothing is refused and costs nothing.
"""

from __future__ import annotations

from dataclasses import fields, replace

from dwindle.kernel import branches, growth
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AddAtom,
    ChangeObjective,
    Edit,
    ForceChoice,
    OverrideBinding,
    Redirected,
    RemoveAtom,
    SetLimit,
)
from dwindle.kernel.graph import selected, subtree, unfailed, view
from dwindle.kernel.measure import fuel, measure, rounds_left
from dwindle.kernel.model import (
    ROOT,
    Atom,
    AtomId,
    Binding,
    Correction,
    CorrectionType,
    Decomposition,
    Dispatch,
    GroupId,
    Limits,
    Pace,
    Plan,
    Role,
    RunStatus,
    Status,
    TrailEntry,
    TrailType,
    Verification,
)
from dwindle.kernel.problems import COUNTED_LIMITS, limit_problems, structure_problems

SCOPES: dict[CorrectionType, tuple[type, ...]] = {
    CorrectionType.OBJECTIVE_CHANGE: (ChangeObjective,),
    CorrectionType.DAG_ADJUSTMENT: (AddAtom, RemoveAtom, ForceChoice),
    CorrectionType.CONSTRAINT_CHANGE: (SetLimit,),
    CorrectionType.BINDINGS_OVERRIDE: (OverrideBinding,),
}


def redirected(plan: Plan, event: Redirected) -> Plan:
    if measure(plan).redirects <= 0:
        raise IllegalEvent(event, "no redirect is left (max_redirects)")
    if not event.edits or any(type(e) not in SCOPES[event.type] for e in event.edits):
        raise IllegalEvent(event, f"not every edit is a {event.type}")
    quiet = without_sessions(plan)
    after = quiet
    for edit in event.edits:
        after = edited(after, edit, event)
    if after == quiet:
        raise IllegalEvent(event, "it would change nothing")
    clears = event.type is CorrectionType.OBJECTIVE_CHANGE
    if clears:
        after = with_new_epoch(after, event)
    elif event.type is CorrectionType.DAG_ADJUSTMENT:
        after = branches.with_trail(after, correction_entry(event))
    refuse_broken(after, event)
    return restarted(after, event, trail_cleared=clears)


def edited(plan: Plan, edit: Edit, event: Redirected) -> Plan:
    match edit:
        case ChangeObjective():
            return with_objective(plan, edit, event)
        case AddAtom():
            return with_added(plan, edit, event)
        case RemoveAtom():
            return with_removed(plan, edit, event)
        case ForceChoice():
            return with_forced(plan, edit, event)
        case SetLimit():
            return with_limit(plan, edit, event)
        case OverrideBinding():
            return with_override(plan, edit, event)


def without_sessions(plan: Plan) -> Plan:
    """Everything in flight is over, and what it was charged is given back: the redirect pays."""
    atoms, spent = dict(plan.atoms), plan.spent
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


def correction_entry(event: Redirected) -> TrailEntry:
    """A forced choice names the choice, so that the Trail knows when its group was decided last."""
    about = ""
    for edit in event.edits:
        match edit:
            case ForceChoice():
                about = edit.choice
            case RemoveAtom():
                about = about or edit.atom
    return TrailEntry(
        type=TrailType.USER_CORRECTION, atom=about, reason=event.description, timestamp=event.at
    )


# --- the edits -----------------------------------------------------------------------------------


def with_objective(plan: Plan, edit: ChangeObjective, event: Redirected) -> Plan:
    given = {
        f.name: getattr(edit, f.name)
        for f in fields(edit)
        if f.name != "reopen" and getattr(edit, f.name) is not None
    }
    for name in edit.reopen:
        if name not in plan.atoms or plan.atoms[name].status is not Status.RESOLVED:
            raise IllegalEvent(event, f"{name} is not resolved, so it cannot be reopened")
    plan = replace(plan, objective=replace(plan.objective, **given))
    if not edit.reopen:
        return plan
    shape = view(plan).shape
    below = [AtomId(n) for top in edit.reopen for n in subtree(shape, top) if n in plan.atoms]
    return branches.reopened(plan, (*below, *branches.dependents(plan, below)))


def with_new_epoch(plan: Plan, event: Redirected) -> Plan:
    """A new objective: every budget but the redirects is refilled; past failures are no guide."""
    control = plan.control
    if event.aligned is not None:
        control = replace(control, aligned=event.aligned)
    return replace(
        plan,
        control=control,
        spent=replace(
            plan.spent, forgiven=0, verifications=0, backjumps=0, created=len(plan.atoms)
        ),
        groups={n: replace(g, failed=()) for n, g in plan.groups.items()},
        atoms={
            n: a if a.status is Status.RESOLVED else replace(a, attempts=0, probes=0)
            for n, a in plan.atoms.items()
        },
        trail=(),
    )


def with_added(plan: Plan, edit: AddAtom, event: Redirected) -> Plan:
    room = fuel(plan) - view(plan).reserve
    if room < 1:
        raise IllegalEvent(event, "no fuel is left for a new atom; raise max_atoms first")
    if edit.parent is not None and edit.group is not None:
        raise IllegalEvent(event, "an atom is added under a parent or to a group, not both")
    if not edit.new.description.strip():
        raise IllegalEvent(event, "the new atom has no description")
    name = growth.next_ids(plan, 1)[0]
    if edit.group is not None:
        return _added_choice(plan, edit, name, event)
    if edit.parent is None:
        return growth.with_atoms(plan, growth.written_out((edit.new,), (name,), ()))
    return _added_child(plan, edit, edit.parent, name, event)


def _added_choice(plan: Plan, edit: AddAtom, name: AtomId, event: Redirected) -> Plan:
    group = plan.groups.get(edit.group) if edit.group is not None else None
    if group is None:
        raise IllegalEvent(event, f"there is no group {edit.group}")
    first = plan.atoms[next(c for c in group.choices if c in plan.atoms)]
    (atom,) = growth.written_out((edit.new,), (name,), first.depends_on)
    plan = growth.with_atoms(plan, (replace(atom, or_group=group.id),), beside=first.id)
    wider = replace(group, choices=(*group.choices, name))
    return replace(plan, groups={**plan.groups, group.id: wider})


def _added_child(
    plan: Plan, edit: AddAtom, parent: AtomId, name: AtomId, event: Redirected
) -> Plan:
    above = plan.atoms.get(parent)
    if above is None:
        raise IllegalEvent(event, f"there is no atom {parent}")
    composite = parent in view(plan).shape.kids
    if above.status is Status.RESOLVED and not composite:
        raise IllegalEvent(event, f"{parent} is resolved; add the atom under the root instead")
    too_deep = growth.growth_problems(plan, parent, (edit.new,), deeper=True)
    if too_deep:
        raise IllegalEvent(event, "the atom cannot be added there", too_deep)
    plan = growth.with_atoms(plan, growth.written_out((edit.new,), (name,), above.depends_on))
    made = tuple(
        replace(d, children=(*d.children, name)) if d.parent == parent else d
        for d in plan.decompositions
    )
    if not composite:
        made = (*made, Decomposition(parent=parent, children=(name,), reason=event.description))
    plan = replace(plan, decompositions=made)
    return branches.reopened(plan, (name, *branches.dependents(plan, (name,))))


def with_removed(plan: Plan, edit: RemoveAtom, event: Redirected) -> Plan:
    """Only what is unresolved and what nothing depends on; its subtree goes with it."""
    shape = view(plan).shape
    if edit.atom not in plan.atoms:
        raise IllegalEvent(event, f"there is no atom {edit.atom}")
    gone: dict[str, None] = dict.fromkeys(subtree(shape, edit.atom))
    for name in gone:
        atom = plan.atoms.get(AtomId(name))
        if atom is not None and atom.status is Status.RESOLVED:
            raise IllegalEvent(event, f"{name} is resolved and cannot be removed")
    group = plan.groups.get(GroupId(shape.parent[edit.atom]))
    for name, atom in plan.atoms.items():
        for target in atom.depends_on:
            meant = target if group is None else shape.group_of.get(target, target)
            if name not in gone and (meant in gone or target in gone):
                raise IllegalEvent(event, f"{name} depends on {target}")
    if len(plan.atoms) == sum(1 for a in plan.atoms if a in gone):
        raise IllegalEvent(event, "a plan keeps at least one atom")
    groups = {n: g for n, g in plan.groups.items() if n not in gone}
    if group is not None:
        rest = tuple(c for c in group.choices if c != edit.atom)
        if not any(c in plan.atoms for c in rest):
            raise IllegalEvent(event, f"{group.id} keeps at least one written choice")
        left = replace(group, choices=rest, failed=tuple(f for f in group.failed if f in rest))
        if left.selected not in rest:
            left = replace(left, selected=(unfailed(left) or rest)[0])
        groups[group.id] = left
    made = (
        replace(d, children=tuple(c for c in d.children if c not in gone))
        for d in plan.decompositions
        if d.parent not in gone
    )
    return replace(
        plan,
        atoms={n: a for n, a in plan.atoms.items() if n not in gone},
        groups=groups,
        decompositions=tuple(d for d in made if d.children),
        bindings={n: b for n, b in plan.bindings.items() if n not in gone},
    )


def with_forced(plan: Plan, edit: ForceChoice, event: Redirected) -> Plan:
    """The person decides; everything in the group and built upon it is done again."""
    group = plan.groups.get(edit.group)
    if group is None or edit.choice not in group.choices:
        raise IllegalEvent(event, f"{edit.choice} is no choice of {edit.group}")
    if edit.group not in view(plan).live:
        raise IllegalEvent(event, f"{edit.group} stands under a choice that is not in force")
    if selected(plan, group) == edit.choice and not group.speculative:
        return plan
    shape = view(plan).shape
    built_upon = branches.dependents(plan, (edit.group,))
    forced = replace(
        group,
        selected=edit.choice,
        speculative=False,
        failed=tuple(f for f in group.failed if f != edit.choice),
    )
    plan = replace(plan, groups={**plan.groups, edit.group: forced})
    choices = (
        AtomId(n) for c in unfailed(forced) for n in subtree(shape, c) if n in plan.atoms
    )
    return branches.reopened(plan, (*built_upon, *choices))


def with_limit(plan: Plan, edit: SetLimit, event: Redirected) -> Plan:
    known = {f.name: f for f in fields(Limits) if f.name != "stated"}
    if edit.name not in known:
        raise IllegalEvent(event, f"{edit.name} is no limit")
    value = edit.value
    if edit.name == "dispatch":
        if value not in tuple(Dispatch):
            raise IllegalEvent(event, "dispatch is wave or refill")
        value = Dispatch(str(value))
    elif edit.name == "early_verify":
        if not isinstance(value, bool):
            raise IllegalEvent(event, "early_verify is true or false")
    elif isinstance(value, (bool, str)) or (
        isinstance(value, float) and edit.name != "max_cost_usd"
    ):
        raise IllegalEvent(event, f"{edit.name} is a whole number")
    refuse_overdrawn(plan, edit.name, value, event)
    stated = plan.limits.stated
    if edit.name not in stated:
        stated = (*stated, edit.name)
    if getattr(plan.limits, edit.name) == value:
        return plan
    return replace(plan, limits=replace(plan.limits, **{edit.name: value, "stated": stated}))  # type: ignore[arg-type]


def refuse_overdrawn(
    plan: Plan, name: str, value: int | float | str | bool, event: Redirected
) -> None:
    """A limit never falls below what is spent, and the number of redirects never rises."""
    if name not in COUNTED_LIMITS or isinstance(value, str):
        return
    spent = plan.spent
    if name == "max_redirects" and value > plan.limits.max_redirects:
        raise IllegalEvent(event, "max_redirects cannot be raised by a redirect")
    least: dict[str, float] = {
        "max_iterations": plan.control.iteration,
        "max_redirects": spent.redirects + 1,
        "max_forgiven": spent.forgiven,
        "max_verifications": spent.verifications,
        "max_backjumps": spent.backjumps,
        "max_atoms": spent.created + view(plan).reserve,
        "max_attempts": max((a.attempts for a in _default_leaves(plan)), default=0),
        "max_probes": max((a.probes for a in _default_leaves(plan)), default=0),
        "max_wall_seconds": spent.seconds,
        "max_tokens": spent.tokens,
        "max_cost_usd": spent.usd,
    }
    if value < least.get(name, 0):
        raise IllegalEvent(event, f"{name} cannot be {value}: {least[name]:g} is spent already")


def _default_leaves(plan: Plan) -> tuple[Atom, ...]:
    """Leaves that may still be worked on and whose limit is the general one."""
    seen = view(plan)
    return tuple(
        a
        for a in plan.atoms.values()
        if a.status is not Status.RESOLVED
        and a.id not in seen.buried
        and a.id not in seen.shape.kids
        and a.id not in seen.shape.group_of
        and a.max_attempts is None
    )


def with_override(plan: Plan, edit: OverrideBinding, event: Redirected) -> Plan:
    atom = plan.atoms.get(edit.atom)
    if atom is None or atom.status is not Status.RESOLVED or edit.atom not in view(plan).live:
        raise IllegalEvent(event, f"{edit.atom} is not a resolved atom")
    before = plan.bindings.get(edit.atom, Binding(summary=""))
    after = Binding(
        summary=edit.summary,
        artifacts=before.artifacts if edit.artifacts is None else edit.artifacts,
    )
    if after == before:
        return plan
    built_upon = branches.dependents(plan, (edit.atom,))
    plan = replace(plan, bindings={**plan.bindings, edit.atom: after})
    return branches.reopened(plan, built_upon)
