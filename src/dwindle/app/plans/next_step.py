"""The next step for the user, from the state of a run.

`dwindle` alone, the end of `run` and notifications all print it, so that they agree. It depends on
the plan alone; the caller finds out whether a runner is at work.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Final

from dwindle.app.settings import SETTINGS_FILE
from dwindle.kernel.measure import measure
from dwindle.kernel.model import Answer, Plan, PlanKind, RunStatus, StopCode
from dwindle.kernel.winds import parked

REVIEW: Final = "`dwindle diff` shows what changed, `dwindle land` brings it to your branch"
GOES_ON: Final = "`dwindle run` goes on from here"
LIMITS: Final[Mapping[StopCode, str]] = {
    StopCode.ITERATION_LIMIT: "max_iterations",
    StopCode.BUDGET_TIME: "max_wall_seconds",
    StopCode.BUDGET_COST: "max_cost_usd",
    StopCode.BUDGET_TOKENS: "max_tokens",
}
"""The limit that a run came up against; it has the same name in both kinds of plan."""
UNPIN: Final = re.compile(r"`(dwindle redirect --unpin [^`]+)`")
"""How the reason of a failed attempt says what a user may allow."""
SET_ASIDE: Final = re.compile(r"set aside, outside of the work paths: ([^\s,;]+)")
PARKED: Final = (StopCode.OR_EXHAUSTED, StopCode.ATOM_EXHAUSTED)
ALWAYS: Final[Mapping[StopCode, str]] = {
    StopCode.AGENT_UNAVAILABLE: "`dwindle doctor` says what is missing; then `dwindle run`",
    StopCode.TAMPERED: "`dwindle replay` says what differs from the record",
    StopCode.IO_ERROR: "fix what the reason names; then `dwindle run`",
    StopCode.INVALID_PLAN: "`dwindle validate` lists what is wrong with the plan",
    StopCode.NOT_ALIGNED: "`dwindle align` agrees on what is missing",
    StopCode.LOCKED: "`dwindle watch` shows the run that has this plan",
}


def next_step(plan: Plan) -> str:
    """One line; commands stand in backquotes."""
    control = plan.control
    if control.status is RunStatus.PENDING:
        return "`dwindle run` begins"
    if control.status is RunStatus.COMPLETED:
        return REVIEW
    if control.redirect_requested:
        return "`dwindle redirect` brings the change of direction to its end"
    return _after(control.stop_code, plan) if control.stop_code is not None else GOES_ON


def _after(code: StopCode, plan: Plan) -> str:
    if code is StopCode.AWAITING_CONFIRMATION:
        return _word(plan)
    if code in LIMITS:
        return _raised(LIMITS[code], plan)
    if code is StopCode.STALLED:
        return _another_way(plan)
    if code is StopCode.VERIFICATION_EXHAUSTED:
        return _again(plan, "verification", "`dwindle log verification`")
    if code in PARKED:
        return _unparked(plan)
    if code is StopCode.ITERATION_TIMEOUT:
        return _raised(
            "iteration_timeout_seconds"
            if plan.kind is PlanKind.TREE
            else "session_timeout_seconds",
            plan,
        )
    return ALWAYS.get(code, GOES_ON)


def _word(plan: Plan) -> str:
    questions = plan.verification.questions
    if any(question.answer is Answer.OPEN for question in questions):
        return "`dwindle confirm` lists what you are asked; `dwindle confirm yes` or `no` answers"
    return "`dwindle run` takes up your answer"


def _raised(limit: str, plan: Plan) -> str:
    if plan.kind is PlanKind.TREE:
        return f"raise {limit} in {SETTINGS_FILE} under [limits], commit, `dwindle run`"
    agreed = getattr(plan.limits, limit)
    if agreed is None:  # the plan was edited since
        return f"`dwindle redirect --set {limit}=N` raises it; then `dwindle run`"
    return f"`dwindle redirect --set {limit}={2 * agreed:.15g} && dwindle run` doubles it"


def _unparked(plan: Plan) -> str:
    if plan.kind is PlanKind.TREE:
        return "`dwindle status` says what is parked; edit .runner/tree.json, commit, `dwindle run`"
    found = parked(plan)
    if unpins := UNPIN.findall(" ".join(one.reason or "" for one in found)):
        # It gives the attempts back too, so that a retry after it would change nothing.
        return f"if the work may change it, `{unpins[0]} && dwindle run`; why: `dwindle log`"
    if aside := SET_ASIDE.findall(" ".join(one.reason or "" for one in found)):
        paths = (*plan.objective.work_paths, *dict.fromkeys(aside))
        options = " ".join(f"--work-path {shlex.quote(path)}" for path in paths)
        allow = f"`dwindle redirect {options} && dwindle run`"
        return f"if {aside[0]} is part of the work, {allow}; why: `dwindle log`"
    names = [one.name for one in found]
    if not names:
        return _another_way(plan)
    one = next((name for name in names if name in plan.atoms), names[0])
    return _again(plan, ",".join(names), f"`dwindle log {one}`")


def _again(plan: Plan, names: str, why: str) -> str:
    """For a cause that the user can fix; what is tried again sees what they committed."""
    if measure(plan).redirects <= 0:
        return f"no redirect is left: `dwindle align --replace` starts anew; why: {why}"
    return f"fix it, commit, `dwindle redirect --retry {names} && dwindle run`; why: {why}"


def _another_way(plan: Plan) -> str:
    if plan.kind is PlanKind.TREE:
        return "`dwindle log` says what was tried; edit .runner/tree.json, commit, `dwindle run`"
    return "`dwindle log` says what was tried; `dwindle redirect` changes direction"
