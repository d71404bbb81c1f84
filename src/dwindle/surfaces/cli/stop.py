"""dwindle stop: ask the run of this repository to end, and wait until it has."""

from __future__ import annotations

import time
from pathlib import Path

from dwindle.adapters.disk import DirectoryLock, Locked
from dwindle.adapters.journals import event_codec
from dwindle.kernel.events import StopRequested
from dwindle.runner.control import Line
from dwindle.surfaces.cli.output import say
from dwindle.surfaces.plan_files import repository
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.running import PLAN_FILE

PATIENCE = 15.0
"""Seconds to wait for the end; agents are gone within one."""


def stop(*, reason: str = "") -> int:
    """End the run; everything is kept, and `dwindle run` goes on.

    Args:
        reason: Why; kept in the plan.
    """
    root = Path(repository(str(Path.cwd())) or Path.cwd())
    folder = root / ".runner"
    line = Line.to(folder) if folder.is_dir() else None
    wanted = StopRequested(reason=reason or "stopped by hand")
    answer = line.ask(event_codec.encode(wanted)) if line is not None else None
    if answer is None:
        raise Refused("no run is listening here", hint="`dwindle status` says where it stands")
    if not answer.get("ok"):
        raise Refused(str(answer.get("why", "the run refused")))
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE:
        try:
            with DirectoryLock((root / PLAN_FILE).parent):
                return say("stopped; `dwindle run` goes on from here")
        except Locked:
            time.sleep(0.02)
    raise Refused("the run has not ended yet", hint="`dwindle status` says where it stands")
