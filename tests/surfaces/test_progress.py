"""What a person sees of a run: a picture on a terminal, plain lines anywhere else."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.command import PLAIN, dwindle
from tests.surfaces.emulator import Emulator
from tests.surfaces.on_a_terminal import CTRL_C, OnATerminal
from tests.surfaces.small_runs import DRAFT, NARROW, SCRIPT, plan_of, project

from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Event,
    Replanned,
    RunEnded,
    RunStarted,
)
from dwindle.kernel.model import AtomId, Limits, RunStatus, StopCode
from dwindle.kernel.tree import TreeAtom, TreeEdit
from dwindle.surfaces.progress import Lines, Progress, sentence
from dwindle.testing.small_plans import plan_from

SLOW = SCRIPT.replace("- do: [{write", "- do: [{sleep: 4}, {write")
ENDLESS = SCRIPT.replace("- report: {success: false, reason: no pen}", "- do: [{sleep: 60}]")
HANGS = 'worker:\n  "*":\n    - do: [{sleep: 60}]\n'
MANY = DRAFT.replace("  base_case:", "  constraints: {max_parallel_agents: 4}\n  base_case:")
MANY += "".join(f"  - id: B{n}\n    description: Number {n}\n" for n in range(1, 4))
STORY = [
    "the run begins  [1 open, gauge N]",
    "A1: a worker starts  [1 open, gauge N]",
    "A1: failed: no pen  [1 open, gauge N]",
    "A1: a worker starts  [1 open, gauge N]",
    "A1: resolved: done is written  [0 open, gauge N]",
    "the base case is verified  [0 open, gauge N]",
    "the base case holds  [0 open, gauge N]",
    "the run ends, completed: every check of the base case passed  [0 open, gauge N]",
    "Next: `dwindle land` brings the result to your branch",
]
GOES_ON = "Next: `dwindle run` goes on from here"


def timeless(lines: list[str]) -> list[str]:
    """Without the time of day, and with some gauge."""
    assert all(re.match(r"\d\d:\d\d:\d\d |Next: ", line) for line in lines), lines
    said = [line if line.startswith("Next: ") else line[9:] for line in lines]
    return [re.sub(r"gauge \d+", "gauge N", line) for line in said]


def test_no_agent_drives_what_shows_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_from("A1", Limits(max_atoms=5))
    said = "wiped \x1b[2J the\nscreen"
    event = AtomResolved(atom=AtomId("A1"), nonce=1, summary=said, at="2026-11-15T09:48:56Z")
    progress = Progress(Lines())
    progress.recall([RunStarted()])
    progress.told(plan, event)
    assert capsys.readouterr().out == (
        "09:48:56 A1: resolved: wiped \\x1b[2J the screen  [1 open, gauge 7635]\n"
    )


ROOT_ALONE = TreeAtom(
    id=AtomId("root"), parent=None, title="All", description="All of it", max_attempts=3
)


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (Replanned(atom=AtomId("a"), nonce=1), "a: planned: nothing was changed"),
        (
            Replanned(atom=AtomId("root"), nonce=1, edit=TreeEdit(nodes=(ROOT_ALONE,))),
            "root: planned: the tree has 1 node",
        ),
        # Rulers say nothing; words and short marks do.
        (
            AttemptFailed(
                atom=AtomId("a"), nonce=1, reason="just ci is red\n.F..\n=====\nFAIL: x\n------"
            ),
            "a: failed: just ci is red .F.. FAIL: x",
        ),
    ],
)
def test_what_happened_to_a_tree_is_a_line(event: Event, says: str) -> None:
    assert sentence(event) == says


@pytest.mark.slow
def test_why_a_run_ended_is_told_to_the_end() -> None:
    reason = f"it is not logged in: {'so it says, ' * 20}; log in"
    ended = RunEnded(code=StopCode.AGENT_UNAVAILABLE, reason=reason)
    assert sentence(ended) == f"the run ends, agent_unavailable: {reason}"


def test_a_pipe_gets_plain_lines(tmp_path: Path) -> None:
    ended = dwindle(project(tmp_path), "run", TERM="xterm")
    assert (timeless(ended.out.splitlines()), ended.code, ended.err) == (STORY, 0, "")


@pytest.mark.slow
def test_a_pipe_gets_each_line_when_it_is_said(tmp_path: Path) -> None:
    folder = project(tmp_path, script=ENDLESS)
    command = [sys.executable, "-m", "dwindle", "run"]
    with subprocess.Popen(command, cwd=folder, env=PLAIN, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        lines = [run.stdout.readline().decode().rstrip() for _ in range(2)]
        assert timeless(lines) == STORY[:2]
        run.terminate()


@pytest.mark.slow
def test_a_reader_that_leaves_does_not_end_the_run(tmp_path: Path) -> None:
    folder = project(tmp_path)
    line = f"'{sys.executable}' -m dwindle run | head -1"
    ended = subprocess.run(
        ["sh", "-c", line], cwd=folder, env=PLAIN, capture_output=True, check=True, text=True
    )
    assert (timeless(ended.stdout.splitlines()), ended.stderr) == (STORY[:1], "")
    assert plan_of(folder).control.status is RunStatus.COMPLETED


@pytest.mark.slow
def test_a_terminal_that_can_draw_nothing_gets_plain_lines(tmp_path: Path) -> None:
    with OnATerminal(project(tmp_path), "run", TERM="dumb") as terminal:
        assert terminal.ended() == 0
    assert timeless(terminal.seen.splitlines()) == STORY


@pytest.mark.slow
def test_a_terminal_gets_a_picture_that_ticks_and_goes(tmp_path: Path) -> None:
    elapsed = []
    with OnATerminal(project(tmp_path, script=SLOW), "run", TERM="xterm") as terminal:
        terminal.expect("A1  worker 2/3")
        for _ in range(2):
            terminal.watch(1.1)
            screen = Emulator(80, 24).feed(terminal.seen)
            *lines, empty, first, second, session = screen.lines
            assert (timeless(lines), empty) == (STORY[:4], "")
            assert re.sub(r"0:0\d of", "T of", first) == (
                "1 of 1 open, 0 resolved | iteration 1/20 | T of 24 h | no cost reported"
            )
            assert re.fullmatch(
                r"gauge [\d,]+ \[###\.{7}\] down 3 \| at most \d+ more sessions", second
            ), second
            found = re.fullmatch(r"  A1  worker 2/3  (0:0\d) of 30:00  Write done", session)
            assert found, session
            elapsed.append(found[1])
            assert (screen.row, screen.column) == (len(lines), 0)
        assert terminal.ended() == 0
    assert elapsed[0] < elapsed[1]
    screen = Emulator(120, 24).feed(terminal.seen)  # so that no line of the story is two
    assert timeless(screen.lines) == STORY
    assert (screen.row, screen.column, screen.wraps) == (len(STORY), 0, True)


@pytest.mark.slow
def test_a_small_terminal_shows_what_fits(tmp_path: Path) -> None:
    folder = project(tmp_path, MANY, HANGS)
    with OnATerminal(folder, "run", size=(40, 14), TERM="xterm") as terminal:
        terminal.expect("+3 more")
        screen = Emulator(40, 14).feed(terminal.seen)
        *_, cost, down, bound, first, more = screen.lines
        assert (first, more) == ("  A1  worker 1/3  0:00  Write done", "  +3 more")
        assert (cost[-16:], down[:6], bound[:8]) == ("no cost reported", "gauge ", "at most ")
        # A larger window shows more of it with the next picture.
        before = len(terminal.seen)
        terminal.resize(100, 30)
        terminal.expect("  B3  worker 1/3")
        terminal.watch(0.2)
        screen.resize(100, 30)
        screen.feed(terminal.seen[before:])
        empty, first, second = screen.lines[-7:-4]
        assert (empty, first[:11], second[:6]) == ("", "4 of 4 open", "gauge ")
        assert [re.sub(r"0:0\d of", "T of", line) for line in screen.lines[-4:]] == [
            "  A1  worker 1/3  T of 30:00  Write done",
            "  B1  worker 1/3  T of 30:00  Number 1",
            "  B2  worker 1/3  T of 30:00  Number 2",
            "  B3  worker 1/3  T of 30:00  Number 3",
        ]
        terminal.type(CTRL_C, end="")
        assert terminal.ended() == 10


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_but_lines(tmp_path: Path) -> None:
    with OnATerminal(project(tmp_path, script=ENDLESS), "run", TERM="xterm") as terminal:
        terminal.expect("A1  worker 1/3")
        terminal.type(CTRL_C, end="")
        assert terminal.ended() == 10
    screen = Emulator(80, 24).feed(terminal.seen)
    assert timeless(screen.lines) == [
        *STORY[:2],
        "asked to stop: stopped by Ctrl-C  [1 open, gauge N]",
        "A1: interrupted (stop)  [1 open, gauge N]",
        "the run ends, stopped_by_user: stopped by Ctrl-C  [1 open, gauge N]",
        GOES_ON,
    ]
    assert (screen.row, screen.column, screen.wraps) == (6, 0, True)


@pytest.mark.slow
@pytest.mark.parametrize(("no_colour", "coloured"), [("", True), ("1", False)])
def test_a_step_is_shown_too_in_colour_unless_somebody_minds(
    no_colour: str, coloured: bool, tmp_path: Path
) -> None:
    folder = project(tmp_path, NARROW, SLOW.replace("no pen}", "no pen}\n      do: [{sleep: 1}]"))
    with OnATerminal(folder, "step", TERM="xterm", NO_COLOR=no_colour) as terminal:
        assert terminal.ended() == 0
    assert ("\x1b[1m1 of 1 open" in terminal.seen, "[0m" in terminal.seen) == (coloured, coloured)
    assert "1 of 1 open" in terminal.seen
    assert timeless(Emulator().feed(terminal.seen).lines) == [*STORY[:3], GOES_ON]


@pytest.mark.slow
def test_the_story_of_the_demo_is_the_same_on_a_terminal(tmp_path: Path) -> None:
    plain = dwindle(tmp_path, "demo", "--dir", "plain")
    assert plain.code == 0
    with OnATerminal(tmp_path, "demo", "--dir", "drawn", TERM="xterm", NO_COLOR="1") as terminal:
        assert terminal.ended() == 0
    assert "more sessions" in terminal.seen
    screen = Emulator(200, 24).feed(terminal.seen)
    assert _told([*screen.scrolled, *screen.lines]) == _told(plain.out.splitlines())


def _told(lines: list[str]) -> list[str]:
    """What the run said, and what that meant; two workers at once may end in any order."""
    begin = lines.index("$ dwindle run")
    end = next(number for number, line in enumerate(lines) if "the run ends" in line)
    return sorted(line[9:25] if line[:1].isdigit() else line for line in lines[begin : end + 1])
