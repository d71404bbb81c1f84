"""The JSON Schemas: current in every copy, and right about files.

`jsonschema`, which we did not write, is the judge.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from dwindle.adapters.formats.schema import (
    PUBLISHED,
    SHIPPED,
    Kind,
    copies,
    graph_schema,
    main,
    render,
    shipped,
    stale,
    tree_schema,
)

ROOT = Path(__file__).parents[3]
TREES = Path(__file__).parent / "data" / "tree"
SCHEMAS = {"graph": graph_schema(), "tree": tree_schema()}

GRAPH = yaml.safe_load("""
objective:
  goal: Guests can log in
  base_case:
    checklist:
      - item: tests pass
        check: {type: command, value: make test}
      - item: one way in
        any_of:
          - item: by file
            check: {type: file, value: login.py}
          - item: well made
            check:
              type: quality
              rubric:
                - {criterion: clear, weight: 0.5, levels: {"1": poor, "5": plain}}
              pass_threshold: 3.5
  background_intent: They asked
  deliverables: Code
  definition_of_done: It works
  constraints: {max_iterations: 9, dispatch: refill}
atoms:
  - {id: A1, description: Look, status: resolved, depends_on: []}
  - {id: A2, description: Build, status: pending, depends_on: [A1], or_group: way}
or_groups:
  way: {choices: [A2, A2_alt], selected: A2, failed: []}
bindings:
  A1: {summary: Seen, artifacts: []}
trail:
  - {or_group: way, selected: A2, reason: simpler, timestamp: "2026-01-01T00:00:00Z"}
""")
HALF_DONE = json.loads((TREES / "half_done.json").read_bytes())


def errors(kind: str, value: object) -> list[str]:
    """The paths that a schema complains about."""
    found = Draft202012Validator(SCHEMAS[kind]).iter_errors(value)
    return sorted("/".join(str(step) for step in error.absolute_path) for error in found)


def test_every_copy_in_the_repository_is_current() -> None:
    assert stale(ROOT) == ()
    assert len(copies(ROOT)) == 4


@pytest.mark.parametrize("kind", ["graph", "tree"])
def test_the_package_ships_what_the_repository_publishes(kind: Kind) -> None:
    published = (ROOT / PUBLISHED[kind]).read_text(encoding="utf-8")
    assert shipped(kind) == published == render(SCHEMAS[kind])
    assert (ROOT / "src/dwindle/schemas" / SHIPPED[kind]).is_file()


@pytest.mark.parametrize("kind", ["graph", "tree"])
def test_each_is_a_schema_with_a_name_and_no_address(kind: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[kind])
    names = {"graph": "dwindle:state_contract:v1.3", "tree": "dwindle:task_tree:v1"}
    assert SCHEMAS[kind]["$id"] == names[kind]


def test_the_bytes_do_not_depend_on_the_hash_seed() -> None:
    command = [sys.executable, "-m", "dwindle.adapters.formats.schema", "--check"]
    ended = [
        subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed}, check=False)
        for seed in ("1", "2")
    ]
    assert [done.returncode for done in ended] == [0, 0]


@pytest.mark.parametrize("path", sorted(TREES.glob("*.json")), ids=lambda path: path.stem)
def test_good_trees_are_good(path: Path) -> None:
    assert errors("tree", json.loads(path.read_bytes())) == []


def test_a_good_graph_is_good() -> None:
    assert errors("graph", GRAPH) == []


def spoilt(value: Any, change: Callable[[Any], object]) -> Any:
    other = copy.deepcopy(value)
    change(other)
    return other


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda t: t.update(version=2), "version"),
        (lambda t: t.update(extra=1), ""),
        (lambda t: t.pop("root"), ""),
        (lambda t: t["root"].update(order="0"), "root/order"),
        (lambda t: t["root"].update(attempts=-1), "root/attempts"),
        (lambda t: t["root"].update(attempts=True), "root/attempts"),
        (lambda t: t["root"].update(max_attempts=0), "root/max_attempts"),
        (lambda t: t["root"].update(order=2**53), "root/order"),
        (lambda t: t["root"].update(id="a..b"), "root/id"),
        (lambda t: t["root"].update(id="a.lock"), "root/id"),
        (lambda t: t["root"].update(id="a\n"), "root/id"),
        (lambda t: t["root"].update(goal=" "), "root/goal"),
        (lambda t: t["root"].update(acceptance=[1]), "root/acceptance/0"),
        (lambda t: t["root"]["children"][0].pop("passes"), "root/children/0"),
        (lambda t: t["root"]["children"][0].update(mode="x"), "root/children/0"),
    ],
)
def test_bad_trees_are_bad(change: Callable[[Any], object], where: str) -> None:
    assert errors("tree", spoilt(HALF_DONE, change)) == [where]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda g: g.update(extra=1), ""),
        (lambda g: g.pop("objective"), ""),
        (lambda g: g.update(atoms=[]), "atoms"),
        (lambda g: g["atoms"][0].update(status="failed"), "atoms/0/status"),
        (lambda g: g["atoms"][0].update(depends_on="A1"), "atoms/0/depends_on"),
        (lambda g: g["atoms"][1].pop("description"), "atoms/1"),
        (lambda g: g["objective"].pop("goal"), "objective"),
        (lambda g: g["or_groups"]["way"].pop("selected"), "or_groups/way"),
    ],
)
def test_bad_graphs_are_bad(change: Callable[[Any], object], where: str) -> None:
    assert errors("graph", spoilt(GRAPH, change)) == [where]


def test_write_makes_all_copies_and_check_names_those_that_are_stale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--check"], tmp_path) == 1
    assert len(capsys.readouterr().err.splitlines()) == 4
    assert main(["--write"], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0
    (tmp_path / PUBLISHED["tree"]).write_text("{}\n", encoding="utf-8")
    assert main(["--check"], tmp_path) == 1
    told = "schemas/task_tree/v1.schema.json is not current; run with --write\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize("arguments", [[], ["--wirte"], ["--check", "--write"]])
def test_anything_else_is_a_usage_error(arguments: list[str], tmp_path: Path) -> None:
    assert main(arguments, tmp_path) == 2
    assert list(tmp_path.iterdir()) == []
