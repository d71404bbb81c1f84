"""The order of a planner: the conversation so far and, to redirect, the frontier of the plan.

The same rule as for work orders: each part has a bound of its own, so that neither a long talk nor
a long run makes an order long. Times and absolute paths stay out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from dwindle.kernel.graph import view
from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Binding,
    ChecklistItem,
    Objective,
    OrGroup,
    Plan,
    Status,
    TrailEntry,
    TrailType,
)
from dwindle.ports.work import Failure, Frontier, PlanningOrder, Said
from dwindle.runner.orders.work import briefing_json, check_json, cut, cut_middle

WORDS: Final = 10_000
"""Characters of the user's first words."""
LINE: Final = 4000
"""Characters of one line of the conversation."""
LINES: Final = 80
"""More than all rounds of questions and all changes of mind together."""
DRAFT: Final = 100_000
FAILURES: Final = 2
REASON: Final = 4000
ATOMS: Final = 100
GROUPS: Final = 50
BINDINGS: Final = 100
RECENT: Final = 5
DESCRIPTION: Final = 300
SUMMARY: Final = 200
OBJECTIVE: Final = 2000
TRAIL_REASON: Final = 500
PATHS: Final = 50
BASE_CASE: Final = 20_000
"""Characters of the base case as JSON. A part of it would be taken for the whole."""
CHOICES: Final = 10
CHOICE: Final = 120
"""Characters of the description of one."""
NEEDS: Final = 50


def bounded_order(order: PlanningOrder) -> PlanningOrder:
    """The same order, no longer than it may be; the latest of the conversation is kept."""
    return replace(
        order,
        words=cut(order.words, WORDS),
        why=cut(order.why, WORDS),
        draft=cut(order.draft, DRAFT),
        transcript=tuple(
            Said(by=line.by, text=cut(line.text, LINE)) for line in order.transcript[-LINES:]
        ),
        failures=tuple(
            Failure(attempt=f.attempt, reason=cut_middle(f.reason, REASON))
            for f in order.failures[-FAILURES:]
        ),
    )


def frontier_of(plan: Plan) -> Frontier:
    """What is open, what it may be built upon, and what went wrong lately."""
    seen = view(plan)
    waiting = [
        atom
        for atom in plan.atoms.values()
        if atom.status is not Status.RESOLVED and atom.id in seen.live
    ]
    groups = list(plan.groups.values())
    choices = [c for g in groups[:GROUPS] for c in g.choices[:CHOICES] if c in plan.atoms]
    bindings = list(plan.bindings.items())
    failed = [entry for entry in plan.trail if entry.type is TrailType.FAILURE]
    more = (len(waiting) - ATOMS, len(groups) - GROUPS, len(bindings) - BINDINGS)
    return Frontier(
        objective=_objective(plan.objective),
        status=plan.control.status,
        iteration=plan.control.iteration,
        open_count=seen.open_count,
        atoms=tuple(_atom(atom) for atom in waiting[:ATOMS]),
        groups=tuple(groups[:GROUPS]),
        choices=tuple((name, cut(plan.atoms[name].description, CHOICE)) for name in choices),
        bindings=tuple(
            (name, Binding(summary=cut(binding.summary, SUMMARY)))
            for name, binding in bindings[-BINDINGS:]
        ),
        limits=plan.limits,
        spent=plan.spent,
        failures=tuple(
            replace(entry, reason=cut_middle(entry.reason, TRAIL_REASON), timestamp="")
            for entry in failed[-RECENT:]
        ),
        left_out=sum(max(0, count) for count in more),
    )


def _objective(objective: Objective) -> Objective:
    return replace(
        objective,
        goal=cut(objective.goal, OBJECTIVE),
        background_intent=cut(objective.background_intent, OBJECTIVE),
        deliverables=cut(objective.deliverables, OBJECTIVE),
        definition_of_done=cut(objective.definition_of_done, OBJECTIVE),
        protected_paths=objective.protected_paths[:PATHS],
        work_paths=objective.work_paths[:PATHS],
    )


