"""Finding a report in whatever was printed."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle.adapters.agents.reports.strict_json import last_object


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        ("nothing { of the } kind", None),
        ('{"a": 1}', '{"a": 1}'),
        ('{"a": {"b": {}}}', '{"a": {"b": {}}}'),
        ('{"a": 1}{"b": 2}', '{"b": 2}'),
        ('first {"a": 1}, then {"b": [{"c": 2}]} and {so} on', '{"b": [{"c": 2}]}'),
        ('```json\n{\n  "a": "}{"\n}\n```\nbye', '{\n  "a": "}{"\n}'),
        ('{"a": 1} {"b": ', '{"a": 1}'),
        ('{"cut off": {"inner": 1}, ', '{"inner": 1}'),
        ('{"a": NaN}', '{"a": NaN}'),
        ("{}", "{}"),
        ('{"n": ' + "9" * 5000 + "}", None),
    ],
)
def test_the_last_whole_object_is_found(text: str, found: str | None) -> None:
    assert last_object(text) == found


def test_it_is_found_far_behind_much_that_looks_like_it() -> None:
    noise = 'if (x) {"use strict"; }\n' * 20_000
    assert last_object(noise + '{"a": 1}\n') == '{"a": 1}'


@pytest.mark.parametrize("piece", ["{", '{"', '{"a":', '{"a":[{},', '{"a":"x', "{ ", '{"a":1}'])
def test_output_made_to_cost_its_square_does_not(piece: str) -> None:
    began = time.process_time()
    last_object(piece * (1_000_000 // len(piece)))
    assert time.process_time() - began < 3.0


json_objects = st.dictionaries(
    st.text(), st.text() | st.integers() | st.dictionaries(st.text(), st.text()), max_size=4
)


@given(st.text(), json_objects, st.text(alphabet=st.characters(exclude_characters="{")))
def test_an_object_at_the_end_is_found_behind_text_without_quotes(
    before: str, found: dict[str, object], after: str
) -> None:
    spelt = json.dumps(found)
    plain = before.replace('"', "'").replace("{", "(")
    assert last_object(f"{plain}{spelt}{after}") == spelt
