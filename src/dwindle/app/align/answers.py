"""What a user answered, as the text of a draft, and read back from one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from dwindle.adapters.formats.graph.spelling import name, names, number, text
from dwindle.adapters.formats.strict_yaml import parse
from dwindle.kernel.model import CheckType

HIGHEST: Final = 5
HEADING: Final = "# Change what is wrong; `dwindle help state-file` describes every field.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckAnswer:
    type: CheckType
    value: str
    item: str
    threshold: float | None = None
    """For quality only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomAnswer:
    id: str
    description: str
    depends_on: tuple[str, ...] = ()
    instead_of: str | None = None
    """The atom that it is another way for."""
    command: str = ""
    """A command that judges it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Empty: not answered yet."""

    goal: str = ""
    why: str = ""
    deliverables: str = ""
    done: str = ""
    checks: tuple[CheckAnswer, ...] = ()
    atoms: tuple[AtomAnswer, ...] = ()


def document(answers: Answers) -> str:
    """The answers as a draft; what is not answered yet is left out."""
    lines = [HEADING + "objective:"]
    said = {
        "goal": answers.goal,
        "background_intent": answers.why,
        "deliverables": answers.deliverables,
        "definition_of_done": answers.done,
    }
    lines += [f"  {key}: {text(words)}" for key, words in said.items() if words]
    lines += ["  base_case:", "    checklist:"] if answers.checks else []
    for check in answers.checks:
        lines += [f"      - item: {text(check.item)}", "        check:"]
        lines += [f"          type: {check.type}"]
        if check.type is CheckType.QUALITY:
            lines += [f"          criteria: {text(check.value)}"]
            lines += [f"          pass_threshold: {number(check.threshold or HIGHEST)}"]
        else:
            lines += [f"          value: {text(check.value)}"]
    lines += [*_atom_lines(answers.atoms)] if answers.atoms else []
    return "\n".join(lines) + "\n"


def _atom_lines(atoms: Sequence[AtomAnswer]) -> Iterator[str]:
    yield "atoms:"
    groups: dict[str, list[str]] = {}
    for atom in atoms:
        yield f"  - id: {name(atom.id)}"
        yield f"    description: {text(atom.description)}"
        if atom.depends_on:
            yield f"    depends_on: {names(atom.depends_on)}"
        if atom.command:
            yield from ("    check:", "      type: command", f"      value: {text(atom.command)}")
        if atom.instead_of is not None:
            groups.setdefault(atom.instead_of, [atom.instead_of]).append(atom.id)
    if groups:
        yield "or_groups:"
    for first, choices in groups.items():
        yield f"  {name(f'or_{first}')}:"
        yield f"    choices: {names(choices)}"


def base_case_of(checks: Sequence[CheckAnswer]) -> dict[str, Any]:
    """As the values of a draft have it."""
    read: Any = parse(document(Answers(checks=tuple(checks)))).data
    values: dict[str, Any] = read["objective"]["base_case"]
    return values


def answers_in(draft: str) -> Answers | None:
    """The answers of a dialogue that was left before it came to atoms; None for any other draft."""
    read = parse(draft)
    values, objective = read.data, None
    if isinstance(values, Mapping) and [*values] == ["objective"]:
        objective = values["objective"] or {}
    if read.problems or not isinstance(objective, Mapping):
        return None
    found = Answers(
        goal=_words(objective.get("goal")),
        why=_words(objective.get("background_intent")),
        deliverables=_words(objective.get("deliverables")),
        done=_words(objective.get("definition_of_done")),
        checks=tuple(_checks(objective.get("base_case"))),
    )
    # Anything else was written by hand and would be lost: it is for the editor.
    same = parse(document(found)).data
    if same != values:
        return None
    # Of the last check, the user may not have said yet what it is.
    return replace(found, checks=tuple(check for check in found.checks if check.value))


def _checks(base_case: object) -> Iterator[CheckAnswer]:
    listed = base_case.get("checklist") if isinstance(base_case, Mapping) else None
    for one in listed if isinstance(listed, list) else ():
        check = one.get("check") if isinstance(one, Mapping) else None
        kind = check.get("type") if isinstance(check, Mapping) else None
        if not isinstance(check, Mapping) or kind not in list(CheckType):
            continue
        score = check.get("pass_threshold")
        yield CheckAnswer(
            type=CheckType(kind),
            value=_words(check.get("criteria" if kind == CheckType.QUALITY else "value")),
            item=_words(one.get("item")),
            threshold=float(score) if isinstance(score, int | float) else None,
        )


def _words(value: object) -> str:
    return value if isinstance(value, str) else ""
