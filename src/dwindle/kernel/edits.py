"""What a person may change: one function an edit, each from a plan to a plan.

They refuse (IllegalEvent) what makes no sense and leave charging, recording and the check of the
whole to `redirects`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from dwindle.kernel import branches, growth
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AddAtom,
    ChangeObjective,
    ForceChoice,
    OverrideBinding,
    Redirected,
    RemoveAtom,
    Retry,
    SetLimit,
)
from dwindle.kernel.graph import base_attempts, is_resolved, selected, unfailed, view
from dwindle.kernel.measure import fuel
from dwindle.kernel.model import (
    ROOT,
    Atom,
    AtomId,
    Binding,
    Decomposition,
    Dispatch,
    GroupId,
    Limits,
    OrGroup,
    Plan,
    Status,
)
from dwindle.kernel.problems import COUNTED_LIMITS
from dwindle.kernel.shape import chain, subtree


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
    if edit.atom not in plan.atoms:
        raise IllegalEvent(event, f"there is no atom {edit.atom}")
    shape = view(plan).shape
    gone: dict[str, None] = dict.fromkeys(subtree(shape, edit.atom))
    refuse_removal(plan, gone, event)
    groups = {n: g for n, g in plan.groups.items() if n not in gone}
    group = plan.groups.get(GroupId(shape.parent[edit.atom]))
    if group is not None:
        groups[group.id] = without_choice(plan, group, edit.atom, event)
    made = [
        replace(d, children=tuple(c for c in d.children if c not in gone))
        for d in plan.decompositions
        if d.parent not in gone
    ]
    childless = [d.parent for d in made if not d.children]  # leaves again, with fresh attempts
    return replace(
        plan,
        atoms={
            n: replace(a, attempts=0, infeasible=None) if n in childless else a
            for n, a in plan.atoms.items()
            if n not in gone
        },
        groups=groups,
        decompositions=tuple(d for d in made if d.children),
        bindings={n: b for n, b in plan.bindings.items() if n not in gone},
    )


def refuse_removal(plan: Plan, gone: Mapping[str, None], event: Redirected) -> None:
    for name, atom in plan.atoms.items():
        if name in gone and atom.status is Status.RESOLVED:
            raise IllegalEvent(event, f"{name} is resolved and cannot be removed")
        needed = [t for t in atom.depends_on if t in gone]
        if name not in gone and needed:
            raise IllegalEvent(event, f"{name} depends on {', '.join(needed)}")
    if all(name in gone for name in plan.atoms):
        raise IllegalEvent(event, "a plan keeps at least one atom")


def without_choice(plan: Plan, group: OrGroup, choice: AtomId, event: Redirected) -> OrGroup:
    rest = tuple(c for c in group.choices if c != choice)
    left = replace(group, choices=rest, failed=tuple(f for f in group.failed if f in rest))
    if not unfailed(left) or not any(c in plan.atoms for c in rest):
        raise IllegalEvent(event, f"{group.id} keeps one written choice, and one that can be taken")
    return left if left.selected in rest else replace(left, selected=unfailed(left)[0])


def with_forced(plan: Plan, edit: ForceChoice, event: Redirected) -> Plan:
    """The person decides; everything in the group and built upon it is done again."""
    group = plan.groups.get(edit.group)
    if group is None or edit.choice not in group.choices:
        raise IllegalEvent(event, f"{edit.choice} is no choice of {edit.group}")
    if edit.group not in view(plan).live:
        raise IllegalEvent(event, f"{edit.group} stands under a choice that is not in force")
    shape = view(plan).shape
    built_upon = branches.dependents(plan, (edit.group,))
    forced = replace(
        group,
        selected=edit.choice,
        speculative=False,
        failed=tuple(f for f in group.failed if f != edit.choice),
    )
    plan = replace(plan, groups={**plan.groups, edit.group: forced})
    choices = (AtomId(n) for c in unfailed(forced) for n in subtree(shape, c) if n in plan.atoms)
    return branches.reopened(plan, (*built_upon, *choices))


def with_retried(plan: Plan, edit: Retry, event: Redirected) -> Plan:
    """The person removed the cause: all attempts and probes anew, and choices that failed, too.

    What is resolved stays so, but for what stands under a choice that had failed: its work was
    taken off the branch.
    """
    if edit.node == ROOT:
        return replace(plan, spent=replace(plan.spent, verifications=0))
    _refuse_retry(plan, edit.node, event)
    shape = view(plan).shape
    below = dict.fromkeys(n for n in subtree(shape, edit.node) if not is_resolved(plan, n))
    groups = {n: g for n, g in plan.groups.items() if n in below}
    again = dict.fromkeys(n for g in groups.values() for c in g.failed for n in subtree(shape, c))
    atoms = dict(plan.atoms)
    for name, atom in plan.atoms.items():
        if name in below or name in again:
            fresh = atom if name in shape.kids else atom.unspent()
            atoms[name] = replace(fresh, status=Status.PENDING)
    reopened = {
        n: replace(g, failed=(), selected=selected(plan, g) or g.selected)
        for n, g in groups.items()
    }
    return replace(
        plan,
        groups={**plan.groups, **reopened},
        atoms=atoms,
        bindings={n: b for n, b in plan.bindings.items() if n not in again},
    )


def _refuse_retry(plan: Plan, node: str, event: Redirected) -> None:
    seen = view(plan)
    if node not in plan.atoms and node not in plan.groups:
        raise IllegalEvent(event, f"there is no atom or group {node}")
    if node in seen.buried:
        above = next(n for n in chain(seen.shape, node) if n in seen.shape.group_of)
        group = seen.shape.group_of[above]
        raise IllegalEvent(event, f"{group} gave {above} up: retry {group}, or select {above}")
    if node not in seen.live:
        raise IllegalEvent(event, f"{node} stands under a choice that is not in force")
    if is_resolved(plan, node):
        raise IllegalEvent(event, f"{node} is resolved")


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
    if getattr(plan.limits, edit.name) == value:
        return plan
    limits = replace(plan.limits.stating(edit.name), **{edit.name: value})  # type: ignore[arg-type]
    after = replace(plan, limits=limits)
    return _with_raised_grants(after) if edit.name == "max_attempts" else after


def _with_raised_grants(plan: Plan) -> Plan:
    """A user who raises the attempts raises those of a wind under way, too."""
    shape = view(plan).shape
    return replace(
        plan,
        atoms={
            n: a
            if a.allowed is None
            else replace(a, allowed=max(a.allowed, base_attempts(plan, a, shape)))
            for n, a in plan.atoms.items()
        },
    )


def refuse_overdrawn(plan: Plan, name: str, value: float | str, event: Redirected) -> None:
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
        "max_winds": spent.winds,
        "max_atoms": spent.created + view(plan).reserve,
        "max_attempts": max(
            (a.attempts for a in _open_leaves(plan) if a.max_attempts is None and not a.or_group),
            default=0,
        ),
        "max_probes": max((a.probes for a in _open_leaves(plan)), default=0),
        "max_wall_seconds": spent.seconds,
        "max_tokens": spent.tokens,
        "max_cost_usd": spent.usd,
    }
    if name in least and value < least[name]:
        raise IllegalEvent(event, f"{name} cannot be {value}: {least[name]:g} is taken already")


def _open_leaves(plan: Plan) -> tuple[Atom, ...]:
    """Leaves that may still be worked on."""
    seen = view(plan)
    return tuple(
        a
        for a in plan.atoms.values()
        if a.status is not Status.RESOLVED
        and a.id not in seen.buried
        and a.id not in seen.shape.kids
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
