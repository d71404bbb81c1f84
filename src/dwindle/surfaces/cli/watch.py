"""dwindle watch: a run, live, on the whole screen; or as lines without one."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from dwindle.app.console import complain, say
from dwindle.app.plans.plan_files import plans_of, root_of_here
from dwindle.kernel.model import EXIT_CODES, PlanKind, StopCode
from dwindle.surfaces.cli.log import reader_left
from dwindle.text import amounts
from dwindle.text.terminal import one_line
from dwindle.views.read_model.run_view import Follower
from dwindle.views.read_model.runs import current_run, known_run
from dwindle.views.read_model.shapes import Head, RunChange

POLL = 0.25
OVER = ("completed", "stopped", "resting", "cut_short")
"""Phases without a runner: there is nothing to wait for."""
WAITING = "dwindle: no run has begun yet; waiting for one (Ctrl-C leaves)"


def watch(
    run: str | None = None,
    /,
    *,
    plan: PlanKind | None = None,
    lines: bool = False,
) -> int:
    """Watch a run.

    Args:
        run: The id of a run; the run of the plan, if left out.
        plan: Which plan, where there are two.
        lines: Print lines, also on a terminal.
    """
    root = root_of_here()
    try:
        named = known_run(root, run, plan) if run else _wait_for_run(root, plan)
        if lines or not _has_screen():
            return _in_lines(root, named)
        return _on_screen(root, named, follow_new=run is None)
    except KeyboardInterrupt:
        return 0


def _has_screen() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _wait_for_run(root: Path, plan: PlanKind | None) -> str:
    """Wait for the current run to begin; Refused if there is no plan."""
    said = False
    while (found := current_run(root, plan)) is None:
        plans_of(str(root))
        if not said:
            complain(WAITING)
            said = True
        time.sleep(1.0)
    return found


def _on_screen(root: Path, run: str, *, follow_new: bool) -> int:
    from dwindle.views.terminal.full_screen import FullScreen, Gone  # noqa: PLC0415 - only then
    from dwindle.views.terminal.watch import Watch  # noqa: PLC0415

    try:
        with FullScreen() as screen:
            Watch(root, run, screen, follow_new=follow_new).run()
    except Gone as gone:
        return 0 if gone.signal == signal.SIGINT else 128 + gone.signal
    return 0


# --- lines ---------------------------------------------------------------------------------------


def _in_lines(root: Path, run: str) -> int:
    """Print every event as a line, until the run is over or the reader has closed the pipe."""
    followed = Follower(root, run)
    begun = False
    while True:
        change = followed.poll()
        if change is not None and (change["events"] or not begun):
            text = _text(change, first=not begun)
            begun = True
            if text:
                say(text)
        if followed.is_damaged:
            complain(f"dwindle: {one_line(followed.notes[-1])}")
            return EXIT_CODES[StopCode.IO_ERROR]
        if reader_left() or (change is None and followed.phase() in OVER):
            return 0
        time.sleep(POLL)


def _text(change: RunChange, *, first: bool) -> str:
    lines = [f"{event['at'][11:19]} {one_line(event['text'])}" for event in change["events"]]
    head = change["head"]
    if first:
        lines = [f"run {head['run']}, {head['kind']} plan", *lines]
    return "\n".join([*lines[:-1], f"{lines[-1]}  [{_summary(head)}]"]) if lines else ""


def _summary(head: Head) -> str:
    state = head["phase"].replace("_", " ")
    height, bound = amounts.count(head["gauge"]), amounts.count(head["bound"])
    return f"{state}, {head['open']} open, gauge {height}, at most {bound} more"
