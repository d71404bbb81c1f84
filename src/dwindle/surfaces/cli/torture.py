"""dwindle torture: agents that lie, cheat and break out, and what became of each."""

from __future__ import annotations

import sys
import time

from dwindle.surfaces.arena import Verdict
from dwindle.surfaces.cli.output import complain, say
from dwindle.surfaces.cli.text import as_json, painted, row
from dwindle.surfaces.torture import chosen, verdicts
from dwindle.testing.adversaries import Adversary

BROKEN = 1
NAME = 20
INDENT = " " * 10
MARGIN = len(INDENT) + 10


def torture(*names: str, list_: bool = False, json: bool = False) -> int:
    """Put adversaries to work, each in a repository of its own.

    Args:
        names: Only these; all of them if none is named.
        list_: Only say who they are, and what each one tries.
        json: Print one JSON object.
    """
    adversaries = chosen(names)
    if list_:
        return say(as_json(_catalogue(adversaries)) if json else _listed(adversaries))
    found: list[Verdict] = []
    began = time.monotonic()

    def begins(adversary: Adversary) -> None:
        _begins(adversary, f"{len(found) + 1}/{len(adversaries)}")

    for verdict in verdicts(adversaries, begins):
        found.append(verdict)
        if not json:
            say(_told(verdict))
    code = 0 if all(verdict.held for verdict in found) else BROKEN
    _clear()
    if json:
        return say(as_json(_data(found)), code)
    return say(_summary(found, time.monotonic() - began), code)


def _begins(adversary: Adversary, place: str) -> None:
    """A person who waits sees for whom; it is written over when that is over."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{place} {adversary.name} ...", end="", file=sys.stderr, flush=True)


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _told(verdict: Verdict) -> str:
    _clear()
    mark = painted("held  ", "green") if verdict.held else painted("BROKEN", "red")
    lines = [
        f"{mark}    {verdict.name:<{NAME}} {verdict.seconds:.1f} s",
        row(f"{INDENT}tried:", verdict.tries, margin=MARGIN),
        row(f"{INDENT}happened:", verdict.happened, margin=MARGIN),
    ]
    lines += [row(f"{INDENT}broken:", what, margin=MARGIN) for what in verdict.broken]
    return "\n".join(lines)


def _summary(found: list[Verdict], seconds: float) -> str:
    broken = [verdict.name for verdict in found if not verdict.held]
    if broken:
        complain(f"dwindle: not everything held: {', '.join(broken)}")
    held = len(found) - len(broken)
    return f"\n{held} of {len(found)} held, in {seconds:.0f} s."


def _listed(adversaries: tuple[Adversary, ...]) -> str:
    return "\n".join(f"{one.name:<{NAME}} {one.tries}" for one in adversaries)


def _catalogue(adversaries: tuple[Adversary, ...]) -> dict[str, object]:
    return {"adversaries": [{"name": one.name, "tries": one.tries} for one in adversaries]}


def _data(found: list[Verdict]) -> dict[str, object]:
    """The documented object."""
    return {
        "held": all(verdict.held for verdict in found),
        "adversaries": [
            {
                "name": verdict.name,
                "tries": verdict.tries,
                "happened": verdict.happened,
                "held": verdict.held,
                "broken": list(verdict.broken),
                "seconds": verdict.seconds,
            }
            for verdict in found
        ],
    }
