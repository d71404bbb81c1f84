"""`dwindle torture`: who there is, what is said of each, and the exit code."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.surfaces.command import dwindle

import dwindle as dwindle_package
from dwindle.surfaces.cli import torture
from dwindle.testing.adversaries import CATALOGUE, Adversary, Scene, Way
from dwindle.torture.run import adversaries_named, results
from dwindle.torture.scenes import SETTINGS
from dwindle.torture.trial import Trial, TrialResult


def test_the_list(tmp_path: Path) -> None:
    said = dwindle(tmp_path, "torture", "--list")
    lines = said.out.splitlines()
    assert (said.code, said.err, len(lines)) == (0, "", len(CATALOGUE))
    assert lines[0] == "says-done            says that all is done, and reports nothing"
    assert max(map(len, lines)) <= 80


def test_the_page_names_them_all() -> None:
    page = (Path(__file__).parents[3] / "docs" / "torture.md").read_text("utf-8")
    assert [one.name for one in CATALOGUE if f"`{one.name}`" not in page] == []


def test_a_tool_that_is_not_installed_cannot_be_cheated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    just = replace(SETTINGS[Scene.JUST], program="no-such-program")
    monkeypatch.setitem(SETTINGS, Scene.JUST, just)
    assert torture.torture("just-import") == 0
    said = capsys.readouterr()
    assert said.out.count("not tried: no-such-program is not installed") == len(Way)
    assert "0 of 4 held" in said.out
    assert said.err == "dwindle: was not tried, so nothing is known of: just-import\n"


def test_one_that_wins_where_that_is_documented_is_not_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def results(adversaries: tuple[Adversary, ...], begins: object) -> list[TrialResult]:
        del begins
        (one,) = adversaries
        why = one.possible[Way.GRAPH]
        return [TrialResult(name=one.name, tries="x", happened="completed", possible=why)]

    monkeypatch.setattr(torture, "results", results)
    assert torture.torture("forges-in-process") == 0
    said = capsys.readouterr().out
    assert said.startswith("possible  forges-in-process ")
    assert "possible: code under test can change the tool that runs it" in " ".join(said.split())
    assert "0 of 1 held, 1 won as `dwindle help security` says" in said


def test_the_list_for_programs(tmp_path: Path) -> None:
    said = dwindle(tmp_path, "torture", "hangs", "--list", "--json")
    tries = "hangs, deaf to all signals it can ignore"
    assert json.loads(said.out) == {"adversaries": [{"name": "hangs", "tries": tries}]}


def test_an_adversary_that_does_not_exist(tmp_path: Path) -> None:
    said = dwindle(tmp_path, "torture", "hangs", "hang", "x")
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "dwindle: no adversary is named 'hang', 'x'\n  `dwindle torture --list` names them all\n"
    )


@pytest.mark.slow
def test_one_that_holds(tmp_path: Path) -> None:
    said = dwindle(tmp_path, "torture", "claims-no-change", "--json")
    found = json.loads(said.out)
    seconds = found["adversaries"][0].pop("seconds")
    assert (said.code, found) == (
        0,
        {
            "held": True,
            "adversaries": [
                {
                    "name": "claims-no-change",
                    "tries": "reports success and has changed nothing",
                    "way": "graph",
                    "happened": "atom_exhausted: success was reported, but no file changed and none"
                    " is new The report said: it was right all along",
                    "ran": True,
                    "held": True,
                    "broken": [],
                    "possible": "",
                }
            ],
        },
    )
    assert 0 < seconds < 60


def test_what_is_said_when_something_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whole, however long it is: a user has to act upon it."""

    def results(adversaries: tuple[Adversary, ...], begins: object) -> list[TrialResult]:
        del begins
        happened = "atom_exhausted: success was reported, but there is nothing to show for it"
        broken = ("4 of its processes are alive", "the branch work was moved")
        return [
            TrialResult(
                name=one.name, tries="to stay", happened=happened, broken=broken, seconds=1.0
            )
            for one in adversaries
        ]

    monkeypatch.setattr(torture, "results", results)
    assert torture.torture("forks-daemons") == 1
    said = capsys.readouterr()
    assert said.out == (
        "BROKEN    forks-daemons        1 s, graph\n"
        "          tried:    to stay\n"
        "          happened: atom_exhausted: success was reported, but there is nothing\n"
        "                    to show for it\n"
        "          broken:   4 of its processes are alive\n"
        "          broken:   the branch work was moved\n"
        "\n0 of 1 held, in 0 s.\n"
    )
    assert said.err == "dwindle: not everything held: forks-daemons\n"


@pytest.mark.slow
def test_one_whose_program_cannot_be_imported_did_not_run(tmp_path: Path) -> None:
    package = Path(dwindle_package.__file__).parent
    there = tmp_path / "src" / "dwindle"
    shutil.copytree(package, there, ignore=shutil.ignore_patterns("__pycache__"))
    (there / "testing/adversaries/__main__.py").write_text("import no_such_module\n", "utf-8")
    said = dwindle(tmp_path, "torture", "says-done", PYTHONPATH=str(there.parent))
    assert said.code == 1
    assert said.out.startswith("NOT RUN   says-done ")
    assert "No module named" in " ".join(said.out.split())
    assert "\n0 of 1 held, in " in said.out
    assert said.err == "dwindle: was not tried, so nothing is known of: says-done\n"


def test_one_that_cannot_be_tried_has_not_lost_and_keeps_no_other_from_being_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def result(self: Trial) -> TrialResult:
        if self.adversary.name == "hangs":
            raise RuntimeError("the plan could not be made: too slow")
        return TrialResult(name=self.adversary.name, tries="", happened="stalled")

    monkeypatch.setattr(Trial, "result", result)
    found = list(results(adversaries_named(("hangs", "alternates")), lambda *_: None))
    said = "not tried: the plan could not be made: too slow"
    assert [(one.name, one.happened, one.was_tried, one.passed) for one in found] == [
        ("hangs", said, False, False),
        ("alternates", "stalled", True, True),
    ]
