"""The schemas say what the reader takes: the same keys, and values that it can read."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.adapters.agents.reports import JUDGE, LOOK, RUBRIC, WORK

from dwindle.adapters.agents.reports import edits, planner, proposals, report
from dwindle.adapters.agents.reports.report import decode
from dwindle.adapters.agents.reports.schema import CHECK, EDITS, Schema, report_schema, strict
from dwindle.adapters.formats.graph.wire import Constraints
from dwindle.ports.work import NoReport, Occasion, Order, PlanningOrder, Purpose

ALIGN = PlanningOrder(purpose=Occasion.ALIGN, words="x")
REDIRECT = PlanningOrder(purpose=Occasion.REDIRECT, words="x")
SCORED = replace(JUDGE, checks=(RUBRIC,))
ORDERS: dict[str, Order] = {
    "worker": WORK,
    "probe": LOOK,
    "planning probe": replace(LOOK, purpose=Purpose.PLAN),
    "verifier": JUDGE,
    "scoring verifier": SCORED,
    "align": ALIGN,
    "redirect": REDIRECT,
    "align without questions": replace(ALIGN, may_ask=False),
    "redirect without questions": replace(REDIRECT, may_ask=False),
}
LIMITS = Constraints.__struct_fields__
"""As the plan file has them."""
each_order = pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS.keys())


# --- the same keys -------------------------------------------------------------------------------

LEFT_OUT = ("bindings_delta", *report.OPTIONAL)


def keys(schema: Schema) -> list[str]:
    return sorted(schema["properties"])


def but_for(known: tuple[str, ...], *left_out: str) -> list[str]:
    return sorted(set(known) - {*left_out, *LEFT_OUT})


def test_the_keys_are_those_of_the_reader() -> None:
    assert [keys(report_schema(order)) for order in ORDERS.values()] == [
        but_for(report.WORKER),
        but_for(report.PROBE),
        but_for(report.PROBE),
        but_for(report.VERIFIER, "scores"),
        but_for(report.VERIFIER),
        but_for(planner.KNOWN[Occasion.ALIGN]),
        but_for(planner.KNOWN[Occasion.REDIRECT]),
        but_for(planner.KNOWN[Occasion.ALIGN], "questions"),
        but_for(planner.KNOWN[Occasion.REDIRECT], "questions"),
    ]


def test_the_keys_further_inside_are_too() -> None:
    worker, align = (report_schema(order)["properties"] for order in (WORK, ALIGN))
    split = worker["decomposition"]
    assert [
        keys(CHECK),
        keys(CHECK["properties"]["rubric"]["items"]),
        keys(split),
        keys(split["properties"]["children"]["items"]),
        keys(worker["alternatives"]["items"]),
        keys(report_schema(SCORED)["properties"]["scores"]["items"]),
        keys(align["objective"]),
        keys(align["objective"]["properties"]["constraints"]),
        keys(align["atoms"]["items"]),
        keys(align["or_groups"]["additionalProperties"]),
        keys(align["decompositions"]["items"]),
    ] == [
        sorted(names)
        for names in (
            *(proposals.CHECK, proposals.CRITERION, proposals.DECOMPOSITION, proposals.CHILD),
            *(proposals.CHILD, report.SCORE, planner.OBJECTIVE, LIMITS, planner.ATOM),
            *(planner.GROUP, planner.DECOMPOSITION),
        )
    ]


def test_every_edit_is_there_with_its_keys() -> None:
    found = {form["properties"]["edit"]["enum"][0]: keys(form) for form in EDITS}
    assert found == {name: sorted(("edit", *known)) for name, (_, known) in edits._KINDS.items()}


# --- values that the reader can read -------------------------------------------------------------


def fitting(schema: Schema) -> st.SearchStrategy[Any]:
    """Anything that a schema of ours allows."""
    if "anyOf" in schema:
        return st.one_of([fitting(form) for form in schema["anyOf"]])
    kind = schema["type"]
    if isinstance(kind, list):
        return st.one_of([fitting({"type": one}) for one in kind])
    if kind == "array":
        size = schema.get("minItems", 0)
        return st.lists(fitting(schema["items"]), min_size=size, max_size=size + 1)
    if kind != "object":
        return plain(schema, kind)
    if "properties" not in schema:
        names = schema.get("propertyNames", {"enum": ["or_A1", "max_atoms"]})["enum"]
        free = fitting(schema["additionalProperties"])
        return st.dictionaries(st.sampled_from(names), free, max_size=2)
    parts = {name: fitting(form) for name, form in schema["properties"].items()}
    needed = {name: parts.pop(name) for name in schema["required"]}
    return st.fixed_dictionaries(needed, optional=parts)


def plain(schema: Schema, kind: str) -> st.SearchStrategy[Any]:
    size = schema.get("minLength", 0)
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "boolean": st.booleans(),
        "integer": st.integers(schema.get("minimum", -9), schema.get("maximum", 9)),
        "number": st.integers(-9, 9) | st.floats(-9, 9),
        "string": st.text("aA1 #/.", min_size=size, max_size=size + 4),
        "null": st.none(),
    }
    return st.sampled_from(schema["enum"]) if "enum" in schema else kinds[kind]


NOT_OF_THE_FORM = re.compile(
    r"is not a key of it|is missing|entries, at most"
    r"|is (null|a boolean|a number|a text|a list|an object), not"
)
NEEDS_THE_WHOLE = re.compile(
    r"^(objective|atoms|summary) is missing$"  # only if something else is said, or left out
)


@each_order
@settings(suppress_health_check=list(HealthCheck), max_examples=20)
@given(data=st.data())
def test_what_fits_the_schema_is_never_refused_for_its_form(
    order: Order, data: st.DataObject
) -> None:
    schema = report_schema(order)
    said = data.draw(fitting(schema))
    Draft202012Validator(schema).validate(said)
    _assert_understood(order, said)


@each_order
@settings(suppress_health_check=list(HealthCheck), max_examples=20)
@given(data=st.data())
def test_neither_is_what_fits_the_strict_one(order: Order, data: st.DataObject) -> None:
    schema = strict(report_schema(order))
    said = data.draw(fitting(schema))
    Draft202012Validator(schema).validate(said)
    _assert_understood(order, said)


def _assert_understood(order: Order, said: Any) -> None:
    found = decode(order, json.dumps(said).encode()).report
    if isinstance(found, NoReport):
        faults = found.reason.removeprefix("the report is malformed: ").split("; ")
        wrong = [
            one for one in faults if NOT_OF_THE_FORM.search(one) and not NEEDS_THE_WHOLE.match(one)
        ]
        assert not wrong, f"{wrong} in {said}"


# --- and the other way round ---------------------------------------------------------------------

DOCS = Path(__file__).parents[3] / "docs" / "agents.md"
EXAMPLE = re.compile(r"<!-- (\w+) -->\n```json\n(.*?)```", re.DOTALL)


def test_every_example_of_the_manual_fits() -> None:
    found = EXAMPLE.findall(DOCS.read_text("utf-8"))
    orders = {**ORDERS, "verifier": SCORED}
    for name, text in found:
        Draft202012Validator(report_schema(orders[name])).validate(json.loads(text))
    assert sorted({name for name, _ in found}) == [
        *("align", "probe", "redirect", "verifier", "worker"),
    ]


@each_order
def test_they_are_schemas_and_no_alternatives_are_at_the_top(order: Order) -> None:
    for schema in (report_schema(order), strict(report_schema(order))):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert "anyOf" not in schema
        assert len(json.dumps(schema)) < 64_000  # it is an argument of a program


# --- strict --------------------------------------------------------------------------------------


def objects(schema: Schema) -> list[Schema]:
    found = [schema] if schema.get("type") == "object" else []
    for form in (*schema.get("anyOf", ()), *schema.get("properties", {}).values()):
        found += objects(form)
    return found + (objects(schema["items"]) if "items" in schema else [])


@each_order
def test_the_strict_one_requires_every_key_and_knows_no_free_ones(order: Order) -> None:
    closed = strict(report_schema(order))
    for form in objects(closed):
        assert form["required"] == list(form["properties"])
        assert form["additionalProperties"] is False
        assert form["properties"]
    assert not re.search("m..Length|propertyNames", json.dumps(closed))


def test_what_was_optional_may_be_null_there() -> None:
    closed = strict(report_schema(JUDGE))
    assert closed == {
        "type": "object",
        "properties": {
            "passed": {"type": "boolean"},
            "evidence": {
                "type": "string",
                "description": "files, lines, output that a reader can look up",
            },
            "failures": {
                "type": "array",
                "items": {"type": "string", "description": "one thing that is wrong"},
                "maxItems": 200,
            },
        },
        "required": ["passed", "evidence", "failures"],
        "additionalProperties": False,
    }
    worker = strict(report_schema(WORK))["properties"]
    assert (worker["success"], worker["infeasible"]) == (
        {"type": "boolean"},
        {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
    )
