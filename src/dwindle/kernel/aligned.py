"""What a person agreed to, as it was then: a run is held to it whatever happens later."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many tests a command ran when the person agreed; fewer later on are no pass."""

    command: str
    ran: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """Where the person agreed: the commit, and the files that no worker may touch."""

    commit: str
    pins: tuple[str, ...] = ()
    tests: tuple[Counted, ...] = ()