def _atom(atom: Atom) -> Atom:
    return replace(atom, description=cut(atom.description, DESCRIPTION), check=None, touches=())


# --- as JSON -------------------------------------------------------------------------------------


def planning_order_json(order: PlanningOrder) -> bytes:
    """As programs read it: the nine fields of every order first, then what only planners get."""
    public: dict[str, Any] = {
        "role": order.role,
        "run": order.run,
        "atom": order.atom,
        "description": order.words,
        "attempt": order.session,
        "nonce": order.nonce,
        "bindings": {},
        "checks": [],
        "failures": [{"attempt": f.attempt, "reason": f.reason} for f in order.failures],
    }
    ours: dict[str, Any] = {
        "purpose": order.purpose,
        "why": order.why,
        "transcript": [{"by": line.by, "text": line.text} for line in order.transcript],
        "draft": order.draft,
        "plan": None if order.frontier is None else frontier_json(order.frontier),
        "may_ask": order.may_ask,
        "session_of_atom": order.session,
        "timeout_seconds": order.timeout_seconds,
        **briefing_json(order.briefing),
    }
    text = json.dumps({**public, **ours}, ensure_ascii=False, indent=1)
    return f"{text}\n".encode("utf-8", "replace")


def frontier_json(frontier: Frontier) -> dict[str, Any]:
    """In the words of the plan file, as far as it has them."""
    goal, choices = frontier.objective, dict(frontier.choices)
    return {
        "objective": {
            "goal": goal.goal,
            "background_intent": goal.background_intent,
            "deliverables": goal.deliverables,
            "definition_of_done": goal.definition_of_done,
            "base_case": _base_case_json(goal.base_case),
            "protected_paths": list(goal.protected_paths),
            "work_paths": list(goal.work_paths),
        },
        "status": frontier.status,
        "iteration": frontier.iteration,
        "open": frontier.open_count,
        "atoms": [_atom_json(atom) for atom in frontier.atoms],
        "or_groups": {group.id: _group_json(group, choices) for group in frontier.groups},
        "bindings": {name: binding.summary for name, binding in frontier.bindings},
        "limits": {name: value for name, value in _plain(frontier.limits) if name != "stated"},
        "spent": dict(_plain(frontier.spent)),
        "failures": [_failure_json(entry) for entry in frontier.failures],
        "left_out": frontier.left_out,
    }


def _atom_json(atom: Atom) -> dict[str, Any]:
    return {
        "id": atom.id,
        "description": atom.description,
        "status": atom.status,
        "depends_on": list(atom.depends_on[:NEEDS]),
        "attempts": atom.attempts,
    }


def _group_json(group: OrGroup, choices: Mapping[AtomId, str]) -> dict[str, Any]:
    return {
        "choices": {name: choices.get(name, "") for name in group.choices[:CHOICES]},
        "selected": group.selected,
        "failed": list(group.failed[:CHOICES]),
    }


def _failure_json(entry: TrailEntry) -> dict[str, Any]:
    return {"atom": entry.atom, "attempt": entry.attempt, "reason": entry.reason}


def _base_case_json(base_case: BaseCase) -> dict[str, Any] | str:
    found = {"checklist": _items_json(base_case.checklist)}
    if base_case.check is not None:
        found = check_json(base_case.check)
    return found if len(json.dumps(found)) <= BASE_CASE else "too long to be shown here"


def _items_json(items: Sequence[ChecklistItem]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for item in items:
        below: dict[str, Any] = {}
        if item.check is not None:
            below["check"] = check_json(item.check)
        if item.group:
            below["group"] = _items_json(item.group)
        if item.any_of:
            below["any_of"] = _items_json(item.any_of)
        found.append({"item": item.item, **below})
    return found


def _plain(record: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a record; None is a limit that is not set."""
    return ((f.name, getattr(record, f.name)) for f in fields(record))
