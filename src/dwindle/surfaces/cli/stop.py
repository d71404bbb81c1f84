"""dwindle stop: ask the run of this repository to end, and wait until it has."""

from __future__ import annotations

import time
from pathlib import Path

from dwindle.adapters.journals import event_codec
from dwindle.kernel.events import StopRequested
from dwindle.kernel.model import PlanKind
from dwindle.runner.control import Line
from dwindle.surfaces.cli.output import say
from dwindle.surfaces.flags import DEAF_SECONDS, is_held, set_flags
from dwindle.surfaces.host.tenancy import left_by
from dwindle.surfaces.plan_files import repository
from dwindle.surfaces.refusal import Refused

PATIENCE = 15.0
"""Seconds to wait for the end; agents are gone within one."""
BY_HAND = "stopped by hand"
STOPPED = "stopped; `dwindle run` goes on from here"


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
    wanted = event_codec.encode(StopRequested(reason=reason or BY_HAND))
    began = time.monotonic()
    flagged = False
    while not (asked := [kind for kind in kinds if _asked(root / ".runner", kind, wanted)]):
        held = [kind for kind in kinds if is_held(root, kind)]
        if flagged and not held:
            return STOPPED
        if time.monotonic() - began >= PATIENCE or not held:
            raise Refused("no run is listening here", hint="`dwindle status` says where it stands")
        if PlanKind.GRAPH in held and not flagged and time.monotonic() - began >= DEAF_SECONDS:
            set_flags(root, stop_requested=True, stop_reason=reason or BY_HAND)
            flagged = True
        time.sleep(0.05)
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE:
        if not any(is_held(root, kind) for kind in asked):
            return STOPPED
        time.sleep(0.02)
    raise Refused("the run has not ended yet", hint="`dwindle status` says where it stands")


def _stopped_inside(root: Path, reason: str) -> str:
    """A loop inside of a host's session has nobody who listens: it is ended from here."""
    from dwindle.surfaces.host import endings  # noqa: PLC0415 - the whole loop

    endings.stopped(root, reason or BY_HAND)
    return "stopped; /enter-recursion or `dwindle run` goes on from here"


def _asked(folder: Path, kind: PlanKind, wanted: bytes) -> bool:
    """Whether somebody listened; a refusal is told."""
    line = Line.to(folder, kind=kind) if folder.is_dir() else None
    answer = line.ask(wanted) if line is not None else None
    if answer is not None and not answer.get("ok"):
        hint = "`dwindle status` says where the run stands"
        raise Refused(str(answer.get("why", "the run refused")), hint=hint)
    return answer is not None
