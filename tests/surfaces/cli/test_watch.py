"""`dwindle watch` on a real terminal, and as lines: live, hostile, resized, and left clean."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.surfaces.command import PLAIN, dwindle, git
from tests.surfaces.on_a_terminal import OnATerminal
from tests.surfaces.small_runs import RUN as REAL
from tests.surfaces.small_runs import journal_of, project
from tests.views.recorded import RUN, Recorded, plan_to_run, story
from tests.views.whole_screen import WholeScreen

from dwindle.kernel.measure import gauge

pytestmark = pytest.mark.slow

SIZES = [(80, 24), (200, 60)]
PATIENCE = 20.0
SLOW = r"""
worker:
  "*":
    - do:
        - print: "\e[2J\e]0;owned\a<b>bold</b> \e[?1049l\r\nthe last line"
        - sleep: 60
      report: {success: true, summary: done}
"""


class Watched(OnATerminal):
    """`watch` in a folder, and what its screen shows."""

    def __init__(
        self, folder: Path, *words: str, size: tuple[int, int] = (80, 24), **surroundings: str
    ) -> None:
        self.size = size
        super().__init__(folder, "watch", *words, size=size, **{"TERM": "xterm", **surroundings})

    @property
    def screen(self) -> WholeScreen:
        return WholeScreen(*self.size).feed(self.seen)

    def until(self, holds: Callable[[WholeScreen], bool]) -> WholeScreen:
        """The screen as soon as it is like this."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.watch(0.1)
            if holds(self.screen):
                return self.screen
        raise AssertionError("\n".join(self.screen.lines))

    def shows(self, text: str) -> WholeScreen:
        return self.until(lambda screen: any(text in line for line in screen.lines))

    def press(self, key: str) -> None:
        self.type(key, end="")

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def seconds_used(self) -> float:
        """Of a processor, as the kernel counts them."""
        facts = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(facts[11]) + int(facts[12])) / os.sysconf("SC_CLK_TCK")


