"""The AND/OR plan as nodes, brought up to date after every event.

After most events nearly all nodes are as they were, and the kernel keeps what has not changed as
the same object. So only what is another object now, and what stands above it, is made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dwindle.app.plans.standing import AtomStanding, standing_of
from dwindle.app.plans.undone import Undone, all_parked, reasons, undone
from dwindle.kernel.graph import View, is_resolved, max_attempts, selected, unfailed, view
from dwindle.kernel.model import (
    ROOT,
    AtomId,
    Check,
    CheckType,
    GroupId,
    OrGroup,
    Plan,
    RunStatus,
    Status,
)
from dwindle.kernel.shape import chain, subtree
from dwindle.text.escape import excerpt
from dwindle.views.read_model.shapes import BindingView, NodeStatus, NodeView

BY_STANDING: Final[dict[AtomStanding, NodeStatus]] = {
    AtomStanding.RESOLVED: "resolved",
    AtomStanding.RUNNING: "running",
    AtomStanding.READY: "pending",
    AtomStanding.WAITING: "pending",
    AtomStanding.SPLIT: "pending",
    AtomStanding.RESERVE: "pending",
    AtomStanding.EXHAUSTED: "failed",
    AtomStanding.PARKED: "parked",
    AtomStanding.FAILED: "left",
}
NAMED: Final = 20
"""Atoms that one atom holds up and that are sent with it; of a long plan it may be all."""


class Nodes:
    """All nodes of a plan, by id; `update` says which are new, changed or gone."""

    def __init__(self) -> None:
        self.by_id: dict[str, NodeView] = {}
        """Parents before children; the root first."""
        self.undone: Mapping[str, Undone] = {}
        """What is parked; of a run that has ended, also what failed and is not done."""
        self._plan: Plan | None = None
        self._place: dict[str, int] = {}

    def update(self, plan: Plan) -> tuple[list[NodeView], list[str]]:
        before, self.undone = self.undone, self._now_undone(plan)
        touched = self._maybe_changed(plan, before)
        if touched is None:
            return self._all_anew(plan)
        changed = []
        maker = _Maker(plan, self.by_id, self.undone)
        # Children first: how a parent stands may follow from them.
        for name in sorted(touched, key=self._place.__getitem__, reverse=True):
            made = maker.node(name)
            if made != self.by_id[name]:
                self.by_id[name] = made
                changed.append(made)
        self._plan = plan
        return changed[::-1], []

    def _all_anew(self, plan: Plan) -> tuple[list[NodeView], list[str]]:
        order = walk(view(plan))
        before, made = self.by_id, dict[str, NodeView]()
        maker = _Maker(plan, made, self.undone)
        for name in reversed(order):
            made[name] = maker.node(name)
        self.by_id = {name: made[name] for name in order}
        self._plan = plan
        self._place = {name: place for place, name in enumerate(order)}
        changed = [node for name, node in self.by_id.items() if before.get(name) != node]
        return changed, [name for name in before if name not in self.by_id]

    @property
    def counts(self) -> tuple[int, int]:
        """How many are parked, and how many only failed."""
        parked = sum(one.is_parked for one in self.undone.values())
        return parked, len(self.undone) - parked

    def _now_undone(self, plan: Plan) -> Mapping[str, Undone]:
        """By name; worked out again only if something that it follows from has changed."""
        old = self._plan
        if old is not None:
            was, now = view(old), view(plan)
            same = (
                was.exhausted == now.exhausted
                and was.dead_groups == now.dead_groups
                and was.shape is now.shape
                and was.live is now.live
                and old.trail is plan.trail
                and old.groups is plan.groups
                and old.limits is plan.limits
                and old.control.status is plan.control.status
                and (old.spent.created, old.spent.backjumps)
                == (plan.spent.created, plan.spent.backjumps)
            )
            if same:
                return self.undone
        ended = plan.control.status is RunStatus.STOPPED
        return {one.name: one for one in (undone if ended else all_parked)(plan)}

    def _maybe_changed(
        self, plan: Plan, undone_before: Mapping[str, Undone]
    ) -> dict[str, None] | None:
        """Nodes that may be different; None if that can be any of them."""
        old = self._plan
        if old is None:
            return None
        was, now = view(old), view(plan)
        same = (
            was.shape is now.shape
            and was.live is now.live
            and was.buried is now.buried
            and old.groups is plan.groups
            and old.objective is plan.objective
            and old.limits is plan.limits
            and old.decompositions is plan.decompositions
        )
        if not same:
            return None
        names: dict[str, None] = {}
        for name, atom in plan.atoms.items():
            if old.atoms.get(name) is not atom:
                names[name] = None
        names.update(dict.fromkeys(_differing(old.bindings, plan.bindings)))
        names.update(dict.fromkeys(_differing(old.sessions, plan.sessions)))
        for before, after in ((was.ready, now.ready), (was.exhausted, now.exhausted)):
            if before != after:
                names.update(dict.fromkeys(set(before) ^ set(after)))
        names.update(dict.fromkeys(_differing(undone_before, self.undone)))
        for found in list(names):
            names.update(dict.fromkeys(chain(now.shape, found)))
        for found in list(names):  # what was in reserve is not needed any more
            if found in plan.groups and is_resolved(old, found) != is_resolved(plan, found):
                names.update(dict.fromkeys(subtree(now.shape, found)))
        return names


def _differing(before: Mapping[Any, object], after: Mapping[Any, object]) -> list[str]:
    if before is after:
        return []
    names = dict.fromkeys((*before, *after))
    return [name for name in names if before.get(name) is not after.get(name)]


def walk(seen: View) -> list[str]:
    """Every node, parents before children, siblings in the order of the plan."""
    return list(subtree(seen.shape, ROOT))


class _Maker:
    """Makes nodes, children before their parents: `made` has those that were made before."""

    def __init__(
        self, plan: Plan, made: Mapping[str, NodeView], undone: Mapping[str, Undone]
    ) -> None:
        self._plan = plan
        self._made = made
        self._undone = undone
        self._stuck = frozenset(name for name, one in undone.items() if one.is_parked)
        self._seen = view(plan)
        self._ready = frozenset(self._seen.ready)
        self._exhausted = frozenset(self._seen.exhausted)
        self._reasons = {d.parent: d.reason for d in plan.decompositions}

    def node(self, name: str) -> NodeView:
        standing = None
        if name in self._plan.atoms:
            standing = standing_of(
                self._plan, AtomId(name), self._ready, self._exhausted, self._stuck
            )
        status = self._status(name, standing)
        if status == "parked":
            standing = AtomStanding.PARKED
        reason = self._reasons.get(AtomId(name), "")
        made = _node(
            self._plan, self._seen, name, status=status, standing=standing or "", reason=reason
        )
        if one := self._undone.get(name):
            made["undone"] = one.label
            made["failures"] = one.failures
            made["note"] = excerpt(reasons(one))
            made["holds_up"] = list(one.holds_up[:NAMED])
            made["holds_up_count"] = len(one.holds_up)
        return made

    def _status(self, name: str, standing: AtomStanding | None) -> NodeStatus:
        kids = self._seen.shape.kids.get(name, ())
        below = [self._made[kid]["status"] for kid in kids]
        under_way = "running" in below
        if name == ROOT:
            done = bool(kids) and all(status == "resolved" for status in below)
            running = under_way or ROOT in self._plan.sessions
            return "running" if running else "resolved" if done else "pending"
        group = self._plan.groups.get(GroupId(name))
        if group is not None:
            return self._of_group(group, under_way=under_way)
        if standing is None:
            return "left" if name in self._seen.buried else "unwritten"
        return self._of_atom(name, standing, under_way=under_way)

    def _of_atom(self, name: str, standing: AtomStanding, *, under_way: bool) -> NodeStatus:
        above = self._plan.groups.get(GroupId(self._seen.shape.parent[name]))
        if above is not None and name in above.failed:
            return "failed" if above.id not in self._seen.buried else "left"
        found = BY_STANDING[standing]
        if found != "pending":
            return found
        if name not in self._seen.live and self._is_decided_otherwise(name):
            return "left"
        return "running" if under_way else found

    def _is_decided_otherwise(self, name: str) -> bool:
        """Of what is not live: another choice of a group above it has done the work."""
        above = chain(self._seen.shape, name)
        return any(node in self._plan.groups and is_resolved(self._plan, node) for node in above)

    def _of_group(self, group: OrGroup, *, under_way: bool) -> NodeStatus:
        if group.id in self._seen.buried:
            return "left"
        if is_resolved(self._plan, group.id):
            return "resolved"
        if not unfailed(group):
            return "parked" if group.id in self._stuck else "failed"
        return "running" if under_way else "pending"


def _node(  # noqa: PLR0913 - what a node is made of
    plan: Plan, seen: View, name: str, *, status: NodeStatus, standing: str, reason: str
) -> NodeView:
    shape = seen.shape
    node = NodeView(
        id=excerpt(name),
        kind="root",
        parent=None if name == ROOT else shape.parent[name],
        children=list(shape.kids.get(name, ())),
        status=status,
        standing=standing,
        undone="",
        failures=0,
        note="",
        holds_up=[],
        holds_up_count=0,
        live=name in seen.live,
        description="",
        depends_on=[],
        attempts=0,
        max_attempts=0,
        probes=0,
        reason=excerpt(reason),
        binding=None,
        check="",
        selected=None,
        failed=[],
        speculative=False,
        session=None,
    )
    session = plan.sessions.get(AtomId(name))
    node["session"] = None if session is None else session.nonce
    if name == ROOT:
        node["description"] = excerpt(plan.objective.goal)
        return node
    group = plan.groups.get(GroupId(name))
    if group is not None:
        node["kind"] = "group"
        node["selected"] = selected(plan, group)
        node["failed"] = list(group.failed)
        node["speculative"] = group.speculative
        return node
    atom = plan.atoms.get(AtomId(name))
    if atom is None:
        node["kind"] = "unwritten"
        return node
    node["kind"] = "atom"
    node["description"] = excerpt(atom.description)
    node["depends_on"] = list(shape.needs.get(name, ()))
    node["attempts"] = atom.attempts
    node["max_attempts"] = max_attempts(plan, atom, shape)
    node["probes"] = atom.probes
    node["binding"] = _binding(plan, atom.id)
    node["check"] = "" if atom.check is None else check_line(atom.check)
    return node


def _binding(plan: Plan, name: AtomId) -> BindingView | None:
    found = plan.bindings.get(name)
    if found is None:
        return None
    return BindingView(
        summary=excerpt(found.summary), artifacts=[excerpt(a) for a in found.artifacts]
    )


def check_line(check: Check) -> str:
    """A check in words, as a person would read it."""
    if check.type is CheckType.QUALITY:
        return excerpt(f"quality: {check.criteria or 'by its rubric'}")
    return excerpt(f"{check.type}: {check.value or ''}")


def resolved_count(plan: Plan) -> int:
    return sum(atom.status is Status.RESOLVED for atom in plan.atoms.values())
