"""Fill in what a person may leave out of a draft, and nothing that they wrote wrongly.

Works on the values of the file before they are judged: whatever has an unexpected shape is handed
on as it is, so that the one strict reader is the one who says so.
"""

from __future__ import annotations

from typing import Any, Final

FRESH_ATOM: Final[dict[str, Any]] = {"status": "pending", "depends_on": []}


def completed(data: object) -> object:
    """The values with initial values for what was left out."""
    if data is None:
        return {}
    if not isinstance(data, dict):
        return data
    filled = dict(data)
    if isinstance(filled.get("objective"), dict):
        filled["objective"] = _objective(filled["objective"])
    if isinstance(filled.get("atoms"), list):
        filled["atoms"] = [_atom(atom) for atom in filled["atoms"]]
    if isinstance(filled.get("or_groups"), dict):
        filled["or_groups"] = {name: _group(it) for name, it in filled["or_groups"].items()}
    return filled


def _objective(given: dict[Any, Any]) -> dict[Any, Any]:
    """A free slot is filled at once, unless the draft wants to wait for whole batches."""
    constraints = given.get("constraints")
    if constraints is None:
        constraints = {}
    if isinstance(constraints, dict):
        constraints = {"dispatch": "refill", **constraints}
    return {**given, "constraints": constraints}


def limits_in(data: object) -> tuple[str, ...]:
    """The names of the limits that a draft sets, in its order."""
    objective = data.get("objective") if isinstance(data, dict) else None
    constraints = objective.get("constraints") if isinstance(objective, dict) else None
    return tuple(map(str, constraints)) if isinstance(constraints, dict) else ()


def _atom(given: object) -> object:
    if not isinstance(given, dict):
        return given
    there = {name: value for name, value in given.items() if value is not None}
    return {**given, **FRESH_ATOM, **there}


def _group(given: object) -> object:
    """A group without a selected choice gets the first that has not failed."""
    if not isinstance(given, dict) or given.get("selected") is not None:
        return given
    failed = given.get("failed") or []
    choices = given.get("choices")
    if not isinstance(choices, list) or not isinstance(failed, list):
        return given
    left = [choice for choice in choices if choice not in failed] or choices
    return {**given, "selected": left[0]} if left else given
