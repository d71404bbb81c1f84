"""What a person sees of a run: a picture on a terminal, plain lines anywhere else."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.model.small_plans import plan_from
from tests.surfaces.command import PLAIN, dwindle
from tests.surfaces.on_a_terminal import CTRL_C, OnATerminal
from tests.surfaces.small_runs import DRAFT, NARROW, SCRIPT, plan_of, project
from tests.views.emulator import Emulator

from dwindle.app.journal.event_words import sentence
from dwindle.kernel.decide import decide
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    DeclaredInfeasible,
    Event,
    ProbeEnded,
    Replanned,
    RunEnded,
    RunStarted,
    SessionStarted,
    VerificationEnded,
    WindBegan,
)
from dwindle.kernel.measure import gauge
from dwindle.kernel.model import (
    AtomId,
    Limits,
    Role,
    RunStatus,
    Status,
    StopCode,
    TreeAtom,
    TreeEdit,
    Verification,
)
from dwindle.kernel.transitions import apply
from dwindle.views.terminal.progress import PlainLines, Progress, colour_of

SLOW = SCRIPT.replace("- do: [{write", "- do: [{sleep: 4}, {write")
ENDLESS = SCRIPT.replace("- report: {success: false, reason: no pen}", "- do: [{sleep: 60}]")
HANGS = 'worker:\n  "*":\n    - do: [{sleep: 60}]\n'
THRICE = DRAFT.replace(
    "  base_case:", "  constraints: {max_attempts: 3, max_iterations: 20}\n  base_case:"
)
MANY = THRICE.replace("constraints: {", "constraints: {max_parallel_agents: 4, ")
MANY += "".join(f"  - id: B{n}\n    description: Number {n}\n" for n in range(1, 4))
STORY = [
    "the run begins  [1 open, 0 sessions]",
    "A1: a worker starts  [1 open, 1 session]",
    "A1: failed: no pen  [1 open, 1 session]",
    "A1: a worker starts  [1 open, 2 sessions]",
    "A1: resolved: done is written  [0 open, 2 sessions]",
    "verifying the base case  [0 open, 3 sessions]",
    "the base case holds  [0 open, 3 sessions]",
    "the run ends, completed: every check of the base case passed  [0 open, 3 sessions]",
    "Next: `dwindle diff` shows what changed, `dwindle land` brings it to your branch",
]
GOES_ON = "Next: `dwindle run` goes on from here"


def timeless(lines: list[str]) -> list[str]:
    """Without the time of day."""
    assert all(re.match(r"\d\d:\d\d:\d\d |Next: ", line) for line in lines), lines
    return [line if line.startswith("Next: ") else line[9:] for line in lines]


def test_no_agent_drives_what_shows_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_from("A1", Limits(max_atoms=5))
    said = "wiped \x1b[2J the\nscreen"
    event = AtomResolved(atom=AtomId("A1"), nonce=1, summary=said, at="2026-11-15T09:48:56Z")
    said = "09:48:56 A1: resolved: wiped \\x1b[2J the screen  [1 open, 0 sessions"
    for verbose, more in ((False, ""), (True, f", gauge {gauge(plan):,}")):
        progress = Progress(PlainLines(), verbose=verbose)
        progress.recall([RunStarted()])
        progress.on_event(plan, event)
        assert capsys.readouterr().out == f"{said}{more}]\n"


def test_a_line_says_what_was_spent(capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_from("A1", Limits(max_atoms=5))
    spent = replace(plan.spent, sessions=12, tokens=3_400, usd=0.5)
    Progress(PlainLines()).on_event(replace(plan, spent=spent), RunStarted(at="2026-11-15T09:48"))
    assert capsys.readouterr().out == (
        "09:48 the run begins  [1 open, 12 sessions, 3,400 tokens, 0.50 USD]\n"
    )


@pytest.mark.parametrize(
    ("event", "colour"),
    [
        (RunStarted(), ""),
        (AtomResolved(atom=AtomId("A1"), nonce=1, summary="s"), "green"),
        (AttemptFailed(atom=AtomId("A1"), nonce=1, reason="r"), "red"),
        (VerificationEnded(nonce=1, passed=True), "green"),
        (VerificationEnded(nonce=1, passed=False), "red"),
        (RunEnded(code=StopCode.COMPLETED, reason="r"), "green"),
        (RunEnded(code=StopCode.STALLED, reason="r"), "yellow"),
    ],
)
def test_a_line_has_the_colour_of_its_outcome(event: Event, colour: str) -> None:
    assert colour_of(event) == colour


ROOT_ALONE = TreeAtom(
    id=AtomId("root"), parent=None, title="All", description="All of it", max_attempts=3
)


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (Replanned(atom=AtomId("a"), nonce=1), "a: planned: the tree stays as it was"),
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


class Kept(PlainLines):
    """Lines that are listened to."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def say(self, line: str) -> None:
        self.heard.append(line)


