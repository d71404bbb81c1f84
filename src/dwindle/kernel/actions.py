"""What we want, in the imperative: the only output of `decide`.

Every action says why. So does every atom that is not started: `explain.waiting` works it out
on request, because most passes of the loop do not need it.
"""

from __future__ import annotations

from dataclasses import dataclass

from dwindle.kernel.model import AtomId, GroupId, Plan, StopCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    atom: AtomId
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Look before a worker starts, or (`plan`) propose a decomposition or alternatives."""

    atom: AtomId
    plan: bool = False
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    after_seconds: int = 0
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckEarly:
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """End a session; save what it made. A verification has ROOT for its atom."""

    atom: AtomId
    nonce: int
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailChoice:
    """Rung 2: rebuild the branch without the choice. Sessions on `kills` are ended first."""

    group: GroupId
    choice: AtomId
    kills: tuple[AtomId, ...] = ()
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Backjump:
    """Rung 4: rebuild the branch without `drops`. Sessions on `kills` are ended first."""

    group: GroupId
    atom: AtomId
    drops: tuple[AtomId, ...]
    kills: tuple[AtomId, ...] = ()
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginWind:
    """Try again what is parked."""

    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    because: str


Action = Work | Probe | Verify | CheckEarly | Kill | FailChoice | Backjump | BeginWind | Settle


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    code: StopCode
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    plan: Plan
    actions: tuple[Action, ...] = ()
    stop: Stop | None = None
    because: str = ""
    """Why there is nothing to do but wait, or why the run stops."""
