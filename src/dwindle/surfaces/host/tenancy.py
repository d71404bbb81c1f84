"""Which session of a host has the loop of a repository, and until when.

A runner of ours holds a lock for as long as it lives. A loop inside of a host's session consists of
many short commands with nothing in between that could hold one, so the session leaves a note
instead: who it is, and when it is to be given up for dead. Every command of the session renews it.
The note is not part of the plan: losing it loses nothing but the claim.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from dwindle.surfaces.refusal import Refused

NOTE: Final = ".runner/host.json"
SECONDS: Final = 30 * 60.0
"""After which a session that says nothing has gone away."""
LOCKED: Final = 42
"""The exit code of whoever comes second; hooks do not wait for `kernel.exit_codes`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenancy:
    session: str
    """The host's own id of the session; empty where it was started by hand."""
    until: float
    run: str = ""
    coordinator: str = ""
    """Whom the hook told to go on last, and how often in a row."""
    told: int = 0
    started: int = 0
    """Sessions of the run that had been started when a coordinator last ended."""
    idle: int = 0
    """Coordinators that ended one after the other without starting anything."""
    open_count: int = -1
    """Open atoms when a coordinator last ended."""
    pressed: int = 0
    """How often the session itself was told to go on, and nothing came of it."""
    at: int = -1
    """Sessions of the run that had been started when it was told so last."""
    outlook: dict[str, Any] = field(default_factory=dict)
    """How the run stood after the last command (`outlook`)."""

    def is_alive(self, now: float) -> bool:
        return now < self.until

    def is_of(self, session: str) -> bool:
        """Whoever cannot be told apart is taken for the one who has it."""
        return not session or not self.session or session == self.session


_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "session": (str,),
    "until": (int, float),
    "run": (str,),
    "coordinator": (str,),
    "told": (int,),
    "started": (int,),
    "idle": (int,),
    "open_count": (int,),
    "pressed": (int,),
    "at": (int,),
    "outlook": (dict,),
}


def session_here() -> str:
    """The session that this process belongs to, as the host tells its commands and hooks."""
    return os.environ.get("DWINDLE_SESSION") or os.environ.get("CLAUDE_CODE_SESSION_ID", "")


def tenancy(root: Path, session: str = "") -> Tenancy | None:
    """The one in force; None if nobody has the loop, or nobody has it any more.

    For the `session` itself it stays in force until somebody else takes the run up: one worker may
    be at work for longer than a note lasts.
    """
    found = left_by(root)
    if found is None or (session and session == found.session):
        return found
    return found if found.is_alive(time.time()) else None


def left_by(root: Path) -> Tenancy | None:
    """The last one, even if it has run out; None if the run was ended or taken up since."""
    return _read(root / NOTE)


def take(root: Path, found: Tenancy) -> Tenancy:
    """Write it down, renewed."""
    renewed = replace(found, until=time.time() + SECONDS)
    path = root / NOTE
    path.parent.mkdir(exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    new.write_text(json.dumps(asdict(renewed)) + "\n", encoding="utf-8")
    new.replace(path)
    return renewed


def give_up(root: Path) -> None:
    (root / NOTE).unlink(missing_ok=True)


def refuse_hosted(root: Path) -> None:
    """For whoever wants to run the plan outside of the session that has it; holds the lock.

    A note that has run out is put away, so that its session does not come back to it.
    """
    found = tenancy(root)
    if found is None:
        give_up(root)
    else:
        left = max(1, round((found.until - time.time()) / 60))
        raise Refused(
            "the loop runs inside of a Claude Code session",
            where=NOTE,
            hint="`dwindle stop` ends it there; if that session is gone, it is given up for dead\n"
            f"  in {left} minutes",
            code=LOCKED,
        )


def _read(path: Path) -> Tenancy | None:
    try:
        found: Any = json.loads(path.read_bytes())
        made = Tenancy(**{name: found[name] for name in _KINDS if name in found})
    except (OSError, ValueError, TypeError):
        return None
    return made if all(isinstance(v, _KINDS[name]) for name, v in asdict(made).items()) else None
