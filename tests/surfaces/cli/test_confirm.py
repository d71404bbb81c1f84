"""`dwindle confirm`: a person's word is recorded, and the run does what follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.command import GRAPH_FILE, Ended, dwindle, write
from tests.surfaces.small_runs import (
    ASSERTED,
    CERTIFICATE,
    RUN,
    TWO_ASSERTED,
    completed,
    files_of,
    journal_of,
    plan_of,
    project,
    ran,
)

from dwindle.adapters.store.disk import DirectoryLock
from dwindle.app.open_run.graph import AGREE_FIRST
from dwindle.kernel.model import Answer, Question, RunStatus, StopCode
from dwindle.runner.gate.certificate import Certificate

pytestmark = pytest.mark.slow


def certificate(folder: Path) -> Certificate:
    return Certificate.from_json((folder / CERTIFICATE).read_bytes())


def test_yes_completes_the_run(tmp_path: Path) -> None:
    ran(project(tmp_path, ASSERTED), 11)
    control = plan_of(tmp_path).control
    assert (control.status, control.stop_code) == (
        RunStatus.STOPPED,
        StopCode.AWAITING_CONFIRMATION,
    )
    before = files_of(tmp_path)
    assert dwindle(tmp_path, "confirm") == Ended(code=0, out="1  open  It reads well\n")
    assert files_of(tmp_path) == before  # Asking changes nothing.
    assert not certificate(tmp_path).holds

    said = dwindle(tmp_path, "confirm", "yes", "--words", "a joy")
    completes = "yes: It reads well\n`dwindle run` completes the run.\n"
    assert said == Ended(code=0, out=completes)
    answered = (Question(item="It reads well", answer=Answer.YES, words="a joy"),)
    assert plan_of(tmp_path).verification.questions == answered
    recorded = journal_of(tmp_path)[-1]["event"]
    recorded.pop("at")
    assert recorded == {
        "kind": "Confirmed",
        "item": "It reads well",
        "answer": "yes",
        "words": "a joy",
    }
    assert (certificate(tmp_path).holds, certificate(tmp_path).questions) == (True, answered)
    text = (tmp_path / CERTIFICATE).with_suffix(".txt").read_text()
    assert text.startswith("CERTIFICATE: the base case holds\n")

    ran(tmp_path, 0)
    assert plan_of(tmp_path).control.status is RunStatus.COMPLETED
    assert dwindle(tmp_path, "confirm", "1", "no") == Ended(
        code=2,
        err=f"dwindle: {GRAPH_FILE}: too late: the run is completed\n"
        "  `dwindle status` says where the run stands\n",
    )
    assert dwindle(tmp_path, "replay").code == 0
    assert dwindle(tmp_path, "verify").code == 0


def test_no_is_mended(tmp_path: Path) -> None:
    ran(project(tmp_path, ASSERTED), 11)
    assert dwindle(tmp_path, "confirm", "It reads well", "no", "--words", "too dry") == Ended(
        code=0,
        out="no: It reads well\n"
        "`dwindle run` goes on and fixes what you said no to, within the limits.\n",
    )
    ran(tmp_path, 11)  # Fixed, and the question is asked anew.
    plan = plan_of(tmp_path)
    assert [str(name) for name in plan.atoms] == ["A1", "A2"]
    assert "too dry" in plan.atoms[list(plan.atoms)[1]].description
    assert dwindle(tmp_path, "confirm") == Ended(code=0, out="1  open  It reads well\n")
    assert dwindle(tmp_path, "replay").code == 0


def test_which_one_is_meant(tmp_path: Path) -> None:
    ran(project(tmp_path, TWO_ASSERTED), 11)
    listed = "1  open  It reads well\n2  open  It is short\n"
    inset = "".join(f"  {line}\n" for line in listed.splitlines())
    assert dwindle(tmp_path, "confirm") == Ended(code=0, out=listed)
    before = files_of(tmp_path)
    assert dwindle(tmp_path, "confirm", "yes") == Ended(
        code=2, err=f"dwindle: 2 questions are open\n  name one of them:\n{inset}"
    )
    assert dwindle(tmp_path, "confirm", "It is long", "yes") == Ended(
        code=2, err=f"dwindle: there is no question 'It is long'\n  there are:\n{inset}"
    )
    assert dwindle(tmp_path, "confirm", "3", "yes").code == 2
    assert dwindle(tmp_path, "confirm", "1", "maybe") == Ended(
        code=2,
        err="dwindle: the answer has to be yes or no\n"
        "  for example: dwindle confirm ITEM yes; `dwindle confirm` lists the items\n",
    )
    assert files_of(tmp_path) == before

    assert dwindle(tmp_path, "confirm", "2", "yes") == Ended(
        code=0, out="yes: It is short\nstill open: It reads well\n"
    )
    ran(tmp_path, 11)  # One word is not enough.
    assert dwindle(tmp_path, "confirm", "yes") == Ended(
        code=0, out="yes: It reads well\n`dwindle run` completes the run.\n"
    )
    assert dwindle(tmp_path, "confirm") == Ended(
        code=0, out="1  yes   It reads well\n2  yes   It is short\n"
    )
    ran(tmp_path, 0)


def test_the_run_did_not_ask(tmp_path: Path) -> None:
    hint = "  `dwindle status` says where the run stands\n"
    completed(tmp_path)
    asked = Ended(code=2, err=f"dwindle: {GRAPH_FILE}: no question waits for your answer\n{hint}")
    assert dwindle(tmp_path, "confirm") == asked
    assert dwindle(tmp_path, "confirm", "yes") == asked


def test_there_is_no_run(tmp_path: Path) -> None:
    assert dwindle(tmp_path, "confirm") == Ended(
        code=2,
        err=f"dwindle: {GRAPH_FILE}: there is no plan yet\n  {AGREE_FIRST}\n",
    )
    project(tmp_path, ASSERTED)
    assert dwindle(tmp_path, "confirm") == Ended(
        code=2, err=f"dwindle: {GRAPH_FILE}: no run has begun\n  `dwindle run` starts one\n"
    )
    with DirectoryLock((tmp_path / GRAPH_FILE).parent):
        said = dwindle(tmp_path, "confirm", "yes")
    assert (said.code, said.out) == (42, "")
    assert said.err.endswith("  a run is using this plan; it asks when it has stopped\n")


def test_what_was_edited_is_left_alone(tmp_path: Path) -> None:
    ran(project(tmp_path, ASSERTED), 11)
    spoilt = (tmp_path / CERTIFICATE).read_text().replace(RUN, "another")
    write(tmp_path, CERTIFICATE, spoilt + " ")
    said = dwindle(tmp_path, "confirm", "yes")
    assert (said.code, said.out) == (0, "yes: It reads well\n`dwindle run` completes the run.\n")
    assert said.err.startswith(f"dwindle: {CERTIFICATE}: this is not a certificate")
    assert (tmp_path / CERTIFICATE).read_text() == spoilt + " "

    text = (tmp_path / GRAPH_FILE).read_text()
    write(tmp_path, GRAPH_FILE, text + "a note of mine\n")
    assert dwindle(tmp_path, "confirm", "1", "no") == Ended(
        code=2,
        err=f"dwindle: {GRAPH_FILE}: the plan file was edited since it was last written\n"
        "  `dwindle redirect --adopt` takes the edit over; or put the file back as it was\n",
    )
