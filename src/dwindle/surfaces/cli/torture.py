"""dwindle torture: agents that lie, cheat and break out, and the result of each."""

from __future__ import annotations

import sys
import time

from dwindle.app.console import as_json, complain, painted, say
from dwindle.surfaces.cli.honest import honest as honest_agents
from dwindle.testing.adversaries import Adversary, Way
from dwindle.text import amounts
from dwindle.text.terminal import row
from dwindle.torture.run import adversaries_named, results, trials
from dwindle.torture.trial import TrialResult

NOT_HELD = 1
NAME = 20
INDENT = " " * 10
MARGIN = len(INDENT) + 10


def torture(*names: str, honest: bool = False, list_: bool = False, json: bool = False) -> int:
    """Put adversaries to work, each in a repository of its own.

    Args:
        names: Only these adversaries; all, if none is named.
        honest: Honest agents instead: all of their work must get through.
        list_: Only list the agents and what each one does.
        json: Print one JSON object.
    """
    if honest:
        return honest_agents(names, list_=list_, json=json)
    adversaries = adversaries_named(names)
    if list_:
        return say(as_json(_catalogue(adversaries)) if json else _list_text(adversaries))
    found: list[TrialResult] = []
    began = time.monotonic()

    def begins(adversary: Adversary, way: Way) -> None:
        _begins(f"{len(found) + 1}/{len(trials(adversaries))} {adversary.name} ({way})")

    for verdict in results(adversaries, begins):
        found.append(verdict)
        if not json:
            say(_result_text(verdict))
    code = 0 if all(verdict.passed or verdict.missing for verdict in found) else NOT_HELD
    _clear()
    if json:
        return say(as_json(_data(found)), code)
    return say(_summary(found, time.monotonic() - began), code)


def _begins(what: str) -> None:
    """Show which adversary runs; the next line overwrites it."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what} ...", end="", file=sys.stderr, flush=True)


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _result_text(verdict: TrialResult) -> str:
    _clear()
    took = amounts.duration(verdict.seconds)
    lines = [
        f"{_mark(verdict)}{verdict.name:<{NAME}} {took}, {verdict.way}",
        row(f"{INDENT}tried:", verdict.tries, margin=MARGIN),
        row(f"{INDENT}happened:", verdict.happened, margin=MARGIN),
    ]
    lines += [row(f"{INDENT}broken:", what, margin=MARGIN) for what in verdict.broken]
    if verdict.possible:
        lines.append(row(f"{INDENT}possible:", verdict.possible, margin=MARGIN))
    return "\n".join(lines)


def _mark(verdict: TrialResult) -> str:
    if verdict.possible and verdict.was_tried:
        return painted(f"{'possible':<{len(INDENT)}}", "yellow")
    if verdict.passed:
        return painted(f"{'held':<{len(INDENT)}}", "green")
    return painted(f"{'BROKEN' if verdict.broken else 'NOT RUN':<{len(INDENT)}}", "red")


def _summary(found: list[TrialResult], seconds: float) -> str:
    if broken := [verdict.name for verdict in found if verdict.broken]:
        complain(f"dwindle: not everything held: {', '.join(dict.fromkeys(broken))}")
    if idle := [one.name for one in found if not (one.was_tried or one.broken)]:
        unique = ", ".join(dict.fromkeys(idle))
        complain(f"dwindle: was not tried, so nothing is known of: {unique}")
    possible = sum(bool(verdict.possible) for verdict in found)
    held = sum(verdict.passed for verdict in found) - possible
    also = f", {possible} won as `dwindle help security` says" if possible else ""
    return f"\n{held} of {len(found)} held{also}, in {amounts.duration(seconds)}."


def _list_text(adversaries: tuple[Adversary, ...]) -> str:
    return "\n".join(f"{one.name:<{NAME}} {one.tries}" for one in adversaries)


def _catalogue(adversaries: tuple[Adversary, ...]) -> dict[str, object]:
    return {"adversaries": [{"name": one.name, "tries": one.tries} for one in adversaries]}


def _data(found: list[TrialResult]) -> dict[str, object]:
    """The documented object."""
    return {
        "held": all(verdict.passed or verdict.missing for verdict in found),
        "adversaries": [
            {
                "name": verdict.name,
                "tries": verdict.tries,
                "way": verdict.way,
                "happened": verdict.happened,
                "ran": verdict.was_tried,
                "held": verdict.passed and not verdict.possible,
                "broken": list(verdict.broken),
                "possible": verdict.possible,
                "seconds": verdict.seconds,
            }
            for verdict in found
        ],
    }
