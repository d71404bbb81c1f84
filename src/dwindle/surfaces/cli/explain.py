"""dwindle explain: why each atom runs or waits.

The reasons are the kernel's own, made where it decides. A plan that is not running would have one
reason for everything, "it is not running", which is no help: it is explained as it would be if it
were run now, and the answer says so.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from dwindle.app.console import as_json, painted, say
from dwindle.app.journal.run_journal import run_named
from dwindle.app.plans.plan_files import root_of_here, the_plan
from dwindle.app.plans.standing import AtomStanding, standings
from dwindle.app.plans.undone import all_parked
from dwindle.app.plans.undone import explained as parked_why
from dwindle.app.refusal import Refused
from dwindle.app.tree.tree_run import current_plan, next_decision
from dwindle.kernel.actions import Decision, Probe, Work
from dwindle.kernel.decide import in_order
from dwindle.kernel.explain import waiting as waiting_of
from dwindle.kernel.graph import chain_behind, failures, view
from dwindle.kernel.model import AtomId, Plan, PlanKind
from dwindle.kernel.tree_edits import TREE_ROOT
from dwindle.kernel.winds import startable
from dwindle.surfaces.cli.log import attempts_text
from dwindle.text.terminal import WIDTH, shortened, without_rulers, wrapped
from dwindle.views.read_model.attempts import Attempt, attempts_of
from dwindle.views.read_model.run_view import Follower

INDENT = "    "
OPEN_LEAF = (AtomStanding.READY, AtomStanding.EXHAUSTED)
COLOURS = {
    AtomStanding.RESOLVED: "green",
    AtomStanding.RUNNING: "blue",
    AtomStanding.READY: "bold",
    AtomStanding.EXHAUSTED: "red",
    AtomStanding.PARKED: "yellow",
    AtomStanding.FAILED: "red",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    atom: AtomId
    description: str
    standing: AtomStanding
    starts: bool
    """It is what would be started next."""
    why: str


def explain(atom: str | None = None, /, *, plan: PlanKind | None = None, json: bool = False) -> int:
    """Say why.

    Args:
        atom: Only this one, with all its attempts. All, if left out.
        plan: Which plan, where there are two.
        json: Print one JSON object.
    """
    loaded = current_plan(the_plan(plan)).plan
    assert loaded is not None  # noqa: S101 - `sound` has seen to it
    name = None if atom is None else known_atom(loaded, atom)
    decision, assumed = next_decision(loaded)
    explained = [one for one in explanations(decision) if name in (None, one.atom)]
    tried = [] if name is None else attempts_here(loaded, name)
    if json:
        found = _json(loaded, decision, explained, assumed=assumed)
        return say(as_json(found if name is None else found | {"attempts": tried}))
    text = _text(loaded, decision, explained, assumed=assumed)
    return say(f"{text}\n\n{attempts_text(tried)}" if tried else text)


def attempts_here(plan: Plan, name: AtomId) -> list[Attempt]:
    """None where no run has begun."""
    root = root_of_here()
    try:
        run = Follower(root, run_named(root, None, plan.kind))
    except Refused:
        return []
    run.poll()
    return attempts_of(root, run, name)


def known_atom(plan: Plan, name: str) -> AtomId:
    if name in plan.atoms:
        return AtomId(name)
    from difflib import get_close_matches  # noqa: PLC0415 - seldom needed

    close = get_close_matches(name, [*plan.atoms], n=3, cutoff=0.4)
    group = next((g for g in plan.groups.values() if g.id == name), None)
    if group is not None:
        what, close = f"{name} is a choice point, not an atom", [*group.choices]
    else:
        noun = "atom" if plan.kind is PlanKind.GRAPH else "node"
        what = f"there is no {noun} {shortened(name, 64)!r}"
    closest = f"did you mean {' or '.join(close)}?" if close else "`dwindle status` lists open ones"
    raise Refused(what, hint=closest)


def explanations(decision: Decision) -> list[Explanation]:
    """One for each atom of the plan, in its order."""
    plan, waiting = decision.plan, waiting_of(decision)
    how = standings(plan)
    stuck = {AtomId(one.name): parked_why(plan, one) for one in all_parked(plan)}
    starting = {a.atom: a.because for a in decision.actions if isinstance(a, (Work, Probe))}
    turn = turns(plan) if decision.stop is None else {}
    return [
        Explanation(
            atom=name,
            description=atom.description,
            standing=how[name],
            starts=name in starting,
            why=(
                starting.get(name)
                or stuck.get(name)
                or (earlier_leaf(decision, name) if how[name] in OPEN_LEAF else None)
                or waiting.get(name)
                or settled_reason(plan, name)
            )
            + turn.get(name, ""),
        )
        for name, atom in plan.atoms.items()
    ]


def turns(plan: Plan) -> dict[AtomId, str]:
    """Of each atom that could be started now: why it comes after one and earlier_leaf the next."""
    if plan.kind is PlanKind.TREE:
        return {}
    names = [atom.id for atom in in_order(plan, startable(plan))]
    after = {b: f"after {_beside(plan, b, a)}" for a, b in itertools.pairwise(names)}
    ahead = {a: f"before {_beside(plan, a, b)}" for a, b in itertools.pairwise(names)}
    both = {name: filter(None, (after.get(name), ahead.get(name))) for name in names}
    return {
        name: f"; number {at} of {len(names)} to start, {', '.join(said)}"
        for at, (name, said) in enumerate(both.items() if len(names) > 1 else (), 1)
    }


def _beside(plan: Plan, name: AtomId, other: AtomId) -> str:
    """The other one, with the first thing in which the two differ."""
    failed, seen = failures(plan), view(plan)
    if failed.get(name, 0) != failed.get(other, 0):
        why = f"failures: {failed.get(other, 0)}, here {failed.get(name, 0)}"
    elif chain_behind(seen, name) != chain_behind(seen, other):
        why = f"chain behind it: {chain_behind(seen, other)}, here {chain_behind(seen, name)}"
    else:
        later = seen.shape.place[other] > seen.shape.place[name]
        why = f"{'later' if later else 'earlier'} in the file"
    return f"{other} ({why})"


def earlier_leaf(decision: Decision, name: AtomId) -> str | None:
    """Of a leaf in a tree that has to wait: what comes before it. None where nothing does."""
    plan = decision.plan
    if plan.kind is not PlanKind.TREE:
        return None
    first = next((a.atom for a in decision.actions if isinstance(a, (Work, Probe))), None)
    first = first or next(iter(plan.sessions), None)
    if first is None:
        return None
    if first == TREE_ROOT:
        return "the tree is repaired first"
    used_up = "its attempts are used up, and it has to be split or replaced; but " * (
        name in view(plan).exhausted
    )
    return f"{used_up}one leaf at a time, from the left, and {first} stands before it"


def settled_reason(plan: Plan, name: AtomId) -> str:
    """The outcome of an atom that no session will work on again."""
    if name not in view(plan).buried:
        binding = plan.bindings.get(name)
        return "done" if binding is None else f"done: {binding.summary}"
    shape = view(plan).shape
    node: str = name
    while not any(node in group.failed for group in plan.groups.values()):
        node = shape.parent[node]
    group = next(group for group in plan.groups.values() if node in group.failed)
    given_up = f"{group.id} gave {'it' if node == name else node} up"
    reasons = [e.reason for e in plan.trail if e.atom in (node, name)]
    return f"{given_up}: {reasons[-1]}" if reasons else given_up


def _text(plan: Plan, decision: Decision, explained: list[Explanation], *, assumed: bool) -> str:
    lines: list[str] = []
    control = plan.control
    if assumed:
        code = f", {control.stop_code}" if control.stop_code else ""
        reason = f": {without_rulers(control.stop_reason)}" if control.stop_reason else ""
        lines += wrapped(f"The run is {control.status}{code}{reason}. If it were run now:", WIDTH)
    if decision.stop is not None:
        again = (control.stop_code, control.stop_reason)
        if assumed and again == (decision.stop.code, decision.stop.reason):
            lines.append("The run ends at once, for the same reason.")
        else:
            said = without_rulers(decision.stop.reason)
            lines += wrapped(f"The run ends, {decision.stop.code}: {said}", WIDTH)
    for action in decision.actions:
        if not isinstance(action, (Work, Probe)):
            lines += wrapped(f"Next, {type(action).__name__}: {action.because}", WIDTH)
    if lines:
        lines.append("")
    for one in explained:
        word = "starts" if one.starts else str(one.standing)
        head = f"{one.atom} {word}"
        title = shortened(one.description, WIDTH - len(head) - 2)
        shown = painted(word, "bold" if one.starts else COLOURS.get(one.standing, "dim"))
        lines.append(f"{one.atom} {shown}: {title}")
        lines += [INDENT + line for line in wrapped(one.why, WIDTH - len(INDENT))]
    return "\n".join(lines)


def _json(
    plan: Plan, decision: Decision, explained: list[Explanation], *, assumed: bool
) -> dict[str, Any]:
    stop = decision.stop
    return {
        "run": plan.control.status,
        "assumes_run": assumed,
        "stop": None if stop is None else {"code": stop.code, "reason": stop.reason},
        "actions": [
            {
                "action": type(action).__name__,
                "atom": getattr(action, "atom", None) or None,
                "because": action.because,
            }
            for action in decision.actions
        ],
        "because": decision.because,
        "atoms": [
            {
                "id": one.atom,
                "description": one.description,
                "standing": one.standing,
                "starts": one.starts,
                "why": one.why,
            }
            for one in explained
        ],
    }
