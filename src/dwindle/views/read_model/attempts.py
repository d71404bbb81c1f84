"""Why an atom, or the base case, is as it is: each attempt, what it came to, where its files are.

For `log A3` and `explain A3`. The whole reason is given once: an attempt that ended for the reason
of an earlier one names that one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypedDict

from dwindle.kernel.graph import view
from dwindle.kernel.model import ROOT, AtomId, GroupId, Plan, PlanKind
from dwindle.kernel.shape import subtree
from dwindle.toolchains.failing import failing_tests
from dwindle.views.read_model.attempt_files import change_of, parts_of
from dwindle.views.read_model.run_view import Follower
from dwindle.views.read_model.shapes import SessionView

VERIFICATION: Final = "verification"
"""The name under which the rounds of the base case are asked for."""


class Attempt(TypedDict):
    atom: str
    """Empty for a round of the base case."""
    session: int
    """The run's own number of it."""
    role: str
    outcome: str
    at: str
    """When it ended, or began if it still runs."""
    reason: str
    """What was said about its end: of a check, with the end of its output."""
    same_as: int | None
    """The earlier session that ended for the same reason."""
    failing_tests: list[str]
    log: str
    """Paths below the repository; empty for what there is not."""
    prompt: str
    change: str
    """The command that shows what it changed."""


def has_attempts(plan: Plan, name: str) -> bool:
    """Whether there can be attempts under this name."""
    return name == VERIFICATION or name in plan.atoms or name in plan.groups


def attempts_of(root: Path, run: Follower, name: str) -> list[Attempt]:
    """Of an atom or of all ways of a choice point, the oldest first."""
    names = _names(run.plan, name)
    told: dict[tuple[str, str], int] = {}
    return [
        _attempt(root, run, session, told)
        for session in run.sessions.values()
        if session["atom"] in names
    ]


def _names(plan: Plan | None, name: str) -> tuple[str, ...]:
    if name == VERIFICATION and (plan is None or AtomId(name) not in plan.atoms):
        return (ROOT,)
    if plan is None or GroupId(name) not in plan.groups:
        return (name,)
    return tuple(subtree(view(plan).shape, name))


def _attempt(
    root: Path, run: Follower, session: SessionView, told: dict[tuple[str, str], int]
) -> Attempt:
    reason = session["words"]
    about = (session["atom"], reason)
    same = told.get(about) if reason else None
    told.setdefault(about, session["number"])
    parts = parts_of(root, run.run, session)
    logs = [p["path"] for p in parts if p["kind"] in {"guard", "log"} and p["size"]]
    prompts = [p["path"] for p in parts if p["kind"] == "prompt"]
    return Attempt(
        atom=session["atom"],
        session=session["number"],
        role=session["role"],
        outcome=session["outcome"],
        at=session["end_at"] or session["start_at"],
        reason=reason,
        same_as=same,
        failing_tests=list(failing_tests(reason)),
        log=logs[-1] if logs else "",
        prompt=prompts[0] if prompts else "",
        change=_change(root, run, session),
    )


def _change(root: Path, run: Follower, session: SessionView) -> str:
    if session["end"] is None or not session["atom"]:
        return ""
    if run.kind is PlanKind.TREE:
        return f"git show {session['commit']}" if session["commit"] else ""
    found = change_of(root, run.run, session)
    return f"git show {found}" if found else ""


def attempt_lines(attempts: list[Attempt]) -> Iterator[tuple[str, str]]:
    """Lines of text, each with the outcome that colours it; empty where it is plain."""
    for one in attempts:
        what = one["atom"] or "base case"
        yield (
            f"{what}, {one['role']} {one['session']}, {one['at'][11:19]}: {one['outcome']}",
            one["outcome"],
        )
        if one["same_as"] is not None:
            yield f"    for the same reason as {one['same_as']}", ""
        elif one["reason"]:
            yield from ((f"    {line}", "") for line in one["reason"].splitlines())
        facts = (
            ("failing", ", ".join(one["failing_tests"]) if one["same_as"] is None else ""),
            ("log", one["log"]),
            ("prompt", one["prompt"]),
            ("change", one["change"]),
        )
        yield from ((f"    {label:<8}{fact}", "") for label, fact in facts if fact)
