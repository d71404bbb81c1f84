"""dwindle validate: everything that is wrong with a plan, at once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dwindle import wiring
from dwindle.kernel.model import PlanKind
from dwindle.kernel.problem import Problem
from dwindle.surfaces import committed
from dwindle.surfaces.cli.output import USAGE, say
from dwindle.surfaces.cli.problem_list import problem_json, problem_lines, summary
from dwindle.surfaces.cli.text import as_json, counted, one_line, painted
from dwindle.surfaces.plan_files import kind_of, plans_of, read
from dwindle.surfaces.refusal import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
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


def judge(path: str, kind: PlanKind | None, against: str | None) -> Judged:
    """One file. That it cannot be read is a problem like any other."""
    try:
        data = read(path)
        named, kind = kind, kind or kind_of(path, data)
    except Refused as error:
        problem = Problem(where=(), what=error.what, hint=error.hint)
        return Judged(path=path, kind=kind, problems=(problem,))
    if kind is not PlanKind.TREE:
        if named is None and against is not None:
            raise not_a_tree(path)
        against = None
    loaded = wiring.load(kind, data)
    atoms = len(loaded.plan.atoms) if loaded.plan is not None else 0
    found = Judged(path=path, kind=kind, problems=loaded.problems, atoms=atoms)
    if kind is not PlanKind.TREE or loaded.plan is None:
        return found
    return compared(found, path, data, against)


def compared(found: Judged, path: str, data: bytes, against: str | None) -> Judged:
    """A valid tree beside its earlier version: what has passed stays, the runner's word stays."""
    version = against or "HEAD"
    if against is None:
        before = committed.in_head(Path(path))
        if before is None:
            return found
    elif os.path.isfile(against):  # noqa: PTH113 - as above
        before = read(against)
    else:
        before = committed.at_revision(Path(path), against)
    old = wiring.load(PlanKind.TREE, before)
    if old.plan is not None:
        changes = wiring.refused_changes(before, data)
        return _with(found, changes, against=version)
    problem = Problem(
        where=(),
        what=f"not compared: the version in {version} is no valid tree ({summary(old.problems)})",
        hint="name one that is: --against FILE or --against REV",
        # Whoever mends a broken commit must be able to; who names a version means it.
        warning=against is None,
    )
    return _with(found, (problem,), against=None)


def not_a_tree(path: str) -> Refused:
    what = "only a tree can be compared with an earlier version"
    return Refused(what, where=path, hint="leave out --against")


def _with(found: Judged, more: tuple[Problem, ...], *, against: str | None) -> Judged:
    problems = sorted((*found.problems, *more), key=lambda problem: problem.line or 0)
    return Judged(
        path=found.path,
        kind=found.kind,
        problems=tuple(problems),
        atoms=found.atoms,
        against=against,
    )


def _text(judged: list[Judged]) -> str:
    lines: list[str] = []
    for plan in judged:
        lines += problem_lines(plan.path, plan.problems)
        path, found = one_line(plan.path), summary(plan.problems)
        if plan.ok:
            what = counted(plan.atoms, "node" if plan.kind is PlanKind.TREE else "atom")
            facts = [f"{plan.kind} plan", what]
            facts += [f"compared with {plan.against}"] if plan.against else []
            facts += [found] if plan.problems else []
            lines.append(f"{path}: {painted('ok', 'green')} ({', '.join(facts)})")
        else:
            lines.append(f"{path}: {painted(found, 'red')}")
    return "\n".join(lines)


def _json(judged: list[Judged]) -> dict[str, Any]:
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
