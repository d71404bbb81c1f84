"""A draft: what a person hands to `align`, as plain YAML or as a state file.

A draft is a graph plan with gaps that may be filled in. The rules are those of the plan file and
are not written twice: the gaps are filled in the values, and then the one strict reader judges
them. Lines are those of the draft as it was written.

Alignment begins a new run. So the counters of an earlier one (everything under `control`, attempts
and probes of atoms) are read, judged and then begun anew; what was resolved or given up stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from dwindle.adapters.formats.draft.values import FRESH_ATOM, completed, limits_in
from dwindle.adapters.formats.graph import decode as kernel
from dwindle.adapters.formats.graph.front_matter import FIRST_LINE, MAX_BYTES, Front, split, unseen
from dwindle.adapters.formats.graph.plan import Decoded
from dwindle.adapters.formats.graph.read import read
from dwindle.adapters.formats.strict_yaml import parse
from dwindle.kernel.base_case import MECHANICAL, checks, items
from dwindle.kernel.model import (
    Control,
    Pace,
    Plan,
    Problem,
    Spent,
    Status,
    Verification,
)

ADVICE: Final[dict[str | int, str]] = {
    "objective": "it has goal, background_intent, deliverables, definition_of_done and base_case",
    "goal": "say in a sentence what should be true in the end",
    "background_intent": "say why it is wanted",
    "deliverables": "say what should be there afterwards",
    "definition_of_done": "say how a person tells that it is done",
    "base_case": "name a check that a machine can run, such as {type: command, value: make test}",
    "atoms": "name at least one piece of work, with an id and a description",
}
"""By the last step of a place that has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a draft holds. There is a plan only when the text has no problem."""

    plan: Plan | None
    body: bytes
    problems: tuple[Problem, ...] = ()
    counted: bool = False
    """Counters of an earlier run were there, and begin anew."""
    readable: Plan | None = field(default=None, compare=False, repr=False)
    """As much of the plan as could be read, for finding further problems."""
    decoded: Decoded | None = field(default=None, compare=False, repr=False)
    shift: int = 0
    """How many lines earlier than in a state file everything stands."""
    given: tuple[str, ...] = ()
    """The limits that the text itself sets."""

    def judged(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Join what is wrong with the text and what is wrong with the plan, in file order."""
        if self.decoded is None:
            return self.problems
        return _earlier(self.decoded.judged(problems), self.shift)

    def located(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Fill in the lines of problems that were found in the plan."""
        found = tuple(problems)
        return _earlier(self.decoded.located(found), self.shift) if self.decoded else found


def decode_draft(data: bytes) -> Draft:
    """Read a draft: a plan, or everything that is wrong with its text."""
    front, shift = _front(data)
    if front.text is None:
        return Draft(plan=None, body=front.body, problems=front.problems)
    hidden = unseen(front.text)
    parsed = parse(front.text, first_line=FIRST_LINE)
    problems = [*front.problems, *(hidden or parsed.problems)]
    if hidden or not parsed.complete:
        return Draft(plan=None, body=front.body, problems=_earlier(problems, shift), shift=shift)
    values = completed(parsed.data)
    state = read(values)
    said = {problem.where for problem in parsed.problems}
    problems += [_advised(problem) for problem in state.problems if problem.where not in said]
    problems += _unmechanical(values, problems)
    plan = None if state.state is None else kernel.plan(state.state)
    begun = None if plan is None else begun_anew(plan)
    decoded = Decoded(plan=None, draft=begun, body=front.body, text=front.text)
    located = decoded.located(problems)
    located = tuple(sorted(located, key=lambda problem: problem.line or 0))
    return Draft(
        plan=None if located else begun,
        body=front.body,
        problems=_earlier(located, shift),
        counted=plan != begun,
        readable=begun,
        decoded=replace(decoded, problems=located),
        shift=shift,
        given=limits_in(parsed.data),
    )


def begun_anew(plan: Plan) -> Plan:
    """The same graph and results, with no session, no spending and no stop behind it."""
    created = len(plan.atoms)
    limits = plan.limits
    if "max_atoms" not in limits.stated:
        limits = replace(limits, max_atoms=kernel.default_max_atoms(created))
    atoms = {
        name: replace(
            atom.unspent(),
            status=Status.PENDING if atom.status is Status.IN_PROGRESS else atom.status,
        )
        for name, atom in plan.atoms.items()
    }
    return replace(
        plan,
        limits=limits,
        spent=Spent(created=created),
        control=Control(),
        atoms=atoms,
        sessions={},
        pace=Pace(),
        verification=Verification(),
    )


def _front(data: bytes) -> tuple[Front, int]:
    """Cut a state file in two; anything else is YAML from its first line to its last."""
    front = split(data)
    if front.text is not None or len(data) > MAX_BYTES:
        return front, 0
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError:
        return front, 0
    text = text.replace("\r\n", "\n")
    # The last problem is that there is no front matter, which a draft does not need.
    return Front(text, b"", front.problems[:-1]), FIRST_LINE - 1


def _advised(problem: Problem) -> Problem:
    """Without the advice to align: the user is aligning now."""
    if not problem.unaligned:
        return problem
    return replace(
        problem, hint=next(ADVICE[step] for step in reversed(problem.where) if step in ADVICE)
    )


def _unmechanical(values: object, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Something has to be able to say no without being trusted to be honest."""
    where = ("objective", "base_case")
    if any(problem.where == where[:1] or problem.where[:2] == where for problem in problems):
        return
    # The objective by itself: nothing that is wrong with the atoms shall hide this.
    objective = values.get("objective") if isinstance(values, dict) else None
    alone = read(
        {"objective": objective, "atoms": [{"id": "A1", "description": "?", **FRESH_ATOM}]}
    )
    assert alone.state is not None  # noqa: S101 - its one atom is sound
    found = kernel.plan(alone.state).objective.base_case
    if not any(check.type in MECHANICAL for _, _, check in checks(items(found))):
        yield Problem(
            where=where,
            what="nothing in the base case can be checked by a machine",
            hint=f"add a check of type {', '.join(MECHANICAL)}",
            unaligned=True,
        )


def _earlier(problems: Iterable[Problem], shift: int) -> tuple[Problem, ...]:
    return tuple(
        problem if problem.line is None else replace(problem, line=max(1, problem.line - shift))
        for problem in problems
    )
