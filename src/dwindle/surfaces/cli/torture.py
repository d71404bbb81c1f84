"""dwindle torture: agents that lie, cheat and break out, and the result of each."""

from __future__ import annotations

import sys
import time

from dwindle.app.console import as_json, complain, painted, say
from dwindle.testing.adversaries import Adversary
from dwindle.text import amounts
from dwindle.text.terminal import row
from dwindle.torture.run import adversaries_named, results
from dwindle.torture.trial import TrialResult

NOT_HELD = 1
NAME = 20
INDENT = " " * 10
MARGIN = len(INDENT) + 10


def torture(*names: str, list_: bool = False, json: bool = False) -> int:
    """Put adversaries to work, each in a repository of its own.

    Args:
        names: Only these adversaries; all, if none is named.
        list_: Only list the adversaries and what each one tries.
        json: Print one JSON object.
    """
    adversaries = adversaries_named(names)
    if list_:
        return say(as_json(_catalogue(adversaries)) if json else _list_text(adversaries))
    found: list[TrialResult] = []
    began = time.monotonic()

    def begins(adversary: Adversary) -> None:
        _begins(adversary, f"{len(found) + 1}/{len(adversaries)}")

    for verdict in results(adversaries, begins):
        found.append(verdict)
        if not json:
            say(_result_text(verdict))
    code = 0 if all(verdict.passed for verdict in found) else NOT_HELD
    _clear()
    if json:
        return say(as_json(_data(found)), code)
    return say(_summary(found, time.monotonic() - began), code)


def _begins(adversary: Adversary, place: str) -> None:
    """Show which adversary runs; the next line overwrites it."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{place} {adversary.name} ...", end="", file=sys.stderr, flush=True)


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _result_text(verdict: TrialResult) -> str:
    _clear()
    lines = [
        f"{_mark(verdict)}{verdict.name:<{NAME}} {amounts.duration(verdict.seconds)}",
        row(f"{INDENT}tried:", verdict.tries, margin=MARGIN),
        row(f"{INDENT}happened:", verdict.happened, margin=MARGIN),
    ]
    lines += [row(f"{INDENT}broken:", what, margin=MARGIN) for what in verdict.broken]
    return "\n".join(lines)


def _mark(verdict: TrialResult) -> str:
    if verdict.passed:
        return painted(f"{'held':<{len(INDENT)}}", "green")
    return painted(f"{'BROKEN' if verdict.broken else 'NOT RUN':<{len(INDENT)}}", "red")


def _summary(found: list[TrialResult], seconds: float) -> str:
    if broken := [verdict.name for verdict in found if verdict.broken]:
        complain(f"dwindle: not everything held: {', '.join(broken)}")
    if idle := [one.name for one in found if not (one.was_tried or one.broken)]:
        complain(f"dwindle: was not tried, so nothing is known of: {', '.join(idle)}")
    held = sum(verdict.passed for verdict in found)
    return f"\n{held} of {len(found)} held, in {amounts.duration(seconds)}."


def _list_text(adversaries: tuple[Adversary, ...]) -> str:
    return "\n".join(f"{one.name:<{NAME}} {one.tries}" for one in adversaries)


def _catalogue(adversaries: tuple[Adversary, ...]) -> dict[str, object]:
    return {"adversaries": [{"name": one.name, "tries": one.tries} for one in adversaries]}


def _data(found: list[TrialResult]) -> dict[str, object]:
    """The documented object."""
    return {
        "held": all(verdict.passed for verdict in found),
        "adversaries": [
            {
                "name": verdict.name,
                "tries": verdict.tries,
                "happened": verdict.happened,
                "ran": verdict.was_tried,
                "held": verdict.passed,
                "broken": list(verdict.broken),
                "seconds": verdict.seconds,
            }
            for verdict in found
        ],
    }
