"""What a planner reports: questions, or a draft of a plan, or edits of the one that is there.

A draft is handed on as values and judged as every draft is. What is decided here is what a planner
may say at all: it proposes work, and says nothing about what is done, tried or given up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dwindle.adapters.agents.reports.edits import read_edits
from dwindle.adapters.agents.reports.fields import Fields, shown
from dwindle.adapters.agents.reports.strict_json import kind_of
from dwindle.ports.work import (
    Occasion,
    PlannerDraft,
    PlannerEdits,
    PlannerQuestions,
    PlannerReport,
    PlanningOrder,
)

MAX_QUESTIONS: Final = 5
MAX_QUESTION: Final = 1000
MAX_NOTE: Final = 4000
MAX_ATOMS: Final = 500
MAX_GROUPS: Final = 500

DRAFT: Final = ("objective", "atoms", "or_groups", "decompositions")
KNOWN: Final[Mapping[Occasion, tuple[str, ...]]] = {
    Occasion.ALIGN: ("questions", *DRAFT, "note"),
    Occasion.REDIRECT: ("questions", "edits", "note"),
}
"""The keys of a report, besides those that every report may have."""

OBJECTIVE: Final = (
    *("goal", "background_intent", "deliverables", "definition_of_done", "base_case"),
    *("protected_paths", "work_paths", "constraints"),
)
ATOM: Final = (
    *("id", "description", "depends_on", "or_group", "check", "max_attempts", "probe", "touches"),
)
GROUP: Final = ("choices", "selected", "speculative")
DECOMPOSITION: Final = ("parent", "children", "reason")


def read(order: PlanningOrder, given: Fields) -> PlannerReport:
    note = given.text("note", MAX_NOTE)
    proposed = [name for name in (*DRAFT, "edits") if given.raw(name) not in _NOTHING]
    if given.raw("questions") not in _NOTHING:
        if proposed:
            given.faults.add(f"questions and {proposed[0]}: either ask or propose")
        if not order.may_ask:
            given.faults.add("questions: no more are answered, propose something")
        return PlannerQuestions(questions=tuple(_questions(given)), note=note)
    if order.purpose is Occasion.REDIRECT:
        return PlannerEdits(edits=tuple(read_edits(given)), note=note)
    return PlannerDraft(draft=_draft(given), note=note)


def _questions(given: Fields) -> Iterator[str]:
    for index, question in enumerate(given.texts("questions", MAX_QUESTIONS, MAX_QUESTION)):
        if not question.strip():
            given.faults.add(f"questions[{index}] is blank")
        yield question


def _draft(given: Fields) -> dict[str, Any]:
    """The sections, without what is null, each with the keys in the order of the plan file."""
    found: dict[str, Any] = {}
    if "objective" not in given:
        given.faults.add("objective is missing")
    else:
        found["objective"] = _object(given.raw("objective"), "objective", given, OBJECTIVE)
    if "atoms" not in given:
        given.faults.add("atoms is missing")
    found["atoms"] = [
        _object(atom, f"atoms[{i}]", given, ATOM)
        for i, atom in enumerate(given.items("atoms", MAX_ATOMS))
    ]
    decompositions = given.items("decompositions", MAX_ATOMS)
    if decompositions:
        found["decompositions"] = [
            _object(one, f"decompositions[{i}]", given, DECOMPOSITION)
            for i, one in enumerate(decompositions)
        ]
    groups = _groups(given)
    groups |= _named_by_choices(found["atoms"], groups)
    return {**found, "or_groups": groups} if groups else found


def _named_by_choices(atoms: list[dict[str, Any]], groups: Mapping[str, Any]) -> dict[str, Any]:
    """Groups that are not listed, but that atoms say they belong to: these are their choices.

    Not every program can be held to an object with keys of its own choosing, as `or_groups` is.
    """
    found: dict[str, Any] = {}
    for atom in atoms:
        name = atom.get("or_group")
        if isinstance(name, str) and name not in groups and "id" in atom:
            found.setdefault(name, {"choices": []})["choices"].append(atom["id"])
    return found


def _groups(given: Fields) -> dict[str, Any]:
    groups = given.raw("or_groups") or {}
    if not isinstance(groups, dict):
        given.faults.add(f"or_groups is {kind_of(groups)}, not an object")
        return {}
    if len(groups) > MAX_GROUPS:
        given.faults.add(f"or_groups has {len(groups)} entries, at most {MAX_GROUPS} are taken")
        return {}
    return {
        name: _object(group, f"or_groups.{_plain(name)}", given, GROUP)
        for name, group in groups.items()
    }


def _plain(name: str) -> str:
    return name if name.isascii() and name.isidentifier() and len(name) <= 60 else shown(name)


def _object(found: object, where: str, given: Fields, known: tuple[str, ...]) -> dict[str, Any]:
    read = Fields(found, where, given.faults, known)
    return {name: _without_null(read.raw(name)) for name in known if name in read}


def _without_null(value: Any) -> Any:
    """What is null is left out, at any depth; the reader of JSON has seen to it that it ends."""
    if isinstance(value, dict):
        return {k: _without_null(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_null(v) for v in value]
    return value


_NOTHING: Final[tuple[object, ...]] = (None, [], {})
