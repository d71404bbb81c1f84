"""dwindle stop: ask the run of this repository to end, and wait until it has."""

from __future__ import annotations

import time
from pathlib import Path

from dwindle.adapters.disk import DirectoryLock, Locked
from dwindle.adapters.journals import event_codec
from dwindle.kernel.events import StopRequested
from dwindle.kernel.model import PlanKind
from dwindle.runner.control import Line
from dwindle.surfaces.cli.output import say
from dwindle.surfaces.host.tenancy import left_by
from dwindle.surfaces.plan_files import repository
from dwindle.surfaces.refusal import Refused
from dwindle.wiring import PLAN_FILES

PATIENCE = 15.0
"""Seconds to wait for the end; agents are gone within one."""


def stop(*, reason: str = "", plan: PlanKind | None = None) -> int:
    """End the run; everything is kept, and `dwindle run` goes on.

    Args:
        reason: Why; kept in the plan.
        plan: Which run, where both plans are being run; else all.
    """
    root = Path(repository(str(Path.cwd())) or Path.cwd())
    return say(stopped(root, tuple(PlanKind) if plan is None else (plan,), reason))


def stopped(root: Path, kinds: tuple[PlanKind, ...], reason: str) -> str:
    """Ask for the end and wait for it; what to tell the person. Refused if nobody listens."""
    if PlanKind.GRAPH in kinds and left_by(root) is not None:
        return _stopped_inside(root, reason)
    wanted = event_codec.encode(StopRequested(reason=reason or "stopped by hand"))
    began = time.monotonic()
    while not (asked := [kind for kind in kinds if _asked(root / ".runner", kind, wanted)]):
        # A run that is just beginning has its plan already, and does not listen yet.
        if time.monotonic() - began >= PATIENCE or not any(_is_held(root, kind) for kind in kinds):
            raise Refused("no run is listening here", hint="`dwindle status` says where it stands")
        time.sleep(0.05)
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE:
        if not any(_is_held(root, kind) for kind in asked):
            return "stopped; `dwindle run` goes on from here"
        time.sleep(0.02)
    raise Refused("the run has not ended yet", hint="`dwindle status` says where it stands")


def _stopped_inside(root: Path, reason: str) -> str:
    """A loop inside of a host's session has nobody who listens: it is ended from here."""
    from dwindle.surfaces.host import endings  # noqa: PLC0415 - the whole loop

    endings.stopped(root, reason or "stopped by hand")
    return "stopped; /enter-recursion or `dwindle run` goes on from here"


def _is_held(root: Path, kind: PlanKind) -> bool:
    """Whether somebody has the plan."""
    folder = (root / PLAN_FILES[kind]).parent
    try:
        if folder.is_dir():
            DirectoryLock(folder).release()
    except Locked:
        return True
    return False


def _asked(folder: Path, kind: PlanKind, wanted: bytes) -> bool:
    """Whether somebody listened; a refusal is told."""
    line = Line.to(folder, kind=kind) if folder.is_dir() else None
    answer = line.ask(wanted) if line is not None else None
    if answer is not None and not answer.get("ok"):
        hint = "`dwindle status` says where the run stands"
        raise Refused(str(answer.get("why", "the run refused")), hint=hint)
    return answer is not None
