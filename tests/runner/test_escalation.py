"""Several agents for one role: who is sent, and who takes over when one cannot be had."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dwindle.ports.agent import Place
from dwindle.ports.work import NoReport, Report, Trouble, WorkerReport
from dwindle.runner.escalation import PASSED_OVER_SECONDS, Escalating, label_for, substitute_for
from dwindle.testing.agents import ORDER, PLAN, Answering

GOOD = WorkerReport(success=True, summary="done")
LABELS = ("claude:sonnet", "claude:opus", "codex")


def no(trouble: Trouble, again_after: float | None = None) -> NoReport:
    return NoReport(trouble=trouble, reason="said so", again_after=again_after)


class Scene:
    """Three agents, and a clock that stands still."""

    def __init__(self, *labels: str) -> None:
        self.now = 1000.0
        self.agents = {label: Answering(lambda _: GOOD) for label in labels or LABELS}
        self.team = Escalating(agents=self.agents, clock=lambda: self.now)

    def ended(self, label: str, report: Report) -> str:
        """Who goes on with a session of that agent which came to this."""
        return self.team.substitute(replace(ORDER, agent=label), report)


@pytest.mark.parametrize(
    ("failed", "label"), [(0, "claude:sonnet"), (1, "claude:opus"), (2, "codex"), (9, "codex")]
)
def test_who_is_sent_depends_on_how_often_it_failed(failed: int, label: str) -> None:
    assert Scene().team.choice(failed) == label


def test_the_order_names_who_is_sent(tmp_path: Path) -> None:
    scene = Scene()
    place = Place(workspace=tmp_path, outbox=tmp_path)
    scene.team.session(replace(ORDER, agent="codex"), place)
    scene.team.session(replace(ORDER, failed=1), place)
    scene.team.session(PLAN, place)
    assert {label: len(a.orders) + len(a.planned) for label, a in scene.agents.items()} == {
        "claude:sonnet": 1,
        "claude:opus": 1,
        "codex": 1,
    }
    assert scene.team.name == "claude:sonnet, then claude:opus, then codex"


@pytest.mark.parametrize("trouble", [Trouble.NOT_LOGGED_IN, Trouble.UNAVAILABLE, Trouble.OFFLINE])
def test_one_that_cannot_be_had_is_passed_over(trouble: Trouble) -> None:
    scene = Scene()
    assert scene.ended("claude:sonnet", no(trouble)) == "claude:opus"
    assert [scene.team.choice(failed) for failed in (0, 1, 2)] == [
        "claude:opus",
        "claude:opus",
        "codex",
    ]


def test_the_strongest_one_is_stood_in_for_by_the_next_weaker() -> None:
    scene = Scene()
    scene.ended("codex", no(Trouble.OUT_OF_CREDIT))
    assert scene.team.choice(5) == "claude:opus"


def test_a_rate_limit_is_over_after_a_while_and_a_missing_login_is_not() -> None:
    scene = Scene()
    scene.ended("claude:sonnet", no(Trouble.RATE_LIMITED, again_after=60.0))
    scene.ended("claude:opus", no(Trouble.OVERLOADED))
    assert scene.team.choice(0) == "codex"
    scene.now += 61.0
    assert scene.team.choice(0) == "claude:sonnet"
    assert scene.team.choice(1) == "codex"
    scene.now += PASSED_OVER_SECONDS
    assert scene.team.choice(1) == "claude:opus"
    scene.ended("claude:opus", no(Trouble.NOT_LOGGED_IN))
    scene.now += 1e9
    assert scene.team.choice(1) == "codex"


def test_the_last_one_is_waited_for_like_a_single_agent() -> None:
    scene = Scene("claude", "codex")
    scene.ended("claude", no(Trouble.RATE_LIMITED))
    assert not scene.ended("codex", no(Trouble.RATE_LIMITED))
    assert scene.team.choice(0) == "claude"  # both are worth a try after the wait


def test_the_run_ends_only_when_none_answers() -> None:
    scene = Scene("claude", "codex")
    scene.ended("claude", no(Trouble.NOT_LOGGED_IN))
    assert not scene.ended("codex", no(Trouble.OUT_OF_CREDIT))


@pytest.mark.parametrize("report", [GOOD, no(Trouble.FAILED), no(Trouble.TIMED_OUT)])
def test_an_attempt_that_was_made_is_no_reason_to_ask_another(report: Report) -> None:
    scene = Scene()
    assert not scene.ended("claude:sonnet", report)
    assert scene.team.choice(0) == "claude:sonnet"


def test_a_single_agent_has_no_label_and_is_never_passed_over() -> None:
    alone = Answering(lambda _: GOOD)
    assert (label_for(alone, 3), label_for(None, 0), label_for(Scene().team, 1)) == (
        "",
        "",
        "claude:opus",
    )
    assert not substitute_for(alone, ORDER, no(Trouble.OFFLINE))
    assert substitute_for(Scene().team, ORDER, no(Trouble.OFFLINE)) == "claude:opus"
