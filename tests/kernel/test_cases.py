"""Every story in `tests/cases`: the plan and the decision at its end, compared in full."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.kernel.cases import WrongCase, all_cases, load, read, steps
from tests.kernel.plan_data import picture

from dwindle.kernel.decide import decide


@pytest.mark.parametrize("path", all_cases(), ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    case = load(path)
    plan, refused = case.start, None
    for step in steps(case):
        assert decide(step.before) == decide(step.before)
        plan, refused = step.after, step.refused
    found = picture(case.start, plan, refused)
    assert found == case.then
    assert list(found["atoms"]) == list(case.then["atoms"])  # file order is part of the contract


STORY = {"story": "s", "given": {"plan": "A1"}, "news": [{"Waited": {}}], "then": {}}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"also": 1}, "case: ['also'] is none of story, given, news, then"),
        (
            {"given": {"plan": "A1", "atom": {}}},
            (
                "case: given: ['atom'] is none of plan, file, limits, atoms, groups, control, "
                "spent, bindings, trail"
            ),
        ),
        (
            {"given": {"plan": "A1", "spent": {"tokens": "many"}}},
            "case: tokens: 'many' is no int",
        ),
        (
            {"news": ["Waited"]},
            "case: news 1: expected one class name with its fields, got 'Waited'",
        ),
        ({"news": [{"Waits": {}}]}, "case: news 1: Waits is no event"),
        (
            {"news": [{"Waited": {"why": "?"}}]},
            "case: news 1: ['why'] is none of at, elapsed, note, atom, seconds, agent",
        ),
        (
            {"news": [{"AttemptFailed": {"atom": "A1", "reason": "r"}}]},
            "nothing is in flight for A1",
        ),
        (
            {
                "given": {"plan": "A1 A2", "limits": {"max_parallel_agents": 1}},
                "news": [{"SessionStarted": {"atom": "A2", "role": "worker"}}],
            },
            (
                "case: news 1: SessionStarted(at='t1', elapsed=0.0, "
                "atom='A2', role=<Role.WORKER: 'worker'>, agent='') was not decided"
            ),
        ),
        ({"given": {"file": "no plan"}}, "case: ['there is no front matter']"),
    ],
)
def test_a_case_that_says_too_much_is_refused(change: dict[str, object], complaint: str) -> None:
    text = yaml.safe_dump({**STORY, **change})
    with pytest.raises(WrongCase) as refused:
        list(steps(read("case", text)))
    assert str(refused.value) == complaint
