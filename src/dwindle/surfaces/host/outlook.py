"""How a run stands, as far as a hook has to know; said beforehand, so that no hook works it out.

Asking the kernel means importing it, which takes longer than all else that a hook does. But
whatever changes the plan of a session's loop is a command of ours. So each of them leaves an
outlook in the session's note, with the stamp of the plan file that it is about. Where the stamp
does not fit any more, somebody has changed the plan from outside, and the kernel is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLAN = ".claude/aot-loop-state.md"
SHOWN = 5
"""Atoms that are named in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    stamp: str
    over: bool
    reason: str
    """Why it is over."""
    paused: bool
    """Somebody is about to redirect: nobody is told to go on."""
    in_flight: tuple[str, ...]
    starts: tuple[str, ...]
    """Atoms that could be started now."""
    verify: bool
    open_count: int
    sessions: int
    """That were ever started."""
    stalls: int
    most_stalls: int


def stamp_of(root: Path) -> str:
    """Another one for every version of the plan file."""
    facts = (root / PLAN).stat()
    return f"{facts.st_ino}:{facts.st_mtime_ns}:{facts.st_size}"


def noted(found: dict[str, Any], root: Path) -> Outlook | None:
    """The outlook in a note, if it is about the plan as it is."""
    try:
        made = Outlook(
            **{**found, "in_flight": tuple(found["in_flight"]), "starts": tuple(found["starts"])}
        )
        return made if made.stamp == stamp_of(root) else None
    except (KeyError, TypeError, OSError):
        return None


def sentence(now: Outlook, before: int, idle: int) -> str:
    """What a coordinator is told: how it went, and what is next."""
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
