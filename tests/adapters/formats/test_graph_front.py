"""Files that are refused before any YAML is read, or that are YAML but no front matter."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dwindle.adapters.formats.graph.front_matter import MAX_BYTES
from dwindle.adapters.formats.graph.plan import decode

DATA = Path(__file__).parent / "data" / "graph"
START = (DATA / "legacy_start.md").read_bytes()


def said(data: bytes) -> list[tuple[int | None, str, str]]:
    """What is wrong with a file: line, path, sentence."""
    decoded = decode(data)
    assert decoded.plan is None
    assert all(not problem.warning for problem in decoded.problems)
    return [
        (problem.line, ".".join(map(str, problem.where)), problem.what)
        for problem in decoded.problems
    ]


def changed(data: bytes, old: str, new: str) -> bytes:
    """Replace the first occurrence, which must be there."""
    assert old.encode() in data
    return data.replace(old.encode(), new.encode(), 1)


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b"", 1, "there is no front matter"),
        (b"# Only a prompt\n", 1, "there is no front matter"),
        (b"----\nobjective:\n---\n", 1, "there is no front matter"),
        (b"---", 1, "the front matter has no end"),
        (b"---\nobjective:\n  goal: x\n", 1, "the front matter has no end"),
        (b"---\na: 1\n ---\n----\n", 1, "the front matter has no end"),
        (b"---\na: \xff\n---\n", 2, "byte 8 is not UTF-8"),
        (START + b"\xc3", 40, f"byte {len(START) + 1} is not UTF-8"),
        (START.replace(b"goal", b"go\x00al"), 3, "the character U+0000 cannot be seen"),
        (START.replace(b"...", b"\x1b[31m", 1), 3, "the character U+001B cannot be seen"),
        (START.replace(b"...", "\u2028".encode(), 1), 3, "the character U+2028 cannot be seen"),
        (b"\xef\xbb\xbf" + START, 1, "the file begins with a byte order mark"),
        (START.replace(b"\n", b"\r\n"), 1, "a line ends with a carriage return"),
        (START.replace(b'"..."\n', b'"..."\r\n', 1), 3, "a line ends with a carriage return"),
        (
            changed(START, "\ncontrol:", "\n--- # two\ncontrol:"),
            15,
            "a second YAML document begins here",
        ),
        (
            START.partition(b"\n# Original")[0] + START,
            37,
            "a second YAML document begins where the text for people should",
        ),
        (
            changed(START, "depends_on: []", "depends_on: " + "[" * 100_000),
            28,
            "nested more than 64 levels deep",
        ),
        (b"---\n- a\n---\n", 1, "the front matter must be a mapping of sections"),
        (b"---\njust text\n---\n", 1, "the front matter must be a mapping of sections"),
    ],
)
def test_a_file_that_is_no_plan_file(data: bytes, line: int, what: str) -> None:
    assert said(data)[0] == (line, said(data)[0][1], what)
    assert len(said(data)) == 1


def test_a_file_of_a_hundred_megabytes_is_refused_without_being_read() -> None:
    data = START + b" " * 100_000_000
    start = time.perf_counter()
    problems = decode(data).problems
    assert time.perf_counter() - start < 0.5
    assert [problem.what for problem in problems] == [
        f"the file has {len(data)} bytes; at most {MAX_BYTES} are read"
    ]