class Told:
    """A run whose progress is kept, line by line."""

    def __init__(self, shape: str, *, probes: int = 0, winds: int = 15) -> None:
        limits = Limits(
            max_atoms=20,
            max_attempts=1,
            max_parallel_agents=3,
            max_probes=probes,
            max_winds=winds,
        )
        self.plan = plan_from(shape, limits)
        self._out = Kept()
        self._progress = Progress(self._out)

    def add(self, *events: Event) -> Told:
        for event in events:
            self.plan = apply(self.plan, event)
            self._progress.on_event(self.plan, event)
        return self

    def start(self, *atoms: str, role: Role = Role.WORKER) -> Told:
        return self.add(*(SessionStarted(atom=AtomId(atom), role=role) for atom in atoms))

    def fail(self, atom: str, reason: str = "no pen") -> Told:
        return self.add(AttemptFailed(atom=AtomId(atom), nonce=self.nonce(atom), reason=reason))

    def nonce(self, atom: str) -> int:
        return self.plan.sessions[AtomId(atom)].nonce

    @property
    def ending(self) -> list[str]:
        """From the line on that says how it ended."""
        lines = [line.strip().partition("  [")[0] for line in self._out.heard]
        at = next(n for n, line in enumerate(lines) if "the run ends" in line)
        return lines[at:]

    @property
    def parkings(self) -> list[str]:
        lines = [line.strip().partition("  [")[0] for line in self._out.heard]
        return [line for line in lines if "parked, " in line or "wind" in line]


def test_what_is_parked_is_a_line_when_it_happens() -> None:
    run = Told("A1 A2<-A1 A3").start("A1", "A3")
    late = AttemptFailed(atom=AtomId("A1"), nonce=run.nonce("A1"), reason="late")
    run.fail("A1", "no pen\n=======\nno paper").add(late)
    assert run.parkings == ["A1: parked, nothing is left to try for now; the rest goes on"]


def test_a_wind_is_a_line_and_what_is_parked_after_it_is_one_again() -> None:
    run = Told("A1", winds=1).start("A1").fail("A1")
    begins = decide(run.plan).actions[0]
    run.add(WindBegan(reason=begins.because)).start("A1").fail("A1", "no ink")
    assert run.parkings == [
        "A1: parked, nothing is left to try for now",
        "a new wind: only parked work is left: wind 1 of 1",
        "A1: parked, nothing is left to try for now",
    ]


def test_what_a_probe_may_help_is_parked_when_the_probe_has_come_back() -> None:
    run = Told("A1", probes=1).start("A1").fail("A1")
    assert run.parkings == []
    run.start("A1", role=Role.PROBE)
    run.add(ProbeEnded(atom=AtomId("A1"), nonce=run.nonce("A1"), findings="nothing"))
    assert run.parkings == ["A1: parked, nothing is left to try for now"]


def test_a_choice_beside_which_there_is_another_is_not_parked() -> None:
    run = Told("G1{A1|A2}").start("A1").fail("A1")
    assert run.parkings == []


def test_what_is_called_infeasible_is_parked() -> None:
    run = Told("A1").start("A1")
    infeasible = DeclaredInfeasible(atom=AtomId("A1"), nonce=run.nonce("A1"), reason="no moon")
    assert run.add(infeasible).parkings == ["A1: parked, nothing is left to try for now"]


END = RunEnded(code=StopCode.ITERATION_LIMIT, reason="max_iterations 20 is reached")


def test_below_the_end_stands_what_is_not_done_what_holds_up_most_first() -> None:
    """A wind gave A4 its attempts back; A1 has used up those that it got."""
    run = Told("A4 A1 A2<-A1 A3<-A2", winds=1).start("A1", "A4").fail("A1").fail("A4", "no ink")
    run.add(WindBegan(reason=decide(run.plan).actions[0].because)).start("A1")
    run.fail("A1", "no pen\n=====\nno paper").add(END)
    assert run.ending == [
        "the run ends, iteration_limit: max_iterations 20 is reached",
        "parked   A1: failed twice, last: no pen no paper; it holds up A2, A3",
        "failing  A4: failed once, last: no ink",
    ]


