"""What does not get done, in words: what is parked, and what has failed and is not done yet.

Parked is what nothing is left to try for. But a run may end by a limit or a stop while there is
something left to try, and then what failed up to now is what a person wants to know. Both are told
in the same way: how often it failed, why it failed last, and what it holds up; what holds up most
comes first. `status` asks at every turn, so that nothing here needs the events or `decide`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from dwindle.kernel.branches import innermost_choice
from dwindle.kernel.graph import failures, is_resolved, view
from dwindle.kernel.measure import winds_left
from dwindle.kernel.model import AtomId, GroupId, Plan, PlanKind, RunStatus
from dwindle.kernel.shape import chain, subtree
from dwindle.kernel.winds import (
    Parked,
    given_up,
    held_up,
    importance,
    last_reason,
    parked,
    would_help,
)
from dwindle.text.terminal import listed, shortened, without_rulers

REASON: Final = 300
"""Characters of a reason; the Trail has all of it."""
HELD: Final = 60
"""Columns of names that wait; the others are counted."""
WAYS: Final = 5
"""Ways of a choice that are listed; the others are counted."""
OTHERWISE: Final = "so the run ends when nothing else can be done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """An atom, or a group, that is parked, or that has failed and is not done yet."""

    name: str
    is_parked: bool = False
    failures: int
    """How often it failed; of a group, its ways together."""
    reason: str
    """Why it failed last, in one line; empty if that is not on record."""
    holds_up: tuple[AtomId, ...] = ()
    """Open atoms that wait for it, directly or not, in file order."""
    group: GroupId | None = None
    """The innermost choice point that it is, or stands in."""
    ways: tuple[tuple[AtomId, str], ...] = ()
    """The ways of that group that were given up, each with why it failed last."""

    @property
    def label(self) -> Literal["parked", "failing"]:
        return "parked" if self.is_parked else "failing"


def undone(plan: Plan) -> tuple[Undone, ...]:
    """Everything of the kind, what holds up most first, then in file order."""
    found = all_parked(plan)
    if plan.control.status is not RunStatus.COMPLETED:
        known = dict.fromkeys(one.name for one in found)
        found += [_failed(plan, name) for name in _failing(plan) if name not in known]
    if plan.control.status is RunStatus.STOPPED:
        told = dict.fromkeys(one.group for one in found)
        found += [_failed(plan, name) for name in _given_up_in_part(plan) if name not in told]
    return tuple(sorted(found, key=lambda one: importance(plan, one.name, one.holds_up)))


def all_parked(plan: Plan) -> list[Undone]:
    """Of these only what is parked, in file order: it can be told while a run goes on."""
    return [_parked(plan, one) for one in parked(plan)]


def _failing(plan: Plan) -> Iterator[AtomId]:
    """Leaves that have failed and may have to be done; also a way that waits for its turn."""
    seen, failed = view(plan), failures(plan)
    for name in plan.atoms:
        is_leaf = name not in seen.shape.kids and name not in seen.buried
        above = chain(seen.shape, name)
        if name in failed and is_leaf and not any(is_resolved(plan, node) for node in above):
            yield name


def _given_up_in_part(plan: Plan) -> Iterator[GroupId]:
    """Groups with a way that failed. If the next one was not tried, nothing else tells of it."""
    live = view(plan).live
    for name, group in plan.groups.items():
        if name in live and group.failed and not is_resolved(plan, name):
            yield name


def _parked(plan: Plan, one: Parked) -> Undone:
    group = None if one.choice is None else one.choice[0]
    made = _undone(plan, one.name, group, one.reason)
    return replace(made, is_parked=True, holds_up=one.holds_up)


def _failed(plan: Plan, name: str) -> Undone:
    choice = None if name in plan.groups else innermost_choice(plan, AtomId(name))
    group = GroupId(name) if name in plan.groups else choice and choice[0]
    made = _undone(plan, name, group, last_reason(plan, name))
    return replace(made, holds_up=held_up(plan, name))


def _undone(plan: Plan, name: str, group: GroupId | None, reason: str) -> Undone:
    counts, below = failures(plan), subtree(view(plan).shape, name)
    ways = () if group is None else given_up(plan, group)
    return Undone(
        name=name,
        failures=sum(counts.get(node, 0) for node in below),
        reason=bounded(reason),
        group=group,
        ways=tuple((way, bounded(why)) for way, why in ways),
    )


def bounded(reason: str) -> str:
    """In one line."""
    return shortened(without_rulers(reason), REASON)


# --- in words ------------------------------------------------------------------------------------


def line(plan: Plan, one: Undone) -> str:
    """All of it, in a line of a list."""
    said = filter(None, (story(plan, one), held_up_text(one.holds_up)))
    return f"{one.name}: {'; '.join(said)}"


def story(plan: Plan, one: Undone) -> str:
    """How often it failed, why it failed last, and what became of the other ways."""
    often = f"failed {times(one.failures)}, last: " if one.failures and one.reason else ""
    told = often if one.name != one.group else ""
    return f"{told}{reasons(one) or unknown(plan)}"


def reasons(one: Undone) -> str:
    """Why it failed last, and its other ways; of a group, all that failed is its ways."""
    last = "" if one.name == one.group and one.ways else one.reason
    return "; ".join(filter(None, (last, ways_text(one))))


def ways_text(one: Undone) -> str:
    """`G1 gave up A1: no compiler, A2: too slow`; empty where no way was given up."""
    if not one.ways:
        return ""
    told = [f"{way}: {reason}" if reason else way for way, reason in one.ways[:WAYS]]
    more = [f"and {len(one.ways) - WAYS} more"] * (len(one.ways) > WAYS)
    return f"{'' if one.name == one.group else f'{one.group} '}gave up {', '.join(told + more)}"


def unknown(plan: Plan) -> str:
    """In place of a reason, where none is on record."""
    tree = plan.kind is PlanKind.TREE
    return "why is in the logs of its iterations" if tree else "no reason is on record"


def times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def held_up_text(names: Sequence[str]) -> str:
    """`it holds up A4, A5 and 3 more`; empty where nothing waits for it."""
    return f"it holds up {listed(names, width=HELD)}" if names else ""


def data(one: Undone) -> dict[str, Any]:
    """For programs, as `status` has it."""
    return {
        "name": one.name,
        "failures": one.failures,
        "reason": one.reason,
        "holds_up": list(one.holds_up),
        "group": one.group,
        "given_up": [{"name": way, "reason": reason} for way, reason in one.ways],
    }


def explained(plan: Plan, one: Undone) -> str:
    """All of it, for the person who asked about this one."""
    return "; ".join(
        (
            "it is parked: nothing is left to try for now",
            f"{'it ' * bool(one.failures)}{story(plan, one)}",
            held_up_text(one.holds_up) or "nothing waits for it",
            outlook(plan, one),
        )
    )


def outlook(plan: Plan, one: Undone) -> str:
    """Whether something that is parked is tried again, as things stand."""
    most = plan.limits.max_winds
    used = f"{plan.spent.winds} of {most} used"
    if plan.control.status is RunStatus.COMPLETED:
        return "the run was completed without it"
    if not most:
        tree = plan.kind is PlanKind.TREE
        return f"{'a tree has' if tree else 'there are'} no winds, {OTHERWISE}"
    if winds_left(plan) <= 0:
        return f"no wind is left ({used}), {OTHERWISE}"
    atom = plan.atoms.get(AtomId(one.name))
    doubted = atom is not None and atom.infeasible is not None
    if doubted and atom is not None and atom.allowed is not None:
        return "it was called infeasible again after a wind had asked, so that no wind tries it"
    if not would_help(plan):
        return f"a new wind would get nothing started ({used}), {OTHERWISE}"
    asks = "asks whether it is still infeasible" if doubted else "tries it again"
    return f"when nothing else can be done, a new wind {asks} ({used})"
