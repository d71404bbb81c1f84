"""The graph plan file: YAML front matter that holds a plan, and a Markdown body for people.

Reading is strict and never raises: every fault comes back as a problem, all of them, each with
its line, and there is a plan only when there are none. Writing is canonical: equal plans give equal
bytes, and reading what was written gives the plan that was written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from dwindle.adapters.formats.graph import decode as kernel
from dwindle.adapters.formats.graph.front_matter import FIRST_LINE, split, unseen
from dwindle.adapters.formats.graph.read import read
from dwindle.adapters.formats.graph.writer import GraphWriter
from dwindle.adapters.formats.strict_yaml import line_map, parse
from dwindle.adapters.formats.yaml_place import Path
from dwindle.kernel.model import Plan, Problem

__all__ = ["Decoded", "GraphWriter", "decode", "writer_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """What a file holds."""

    plan: Plan | None
    """None when there is any problem."""
    body: bytes
    problems: tuple[Problem, ...] = ()
    draft: Plan | None = field(default=None, compare=False, repr=False)
    """The plan, or as much of it as could be read when the graph itself is sound: good for looking
    for further problems, and for nothing else."""
    text: str = field(default="", compare=False, repr=False)
    """The front matter."""

    def located(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Fill in the lines of problems that were found in the plan rather than in the text.

        A place that has no line of its own gets that of the nearest place around it.
        """
        found = tuple(problems)
        around = {
            problem.where: [problem.where[:length] for length in range(len(problem.where), 0, -1)]
            for problem in found
            if problem.line is None
        }
        if not around:
            return found
        wanted = dict.fromkeys(place for places in around.values() for place in places)
        lines = line_map(self.text, wanted, first_line=FIRST_LINE)
        return tuple(
            problem
            if problem.line is not None
            else replace(
                problem, line=next((lines[p] for p in around[problem.where] if p in lines), 1)
            )
            for problem in found
        )

    def judged(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Join what is wrong with the text and what is wrong with the draft, in file order.

        Where the text was refused already, what follows from the refusal is not said again.
        """
        said = {_whole(problem.where) for problem in self.problems}
        new = [problem for problem in problems if not _is_below(problem.where, said)]
        return _in_file_order((*self.problems, *self.located(new)))


def decode(data: bytes) -> Decoded:
    """Read a file: a plan, or everything that is wrong with it."""
    front = split(data)
    if front.text is None:
        return Decoded(plan=None, body=front.body, problems=front.problems)
    text = front.text
    problems = [*front.problems, *unseen(text)]
    if len(problems) > len(front.problems):
        return Decoded(plan=None, body=front.body, problems=tuple(problems), text=text)
    parsed = parse(text, first_line=FIRST_LINE)
    problems += parsed.problems
    if not parsed.complete:
        return Decoded(plan=None, body=front.body, problems=tuple(problems), text=text)
    found = read(parsed.data)
    said = {problem.where for problem in parsed.problems}
    problems += [problem for problem in found.problems if problem.where not in said]
    draft = None if found.state is None else kernel.plan(found.state)
    if not problems:
        return Decoded(plan=draft, draft=draft, body=front.body, text=text)
    unlocated = Decoded(plan=None, draft=draft, body=front.body, text=text)
    return replace(unlocated, problems=_in_file_order(unlocated.located(problems)))


def writer_of(data: bytes) -> GraphWriter:
    """Give a writer that keeps the body of this file."""
    return GraphWriter(split(data).body)


def _whole(where: Path) -> Path:
    """Widen a place within a check to the whole check, which is not judged in parts twice."""
    if where[:2] == ("objective", "base_case"):
        return where[:2]
    return where[:3] if where[:1] == ("atoms",) and where[2:3] == ("check",) else where


def _is_below(where: Path, places: set[Path]) -> bool:
    return any(where[:length] in places for length in range(1, len(where) + 1))


def _in_file_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: problem.line or 0))
