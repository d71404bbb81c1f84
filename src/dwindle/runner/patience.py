"""Waiting for what passes: a rate limit, an overloaded service, a lost network.

Nobody is charged for these. The session stays in flight under its nonce while its program is
started again, as often as it takes; the only thing that such a wait can use up is the time of the
whole run. What the program had used before it was turned away is added up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from dwindle.kernel.events import NO_USAGE, Usage
from dwindle.ports.work import PASSES, NoReport, Result
from dwindle.runner.judgement import bounded

WAITS: Final = (5.0, 15.0, 45.0, 120.0, 300.0)
"""Seconds between tries, where the service did not say how long; the last one is repeated."""
CHARACTERS: Final = 300
MARGIN: Final = 1.0
"""Seconds on top of what the service said: its clock is not ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What is waited for, and for how long."""

    seconds: float
    why: NoReport
    tries: int

    @property
    def words(self) -> str:
        """What is waited for, for people."""
        return f"{self.why.trouble.replace('_', ' ')}: {bounded(self.why.reason, CHARACTERS)}"


async def patient(
    session: Callable[[], Awaitable[Result]],
    left: Callable[[], float],
    told: Callable[[Wait | None], None],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Result:
    """The result of a session that was not turned away, or of the last try that time allows.

    `left` is how many seconds of the run there still are; `told` hears when a wait begins, and
    None when it is over.
    """
    used, tries = NO_USAGE, 0
    while True:
        result = await session()
        used = together(used, result.usage)
        report = result.report
        if not isinstance(report, NoReport) or report.trouble not in PASSES:
            return Result(report=report, usage=used)
        wait = Wait(seconds=_seconds(report, tries), why=report, tries=tries + 1)
        if wait.seconds >= left():
            return Result(report=report, usage=used)
        tries += 1
        told(wait)
        try:
            await sleep(wait.seconds)
        finally:
            told(None)


def _seconds(report: NoReport, tries: int) -> float:
    if report.again_after is not None and report.again_after > 0:
        return report.again_after + MARGIN
    return WAITS[min(tries, len(WAITS) - 1)]


def together(one: Usage, other: Usage) -> Usage:
    if one is NO_USAGE or other is NO_USAGE:
        return other if one is NO_USAGE else one
    return Usage(
        tokens=one.tokens + other.tokens,
        usd=one.usd + other.usd,
        read=one.read + other.read,
        cached=one.cached + other.cached,
        written=one.written + other.written,
        estimated=one.estimated or other.estimated,
    )
