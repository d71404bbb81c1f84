"""dwindle watch: a run as it goes on, on a whole screen; or as lines where there is none."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.model import PlanKind, StopCode
from dwindle.surfaces.cli.log import reader_left
from dwindle.surfaces.cli.output import complain, say
from dwindle.surfaces.cli.text import one_line
from dwindle.surfaces.history import root_of_here
from dwindle.surfaces.plan_files import plans_of
from dwindle.surfaces.views.run_view import Follower
from dwindle.surfaces.views.runs import current_run, known_run
from dwindle.surfaces.views.shapes import Change, Head

POLL = 0.25
OVER = ("completed", "stopped", "resting", "cut_short")
"""Nobody is at work: there is nothing to wait for."""
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
        run: The id of the run; that of the plan, if left out.
        plan: Of which plan, where there are two.
        lines: Print lines, also on a terminal.
    """
    root = root_of_here()
    try:
        named = known_run(root, run, plan) if run else _begun(root, plan)
        if lines or not _has_screen():
            return _in_lines(root, named)
        return _on_screen(root, named, follow_new=run is None)
    except KeyboardInterrupt:
        return 0


def _has_screen() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _begun(root: Path, plan: PlanKind | None) -> str:
    """The run that is here, as soon as there is one; Refused where there is not even a plan."""
    said = False
    while (found := current_run(root, plan)) is None:
        plans_of(str(root))
        if not said:
            complain(WAITING)
            said = True
        time.sleep(1.0)
    return found


def _on_screen(root: Path, run: str, *, follow_new: bool) -> int:
    from dwindle.surfaces.views.full_screen import FullScreen, Gone  # noqa: PLC0415 - only then
    from dwindle.surfaces.views.watch import Watch  # noqa: PLC0415

    try:
        with FullScreen() as screen:
            Watch(root, run, screen, follow_new=follow_new).run()
    except Gone as gone:
        return 0 if gone.signal == signal.SIGINT else 128 + gone.signal
    return 0


# --- lines ---------------------------------------------------------------------------------------


def _in_lines(root: Path, run: str) -> int:
    """Every event as a line with what is left, until the run is over or the reader has left."""
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


def _text(change: Change, *, first: bool) -> str:
    lines = [f"{event['at'][11:19]} {one_line(event['text'])}" for event in change["events"]]
    head = change["head"]
    if first:
        lines = [f"run {head['run']}, {head['kind']} plan", *lines]
    return "\n".join([*lines[:-1], f"{lines[-1]}  [{_left(head)}]"]) if lines else ""


def _left(head: Head) -> str:
    state = head["phase"].replace("_", " ")
    return f"{state}, {head['open']} open, gauge {head['gauge']}, at most {head['bound']} more"
