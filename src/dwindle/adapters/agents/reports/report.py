"""A report, from the bytes that an agent left to something the loop may act on, or a refusal.

A report is believed in nothing but what it proposes; still it must be well-formed, because a
half-understood one would be acted on. All faults are reported at once: the reason becomes evidence
for the next attempt, and the model that reads it can fix them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from dwindle.adapters.agents.reports import planner, proposals
from dwindle.adapters.agents.reports.fields import Faults, Fields, shown
from dwindle.adapters.agents.reports.strict_json import JsonRefused, strict_object
from dwindle.kernel.events import NO_USAGE, Usage
from dwindle.kernel.model import CheckType, Role
from dwindle.ports.work import (
    NoReport,
    Order,
    PlanningOrder,
    ProbeReport,
    Report,
    Score,
    Trouble,
    VerifierReport,
    WorkerReport,
    WorkOrder,
)

MAX_SUMMARY: Final = 4000
MAX_REASON: Final = 4000
MAX_WORDS: Final = 10_000
"""Of findings and evidence."""
MAX_ARTIFACTS: Final = 1000
MAX_ENTRIES: Final = 200
MAX_IGNORED: Final = 10

OPTIONAL: Final = ("usage", "run", "atom", "nonce")
"""In every report: what the session used, and which one it was."""
WORKER: Final = (
    *("success", "summary", "artifacts", "bindings_delta", "reason", "infeasible"),
    *("work_paths", "decomposition", "alternatives", *OPTIONAL),
)
PROBE: Final = (
    *("feasible", "findings", "cost_estimate", "decomposition", "alternatives", *OPTIONAL),
)
VERIFIER: Final = ("passed", "evidence", "failures", "scores", *OPTIONAL)
EVERY_KEY: Final = (
    *dict.fromkeys(
        (
            *WORKER,
            *PROBE,
            *VERIFIER,
            *(k for keys in planner.KNOWN.values() for k in keys if k != "note"),
        )
    ),
    *("control", "bindings", "status"),
)
"""A report with one of these in the wrong place means something that we would miss."""
BINDING: Final = ("summary", "artifacts")
SCORE: Final = ("criterion", "score", "evidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedReport:
    report: Report
    usage: Usage = NO_USAGE
    """Counted even if the rest is refused: it was spent all the same."""


def decode(order: Order, data: bytes) -> DecodedReport:
    """The report of the session that was given this order."""
    try:
        found = strict_object(data)
    except JsonRefused as error:
        return DecodedReport(report=_malformed(str(error)))
    faults = Faults()
    given = Fields(found, "", faults, _known(order), EVERY_KEY)
    usage = _usage(given)
    _refuse_another_session(order, given)
    report = _read(order, given)
    if faults:
        report = _malformed(str(faults))
    elif faults.ignored and not isinstance(report, NoReport):
        report = replace(report, ignored=tuple(faults.ignored[:MAX_IGNORED]))
    return DecodedReport(report=report, usage=usage)


def _known(order: Order) -> tuple[str, ...]:
    if isinstance(order, PlanningOrder):
        return (*planner.KNOWN[order.purpose], *OPTIONAL)
    return _READERS[order.role][1]


def _read(order: Order, given: Fields) -> Report:
    if isinstance(order, PlanningOrder):
        return planner.read(order, given)
    return _READERS[order.role][0](order, given)


def _malformed(reason: str) -> NoReport:
    return NoReport(trouble=Trouble.MALFORMED, reason=f"the report is malformed: {reason}")


def _usage(given: Fields) -> Usage:
    if "usage" not in given:
        return NO_USAGE
    used = Fields(given.raw("usage"), "usage", given.faults, ("tokens", "usd"))
    tokens, usd = used.whole("tokens") or 0, used.number("usd") or 0.0
    if tokens < 0 or usd < 0:
        given.faults.add("usage is negative")
    return Usage(tokens=max(0, tokens), usd=float(max(0.0, usd)))


def _refuse_another_session(order: Order, given: Fields) -> None:
    for name, own in (("run", order.run), ("atom", order.atom), ("nonce", order.nonce)):
        said = given.raw(name)
        if name in given and (said != own or isinstance(said, bool)):
            other = shown(said) if isinstance(said, str) else str(said)[:60]
            given.faults.add(f"it is for {name} {other}, and this session has {own!r}")


# --- worker --------------------------------------------------------------------------------------


def _worker(order: WorkOrder, given: Fields) -> Report:
    grows = [name for name in ("decomposition", "alternatives") if given.raw(name) not in _NOTHING]
    infeasible = given.flag("infeasible", default=False)
    success = given.flag("success", default=False if grows or infeasible else None)
    others = [*grows, *(["infeasible"] if infeasible else [])]
    if success and others:
        given.faults.add(f"success and {' and '.join(others)} contradict each other")
    elif "decomposition" in others and len(others) > 1:
        given.faults.add(f"{' and '.join(others)} cannot both be followed")
    binding = _own_binding(order, given)
    reason = given.text("reason", MAX_REASON)
    summary = binding.text("summary", MAX_SUMMARY, needed=success)
    if not success and not reason.strip():
        reason = summary
    return WorkerReport(
        success=success,
        summary=summary,
        artifacts=binding.paths("artifacts", MAX_ARTIFACTS, absolute=True),
        reason=reason,
        infeasible=infeasible,
        work_paths=tuple(given.texts("work_paths", MAX_ENTRIES, 4096)),
        decomposition=proposals.decomposition(given),
        alternatives=proposals.alternatives(given, reason or "the worker proposed other ways"),
    )


def _own_binding(order: WorkOrder, given: Fields) -> Fields:
    """`bindings_delta` stands for summary and artifacts, and may name no other atom."""
    if "bindings_delta" not in given:
        return given
    delta: Any = given.raw("bindings_delta")
    if not isinstance(delta, dict):
        Fields(delta, "bindings_delta", given.faults, ())
        return given
    for name in delta:
        if name != order.atom:
            what = f"bindings_delta is for {shown(name)}, and this session is on {order.atom}"
            given.faults.add(what)
    if order.atom not in delta:
        return given
    return Fields(delta[order.atom], f"bindings_delta.{order.atom}", given.faults, BINDING)


# --- probe ---------------------------------------------------------------------------------------


def _probe(_order: WorkOrder, given: Fields) -> Report:
    findings = given.text("findings", MAX_WORDS)
    if "decomposition" in given and given.raw("alternatives") not in _NOTHING:
        given.faults.add("decomposition and alternatives cannot both be followed")
    return ProbeReport(
        feasible=given.flag("feasible"),
        findings=findings,
        cost_estimate=_cost(given),
        decomposition=proposals.decomposition(given),
        alternatives=proposals.alternatives(given, findings or "the probe proposed other ways"),
    )


def _cost(given: Fields) -> str:
    """A guess, in words or as a number."""
    said = given.raw("cost_estimate")
    if isinstance(said, (int, float)) and not isinstance(said, bool):
        return str(said)
    return given.text("cost_estimate", MAX_REASON)


# --- verifier ------------------------------------------------------------------------------------


def _verifier(order: WorkOrder, given: Fields) -> Report:
    passed = given.flag("passed")
    evidence = given.text("evidence", MAX_WORDS, needed=passed)
    failures = tuple(given.texts("failures", MAX_ENTRIES, MAX_REASON))
    if passed and failures:
        given.faults.add("passed is true and failures are listed")
    scores = _scores(given)
    _refuse_gaps(order, given, scores)
    return VerifierReport(passed=passed, evidence=evidence, failures=failures, scores=scores)


def _scores(given: Fields) -> tuple[Score, ...]:
    found: list[Score] = []
    for index, entry in enumerate(given.items("scores", MAX_ENTRIES)):
        line = Fields(entry, f"scores[{index}]", given.faults, SCORE)
        if not line.values:
            continue
        score = line.whole("score")
        if score is None and "score" not in line:
            given.faults.add(f"{line.at('score')} is missing")
        elif score is not None and not 1 <= score <= 5:
            given.faults.add(f"{line.at('score')} is {str(score)[:20]}, not from 1 to 5")
        found.append(
            Score(
                criterion=line.text("criterion", MAX_REASON, needed=True),
                score=score or 0,
                evidence=line.text("evidence", MAX_WORDS, needed=True),
            )
        )
    return tuple(found)


def _refuse_gaps(order: WorkOrder, given: Fields, scores: tuple[Score, ...]) -> None:
    """Every criterion of a rubric is scored once; without a rubric there is one score."""
    quality = [check for check in order.checks if check.type is CheckType.QUALITY]
    if not quality:
        return
    wanted = [line.criterion for check in quality for line in check.rubric]
    names = [score.criterion for score in scores]
    if not wanted:
        if len(names) != 1:
            given.faults.add(f"there are {len(names)} scores, and one is asked for")
        return
    for name in dict.fromkeys((*wanted, *names)):
        if name not in names:
            given.faults.add(f"the criterion {shown(name)} has no score")
        elif name not in wanted:
            given.faults.add(f"{shown(name)} is no criterion of the rubric")
        elif names.count(name) > 1:
            given.faults.add(f"the criterion {shown(name)} has {names.count(name)} scores")


_NOTHING: Final[tuple[object, ...]] = (None, [])

_READERS: Final[Mapping[Role, tuple[Callable[[WorkOrder, Fields], Report], tuple[str, ...]]]] = {
    Role.WORKER: (_worker, WORKER),
    Role.PROBE: (_probe, PROBE),
    Role.VERIFIER: (_verifier, VERIFIER),
}
