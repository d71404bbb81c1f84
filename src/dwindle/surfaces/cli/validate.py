"""dwindle validate: everything that is wrong with a plan, at once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dwindle.app import ask_git
from dwindle.app.console import USAGE, as_json, painted, say
from dwindle.app.plans.load import load, load_to_validate, refused_changes
from dwindle.app.plans.plan_files import kind_of, plans_of, read
from dwindle.app.plans.problem_list import problem_json, problem_lines, summary
from dwindle.app.refusal import Refused
from dwindle.kernel.model import PlanKind, Problem
from dwindle.text import amounts
from dwindle.text.terminal import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedPlan:
    path: str
    kind: PlanKind | None
    problems: tuple[Problem, ...]
    atoms: int = 0
    against: str | None = None
    """The version that a tree was compared with."""

    @property
    def ok(self) -> bool:
        return all(problem.warning for problem in self.problems)


def validate(path: Path | None = None, /, *, json: bool = False, against: str | None = None) -> int:
    """Judge the plans and print what was found; the exit code is 0 or 2.

    Args:
        path: A plan file, or a folder.
        json: Print one JSON object.
        against: The earlier version of a tree: FILE or REV. HEAD, if left out.
    """
    # Not `Path.is_dir`: that one raises for a name that is too long.
    files = [str(path)] if path is not None and not os.path.isdir(path) else []  # noqa: PTH112
    plans = () if files else plans_of(str(path or "."))
    if against is not None and plans and all(plan.kind is not PlanKind.TREE for plan in plans):
        raise not_a_tree(plans[0].path)
    judged = [judge(p.path, p.kind, against) for p in plans]
    judged += [judge(file, None, against) for file in files]
    ok = all(plan.ok for plan in judged)
    return say(as_json(_json(judged)) if json else _text(judged), 0 if ok else USAGE)


def judge(path: str, kind: PlanKind | None, against: str | None) -> ValidatedPlan:
    """One file. That it cannot be read is a problem like any other."""
    try:
        data = read(path)
        named, kind = kind, kind or kind_of(path, data)
    except Refused as error:
        problem = Problem(where=(), what=error.what, hint=error.hint)
        return ValidatedPlan(path=path, kind=kind, problems=(problem,))
    if kind is not PlanKind.TREE:
        if named is None and against is not None:
            raise not_a_tree(path)
        against = None
    loaded = load_to_validate(kind, data)
    atoms = len(loaded.plan.atoms) if loaded.plan is not None else 0
    found = ValidatedPlan(path=path, kind=kind, problems=loaded.problems, atoms=atoms)
    if kind is not PlanKind.TREE or loaded.plan is None:
        return found
    return compare(found, path, data, against)


def compare(found: ValidatedPlan, path: str, data: bytes, against: str | None) -> ValidatedPlan:
    """A valid tree beside its earlier version: what has passed stays, the runner's word stays."""
    version = against or "HEAD"
    if against is None:
        before = ask_git.committed_version(Path(path))
        if before is None:
            return found
    elif os.path.isfile(against):  # noqa: PTH113 - as above
        before = read(against)
    else:
        before = ask_git.version_at(Path(path), against)
    old = load(PlanKind.TREE, before)
    if old.plan is not None:
        changes = refused_changes(before, data)
        return _with(found, changes, against=version)
    problem = Problem(
        where=(),
        what=f"not compared: the version in {version} is no valid tree ({summary(old.problems)})",
        hint="name one that is: --against FILE or --against REV",
        # A user must be able to fix a broken commit; a user who names a version means it.
        warning=against is None,
    )
    return _with(found, (problem,), against=None)


def not_a_tree(path: str) -> Refused:
    what = "only a tree can be compared with an earlier version"
    return Refused(what, where=path, hint="leave out --against")


def _with(found: ValidatedPlan, more: tuple[Problem, ...], *, against: str | None) -> ValidatedPlan:
    problems = sorted((*found.problems, *more), key=lambda problem: problem.line or 0)
    return ValidatedPlan(
        path=found.path,
        kind=found.kind,
        problems=tuple(problems),
        atoms=found.atoms,
        against=against,
    )


def _text(judged: list[ValidatedPlan]) -> str:
    lines: list[str] = []
    for plan in judged:
        lines += problem_lines(plan.path, plan.problems)
        path, found = one_line(plan.path), summary(plan.problems)
        if plan.ok:
            what = amounts.count(plan.atoms, "node" if plan.kind is PlanKind.TREE else "atom")
            facts = [f"{plan.kind} plan", what]
            facts += [f"compared with {plan.against}"] if plan.against else []
            facts += [found] if plan.problems else []
            lines.append(f"{path}: {painted('ok', 'green')} ({', '.join(facts)})")
        else:
            lines.append(f"{path}: {painted(found, 'red')}")
    return "\n".join(lines)


def _json(judged: list[ValidatedPlan]) -> dict[str, Any]:
    return {
        "ok": all(plan.ok for plan in judged),
        "plans": [
            {
                "path": plan.path,
                "kind": plan.kind,
                "against": plan.against,
                "problems": [problem_json(problem) for problem in plan.problems],
            }
            for plan in judged
        ],
    }
