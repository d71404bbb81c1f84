"""`dwindle watch`: a run on the whole screen, with keys to stop it, redirect it, or read a log.

It never touches the run itself: stop and redirect start the commands of these names, so their
messages and refusals are the same.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from dwindle.views.read_model.attempt_files import last_lines, log_stamp
from dwindle.views.read_model.run_view import Follower, budgets_of
from dwindle.views.read_model.runs import last_written
from dwindle.views.read_model.shapes import SessionView
from dwindle.views.terminal.board import Line
from dwindle.views.terminal.full_screen import FullScreen
from dwindle.views.terminal.log_pager import LogPager
from dwindle.views.terminal.plan_lines import FINE, PLAIN, Signs, listed_nodes
from dwindle.views.terminal.watch_frame import AT_WORK, Row, WatchState, frame

TICK: Final = 0.25
"""Seconds between two looks at the journal."""
SECOND: Final = 1.0
"""How often the clocks on the screen go on, and logs are looked at."""
LOOK_FOR_ANOTHER: Final = 2.0
TAIL_LINES: Final = 3
PAUSES: Final = "redirect this run? its sessions end for it (y; Enter leaves them at work)"
HELP: Final = (
    "q          quit; the run goes on",
    "s          stop the run: everything is kept, `dwindle run` goes on",
    "r          redirect it: the dialogue of `dwindle redirect`",
    "up, down   choose an atom (also k and j); escape clears the choice",
    "enter      prompt, log and changes of its last session (also l)",
    "Ctrl-L     draw everything again",
    "",
    "any key goes back",
)


class Watch:
    """`follow_new`: when the run is over and another begins, that one is watched."""

    def __init__(self, root: Path, run: str, screen: FullScreen, *, follow_new: bool) -> None:
        self._root = root
        self._screen = screen
        self._follow_new = follow_new
        self._run = Follower(root, run)
        self._signs = signs_for(sys.stdout.encoding)
        self._cursor: str | None = None
        self._message = ""
        self._tails: dict[int, tuple[object, list[str]]] = {}
        self._stopping: subprocess.Popen[str] | None = None
        self._looked = 0.0

    def run(self) -> None:
        """Draw until the user quits."""
        drawn = 0.0
        while True:
            changed = self._run.poll() is not None
            now = time.monotonic()
            if changed or self._has_stopped() or self._screen.resized or now - drawn >= SECOND:
                self._screen.resized = False
                self._look_for_another(now)
                self._screen.draw(self._frame())
                drawn = now
            key = self._screen.key(TICK)
            if key in {"q", "interrupt"}:
                return
            if key:
                self._obey(key)
                drawn = 0.0

    # --- what is shown ---------------------------------------------------------------------------

    def _frame(self) -> list[Row]:
        size = self._screen.size
        run, plan = self._run, self._run.plan
        head = run.head()
        running = [run.sessions[nonce] for nonce in head["running"]]
        state = WatchState(
            head=head,
            goal=run.nodes[""]["description"] if "" in run.nodes else "",
            nodes=run.nodes,
            running=running,
            tails={one["nonce"]: self._tail(one) for one in running},
            spent={one["atom"]: self._usage(one["atom"]) for one in running},
            events=run.lines,
            budgets=budgets_of(plan) if plan is not None else (),
            notes=run.notes,
            now=time.time(),
            cursor=self._cursor,
            message=self._message,
        )
        # The last column is left alone: a cursor beyond it is not where we think.
        return frame(state, width=max(1, size.columns - 1), height=size.lines, signs=self._signs)

    def _usage(self, atom: str) -> tuple[int, float]:
        ended = [one for one in self._run.sessions.values() if one["atom"] == atom]
        return sum(one["tokens"] for one in ended), sum(one["usd"] for one in ended)

    def _tail(self, session: SessionView) -> list[str]:
        """The last lines of its log, read again only if it has grown."""
        stamp = log_stamp(self._root, self._run.run, session)
        cached = self._tails.get(session["nonce"])
        if cached is None or cached[0] != stamp:
            lines = last_lines(self._root, self._run.run, session, TAIL_LINES)
            cached = self._tails[session["nonce"]] = (stamp, lines)
        return cached[1]

    def _look_for_another(self, now: float) -> None:
        if not self._follow_new or now - self._looked < LOOK_FOR_ANOTHER:
            return
        self._looked = now
        if self._run.phase() in AT_WORK:
            return
        newest = last_written(self._root, self._run.kind)
        if newest is not None and newest != self._run.run:
            self._run = Follower(self._root, newest)
            self._run.poll()
            self._cursor, self._tails = None, {}

    # --- keys ------------------------------------------------------------------------------------

    def _obey(self, key: str) -> None:
        self._message = ""
        wishes: dict[str, Callable[[], None]] = {
            "up": lambda: self._move(-1),
            "k": lambda: self._move(-1),
            "down": lambda: self._move(1),
            "j": lambda: self._move(1),
            "page up": lambda: self._move(-10),
            "page down": lambda: self._move(10),
            "escape": self._let_go,
            "s": self._ask_to_stop,
            "r": self._redirect,
            "enter": self._open_log,
            "l": self._open_log,
            "?": self._help,
            "redraw": self._screen.redraw,
        }
        wishes.get(key, self._let_be)()

    def _let_be(self) -> None:
        """Not one of the keys."""

    def _let_go(self) -> None:
        self._cursor = None

    def _move(self, steps: int) -> None:
        names = [place.id for place in listed_nodes(self._run.nodes)]
        if not names:
            return
        at = names.index(self._cursor) + steps if self._cursor in names else 0
        self._cursor = names[max(0, min(at, len(names) - 1))]

    def _ask_to_stop(self) -> None:
        if self._run.phase() not in AT_WORK:
            self._message = "nothing is running here"
        elif self._is_sure("stop this run? everything is kept (y/n)"):
            words = ("stop", "--plan", self._run.kind, "--reason", "stopped from watch")
            self._stopping = subprocess.Popen(
                (sys.executable, "-m", "dwindle", *words),
                cwd=self._root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            self._message = "stopping ..."

    def _has_stopped(self) -> bool:
        if self._stopping is None or self._stopping.poll() is None:
            return False
        said, _ = self._stopping.communicate()
        self._message = said.strip()
        self._stopping = None
        return True

    def _is_sure(self, question: str) -> bool:
        self._message = question
        self._screen.draw(self._frame())
        while not (key := self._screen.key(SECOND)):
            self._run.poll()
            self._screen.draw(self._frame())
        self._message = ""
        return key in {"y", "Y"}

    def _redirect(self) -> None:
        """On the screen that the person came from; afterwards this one is back."""
        if self._run.phase() in AT_WORK and not self._is_sure(PAUSES):
            self._message = "not redirected; its sessions go on"
            return
        with self._screen.suspended():
            print(f"dwindle redirect (in {self._root})", flush=True)
            command = (sys.executable, "-m", "dwindle", "redirect")
            ended = subprocess.run(command, cwd=self._root, check=False).returncode
            self._message = f"redirect ended with {ended}" if ended else "redirected"
            if ended:
                print("enter goes back to the run ", end="", flush=True)
                sys.stdin.readline()

    def _open_log(self) -> None:
        session = self._chosen_session()
        if session is None:
            name = self._cursor or "this run"
            self._message = f"{name} has had no session yet"
            return
        LogPager(self._root, self._run, session["nonce"], self._screen).run()
        self._screen.redraw()

    def _chosen_session(self) -> SessionView | None:
        """The last one of what is chosen, else the first that runs, else the last of all."""
        sessions = list(self._run.sessions.values())
        if self._cursor is not None:
            sessions = [one for one in sessions if one["atom"] == self._cursor]
        running = [one for one in sessions if one["end"] is None]
        return running[0] if running else sessions[-1] if sessions else None

    def _help(self) -> None:
        lines: Sequence[Row] = [(Line(text=f"  {line}"),) for line in ("", *HELP)]
        self._screen.draw(lines)
        while not self._screen.key(SECOND):
            self._screen.draw(lines)


def signs_for(encoding: str | None) -> Signs:
    """The fine ones where they can be shown."""
    try:
        "".join((*FINE.status.values(), FINE.taken, *FINE.bar, FINE.rule)).encode(encoding or "")
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return FINE
