"""What is wrong with a plan file, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dwindle.app.plans.load import Loaded, load
from dwindle.app.plans.plan_files import PlanPath, read
from dwindle.app.refusal import Refused
from dwindle.kernel.model import Problem
from dwindle.text import amounts
from dwindle.text.terminal import one_line

DEEPEST = 16
"""Steps of a path that are shown; sound plans have fewer."""


class Unsound(Refused):
    """A plan file that cannot be gone on with; says what `validate` would say."""

    def __init__(self, path: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(summary(problems), where=path)
        self.problems = problems

    def __str__(self) -> str:
        listed = problem_lines(self.where, self.problems)
        return "\n".join([*listed, f"{one_line(self.where)}: {self.what}"])


def sound(plan: PlanPath) -> Loaded:
    """The plan in a file, or Unsound."""
    loaded = load(plan.kind, read(plan.path))
    if loaded.plan is None:
        raise Unsound(plan.path, loaded.problems)
    return loaded


def problem_lines(path: str, problems: Iterable[Problem]) -> Iterator[str]:
    """Two lines for each: what and where, then the hint."""
    for problem in problems:
        place = one_line(path) if problem.line is None else f"{one_line(path)}:{problem.line}"
        mark = "warning: " if problem.warning else ""
        where = f" ({where_text(problem.where)})" if problem.where else ""
        yield f"{place}: {mark}{one_line(problem.what)}{where}"
        if problem.hint:
            yield f"    hint: {one_line(problem.hint)}"


def where_text(where: Iterable[str | int]) -> str:
    """As one would write it in a program: atoms[3].depends_on."""
    steps = list(where)
    if len(steps) > DEEPEST:
        steps = [*steps[: DEEPEST // 2], "...", *steps[-DEEPEST // 4 :]]
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return one_line(text)


def summary(problems: Iterable[Problem]) -> str:
    listed = list(problems)
    warnings = sum(problem.warning for problem in listed)
    said = amounts.count(len(listed) - warnings, "problem")
    return f"{said}, {amounts.count(warnings, 'warning')}" if warnings else said


def problem_json(problem: Problem) -> dict[str, Any]:
    return {
        "line": problem.line,
        "where": list(problem.where),
        "what": problem.what,
        "hint": problem.hint,
        "warning": problem.warning,
    }
