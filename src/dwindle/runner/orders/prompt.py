"""Prompts: an order in words, for an agent that knows nothing of dwindle.

The words are files in `prompts/`, one for each purpose; this module fills their gaps. Nearly all
that it fills in was written by people, files of the repository or other agents, so it is indented
and cannot pass for instructions of ours. Equal orders give equal prompts, and constant parts come
first, for the sake of prompt caches.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from dwindle.kernel.model import Binding, Check, CheckType
from dwindle.ports.agent import ReportChannel
from dwindle.ports.work import Briefing, Occasion, PlanningOrder, Purpose, Speaker, WorkOrder
from dwindle.runner.orders.planning import frontier_json
from dwindle.runner.orders.template import quoted, template
from dwindle.runner.orders.work import check_json

FILES: Final[Mapping[Purpose, str]] = {
    Purpose.WORK: "worker",
    Purpose.LOOK: "probe",
    Purpose.PLAN: "probe_way_on",
    Purpose.JUDGE: "verifier",
}

SAYS: Final[Mapping[CheckType, str]] = {
    CheckType.COMMAND: "this command must exit with 0",
    CheckType.NOT_COMMAND: "this command must run and exit with something else than 0",
    CheckType.FILE: "this file must exist",
    CheckType.NOT_FILE: "this file must not exist",
    CheckType.ASSERTION: "a reader must find this to be true",
    CheckType.QUALITY: "a reader scores this from 1 to 5",
}
HAND_IN: Final[Mapping[ReportChannel, str]] = {
    ReportChannel.FILE: (
        "When you are done, write one JSON object to the file whose path is in the environment\n"
        "variable DWINDLE_REPORT. If you cannot write files, print it as the last thing on\n"
        "standard output. Without a valid report the session counts as failed. The keys are these:"
    ),
    ReportChannel.STRUCTURED: (
        "When you are done, hand in one JSON object as your structured output, and write it to no\n"
        "file. Without it the session counts as failed. The keys are these:"
    ),
    ReportChannel.MESSAGE: (
        "When you are done, your last message is one JSON object and nothing else; write it to no\n"
        "file. Without it the session counts as failed. The keys are these:"
    ),
}
COMMITS: Final = (
    "Do not commit: git's own files are read-only for you, and what you leave in the directory is\n"
    "  taken as it is."
)
MAY_COMMIT: Final = (
    "You need not commit. If you do, add plain commits only: no rewriting of history, no other\n"
    "  branches, no tags."
)
NOTHING: Final = "    (nothing)"
MINUTE: Final = 60


def prompt_for(
    order: WorkOrder, channel: ReportChannel = ReportChannel.FILE, *, may_commit: bool = True
) -> str:
    gaps = {**_gaps(order), "hand_in": HAND_IN[channel], "time": _time(order.timeout_seconds)}
    if order.purpose is Purpose.WORK:
        gaps["commits"] = MAY_COMMIT if may_commit else COMMITS
    return template(FILES[order.purpose]).fill(gaps)


def _gaps(order: WorkOrder) -> dict[str, str | bool]:
    gaps: dict[str, str | bool] = {
        "why": _why(order),
        "rules": _rules(order.briefing),
        "path": _named_blocks((s.atom, quoted(s.description)) for s in order.path),
        "description": quoted(order.description) or NOTHING,
        "checks": "\n".join(map(_check, order.checks)),
    }
    if order.purpose is Purpose.JUDGE:
        scored = any(check.type is CheckType.QUALITY for check in order.checks)
        return {**gaps, "scores": scored}
    gaps |= {
        "atom": order.atom,
        "base_case": "\n".join(quoted(line) for line in order.base_case),
        "touches": quoted("\n".join(order.touches)),
        "bindings": _named_blocks((name, _binding(one)) for name, one in order.bindings),
        "findings": quoted(order.findings),
        "failures": _named_blocks(
            (f"Attempt {f.attempt}", quoted(f.reason)) for f in order.failures
        ),
        "another": order.stalled or (order.winds > 0 and order.failed > 0),
    }
    if order.purpose is not Purpose.LOOK:
        gaps["attempts"] = f"refs/dwindle/attempts/{order.run}/{order.atom}"
    if order.purpose is Purpose.WORK:
        gaps["protected"] = quoted("\n".join(order.protected))
        gaps["work_paths"] = quoted("\n".join(order.work_paths))
    return gaps


def _why(order: WorkOrder) -> str:
    """Never empty: there is a goal, or it says that there is none."""
    parts = (
        ("The goal", order.goal.strip() or NOTHING.strip()),
        ("Why it is wanted", order.intent),
        ("What there will be", order.deliverables),
        ("When it is done", order.definition_of_done),
        ("What the user asked for, in their words", order.briefing.request),
    )
    return _named_blocks((name, quoted(text)) for name, text in parts if text.strip())


def _rules(briefing: Briefing) -> str:
    blocks = [(name, quoted(text)) for name, text in briefing.rules]
    if briefing.more_rules:
        names = "\n".join(briefing.more_rules)
        blocks.append(("For files in these folders, read first", quoted(names)))
    return _named_blocks(blocks)


def _time(seconds: float) -> str:
    minutes = round(seconds / MINUTE)
    return f"{minutes} minutes" if minutes > 1 else f"{round(seconds)} seconds"


def _named_blocks(blocks: Iterable[tuple[str, str]]) -> str:
    return "\n\n".join(f"{name}:\n\n{block or NOTHING}" for name, block in blocks)


def _check(check: Check) -> str:
    said = f"- {SAYS[check.type]}"
    if check.type is CheckType.QUALITY:
        shown = json.dumps(check_json(check), ensure_ascii=False, indent=1)
        return f"{said}; the weighted average must reach the threshold:\n{quoted(shown)}"
    said = f"{said}:\n{quoted(check.value or '')}"
    if check.control is None:
        return said
    return f"{said}\n  and this one, which shows that it can tell, with 0:\n{quoted(check.control)}"


def _binding(binding: Binding) -> str:
    files = f"\nFiles: {', '.join(binding.artifacts)}" if binding.artifacts else ""
    return quoted(binding.summary + files)


# --- planners ------------------------------------------------------------------------------------


PLANNER_FILES: Final[Mapping[Occasion, str]] = {
    Occasion.ALIGN: "planner_align",
    Occasion.REDIRECT: "planner_redirect",
}
SPEAKERS: Final[Mapping[Speaker, str]] = {Speaker.PERSON: "The person", Speaker.PLANNER: "You"}


def planning_prompt(order: PlanningOrder, channel: ReportChannel = ReportChannel.FILE) -> str:
    gaps: dict[str, str | bool] = {
        "hand_in": HAND_IN[channel],
        "rules": _rules(order.briefing),
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
        gaps["plan"] = _plan_text(order)
    return template(PLANNER_FILES[order.purpose]).fill(gaps)


def _plan_text(order: PlanningOrder) -> str:
    if order.frontier is None:
        return ""
    return quoted(json.dumps(frontier_json(order.frontier), ensure_ascii=False, indent=1))
