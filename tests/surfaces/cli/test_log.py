"""`dwindle log`: everything that happened, in words and as it stands in the journal."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.surfaces.command import PLAIN, Ended, dwindle, write
from tests.surfaces.small_runs import JOURNAL, NARROW, RUN, completed, journal_of, project, ran

from dwindle.app.journal.event_words import event_text
from dwindle.kernel.events import (
    AtomResolved,
    Confirmed,
    EarlyChecked,
    Event,
    RedirectRequested,
    Settled,
    Usage,
    Waited,
)
from dwindle.kernel.model import Answer, AtomId

pytestmark = pytest.mark.slow

SAID = [
    "the run begins",
    "A1: a worker starts",
    "A1: failed: no pen",
    "A1: a worker starts",
    "A1: resolved: done is written",
    "verifying the base case",
    "the base case holds",
    "the run ends, completed: every check of the base case passed",
]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return completed(tmp_path_factory.mktemp("log"))


def in_words(folder: Path, said: list[str]) -> str:
    found = zip(journal_of(folder), said, strict=True)
    return "".join(f"{e['event']['at']} {e['n']:>5}  {words}\n" for e, words in found)


def test_every_event_is_a_line(done: Path) -> None:
    assert dwindle(done, "log") == Ended(code=0, out=in_words(done, SAID))
    assert dwindle(done, "log", RUN) == dwindle(done, "log")


def test_json_is_the_journal_itself(done: Path) -> None:
    lines = (done / JOURNAL).read_text().splitlines(keepends=True)
    events = "".join(line for line in lines if '"event":' in line)
    assert dwindle(done, "log", "--json", LC_ALL="C") == Ended(code=0, out=events)


def test_a_run_that_has_ended_is_not_waited_for(done: Path) -> None:
    assert dwindle(done, "log", "--follow") == dwindle(done, "log")


def test_a_run_is_followed_to_its_end(tmp_path: Path) -> None:
    project(tmp_path, NARROW)
    assert dwindle(tmp_path, "step").code == 0  # A journal to follow, and a run that has not ended.
    following = subprocess.Popen(
        [sys.executable, "-m", "dwindle", "log", "--follow"],
        cwd=tmp_path,
        env=PLAIN,
        stdout=subprocess.PIPE,
        text=True,
    )
    ran(tmp_path, 0)
    out, _ = following.communicate(timeout=20)
    assert following.returncode == 0
    assert Ended(code=0, out=out) == dwindle(tmp_path, "log")


def test_a_reader_who_follows_may_leave(tmp_path: Path) -> None:
    project(tmp_path, NARROW)
    dwindle(tmp_path, "step")
    following = subprocess.Popen(
        [sys.executable, "-m", "dwindle", "log", "--follow"],
        cwd=tmp_path,
        env=PLAIN,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert following.stdout is not None
    assert following.stdout.readline().endswith("the run begins\n")
    time.sleep(0.1)
    following.send_signal(signal.SIGINT)
    _, err = following.communicate(timeout=20)
    assert (following.returncode, err) == (130, "")


def test_what_is_not_there(done: Path, tmp_path: Path) -> None:
    assert dwindle(done, "log", "../../etc/passwd") == Ended(
        code=2,
        err="dwindle: there is neither a run nor an atom '../../etc/passwd'\n"
        "  `dwindle status` lists open atoms, `dwindle log` everything\n",
    )
    other = RUN.replace("0", "1", 1)
    assert dwindle(done, "log", other) == Ended(
        code=2, err=f"dwindle: .runner/journal: there is no run {other}\n  there are: {RUN}\n"
    )
    project(tmp_path)
    assert dwindle(tmp_path, "log") == Ended(
        code=2,
        err="dwindle: .runner/journal: no run of this plan has begun\n  `dwindle run` begins one\n",
    )


def test_a_journal_that_was_changed_is_not_told(done: Path, tmp_path: Path) -> None:
    text = (done / JOURNAL).read_text().replace("no pen", "no ink")
    path = write(tmp_path, JOURNAL, text)
    line = next(n for n, found in enumerate(text.splitlines(), 1) if "no ink" in found)
    assert dwindle(tmp_path, "log", RUN) == Ended(
        code=43,
        err=f"dwindle: {path}, line {line}: does not follow from the lines before it\n"
        "  it was changed from outside, so nothing in it is trusted\n",
    )


def test_a_line_that_a_crash_left_is_mentioned(done: Path, tmp_path: Path) -> None:
    write(tmp_path, JOURNAL, (done / JOURNAL).read_text() + '{"n":99,"ev')
    said = dwindle(tmp_path, "log", RUN)
    assert said == Ended(
        code=0,
        out=in_words(done, SAID),
        err="dwindle: the last line is unfinished; it was never acknowledged\n",
    )


A1 = AtomId("A1")


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Waited(), "time passed"),
        (Waited(note="late"), "waited: late"),
        (Settled(), "consequences were written into the plan"),
        (RedirectRequested(), "a person is about to redirect"),
        (RedirectRequested(active=False), "the redirect was given up"),
        (EarlyChecked(passed=False), "the base case does not hold yet"),
        (Confirmed(item="nice", answer=Answer.YES), "a person confirmed nice"),
        (Confirmed(item="nice", answer=Answer.NO, words="ugly"), "a person denied nice: ugly"),
        (
            AtomResolved(atom=A1, nonce=1, summary="s\x1b[2J", usage=Usage(tokens=12345, usd=0.5)),
            r"A1: resolved: s\x1b[2J (12,345 tokens, 0.50 USD)",
        ),
    ],
    ids=str,
)
def test_every_kind_has_words(event: Event, said: str) -> None:
    assert re.fullmatch(r"-\s+7  (.*)", event_text(7, event, {}))[1] == said  # type: ignore[index]