def test_below_a_good_end_and_below_one_without_failures_stands_nothing() -> None:
    assert Told("A1 A2").add(END).ending == [
        "the run ends, iteration_limit: max_iterations 20 is reached"
    ]
    run = Told("A1 A2").start("A1").fail("A1")
    passed = Verification(passed=True)
    done = {name: replace(a, status=Status.RESOLVED) for name, a in run.plan.atoms.items()}
    run.plan = replace(run.plan, atoms=done, verification=passed)
    run.add(RunEnded(code=StopCode.COMPLETED, reason="every check passed"))
    assert run.ending == ["the run ends, completed: every check passed"]


def test_of_very_much_that_is_not_done_twenty_are_told_and_the_rest_counted() -> None:
    names = [f"A{n}" for n in range(1, 24)]
    run = Told(" ".join([*names, "A24<-A23"]))
    for at in range(0, len(names), 3):
        run.start(*names[at : at + 3])
        for name in names[at : at + 3]:
            run.fail(name, "red")
    run.add(END)
    _, first, *between, last = run.ending
    assert first == "parked   A23: failed once, last: red; it holds up A24"
    assert between == [f"parked   A{n}: failed once, last: red" for n in range(1, 20)]
    assert last == "and 3 more: `dwindle status`"


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
    with OnATerminal(project(tmp_path, THRICE, SLOW), "run", TERM="xterm") as terminal:
        terminal.expect("A1  worker 2/3")
        for _ in range(2):
            terminal.watch(1.1)
            screen = Emulator(80, 24).feed(terminal.seen)
            *lines, empty, first, second, session = screen.lines
            assert (timeless(lines), empty) == (STORY[:4], "")
            assert re.sub(r"0:0\d of", "T of", first) == (
                "1 of 1 open, 0 resolved | iteration 1/20 | T of 24 h | no cost reported"
            )
            assert re.fullmatch(r"\[###\.{7}\] \| at most [\d,]+ more sessions", second), second
            found = re.fullmatch(r"  A1  worker 2/3  (0:0\d) of 30 min  Write done", session)
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
        assert (cost[-16:], down[:12] + bound[:8]) == (
            "no cost reported",
            "[#.........]at most ",
        )
        # A larger window shows more of it with the next picture.
        before = len(terminal.seen)
        terminal.resize(100, 30)
        terminal.expect("  B3  worker 1/3")
        terminal.watch(0.2)
        screen.resize(100, 30)
        screen.feed(terminal.seen[before:])
        empty, first, second = screen.lines[-7:-4]
        assert (empty, first[:11], second[:6]) == ("", "4 of 4 open", "[#....")
        assert [re.sub(r"0:0\d of", "T of", line) for line in screen.lines[-4:]] == [
            "  A1  worker 1/3  T of 30 min  Write done",
            "  B1  worker 1/3  T of 30 min  Number 1",
            "  B2  worker 1/3  T of 30 min  Number 2",
            "  B3  worker 1/3  T of 30 min  Number 3",
        ]
        terminal.type(CTRL_C, end="")
        assert terminal.ended() == 10


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_but_lines(tmp_path: Path) -> None:
    with OnATerminal(project(tmp_path, THRICE, ENDLESS), "run", TERM="xterm") as terminal:
        terminal.expect("A1  worker 1/3")
        terminal.type(CTRL_C, end="")
        assert terminal.ended() == 10
    screen = Emulator(120, 24).feed(terminal.seen)  # so that no line is two
    assert timeless(screen.lines) == [
        *STORY[:2],
        "asked to stop: stopped by Ctrl-C  [1 open, 1 session]",
        "A1: interrupted (stop)  [1 open, 1 session]",
        "the run ends, stopped_by_user: stopped by Ctrl-C  [1 open, 1 session]",
        GOES_ON,
    ]
    assert (screen.row, screen.column, screen.wraps) == (6, 0, True)


@pytest.mark.slow
@pytest.mark.parametrize(("no_colour", "coloured"), [("", True), ("1", False)])
def test_a_step_is_shown_too_in_colour_unless_no_color_is_set(
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
    begin = lines.index("$ dwindle run --verbose")
    end = next(number for number, line in enumerate(lines) if "the run ends" in line)
    return sorted(line[9:25] if line[:1].isdigit() else line for line in lines[begin : end + 1])
