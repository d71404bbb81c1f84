"""Why an open atom is not being started: the answer is made where the decision is made."""

from __future__ import annotations

from dwindle.kernel.actions import Decision, Probe, Work
from dwindle.kernel.branches import LastRung, rung
from dwindle.kernel.graph import is_resolved, selected, unmet_needs, view
from dwindle.kernel.model import AtomId, GroupId, Plan, Status
from dwindle.kernel.shape import chain
from dwindle.kernel.winds import last_reason


def waiting(decision: Decision) -> dict[AtomId, str]:
    """Every unresolved, unburied atom that no action of the decision starts."""
    plan = decision.plan
    started = [a.atom for a in decision.actions if isinstance(a, (Work, Probe))]
    buried = view(plan).buried
    return {
        name: why_not(plan, name, decision)
        for name, atom in plan.atoms.items()
        if atom.status is not Status.RESOLVED and name not in buried and name not in started
    }


def why_not(plan: Plan, name: AtomId, decision: Decision) -> str:
    seen = view(plan)
    if name in plan.sessions:
        session = plan.sessions[name]
        return f"a {session.role} is at work on it (session {session.number})"
    if name not in seen.live:
        return not_live(plan, name)
    if name in seen.shape.kids:
        open_below = [k for k in seen.shape.kids[name] if not is_resolved(plan, k)]
        if not open_below:
            return "all below it is done; that is not written down yet"
        return f"it is done when {', '.join(open_below)} {'is' if len(open_below) == 1 else 'are'}"
    unmet = unmet_needs(plan, name)
    if unmet:
        return f"it waits for {', '.join(unmet)}"
    if name in seen.exhausted and isinstance(rung(plan, name), LastRung):
        return f"it is parked: nothing is left to try for now{_last(plan, name)}"
    if decision.stop is not None:
        return f"the run stops: {decision.stop.reason}"
    if name in seen.exhausted:
        return f"its attempts are used up; {decision.because or _actions(decision)}"
    return decision.because or _actions(decision)


def _last(plan: Plan, name: AtomId) -> str:
    reason = last_reason(plan, name)
    return f" (last: {reason})" if reason else ""


def not_live(plan: Plan, name: AtomId) -> str:
    """The outermost choice above it that is not in force, and which one is instead."""
    shape, live = view(plan).shape, view(plan).live
    choice = next(n for n in reversed([*chain(shape, name)]) if n not in live)
    group = plan.groups[GroupId(shape.parent[choice])]
    return f"{group.id} is with {selected(plan, group)}; {choice} is kept in reserve"


def _actions(decision: Decision) -> str:
    if not decision.actions:
        return "nothing is to be done"
    if all(isinstance(a, (Work, Probe)) for a in decision.actions):
        return "it is ready and waits for a free slot, or for atoms that touch the same files"
    return f"first: {decision.actions[0].because}"
