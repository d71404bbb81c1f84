"""A draft from values: readable, and read back as it was."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dwindle.adapters.formats.draft.text import draft_text
from dwindle.adapters.formats.strict_yaml import parse

DRAFT = {
    "objective": {
        "goal": 'Say "yes": # always',
        "base_case": {
            "checklist": [
                {"item": "Tests", "check": {"type": "command", "value": "make test"}},
                {
                    "item": "Names",
                    "check": {
                        "type": "quality",
                        "rubric": [{"criterion": "clear", "weight": 1, "levels": {"1": "no"}}],
                        "pass_threshold": 3.5,
                    },
                },
            ]
        },
        "protected_paths": ["tests", "!tests/a b.txt"],
        "constraints": {},
    },
    "atoms": [
        {"id": "A1", "description": "One\nand two", "probe": True},
        {"id": "no", "description": "Two", "depends_on": ["A1", "x y"], "touches": []},
    ],
}

TEXT = """\
objective:
  goal: "Say \\"yes\\": # always"
  base_case:
    checklist:
      - item: "Tests"
        check:
          type: command
          value: "make test"
      - item: "Names"
        check:
          type: quality
          rubric:
            - criterion: "clear"
              weight: 1
              levels:
                1: "no"
          pass_threshold: 3.5
  protected_paths: ["tests", "!tests/a b.txt"]
  constraints: {}
atoms:
  - id: A1
    description: "One\\nand two"
    probe: true
  - id: "no"
    description: "Two"
    depends_on: [A1, "x y"]
    touches: []
"""


def test_a_draft_reads_like_one_that_a_person_wrote() -> None:
    assert draft_text(DRAFT) == TEXT


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Co", "Cn"]))
values = st.recursive(
    st.booleans() | st.integers(-(10**12), 10**12) | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(texts.filter(lambda key: key not in "12345"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(texts.filter(lambda key: key not in "12345"), values, min_size=1))
def test_whatever_it_holds_is_read_back(found: dict[str, Any]) -> None:
    parsed = parse(draft_text(found))
    assert (parsed.data, parsed.problems) == (found, ())
