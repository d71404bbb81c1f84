"""A draft from one sentence and its checks: the goal is one atom, which agents may split."""

from __future__ import annotations

from collections.abc import Sequence

from dwindle.adapters.formats.graph.spelling import text
from dwindle.app.align.dialogue import Terminal, ask_until_answered
from dwindle.app.refusal import Refused

COMMAND = "Which command succeeds when it is done, such as `pytest -q tests/test_x.py`?"


def checks_from(terminal: Terminal | None, given: Sequence[str]) -> tuple[str, ...]:
    """The commands that decide; the user is asked for one if none is given."""
    found = tuple(line.strip() for line in given if line.strip())
    if found:
        return found
    if terminal is None:
        raise Refused(
            "nothing says when it is done",
            hint='add --check with a command that succeeds then, such as --check "pytest -q"',
        )
    return (ask_until_answered(terminal, COMMAND),)


def draft_from_goal(goal: str, checks: Sequence[str], why: str = "") -> str:
    """A claim about the atom is judged by the same commands as the whole."""
    together = checks[0] if len(checks) == 1 else " && ".join(f"( {line} )" for line in checks)
    lines = [
        "objective:",
        f"  goal: {text(goal)}",
        f"  background_intent: {text(why or goal)}",
        f"  deliverables: {text(goal)}",
        f"  definition_of_done: {text('These succeed: ' + '; '.join(checks))}",
        "  base_case:",
        "    checklist:",
    ]
    for line in checks:
        lines += [
            f"      - item: {text(line)}",
            "        check:",
            "          type: command",
            f"          value: {text(line)}",
        ]
    lines += [
        "atoms:",
        "  - id: A1",
        f"    description: {text(goal)}",
        "    check:",
        "      type: command",
        f"      value: {text(together)}",
    ]
    return "\n".join(lines) + "\n"
