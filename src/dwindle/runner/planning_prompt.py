"""The prompt of a planner: an order in words, with what others wrote kept apart from it.

As for sessions on an atom, the words are files and the gaps in them are filled here. People, files
and programs wrote most of what a planner reads: it can tell what is wanted, and cannot change what
the planner may do or how it reports.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from dwindle.ports.work import Occasion, PlanningOrder, Speaker
from dwindle.runner.planning_orders import frontier_json
from dwindle.runner.prompt import NOTHING
from dwindle.runner.template import quoted, template

FILES: Final[Mapping[Occasion, str]] = {
    Occasion.ALIGN: "planner_align",
    Occasion.REDIRECT: "planner_redirect",
}
SPEAKERS: Final[Mapping[Speaker, str]] = {Speaker.PERSON: "The person", Speaker.PLANNER: "You"}


def planning_prompt(order: PlanningOrder) -> str:
    told: dict[str, str | bool] = {
        "words": quoted(order.words) or NOTHING,
        "why": quoted(order.why),
        "transcript": "\n\n".join(
            f"{SPEAKERS[line.by]}:\n\n{quoted(line.text) or NOTHING}" for line in order.transcript
        ),
        "draft": quoted(order.draft),
        "failures": "\n\n".join(quoted(failure.reason) for failure in order.failures),
        "may_ask": order.may_ask,
    }
    if order.purpose is Occasion.REDIRECT:
        told["plan"] = _plan(order)
    return template(FILES[order.purpose]).filled(told)


def _plan(order: PlanningOrder) -> str:
    if order.frontier is None:
        return ""
    return quoted(json.dumps(frontier_json(order.frontier), ensure_ascii=False, indent=1))
