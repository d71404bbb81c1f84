"""The form of each report as JSON Schema, for programs that can hold a model to one.

A schema says less than our own reader does: that a success and a decomposition contradict each
other, or that a dependency is an id, only the reader checks, and what a program says it has
checked is read by it all the same. But it says nothing that the reader would not take: no key and
no kind of value. A test compares the two.

Left out is what a model has no reason to fill in: who it is, what it used, and the long form of a
worker's summary.

At the top there is one plain object, whatever the role, because services take no alternatives
there. Checklists nest as deep as the reader allows; here they end at the second level, since not
every service takes a schema that refers to itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from dwindle.adapters.agents.reports import edits, planner, proposals, report
from dwindle.kernel.model import CheckType, Limits, Role
from dwindle.ports.work import Occasion, Order, PlanningOrder

Schema = dict[str, Any]


def report_schema(order: Order) -> Schema:
    """What the session that was given this order reports."""
    if isinstance(order, PlanningOrder):
        properties, required = _PLANNER[order.purpose]
        if not order.may_ask:
            kept = {name: form for name, form in properties.items() if name != "questions"}
            return _object(kept, required)
        return _object(properties, ())
    if order.role is Role.VERIFIER and not _is_scored(order.checks):
        unscored = {name: form for name, form in _VERIFIER.items() if name != "scores"}
        return _object(unscored, ("passed", "evidence", "failures"))
    properties, required = _ROLES[order.role]
    return _object(properties, required)


def strict(schema: Schema) -> Schema:
    """The same for services that want every key required, and null for what is left out.

    They have no objects with free keys: `or_groups` and `levels` are gone. A planner can still name
    alternatives, by the `or_group` of each.
    """
    properties = schema["properties"]
    required = schema.get("required", [])
    kept = {
        name: _closed(form) if name in required else _or_null(_closed(form))
        for name, form in properties.items()
        if not _is_free(form)
    }
    return {**schema, "properties": kept, "required": list(kept)}


# --- parts ---------------------------------------------------------------------------------------


def _object(properties: Mapping[str, Schema], required: tuple[str, ...]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _text(says: str = "", *, most: int | None = None, needed: bool = False) -> Schema:
    found: Schema = {"type": "string"}
    if says:
        found["description"] = says
    if needed:
        found["minLength"] = 1
    if most is not None:
        found["maxLength"] = most
    return found


def _list(of: Schema, most: int, *, needed: bool = False) -> Schema:
    found: Schema = {"type": "array", "items": of, "maxItems": most}
    if needed:
        found["minItems"] = 1
    return found


def _map(of: Schema) -> Schema:
    return {"type": "object", "additionalProperties": of}


def _one_of(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def _is_scored(checks: tuple[Any, ...]) -> bool:
    return any(check.type is CheckType.QUALITY for check in checks)


_FLAG: Final[Schema] = {"type": "boolean"}
_WHOLE: Final[Schema] = {"type": "integer", "minimum": 1}
_NUMBER: Final[Schema] = {"type": "number"}
_WORDS: Final = _text(most=proposals.MAX_CHECK, needed=True)
_PATHS: Final = _list(_text("relative to the workspace", needed=True), report.MAX_ARTIFACTS)
_IDS: Final = _list(_text(needed=True), proposals.MAX_DEPENDENCIES)

_CRITERION: Final = _object(
    {
        "criterion": _WORDS,
        "weight": _NUMBER,
        "description": _WORDS,
        "levels": {**_map(_text()), "propertyNames": _one_of("1", "2", "3", "4", "5")},
    },
    ("criterion", "weight"),
)
CHECK: Final = _object(
    {
        "type": _one_of(*CheckType),
        "value": _text("the command, path or sentence", most=proposals.MAX_CHECK, needed=True),
        "control": _text(
            "a command that shows that the tool can tell", most=proposals.MAX_CHECK, needed=True
        ),
        "timeout_seconds": _WHOLE,
        "rubric": _list(_CRITERION, 100),
        "criteria": _WORDS,
        "pass_threshold": _NUMBER,
        "scope": _WORDS,
    },
    ("type",),
)
_DESCRIPTION: Final = _text("what is to be done", most=proposals.MAX_DESCRIPTION, needed=True)
_CHILD: Final = _object(
    {
        "description": _DESCRIPTION,
        "depends_on": {**_IDS, "description": "ids of the plan, or #1 for the first of this list"},
        "check": CHECK,
    },
    ("description",),
)
_CHILDREN: Final = _list(_CHILD, proposals.MAX_CHILDREN, needed=True)
_GROWTH: Final = {
    "decomposition": _object(
        {"reason": _text("why it is split", needed=True), "children": _CHILDREN},
        ("reason", "children"),
    ),
    "alternatives": _list(_CHILD, proposals.MAX_CHILDREN),
}

# --- the roles -----------------------------------------------------------------------------------

_WORKER: Final = {
    "success": _FLAG,
    "summary": _text("what there is now, in one to three sentences"),
    "artifacts": _PATHS,
    "reason": _text("if not done: what went wrong, for the agent that tries next"),
    "infeasible": _FLAG,
    "work_paths": _list(
        _text("a path or pattern that should be a work path too", needed=True),
        report.MAX_ENTRIES,
    ),
    **_GROWTH,
}
_PROBE: Final = {
    "feasible": _FLAG,
    "findings": _text("what a worker should know, or why it is not feasible"),
    "cost_estimate": _text(),
    **_GROWTH,
}
_SCORE: Final = _object(
    {
        "criterion": _text("its name", needed=True),
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "evidence": _text(needed=True),
    },
    ("criterion", "score", "evidence"),
)
_VERIFIER: Final = {
    "passed": _FLAG,
    "evidence": _text("files, lines, output that a reader can look up"),
    "failures": _list(_text("one thing that is wrong"), report.MAX_ENTRIES),
    "scores": _list(_SCORE, report.MAX_ENTRIES),
}
_ROLES: Final[Mapping[Role, tuple[Mapping[str, Schema], tuple[str, ...]]]] = {
    Role.WORKER: (_WORKER, ("success",)),
    Role.PROBE: (_PROBE, ("feasible", "findings")),
    Role.VERIFIER: (_VERIFIER, ("passed", "evidence", "failures", "scores")),
}

# --- planners ------------------------------------------------------------------------------------


def _item(below: Mapping[str, Schema]) -> Schema:
    return _object({"item": _text(needed=True), "check": CHECK, **below}, ("item",))


_LEAVES: Final = _list(_item({}), edits.MAX_ITEMS, needed=True)
_CHECKLIST: Final = _list(
    _item({"group": _LEAVES, "any_of": _LEAVES}), edits.MAX_ITEMS, needed=True
)
_BASE_CASE: Final[Schema] = {
    "anyOf": [_object({"checklist": _CHECKLIST}, ("checklist",)), CHECK],
}
_PATTERNS: Final = _list(_text(needed=True), edits.MAX_ITEMS)
_AGREED: Final = {
    name: _text(most=proposals.MAX_DESCRIPTION, needed=True)
    for name in ("goal", "background_intent", "deliverables", "definition_of_done")
}
LIMITS: Final = tuple(field.name for field in fields(Limits) if field.name != "stated")
_SCALAR: Final[Schema] = {"type": ["number", "string", "boolean"]}
_OBJECTIVE: Final = {
    **_AGREED,
    "base_case": _BASE_CASE,
    "protected_paths": _PATTERNS,
    "work_paths": _PATTERNS,
    "constraints": _object(dict.fromkeys(LIMITS, _SCALAR), ()),
}
_ATOM: Final = _object(
    {
        "id": _text(needed=True),
        "description": _DESCRIPTION,
        "depends_on": _IDS,
        "or_group": _text(needed=True),
        "check": CHECK,
        "max_attempts": _WHOLE,
        "probe": _FLAG,
        "touches": _list(_text(needed=True), edits.MAX_ITEMS),
    },
    ("id", "description"),
)
_GROUP: Final = _object(
    {"choices": _IDS, "selected": _text(needed=True), "speculative": _FLAG}, ("choices",)
)
_DECOMPOSED: Final = _object(
    {"parent": _text(needed=True), "children": _IDS, "reason": _text()}, ("parent", "children")
)
_NOTE: Final = _text("a sentence for the person")
_QUESTIONS: Final = _list(_text(needed=True), planner.MAX_QUESTIONS)


def _edit(name: str, properties: Mapping[str, Schema], *required: str) -> Schema:
    return _object({"edit": _one_of(name), **properties}, ("edit", *required))


_ID: Final = _text(most=edits.MAX_ID, needed=True)
EDITS: Final = (
    _edit("set_limit", {"name": _text(needed=True), "value": _SCALAR}, "name", "value"),
    _edit(
        "add_atom",
        {
            "description": _DESCRIPTION,
            "depends_on": _IDS,
            "check": CHECK,
            "parent": _ID,
            "group": _ID,
        },
        "description",
    ),
    _edit("remove_atom", {"atom": _ID}, "atom"),
    _edit("select", {"group": _ID, "choice": _ID}, "group", "choice"),
    _edit(
        "bind",
        {"atom": _ID, "summary": _WORDS, "artifacts": _list(_text(needed=True), edits.MAX_ITEMS)},
        "atom",
        "summary",
    ),
    _edit(
        "objective",
        {
            **_AGREED,
            "base_case": _BASE_CASE,
            "protected_paths": _PATTERNS,
            "work_paths": _PATTERNS,
            "reopen": _list(_ID, edits.MAX_ITEMS),
        },
    ),
)
_PLANNER: Final[Mapping[Occasion, tuple[Mapping[str, Schema], tuple[str, ...]]]] = {
    Occasion.ALIGN: (
        {
            "questions": _QUESTIONS,
            "objective": _object(_OBJECTIVE, ()),
            "atoms": _list(_ATOM, planner.MAX_ATOMS),
            "or_groups": _map(_GROUP),
            "decompositions": _list(_DECOMPOSED, planner.MAX_ATOMS),
            "note": _NOTE,
        },
        ("objective", "atoms"),
    ),
    Occasion.REDIRECT: (
        {
            "questions": _QUESTIONS,
            "edits": _list({"anyOf": list(EDITS)}, edits.MAX_EDITS),
            "note": _NOTE,
        },
        ("edits",),
    ),
}

# --- strict --------------------------------------------------------------------------------------


def _closed(form: Schema) -> Schema:
    if "anyOf" in form:
        return {**form, "anyOf": [_closed(one) for one in form["anyOf"]]}
    if form["type"] == "object":
        return strict(form)
    kept = {name: value for name, value in form.items() if name not in _LENGTHS}
    if form["type"] == "array":
        kept["items"] = _closed(form["items"])
    return kept


def _or_null(form: Schema) -> Schema:
    return {"anyOf": [*form.get("anyOf", [form]), {"type": "null"}]}


def _is_free(form: Schema) -> bool:
    return form.get("type") == "object" and not form.get("properties")


_LENGTHS: Final = ("minLength", "maxLength")
