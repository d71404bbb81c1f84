"""`dwindle torture`: who there is, what is said of each, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.surfaces.command import dwindle

from dwindle.surfaces.arena import Arena, Verdict
from dwindle.surfaces.cli import torture
from dwindle.surfaces.torture import chosen, verdicts
from dwindle.testing.adversaries import CATALOGUE, Adversary


def test_the_list(tmp_path: Path) -> None:
    said = dwindle(tmp_path, "torture", "--list")
    lines = said.out.splitlines()
    assert (said.code, said.err, len(lines)) == (0, "", len(CATALOGUE))
    assert lines[0] == "says-done            says that all is done, and reports nothing"
    assert max(map(len, lines)) <= 80


def test_the_list_for_programs(tmp_path: Path) -> None:
    said = dwindle(tmp_path, "torture", "hangs", "--list", "--json")
    tries = "hangs, deaf to all signals it can ignore"
    assert json.loads(said.out) == {"adversaries": [{"name": "hangs", "tries": tries}]}


def test_somebody_who_is_not_there(tmp_path: Path) -> None:
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
                    "happened": "atom_exhausted: success was reported, but there is nothing to"
                    " show: no file changed, none is new",
                    "held": True,
                    "broken": [],
                }
            ],
        },
    )
    assert 0 < seconds < 60


def test_what_is_said_when_something_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whole, however long it is: it is what somebody has to act upon."""

    def verdicts(adversaries: tuple[Adversary, ...], begins: object) -> list[Verdict]:
        del begins
        happened = "atom_exhausted: success was reported, but there is nothing to show for it"
        broken = ("4 of its processes are alive", "the branch work was moved")
        return [
            Verdict(name=one.name, tries="to stay", happened=happened, broken=broken, seconds=1.0)
            for one in adversaries
        ]

    monkeypatch.setattr(torture, "verdicts", verdicts)
    assert torture.torture("forks-daemons") == 1
    said = capsys.readouterr()
    assert said.out == (
        "BROKEN    forks-daemons        1.0 s\n"
        "          tried:    to stay\n"
        "          happened: atom_exhausted: success was reported, but there is nothing\n"
        "                    to show for it\n"
        "          broken:   4 of its processes are alive\n"
        "          broken:   the branch work was moved\n"
        "\n0 of 1 held, in 0 s.\n"
    )
    assert said.err == "dwindle: not everything held: forks-daemons\n"


def test_one_that_cannot_be_tried_has_not_lost_and_keeps_nobody_from_being_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def judged(self: Arena) -> Verdict:
        if self.adversary.name == "hangs":
            raise RuntimeError("the plan could not be made: too slow")
        return Verdict(name=self.adversary.name, tries="", happened="stalled")

    monkeypatch.setattr(Arena, "judged", judged)
    found = list(verdicts(chosen(("hangs", "alternates")), lambda _: None))
    said = "not tried: the plan could not be made: too slow"
    assert [(one.name, one.happened, one.broken) for one in found] == [
        ("hangs", said, (said,)),
        ("alternates", "stalled", ()),
    ]
