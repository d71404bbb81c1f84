"""The careless reader: right about what we write, and harmless about anything else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import pytest

from dwindle.adapters.formats.graph_plan import GraphWriter, decode
from dwindle.adapters.formats.graph_quick import quick_read
from dwindle.adapters.formats.graph_shape import closest, shaped
from dwindle.adapters.formats.strict_yaml import parse
from dwindle.kernel.problem import Problem

DATA = Path(__file__).parent / "data" / "graph"


@pytest.mark.parametrize("path", sorted(DATA.glob("*.md")), ids=lambda path: path.stem)
def test_it_reads_canonical_text_as_the_strict_reader_does(path: Path) -> None:
    plan = decode(path.read_bytes()).plan
    assert plan is not None
    front = GraphWriter().encode(plan)[4:-4].decode()
    assert quick_read(front) == parse(front).data


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            "a:\n  - b: 1\n    c:\n      d: [x, y]\n  - b: 2.5\n",
            {"a": [{"b": 1, "c": {"d": ["x", "y"]}}, {"b": 2.5}]},
        ),
        ('"1st":\n  5: "five"\n', {"1st": {5: "five"}}),
        (
            'a: [A1, "2nd"]\nb: ["x, y", "z"]\nc: [1, 2]\n',
            {"a": ["A1", "2nd"], "b": ["x, y", "z"], "c": [1, 2]},
        ),
        (
            'a: "say \\"x\\""\nb: {}\nc: []\nd: null\ne: true\nf: -1\n',
            {"a": 'say "x"', "b": {}, "c": [], "d": None, "e": True, "f": -1},
        ),
    ],
)
def test_one_value_per_line(text: str, values: object) -> None:
    assert quick_read(text) == values


@pytest.mark.parametrize(
    "text",
    [
        "  a: 1\n",  # nothing is open there
        "- a: 1\n",
        "a: 1\n    - b: 2\n",
        f"{' ' * 400}a: 1\n",
        f"a: {'9' * 19}\n",  # more digits than the strict reader takes
        "a: +x\n",
        'a: "\\x"\n',
        "²: 1\n",
    ],
)
def test_it_gives_up_on_what_it_does_not_know(text: str) -> None:
    assert quick_read(text) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"iteration: 3", b"iteration: 03"),
        (b"iteration: 3", b"iteration: 3 # comment"),
        (b"iteration: 3", b"iteration:  3"),
        (b"\ncontrol:", b"control:"),
        (b'"docs"', b"docs"),
        (b"  - id: A2\n    description", b"  - description"),
        (b"usd: 0.25", b"usd: 0.250"),
    ],
)
def test_text_that_is_almost_ours_is_left_to_the_strict_reader(old: bytes, new: bytes) -> None:
    data = (DATA / "everything.md").read_bytes()
    assert decode(data).warm is not None
    assert old in data
    assert decode(data.replace(old, new, 1)).warm is None


def test_a_canonical_file_is_read_without_importing_a_yaml_parser() -> None:
    program = (
        "import sys, pathlib\n"
        "from dwindle.adapters.formats.graph_plan import decode\n"
        "decoded = decode(pathlib.Path(sys.argv[1]).read_bytes())\n"
        "print(decoded.plan is not None, 'yaml' in sys.modules)\n"
    )
    path = str(DATA / "everything.md")
    done = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True False\n"


def test_what_the_field_by_field_look_does_not_find_is_said_by_the_converter() -> None:
    even = Annotated[int, msgspec.Meta(multiple_of=2)]
    assert shaped(3, even, ("a",)) == (
        None,
        (Problem(where=("a",), what="Expected `int` that's a multiple of 2"),),
    )


def test_hints_do_not_compare_what_nobody_could_have_mistyped() -> None:
    known = ("depends_on", "description")
    assert closest("Depends On", known) == "did you mean depends_on?"
    assert closest("depends_on" * 100_000, known) == "known: depends_on, description"
    assert closest(7, known) == "known: depends_on, description"
