"""dwindle doctor: could a run start here, and how safely?"""

from __future__ import annotations

import shlex
from pathlib import Path

from dwindle.app.console import USAGE, as_json, say
from dwindle.app.doctor.diagnosis import Diagnosis, Severity
from dwindle.app.doctor.examine import diagnoses
from dwindle.text.terminal import row, shortened

NAME = 12
"""Columns of a name at least."""
STATE = 10
LONG = 50
"""Characters of one word of a command; `--json` has the whole of it."""
MARKS = {Severity.OK: "ok", Severity.NOTE: "note", Severity.WRONG: "WRONG"}


def doctor(*, json: bool = False) -> int:
    """Look at everything that a run needs.

    Args:
        json: Print one JSON object.
    """
    found = diagnoses(Path.cwd())
    wrong = [finding.name for finding in found if finding.state is Severity.WRONG]
    code = USAGE if wrong else 0
    if json:
        return say(as_json(_data(found)), code)
    width = max(NAME, *(len(finding.name) + 1 for finding in found))
    lines = [_line(finding, width) for finding in found]
    could = "A run could start here."
    last = f"No run could start here; to be fixed: {', '.join(wrong)}." if wrong else could
    return say("\n".join([*lines, last]), code)


def _line(finding: Diagnosis, width: int) -> str:
    label, margin = f"{finding.name:<{width}}{MARKS[finding.state]}", width + STATE
    line = row(label, finding.what, margin=margin, more=finding.hint)
    if not finding.command:
        return line
    program, *words = finding.command
    shown = shlex.join([program, *(shortened(word, LONG) for word in words)])
    return f"{line}\n{row(' ' * width + 'runs', shown, margin=margin)}"


def _data(found: tuple[Diagnosis, ...]) -> dict[str, object]:
    """The documented object."""
    return {
        "ready": all(finding.state is not Severity.WRONG for finding in found),
        "findings": [
            {
                "name": finding.name,
                "state": finding.state,
                "what": finding.what,
                "hint": finding.hint,
                "command": list(finding.command),
                "environment": [f"{name}={value}" for name, value in finding.environment.items()],
            }
            for finding in found
        ],
    }
