"""The words of `dwindle torture --honest`: honest agents, and whether their work got through."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dwindle.app.console import as_json, complain, painted, say
from dwindle.text import amounts
from dwindle.text.terminal import row
from dwindle.torture.honest import HonestResult, Variation, honest_results, variations_named

NOT_ALL = 1
NAME = 32
INDENT = " " * 10
MARGIN = len(INDENT) + 10


def honest(names: Sequence[str], *, list_: bool, json: bool) -> int:
    chosen = variations_named(names)
    if list_:
        return say(as_json(_catalogue(chosen)) if json else _list_text(chosen))
    found: list[HonestResult] = []
    began = time.monotonic()
    for result in honest_results(chosen):
        found.append(result)
        if not json:
            say(_result_text(result))
    code = 0 if all(result.passed for result in found) else NOT_ALL
    if json:
        return say(as_json(_data(found)), code)
    return say(_summary(found, time.monotonic() - began), code)


def _result_text(result: HonestResult) -> str:
    seconds = amounts.duration(result.seconds)
    lines = [f"{_mark(result)}{result.name:<{NAME}} {seconds}"]
    if not result.passed:
        lines.append(row(f"{INDENT}did:", result.variation.does, margin=MARGIN))
        lines += [row(f"{INDENT}wrong:", what, margin=MARGIN) for what in result.wrong]
        lines.append(row(f"{INDENT}happened:", result.happened, margin=MARGIN))
    return "\n".join(lines)


def _mark(result: HonestResult) -> str:
    if result.passed:
        return painted(f"{'passed':<{len(INDENT)}}", "green")
    return painted(f"{'REFUSED' if result.wrong else 'NOT RUN':<{len(INDENT)}}", "red")


def _summary(found: Sequence[HonestResult], seconds: float) -> str:
    if refused := [result.name for result in found if result.wrong]:
        complain(f"dwindle: honest work was refused or lost: {', '.join(refused)}")
    if idle := [result.name for result in found if not result.was_tried]:
        complain(f"dwindle: was not tried, so nothing is known of: {', '.join(idle)}")
    names = dict.fromkeys(result.variation.name for result in found)
    failed = {result.variation.name for result in found if not result.passed}
    runs = f"{sum(result.passed for result in found)} of {len(found)} runs"
    passed = f"{len(names) - len(failed)} of {len(names)} variations passed"
    return f"\n{passed}, {runs}, in {amounts.duration(seconds)}."


def _list_text(chosen: Sequence[Variation]) -> str:
    return "\n".join(f"{one.name:<20} {one.does}" for one in chosen)


def _catalogue(chosen: Sequence[Variation]) -> dict[str, object]:
    return {
        "variations": [
            {"name": one.name, "does": one.does, "forms": list(one.forms)} for one in chosen
        ]
    }


def _data(found: Sequence[HonestResult]) -> dict[str, object]:
    """The documented object."""
    return {
        "passed": all(result.passed for result in found),
        "variations": [
            {
                "name": result.variation.name,
                "form": result.form,
                "does": result.variation.does,
                "happened": result.happened,
                "ran": result.was_tried,
                "passed": result.passed,
                "wrong": list(result.wrong),
                "seconds": result.seconds,
            }
            for result in found
        ],
    }
