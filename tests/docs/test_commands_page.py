"""docs/commands.md cannot rot: its examples are played, its tables compared with real output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.docs.commands_page import PAGE, example_repository, rendered
from tests.surfaces.bad_plans import GRAPH
from tests.surfaces.command import dwindle, graph_repository

from dwindle.app.plans.standing import AtomStanding
from dwindle.surfaces.cli.app import COMMANDS

TEXT = PAGE.read_text(encoding="utf-8")

# Something of everything, so that no list in the output is empty: a session in flight, a choice
# given up, an unwritten one, an exhausted atom, a warning.
FULL = (
    GRAPH.replace("status: pending\n  iteration", "status: running\n  iteration")
    .replace(
        "redirect_requested: false",
        "redirect_requested: false\n  revision: 7\n  in_flight:\n"
        "    - atom: A2\n      role: worker\n      nonce: 6\n      number: 4",
    )
    .replace('"Login"\n    status: pending', '"Login"\n    status: in_progress')
    .replace('"User model"\n    status: pending', '"User model"\n    status: resolved')
    .replace("selected: A3\n    failed: []", "selected: A4\n    failed: [A3]")
    .replace("choices: [A3, A4]", "choices: [A3, A4, A7]")
    .replace("max_stall_count: 3", "max_stall_count: 2")
    .replace(
        "\ndecompositions:",
        '  - id: A8\n    description: "Tried"\n    status: pending\n    depends_on: []\n'
        "    attempts: 3\n    probes: 1\n\ndecompositions:",
    )
)
LAST_WAY = (
    GRAPH.replace("selected: A3\n    failed: []", "selected: A4\n    failed: [A3]")
    .replace('"User model"\n    status: pending', '"User model"\n    status: resolved')
    .replace("trail: []", "trail:\n  - {type: failure, atom: A4, reason: red, timestamp: now}")
)
USED_UP = LAST_WAY.replace('"Sessions"\n', '"Sessions"\n    attempts: 1\n    probes: 1\n')
SPENT = GRAPH.replace("iteration: 0", "iteration: 20")


def test_every_example_on_the_page_is_what_the_program_says(tmp_path: Path) -> None:
    assert rendered(TEXT, example_repository(tmp_path)) == TEXT


def test_every_command_has_its_section() -> None:
    assert re.findall(r"^## (.+)$", TEXT, re.MULTILINE) == [name for name, *_ in COMMANDS]
    assert [name for name, *_ in COMMANDS if f"$ dwindle {name} --help\n" not in TEXT] == []


def test_every_standing_is_described() -> None:
    described = table("an atom")
    assert sorted(described) == sorted(["starts", *AtomStanding])


@pytest.mark.parametrize(
    ("title", "words", "plans"),
    [
        ("validate --json", ["validate", "--json"], [FULL]),
        ("status --json", ["status", "--json"], [FULL, LAST_WAY, USED_UP]),
        ("explain --json", ["explain", "--json"], [GRAPH, SPENT]),
        ("graph --format json", ["graph", "--format", "json"], [FULL]),
    ],
)
def test_the_tables_list_exactly_the_keys(
    title: str, words: list[str], plans: list[str], tmp_path: Path
) -> None:
    found: dict[str, None] = {}
    for number, plan in enumerate(plans):
        folder = tmp_path / str(number)
        folder.mkdir()
        said = dwindle(graph_repository(folder, plan), *words)
        assert (said.code, said.err) == (0, "")
        found.update(dict.fromkeys(keys(json.loads(said.out))))
    # What is null or empty in one plan and not in the other is listed by what is in it.
    leaves = [key for key in found if not any(other.startswith(f"{key}.") for other in found)]
    assert sorted(table(f"`{title}`")) == sorted(leaves)


def table(title: str) -> list[str]:
    """What stands in backquotes in the first column of the table with this heading."""
    rows = TEXT.split(f"| {title} | |\n|---|---|\n", 1)[1].split("\n\n", 1)[0].splitlines()
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def keys(value: Any, path: str = "") -> Iterator[str]:
    """The paths to everything that holds no more of it: `plans[].problems[].line`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from keys(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        if not value:
            yield f"{path}[]"
        for inner in value:
            yield from keys(inner, f"{path}[]")
    else:
        yield path
