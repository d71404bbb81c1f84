"""What agents write, and what is made of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.agents.reports import DONE, JUDGE, LOOK, RUBRIC, WORK, read, refusal

from dwindle.adapters.agents.reports.report import decode
from dwindle.kernel.events import NewAtom, Usage
from dwindle.kernel.model import Check, CheckType, Criterion, Role
from dwindle.ports.work import (
    NoReport,
    ProbeReport,
    Proposal,
    Score,
    Trouble,
    VerifierReport,
    WorkerReport,
    WorkOrder,
)


def test_a_worker_that_is_done() -> None:
    assert read(WORK, DONE) == WorkerReport(success=True, summary="done", artifacts=("a.py",))


def test_bindings_delta_stands_for_summary_and_artifacts() -> None:
    delta = {"A1": {"summary": "from the delta", "artifacts": ["./b//c.py", "b/c.py"]}}
    assert read(WORK, {"success": True, "bindings_delta": delta}) == WorkerReport(
        success=True, summary="from the delta", artifacts=("b/c.py",)
    )


def test_a_worker_that_failed_says_why_in_either_field() -> None:
    assert read(WORK, {"success": False, "reason": "no luck"}) == WorkerReport(reason="no luck")
    assert read(WORK, {"success": False, "summary": "no luck"}) == WorkerReport(
        summary="no luck", reason="no luck"
    )


def test_infeasible_is_enough_of_an_answer() -> None:
    assert read(WORK, {"infeasible": True, "reason": "no such API"}) == WorkerReport(
        infeasible=True, reason="no such API"
    )


def test_a_decomposition_with_everything() -> None:
    check = {"type": "quality", "pass_threshold": 4, "scope": "docs", "rubric": [
        {"criterion": "clear", "weight": 1, "description": "d", "levels": {"1": "no", "5": "yes"}}
    ]}  # fmt: skip
    children = [
        {"description": "first", "check": {"type": "command", "value": "make", "control": None}},
        {"description": "second", "depends_on": ["#1", "A7", "#1"], "check": check},
    ]
    found = {"decomposition": {"children": children, "reason": "too large"}}
    assert read(WORK, found) == WorkerReport(
        decomposition=Proposal(
            reason="too large",
            new=(
                NewAtom(description="first", check=Check(type=CheckType.COMMAND, value="make")),
                NewAtom(
                    description="second",
                    depends_on=("#1", "A7"),
                    check=Check(
                        type=CheckType.QUALITY,
                        pass_threshold=4,
                        scope="docs",
                        rubric=(
                            Criterion(
                                criterion="clear",
                                weight=1,
                                description="d",
                                levels=((1, "no"), (5, "yes")),
                            ),
                        ),
                    ),
                ),
            ),
        )
    )


def test_alternatives_carry_the_reason_of_the_report() -> None:
    found = {"success": False, "reason": "dead end", "alternatives": [{"description": "other"}]}
    assert read(WORK, found) == WorkerReport(
        reason="dead end",
        alternatives=Proposal(new=(NewAtom(description="other"),), reason="dead end"),
    )


def test_a_form_filled_in_with_nothings_is_understood() -> None:
    nothings: dict[str, Any] = {
        "reason": None,
        "infeasible": None,
        "decomposition": None,
        "alternatives": [],
    }
    assert read(WORK, {**DONE, **nothings}) == read(WORK, DONE)


def test_a_probe() -> None:
    assert read(LOOK, {"feasible": True, "findings": "use x", "cost_estimate": 3}) == ProbeReport(
        feasible=True, findings="use x", cost_estimate="3"
    )
    split = {"children": [{"description": "half"}], "reason": "large"}
    assert read(LOOK, {"feasible": False, "decomposition": split}) == ProbeReport(
        feasible=False,
        decomposition=Proposal(new=(NewAtom(description="half"),), reason="large"),
    )


def test_a_verifier_scores_every_criterion() -> None:
    scores = [
        {"criterion": "short", "score": 5, "evidence": "one page"},
        {"criterion": "clear", "score": 3, "evidence": "jargon in line 3"},
    ]
    found = {"passed": True, "evidence": "docs/a.md", "failures": [], "scores": scores}
    assert read(replace(JUDGE, checks=(RUBRIC,)), found) == VerifierReport(
        passed=True,
        evidence="docs/a.md",
        scores=(
            Score(criterion="short", score=5, evidence="one page"),
            Score(criterion="clear", score=3, evidence="jargon in line 3"),
        ),
    )


def test_usage_counts_even_if_the_rest_is_refused() -> None:
    usage = {"tokens": 1200, "usd": 0.25}
    good = decode(WORK, json.dumps({**DONE, "usage": usage}).encode())
    bad = decode(WORK, json.dumps({"success": 1, "usage": usage}).encode())
    assert good.usage == bad.usage == Usage(tokens=1200, usd=0.25)
    assert refusal(bad) == "success is a number, not true or false"


def test_many_words_are_cut_and_cost_no_attempt() -> None:
    report = read(WORK, {"success": True, "summary": "s" * 100_000})
    assert report == WorkerReport(success=True, summary="s" * 3994 + " [...]")


def test_a_report_may_say_which_session_it_is_from() -> None:
    own = {"run": "01RUN", "atom": "A1", "nonce": 9}
    assert read(WORK, {**DONE, **own}) == read(WORK, DONE)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
likely_keys = st.sampled_from(
    [
        *("success", "summary", "artifacts", "bindings_delta", "reason", "infeasible", "usage"),
        *("decomposition", "alternatives", "feasible", "findings", "cost_estimate", "passed"),
        *("evidence", "failures", "scores", "atom", "nonce", "children", "description", "check"),
    ]
)


@given(
    order=st.sampled_from([WORK, LOOK, JUDGE]),
    found=st.dictionaries(likely_keys, json_values | st.dictionaries(likely_keys, json_values)),
)
def test_anything_is_understood_or_refused(order: WorkOrder, found: dict[str, Any]) -> None:
    report = decode(order, json.dumps(found).encode("utf-8", "surrogatepass")).report
    kinds = {Role.WORKER: WorkerReport, Role.PROBE: ProbeReport, Role.VERIFIER: VerifierReport}
    assert isinstance(report, kinds[order.role]) or (
        isinstance(report, NoReport) and report.trouble is Trouble.MALFORMED
    )


@given(st.binary(max_size=200))
def test_any_bytes_are_understood_or_refused(data: bytes) -> None:
    assert isinstance(decode(WORK, data).report, NoReport)
