"""A goal in one sentence and its checks, as the answers of a dialogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dwindle.app.align.answers import Answers, AtomAnswer, CheckAnswer
from dwindle.app.align.dialogue import Terminal, ask_until_answered
from dwindle.app.refusal import Refused
from dwindle.kernel.model import CheckType

COMMAND = "Which command succeeds when it is done, such as `pytest -q tests/test_x.py`?"


def checks_from(terminal: Terminal | None, given: Sequence[str]) -> tuple[CheckAnswer, ...]:
    """The commands that decide; the user is asked for one if none is given."""
    found = tuple(line.strip() for line in given if line.strip())
    if not found and terminal is None:
        raise Refused(
            "nothing says when it is done",
            hint='add --check with a command that succeeds then, such as --check "pytest -q"',
        )
    if not found and terminal is not None:
        found = (ask_until_answered(terminal, COMMAND),)
    return tuple(CheckAnswer(type=CheckType.COMMAND, value=line, item=line) for line in found)


def as_one_atom(given: Answers) -> Answers:
    """A claim about the atom is judged by the same commands as the whole."""
    commands = [check.value for check in given.checks]
    together = " && ".join(f"( {line} )" for line in commands)
    judge = commands[0] if len(commands) == 1 else together
    return replace(
        given,
        why=given.why or given.goal,
        deliverables=given.goal,
        done=f"These succeed: {'; '.join(commands)}",
        atoms=(AtomAnswer(id="A1", description=given.goal, command=judge),),
    )