def repository(folder: Path) -> Path:
    git(folder, "init", "--quiet")
    return folder


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A real run that takes its time."""
    project(folder, script=SLOW)
    command = [sys.executable, "-m", "dwindle", "run"]
    ran = subprocess.Popen(command, cwd=folder, env=PLAIN, stdout=subprocess.DEVNULL)
    try:
        yield ran
    finally:
        if ran.poll() is None:
            ran.terminate()
        ran.wait(30)


# --- the screen ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_a_hostile_run_watched_while_it_goes_on_and_stopped(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    with running(tmp_path) as ran, Watched(tmp_path, size=size) as seen:
        screen = seen.shows("the last line")
        assert screen.is_other
        assert screen.lines[0] == "running"
        assert any("\\x1b[2J\\x1b]0;owned\\x07<b>bold</b>" in line for line in screen.lines)
        assert any("A1 worker 0:" in line for line in screen.lines)
        seen.press("l")
        seen.shows("[worker/session.log]")
        seen.press("\t")
        seen.shows("[worker/order.json]")
        seen.press("q")
        seen.shows("q quit")
        seen.press("s")
        seen.shows("stop this run? everything is kept (y/n)")
        seen.press("n")
        seen.shows("q quit")
        seen.press("s")
        seen.shows("(y/n)")
        seen.press("y")
        seen.shows("stopped (stopped_by_user): stopped from watch")
        seen.shows("stopped; `dwindle run` goes on from here")
        seen.press("q")
        assert seen.ended() == 0
        assert (seen.screen.is_clean, seen.screen.lines) == (True, [])
        assert ran.wait(30) == 10
    asked = [e["event"] for e in journal_of(tmp_path) if e["event"]["kind"] == "StopRequested"]
    assert [event["reason"] for event in asked] == ["stopped from watch"]


def test_a_run_is_redirected_from_the_screen(tmp_path: Path) -> None:
    project(tmp_path)
    dwindle(tmp_path, "step")
    with Watched(tmp_path) as seen:
        seen.shows("q quit")
        seen.press("r")
        seen.expect("dwindle redirect (in ")
        seen.until(lambda screen: screen.is_clean)
        seen.watch(2.0)
        seen.press("\x04")
        seen.expect("enter goes back to the run")
        seen.press("\r")
        seen.until(lambda screen: screen.is_other)
        seen.shows("redirect ended with")
        seen.press("q")
        assert seen.ended() == 0
        assert seen.screen.is_clean


def test_sessions_go_on_unless_the_user_says_that_they_may_end(tmp_path: Path) -> None:
    with running(tmp_path) as ran, Watched(tmp_path) as seen:
        seen.shows("the last line")
        seen.press("r")
        seen.shows("redirect this run?")
        seen.press("\r")
        seen.shows("not redirected; its sessions go on")
        kinds = [e["event"]["kind"] for e in journal_of(tmp_path)]
        assert ("RedirectRequested" in kinds, "SessionInterrupted" in kinds) == (False, False)
        assert dwindle(tmp_path, "stop").code == 0
        seen.press("q")
        assert seen.ended() == 0
        assert ran.wait(30) == 10


def test_the_window_is_resized(tmp_path: Path) -> None:
    with story(repository(tmp_path)), Watched(tmp_path) as seen:
        seen.shows("q quit")
        before = len(seen.seen)
        seen.resize(200, 60)
        seen.size = (200, 60)
        seen.watch(1.5)
        wide = WholeScreen(200, 60).feed(seen.seen[before:])
        assert any("plan" in line and "events" in line for line in wide.lines)
        assert len(wide.lines) == 60
        before = len(seen.seen)
        seen.resize(40, 10)
        seen.watch(1.5)
        small = WholeScreen(40, 10).feed(seen.seen[before:])
        assert (len(small.lines), small.lines[0]) == (10, "completed: every check passed")
        seen.press("q")
        assert seen.ended() == 0


def test_without_colour_there_is_none(tmp_path: Path) -> None:
    with story(repository(tmp_path)):
        with Watched(tmp_path) as seen:
            seen.shows("q quit")
            assert "\x1b[32m" in seen.seen
        with Watched(tmp_path, NO_COLOR="1") as seen:
            seen.shows("q quit")
            assert "\x1b[32m" not in seen.seen


def test_keys_choose_scroll_and_explain(tmp_path: Path) -> None:
    with story(repository(tmp_path)), Watched(tmp_path) as seen:
        seen.shows("q quit")
        seen.press("\x1b[B")
        seen.shows("> \u2713 A1")
        seen.press("j")
        seen.shows("> \u2713 G1")
        seen.press("l")
        seen.shows("G1 has had no session yet")
        seen.press("\x1b[A")
        seen.shows("> \u2713 A1")
        seen.press("\r")
        seen.shows("this cannot be read")
        seen.press("q")
        seen.press("?")
        seen.shows("any key goes back")
        seen.press("x")
        seen.shows("q quit")
        seen.press("\x1b[200~")  # what no key of ours says is let be
        seen.press("s")
        seen.shows("nothing is running here")
        seen.press("q")
        assert seen.ended() == 0


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0)]
)
def test_the_terminal_is_clean_after_a_signal(tmp_path: Path, number: int, code: int) -> None:
    with story(repository(tmp_path)), Watched(tmp_path) as seen:
        seen.shows("q quit")
        seen.send(number)
        assert seen.ended() == code
        assert (seen.screen.is_clean, seen.screen.lines) == (True, [])


def test_the_terminal_is_clean_while_it_is_suspended_and_comes_back(tmp_path: Path) -> None:
    with story(repository(tmp_path)), Watched(tmp_path) as seen:
        seen.shows("q quit")
        seen.send(signal.SIGTSTP)
        seen.until(lambda screen: screen.is_clean)
        seen.send(signal.SIGCONT)
        seen.shows("q quit")
        seen.press("q")
        assert seen.ended() == 0
        assert seen.screen.is_clean


def test_the_terminal_is_clean_after_a_mistake_of_ours() -> None:
    mistake = (
        "from dwindle.views.terminal.full_screen import FullScreen\n"
        "with FullScreen() as screen:\n"
        "    screen.draw([])\n"
        "    1 / 0\n"
    )
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    before = termios.tcgetattr(theirs)
    command = [sys.executable, "-c", mistake]
    ended = subprocess.run(
        command, env=PLAIN, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, check=False
    )
    after = termios.tcgetattr(theirs)
    screen = WholeScreen().feed(os.read(ours, 65536).decode())
    os.close(theirs)
    os.close(ours)
    assert ended.stderr.decode().endswith("ZeroDivisionError: division by zero\n")
    assert (screen.is_clean, after) == (True, before)


def test_another_run_that_begins_is_watched(tmp_path: Path) -> None:
    with story(repository(tmp_path)), Watched(tmp_path) as seen:
        seen.shows("completed")
        time.sleep(0.02)
        with Recorded(tmp_path, plan_to_run("A1 A2 A3", run="01NEXT"), run="01NEXT") as made:
            made.begin().start("A1")
            seen.shows("3 of 3 open")
        seen.press("q")
        assert seen.ended() == 0


def test_watching_costs_little(tmp_path: Path) -> None:
    with running(tmp_path), Watched(tmp_path) as seen:
        seen.shows("the last line")
        before, began = seen.seconds_used(), time.monotonic()
        seen.watch(6.0)
        share = (seen.seconds_used() - before) / (time.monotonic() - began)
        assert share < 0.05
        seen.press("q")
        assert seen.ended() == 0


# --- lines ---------------------------------------------------------------------------------------


def test_piped_it_is_lines_until_the_run_is_over(tmp_path: Path) -> None:
    with story(repository(tmp_path)) as made:
        said = dwindle(tmp_path, "watch")
        left = f"completed, 0 open, gauge {_gauge(made):,}, at most 0 more"
    lines = said.out.splitlines()
    assert (said.code, said.err, len(lines)) == (0, "", 19)
    assert lines[:2] == [f"run {RUN}, graph plan", "10:00:01 the run begins"]
    assert lines[-1] == f"10:00:18 the run ends, completed: every check passed  [{left}]"
    assert all(line.isprintable() for line in lines)


def _gauge(made: Recorded) -> int:
    return gauge(made.plan)


def test_lines_follow_a_run_that_was_started_elsewhere(tmp_path: Path) -> None:
    with running(tmp_path) as ran:
        deadline = time.monotonic() + PATIENCE
        while "SessionStarted" not in _journal(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.1)
        command = [sys.executable, "-m", "dwindle", "watch", REAL]
        with subprocess.Popen(command, cwd=tmp_path, env=PLAIN, stdout=subprocess.PIPE) as seen:
            time.sleep(1.5)
            assert seen.poll() is None
            ran.send_signal(signal.SIGTERM)
            out, _ = seen.communicate(timeout=30)
    assert (seen.returncode, out.decode().splitlines()[-1].split("  [")[0][9:32]) == (
        0,
        "the run ends, stopped_b",
    )


def _journal(folder: Path) -> str:
    path = folder / f".runner/journal/{REAL}.jsonl"
    return path.read_text() if path.exists() else ""


def test_a_terminal_that_cannot_draw_gets_lines(tmp_path: Path) -> None:
    with story(repository(tmp_path)), Watched(tmp_path, TERM="dumb") as seen:
        assert seen.ended() == 0
        assert "\x1b" not in seen.seen
        assert "the run ends, completed" in seen.seen


def test_a_journal_that_was_changed_is_not_shown_further(tmp_path: Path) -> None:
    with story(repository(tmp_path)):
        path = tmp_path / f".runner/journal/{RUN}.jsonl"
        path.write_bytes(path.read_bytes().replace(b"on stone", b"on glass"))
        said = dwindle(tmp_path, "watch")
    assert (said.code, len(said.out.splitlines())) == (43, 13)
    assert said.err == (
        f"dwindle: .runner/journal/{RUN}.jsonl, line 14: does not follow from what is here; "
        "another program changed it, so the rest of it is not shown\n"
    )


def test_nothing_to_watch(tmp_path: Path) -> None:
    said = dwindle(repository(tmp_path), "watch")
    assert (said.code, "there is no plan" in said.err) == (2, True)
    named = dwindle(tmp_path, "watch", "01NOBODY")
    assert (named.code, named.err.splitlines()[0]) == (
        2,
        "dwindle: .runner/journal: there is no run 01NOBODY",
    )


def test_a_plan_that_has_not_been_run_is_shown(tmp_path: Path) -> None:
    project(tmp_path)
    with Watched(tmp_path) as seen:
        seen.shows("Make the check pass")
        screen = seen.shows("q quit")
        assert screen.lines[0] == "pending"
        seen.press("q")
        assert seen.ended() == 0
