"""Reports that are not acted on, and what their author is told."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.adapters.agents.reports import DONE, JUDGE, LOOK, RUBRIC, WORK, fault, read

from dwindle.adapters.agents.reports.report import decode
from dwindle.kernel.model import Check, CheckType
from dwindle.ports.work import Score, VerifierReport, WorkerReport

DEEP = b'{"success": true, "summary": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
MANY = [{"description": "d"}] * 10_000


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (b"", "it is empty"),
        (b"   \n", "it is empty"),
        (b'{"a" 1}', "it is not JSON: Expecting ':' delimiter (line 1, column 6)"),
        (b"[]", "it is a list, not an object"),
        (b"null", "it is null, not an object"),
        (b'{"success": true, "summary": "\xff"}', "it is not UTF-8 (byte 30)"),
        (b'{"success": NaN}', "it has NaN, which is no number"),
        (b'{"usage": {"usd": 1e999}}', "it has the number 1e999, which is too large"),
        (b'{"usage": ' + b"9" * 5000 + b"}", "it has a number with thousands of digits"),
        (b'{"success": true, "success": false}', "it has the key 'success' twice"),
        (b'{"summary": "\\ud800"}', "it has half of a surrogate pair, which is no character"),
        (DEEP, "it is nested more than 32 levels deep"),
        ({"summary": json.loads("[" * 40 + "]" * 40)}, "it is nested more than 32 levels deep"),
        (b'{"summary": "' + b"x" * (1 << 20) + b'"}', "it is larger than 1048576 bytes"),
        ({}, "success is missing"),
        ({"sucess": True}, "sucess is not a key of it (did you mean success?); success is missing"),
        ({"success": "true"}, "success is a text, not true or false"),
        ({"success": True}, "summary is missing"),
        ({"success": True, "summary": "  "}, "summary is blank"),
        ({"success": True, "summary": ["done"]}, "summary is a list, not a text"),
        ({**DONE, "artifacts": "a.py"}, "artifacts is a text, not a list"),
        ({**DONE, "artifacts": [1]}, "artifacts[0] is a number, not a text"),
        ({**DONE, "artifacts": ["a"] * 1001}, "artifacts has 1001 entries, at most 1000 are taken"),
        (
            {**DONE, "artifacts": ["/a/../b", "a/../../b", "", ".", "a\nb", "~/x", "x" * 5000]},
            ("artifacts has '/a/../b', which leads out of the workspace; "
            "artifacts has 'a/../../b', which leads out of the workspace; "
            "artifacts has '', which names no file; "
            "artifacts has '.', which names no file; "
            "artifacts has 'a\\nb', which has a control character in it; "
            "artifacts has '~/x', which is not relative to the workspace; "
            f"artifacts has '{'x' * 60}'..., which is longer than 4096 characters"),
        ),
        ({**DONE, "infeasible": True}, "success and infeasible contradict each other"),
        (
            {**DONE, "alternatives": [{"description": "x"}]},
            "success and alternatives contradict each other",
        ),
        (
            {
                "infeasible": True,
                "decomposition": {"children": [{"description": "x"}], "reason": "r"},
            },
            "decomposition and infeasible cannot both be followed",
        ),
        (
            {"success": True, "bindings_delta": {"A2": {"summary": "s", "artifacts": []}}},
            "bindings_delta is for 'A2', and this session is on A1; summary is missing",
        ),
        (
            {"success": True, "bindings_delta": {"A1": {"summary": "s", "status": "resolved"}}},
            "bindings_delta.A1.status is not a key of it",
        ),
        ({"success": True, "bindings_delta": []}, ("bindings_delta is a list, not an object; "
                                                  "summary is missing")),
        ({**DONE, "atom": "A2"}, "it is for atom 'A2', and this session has 'A1'"),
        ({**DONE, "nonce": 8}, "it is for nonce 8, and this session has 9"),
        ({**DONE, "usage": {"tokens": -1}}, "usage is negative"),
        ({**DONE, "usage": {"tokens": 1.5}}, "usage.tokens is 1.5, not a whole number"),
        ({**DONE, "usage": {"tokens": True}}, "usage.tokens is a boolean, not a number"),
        ({**DONE, "usage": {"usd": 10**400}}, "usage.usd is a number out of all bounds"),
        ({"decomposition": {}}, "decomposition.children proposes nothing"),
        (
            {"decomposition": {"children": [], "reason": "r"}},
            "decomposition.children proposes nothing",
        ),
        ({"decomposition": [{"description": "x"}]}, ("decomposition is a list, not an object; "
                                                    "decomposition.children proposes nothing")),
        (
            {"decomposition": {"children": MANY, "reason": "r"}},
            "decomposition.children has 10000 entries, at most 500 are taken",
        ),
        (
            {"decomposition": {"children": [{"description": "x"}]}},
            "decomposition.reason is missing",
        ),
        (
            {"success": False, "alternatives": [{}, "other", {"description": " "}]},
            ("alternatives[0].description is missing; alternatives[1] is a text, not an object; "
            "alternatives[2].description is blank"),
        ),
        (
            {"success": False, "alternatives": [{"description": "x" * 10_001}]},
            "alternatives[0].description is longer than 10000 characters",
        ),
        (
            {
                "success": False,
                "alternatives": [
                    {"description": "a", "depends_on": ["#1"]},
                    {"description": "b", "depends_on": ["#3", "#0", "../x"]},
                ],
            },
            ("alternatives[0].depends_on names #1, which is not an earlier one of the list; "
            "alternatives[1].depends_on names #3, which is not an earlier one of the list; "
            "alternatives[1].depends_on has '#0', which is no id; "
            "alternatives[1].depends_on has '../x', which is no id"),
        ),
    ],
)  # fmt: skip
def test_a_worker_is_told_all_that_is_wrong(found: Any, says: str) -> None:
    assert fault(WORK, found) == says


@pytest.mark.parametrize(
    ("check", "says"),
    [
        ("make", " is a text, not an object"),
        ({}, ".type is null, not one of command, file, not_command, not_file, assertion, quality"),
        ({"type": "shell", "value": "x"}, (".type is 'shell', not one of command, file, "
         "not_command, not_file, assertion, quality")),
        ({"type": "command", "value": " "}, ".value: a command check needs a value"),
        ({"type": "file", "value": 3}, ".value is a number, not a text"),
        ({"type": "file", "value": "a", "rubric": []}, ".rubric means nothing in a file check"),
        ({"type": "file", "value": "a", "timeout_seconds": 0},
         ".timeout_seconds: a timeout of 0 s can never be kept"),
        ({"type": "file", "value": "a", "timeout_seconds": 1.5},
         ".timeout_seconds is 1.5, not a whole number"),
        ({"type": "command", "value": "x" * 20_000}, ".value is longer than 10000 characters"),
        ({"type": "quality", "criteria": "good", "pass_threshold": 9},
         ".pass_threshold: a quality check needs a pass_threshold from 1 to 5"),
        ({"type": "quality", "value": "x", "criteria": "good", "pass_threshold": 3},
         ".value means nothing in a quality check"),
        ({"type": "quality", "pass_threshold": 3, "rubric": [{"criterion": "a"}]},
         ".rubric[0].weight is missing"),
        ({"type": "quality", "pass_threshold": 3, "rubric": [{"criterion": "a", "weight": 0}]},
         ".rubric: the weights of the rubric do not add up to more than 0"),
        ({"type": "quality", "pass_threshold": 3,
          "rubric": [{"criterion": "a", "weight": 1, "levels": {"6": "x"}}]},
         ".rubric[0].levels: '6' is no level from 1 to 5 in words"),
        ({"type": "quality", "pass_threshold": 3,
          "rubric": [{"criterion": "a", "weight": 1, "levels": "x"}, 7]},
         (".rubric[0].levels is a text, not an object; "
         "decomposition.children[0].check.rubric[1] is a number, not an object")),
    ],
)  # fmt: skip
def test_a_proposed_check_keeps_the_rules_of_the_plan_file(check: Any, says: str) -> None:
    children = [{"description": "d", "check": check}]
    said = fault(WORK, {"decomposition": {"children": children, "reason": "r"}})
    assert said == f"decomposition.children[0].check{says}"


def test_a_probe_proposes_one_way_on() -> None:
    new = [{"description": "x"}]
    found = {
        "feasible": True,
        "decomposition": {"children": new, "reason": "r"},
        "alternatives": new,
    }
    assert fault(LOOK, found) == "decomposition and alternatives cannot both be followed"
    assert fault(LOOK, {"findings": "x"}) == "feasible is missing"
    assert fault(LOOK, DONE) == (
        "success is not a key of it; summary is not a key of it; artifacts is not a key of it; "
        "feasible is missing"
    )


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({}, "passed is missing"),
        ({"passed": True}, "evidence is missing"),
        ({"passed": True, "evidence": " "}, "evidence is blank"),
        (
            {"passed": True, "evidence": "x", "failures": ["y"]},
            "passed is true and failures are listed",
        ),
        ({"passed": False, "failures": "x"}, "failures is a text, not a list"),
        (
            {"passed": False, "scores": [{"criterion": "a", "score": 6, "evidence": "e"}]},
            "scores[0].score is 6, not from 1 to 5",
        ),
        (
            {"passed": False, "scores": [{"criterion": "a"}, 5]},
            (
                "scores[0].score is missing; scores[0].evidence is missing; "
                "scores[1] is a number, not an object"
            ),
        ),
        (
            {"passed": False, "scores": [{"criterion": "a", "score": 4.0, "evidence": "e"}]},
            "scores[0].score is 4.0, not a whole number",
        ),
    ],
)
def test_a_verifier_is_told_all_that_is_wrong(found: Any, says: str) -> None:
    assert fault(JUDGE, found) == says


def test_scores_must_fit_the_rubric() -> None:
    def scored(*names: str) -> dict[str, Any]:
        scores = [{"criterion": name, "score": 3, "evidence": "e"} for name in names]
        return {"passed": False, "scores": scores}

    judge = replace(JUDGE, checks=(RUBRIC,))
    assert fault(judge, scored("clear", "clear", "nice")) == (
        "the criterion 'clear' has 2 scores; the criterion 'short' has no score; "
        "'nice' is no criterion of the rubric"
    )
    sentence = Check(type=CheckType.QUALITY, criteria="reads well", pass_threshold=3)
    judge = replace(JUDGE, checks=(sentence,))
    assert fault(judge, scored()) == "there are 0 scores, and one is asked for"
    assert read(judge, scored("any")) == VerifierReport(
        passed=False, scores=(Score(criterion="any", score=3, evidence="e"),)
    )


def test_a_flood_of_faults_is_told_shortly() -> None:
    said = fault(WORK, {f"success{n}": n for n in range(1000)})
    assert said.endswith("; success19 is not a key of it (did you mean success?); and 981 more")


@pytest.mark.parametrize("key", ["mood", "confidence", "notes", "cost", "message", "warnings"])
def test_a_key_that_means_nothing_is_ignored_and_named(key: str) -> None:
    found = decode(WORK, json.dumps({"success": True, "summary": "s", key: "good"}).encode())
    assert isinstance(found.report, WorkerReport)
    assert (found.report.success, found.report.ignored) == (True, (f"'{key}'",))
