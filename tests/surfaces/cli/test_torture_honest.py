"""`dwindle torture --honest`: which variations there are, what is said of each, the exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.surfaces.command import dwindle

from dwindle.surfaces.cli import honest, torture
from dwindle.torture.honest import Form, HonestResult, Variation, variations


def test_the_list(tmp_path: Path) -> None:
    said = dwindle(tmp_path, "torture", "--honest", "--list")
    lines = said.out.splitlines()
    assert (said.code, said.err, len(lines)) == (0, "", len(variations()))
    assert lines[0] == "first-makefile       writes the first Makefile of a project"
    assert max(map(len, lines)) <= 80


def test_the_list_for_programs(tmp_path: Path) -> None:
    said = dwindle(tmp_path, "torture", "--honest", "new-conftest", "--list", "--json")
    does = "adds a conftest.py with a fixture for its new test"
    one = {"name": "new-conftest", "does": does, "forms": ["strict", "tree"]}
    assert json.loads(said.out) == {"variations": [one]}


def test_a_variation_that_does_not_exist(tmp_path: Path) -> None:
    said = dwindle(tmp_path, "torture", "--honest", "bytecode", "hangs")
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "dwindle: no variation is named 'hangs'\n"
        "  `dwindle torture --honest --list` names them all\n"
    )


@pytest.mark.slow
def test_one_that_passes(tmp_path: Path) -> None:
    said = dwindle(tmp_path, "torture", "--honest", "absolute-artifact", "--json")
    found = json.loads(said.out)
    assert (said.code, found["passed"]) == (0, True), said
    assert [(one["form"], one["passed"], one["wrong"]) for one in found["variations"]] == [
        ("strict", True, []),
        ("weaker", True, []),
    ]


def test_what_is_said_of_work_that_was_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def results(chosen: Sequence[Variation]) -> Iterator[HonestResult]:
        one = chosen[0]
        yield HonestResult(variation=one, form=Form.STRICT, happened="completed", seconds=2.0)
        yield HonestResult(
            variation=one,
            form=Form.TREE,
            happened="the guard is red",
            wrong=("honest work did not complete: exit code 31", "is kept nowhere: a.py"),
            seconds=1.0,
        )
        missing = "not tried: node is not installed"
        yield HonestResult(variation=chosen[1], form=Form.TREE, happened=missing, was_tried=False)

    monkeypatch.setattr(honest, "honest_results", results)
    assert torture.torture("bytecode", "node-test", honest=True) == 1
    said = capsys.readouterr()
    assert said.out == (
        "passed    node-test/strict                 2 s\n"
        "REFUSED   node-test/tree                   1 s\n"
        "          did:      makes the tests of a node project pass, and adds one\n"
        "          wrong:    honest work did not complete: exit code 31\n"
        "          wrong:    is kept nowhere: a.py\n"
        "          happened: the guard is red\n"
        "NOT RUN   bytecode/tree                    0 s\n"
        "          did:      leaves compiled Python that git does not ignore\n"
        "          happened: not tried: node is not installed\n"
        "\n0 of 2 variations passed, 1 of 3 runs, in 0 s.\n"
    )
    assert said.err == (
        "dwindle: honest work was refused or lost: node-test/tree\n"
        "dwindle: was not tried, so nothing is known of: bytecode/tree\n"
    )
