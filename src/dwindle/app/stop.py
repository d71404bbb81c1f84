"""Stop the run of a repository: ask it to end, and wait until it has."""

from __future__ import annotations

import time
from pathlib import Path

from dwindle.adapters.store import event_codec
from dwindle.app.host.lease import last_lease
from dwindle.app.redirect.flags import DEAF_SECONDS, is_held, set_flags
from dwindle.app.refusal import Refused
from dwindle.kernel.events import StopRequested
from dwindle.kernel.model import PlanKind
from dwindle.runner.control import ControlClient

PATIENCE = 15.0
"""Seconds to wait for the end; agents are gone within one."""
BY_HAND = "stopped by hand"
STOPPED = "stopped; `dwindle run` goes on from here"


def stop_run(root: Path, kinds: tuple[PlanKind, ...], reason: str) -> str:
    """Ask for the end and wait for it; returns what to say. Refused if no run listens."""
    if PlanKind.GRAPH in kinds and last_lease(root) is not None:
        return _stop_hosted(root, reason)
    wanted = event_codec.encode(StopRequested(reason=reason or BY_HAND))
    began = time.monotonic()
    flagged = False
    while not (asked := [kind for kind in kinds if _ask(root / ".runner", kind, wanted)]):
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


def _stop_hosted(root: Path, reason: str) -> str:
    """A loop inside of a host's session has no process that listens: end it from here."""
    from dwindle.app.host.open_hosted import stop_hosted  # noqa: PLC0415 - the whole loop

    stop_hosted(root, reason or BY_HAND)
    return "stopped; /enter-recursion or `dwindle run` goes on from here"


def _ask(folder: Path, kind: PlanKind, wanted: bytes) -> bool:
    """Whether a run listened; if it refused, Refused."""
    line = ControlClient.to(folder, kind=kind) if folder.is_dir() else None
    answer = line.ask(wanted) if line is not None else None
    if answer is not None and not answer.get("ok"):
        hint = "`dwindle status` says where the run stands"
        raise Refused(str(answer.get("why", "the run refused")), hint=hint)
    return answer is not None
