"""Whatever is in a draft or in the settings: an answer, and never an exception."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.formats.test_config_file import EVERYTHING
from tests.adapters.formats.test_draft_plan import SHORT

from dwindle.adapters.formats.config.file import read_settings
from dwindle.adapters.formats.draft.plan import decode_draft
from dwindle.adapters.formats.graph.plan import decode
from dwindle.adapters.formats.graph.writer import GraphWriter
from dwindle.kernel.problems import validate

BITS = st.sampled_from(
    [
        *(
            "",
            " ",
            "\n",
            "[",
            "]",
            "{",
            "}",
            ":",
            "- ",
            "'",
            '"',
            "#",
            "---\n",
            "\t",
            "=",
            ".",
            ",",
        ),
        *("null", "true", "-1", "1.5", "[[agents]]", "A1", "atoms:", "&a", "*a", "\ufeff", "é"),
        *("status: resolved", "failed: [A2]", "selected: A3", "control:", "2026-01-01", "inf"),
    ]
)
EDITS = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 40), BITS), max_size=4)


def edited(text: str, edits: list[tuple[int, int, str]]) -> bytes:
    for place, length, bit in edits:
        start = place % (len(text) + 1)
        text = text[:start] + bit + text[start + length :]
    return text.encode()


@given(EDITS, st.booleans())
def test_a_damaged_draft_is_read_or_refused(
    edits: list[tuple[int, int, str]], fenced: bool
) -> None:
    data = edited(f"---\n{SHORT}---\n" if fenced else SHORT, edits)
    draft = decode_draft(data)
    found = draft.judged(() if draft.readable is None else validate(draft.readable))
    assert (draft.plan is None) == bool(draft.problems)
    lines = data.count(b"\n") + 2
    assert [p for p in found if p.line is None or not 1 <= p.line <= lines] == []
    if draft.plan is not None and not found:
        # What alignment would write is a plan file that says the same.
        assert decode(GraphWriter(draft.body).encode(draft.plan)).plan == draft.plan


@given(EDITS)
def test_damaged_settings_are_read_or_refused(edits: list[tuple[int, int, str]]) -> None:
    data = edited(EVERYTHING.decode(), edits)
    read = read_settings(data)
    assert (read.settings is None) == bool(read.problems)
    lines = data.count(b"\n") + 1
    assert [p for p in read.problems if p.line is None or not 1 <= p.line <= lines] == []


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    assert (read_settings(data).settings is None) == bool(read_settings(data).problems)
    assert (decode_draft(data).plan is None) == bool(decode_draft(data).problems)
