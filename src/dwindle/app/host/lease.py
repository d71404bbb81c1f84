"""Which session of a host has the loop of a repository, until when, and how its run stands.

A runner holds a lock for as long as it lives. A loop inside of a host's session consists of many
short commands with no process in between that could hold one. So the session leaves a note with a
lease: who it is, and when the lease expires. Every command of the session renews it. The note is
not part of the plan: losing it loses nothing but the lease.

The note also has a summary of the run for the hook, which must be quick: importing the kernel takes
longer than all else that a hook does. Every command of the session writes the summary, with a stamp
of the plan file. Where the stamp does not fit, another process has changed the plan, and the hook
asks the kernel.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from dwindle.app.refusal import Refused

NOTE: Final = ".runner/host.json"
PLAN: Final = ".claude/aot-loop-state.md"
"""As `paths.PLAN_FILE`, without importing the kernel."""
SECONDS: Final = 30 * 60.0
"""After which the lease of a silent session expires."""
LOCKED: Final = 42
"""The exit code when another session or a runner has the loop; as in `EXIT_CODES`."""
SHOWN: Final = 5
"""Atoms that a sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLease:
    session: str
    """The host's own id of the session; empty where a person started it by hand."""
    until: float
    run: str = ""
    coordinator: str = ""
    """The coordinator that the hook told to go on last."""
    nudges: int = 0
    """How often in a row the hook told it so."""
    started: int = 0
    """Sessions of the run that had been started when a coordinator last ended."""
    idle: int = 0
    """Coordinators that ended one after the other without starting anything."""
    open_count: int = -1
    """Open atoms when a coordinator last ended."""
    session_nudges: int = 0
    """How often the hook told the session itself to go on, without effect."""
    nudged_at: int = -1
    """Sessions of the run that had been started when the hook last told it so."""
    summary: dict[str, Any] = field(default_factory=dict)
    """The RunSummary after the last command."""

    def is_alive(self, now: float) -> bool:
        return now < self.until

    def is_of(self, session: str) -> bool:
        """A session without an id counts as the one that has the lease."""
        return not session or not self.session or session == self.session

    def minutes_left(self) -> int:
        return max(1, round((self.until - time.time()) / 60))


_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "session": (str,),
    "until": (int, float),
    "run": (str,),
    "coordinator": (str,),
    "nudges": (int,),
    "started": (int,),
    "idle": (int,),
    "open_count": (int,),
    "session_nudges": (int,),
    "nudged_at": (int,),
    "summary": (dict,),
}


def session_here() -> str:
    """The session that this process belongs to, as the host tells its commands and hooks."""
    return os.environ.get("DWINDLE_SESSION") or os.environ.get("CLAUDE_CODE_SESSION_ID", "")


def current_lease(root: Path, session: str = "") -> HostLease | None:
    """The lease in force; None if no session has the loop, or its lease has expired.

    For the `session` itself it stays in force until another takes the run over: one worker may
    be at work for longer than a lease lasts.
    """
    found = last_lease(root)
    if found is None or (session and session == found.session):
        return found
    return found if found.is_alive(time.time()) else None


def last_lease(root: Path) -> HostLease | None:
    """The last one, even if it has expired; None if the run has ended or was taken over since."""
    try:
        note: Any = json.loads((root / NOTE).read_bytes())
        found = HostLease(**{name: note[name] for name in _TYPES if name in note})
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return found if all(isinstance(v, _TYPES[name]) for name, v in asdict(found).items()) else None


def renew_lease(root: Path, lease: HostLease) -> HostLease:
    """Write the lease with a new expiry."""
    renewed = replace(lease, until=time.time() + SECONDS)
    path = root / NOTE
    path.parent.mkdir(exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    new.write_text(json.dumps(asdict(renewed)) + "\n", encoding="utf-8")
    new.replace(path)
    return renewed


def release_lease(root: Path) -> None:
    (root / NOTE).unlink(missing_ok=True)


def refuse_hosted(root: Path) -> None:
    """Refuse a run outside of the session that has the loop; the caller holds the plan's lock.

    Removes an expired lease, so that its session does not come back to it.
    """
    found = current_lease(root)
    if found is None:
        release_lease(root)
    else:
        raise Refused(
            "the loop runs inside of a Claude Code session",
            where=NOTE,
            hint="`dwindle stop` ends it there; if that session is gone, it is given up for dead\n"
            f"  in {found.minutes_left()} minutes",
            code=LOCKED,
        )


# --- the summary for the hook --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    stamp: str
    over: bool
    reason: str
    """Why it is over."""
    paused: bool
    """A person is about to redirect: the hook tells no agent to go on."""
    in_flight: tuple[str, ...]
    starts: tuple[str, ...]
    """Atoms that could be started now."""
    verify: bool
    open_count: int
    sessions: int
    """That were ever started."""
    stalls: int
    most_stalls: int


def plan_stamp(root: Path) -> str:
    """Changes with every version of the plan file."""
    facts = (root / PLAN).stat()
    return f"{facts.st_ino}:{facts.st_mtime_ns}:{facts.st_size}"


def summary_in(lease: HostLease, root: Path) -> RunSummary | None:
    """The summary in a lease, if it is about the present version of the plan."""
    found = lease.summary
    try:
        summary = RunSummary(
            **{**found, "in_flight": tuple(found["in_flight"]), "starts": tuple(found["starts"])}
        )
        return summary if summary.stamp == plan_stamp(root) else None
    except (KeyError, TypeError, OSError):
        return None


def go_on_text(now: RunSummary, before: int, idle: int) -> str:
    """What the hook tells a coordinator: how it went, and what is next."""
    names = ", ".join(now.starts[:SHOWN])
    if now.verify:
        following = "Nothing is open: have the base case verified."
    elif names:
        more = f" and {len(now.starts) - SHOWN} more" if len(now.starts) > SHOWN else ""
        following = f"Next: {names}{more}."
    else:
        following = "`dwindle state next` says what is next."
    if idle:
        return f"Nothing was started ({idle} of {now.most_stalls} times): start it now. {following}"
    if now.stalls:
        of_what = f" for {names}" if names else ""
        return f"Stalled ({now.stalls} of {now.most_stalls}): switch strategy{of_what}. {following}"
    if 0 <= before < now.open_count:
        split = f"the plan was split up, from {before} to {now.open_count} open atoms"
        return f"Continue: {split}. {following}"
    if before > now.open_count:
        return f"Continue: from {before} to {now.open_count} open atoms. {following}"
    return f"Continue: {now.open_count} open. {following}"
