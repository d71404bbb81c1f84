"""dwindle doctor: could a run start here, and how safely?"""

from __future__ import annotations

import shlex
from pathlib import Path

from dwindle.surfaces.cli.output import USAGE, say
from dwindle.surfaces.cli.text import as_json, row, shortened
from dwindle.surfaces.examination import examined
from dwindle.surfaces.finding import Finding, State

MARGIN = 22
LONG = 50
"""Characters of one word of a command; `--json` has the whole of it."""
MARKS = {State.OK: "ok", State.NOTE: "note", State.WRONG: "WRONG"}


def doctor(*, json: bool = False) -> int:
    """Look at everything that a run needs.

    Args:
        json: Print one JSON object.
    """
    found = examined(Path.cwd())
    wrong = [finding.name for finding in found if finding.state is State.WRONG]
    code = USAGE if wrong else 0
    if json:
        return say(as_json(_data(found)), code)
    lines = [_line(finding) for finding in found]
    could = "A run could start here."
    last = f"No run could start here; to be mended: {', '.join(wrong)}." if wrong else could
    return say("\n".join([*lines, last]), code)


def _line(finding: Finding) -> str:
    label = f"{finding.name:<12}{MARKS[finding.state]}"
    line = row(label, finding.what, margin=MARGIN, more=finding.hint)
    if not finding.command:
        return line
    program, *words = finding.command
    shown = shlex.join([program, *(shortened(word, LONG) for word in words)])
    return f"{line}\n{row(' ' * 12 + 'runs', shown, margin=MARGIN)}"


def _data(found: tuple[Finding, ...]) -> dict[str, object]:
    """The documented object."""
    return {
        "ready": all(finding.state is not State.WRONG for finding in found),
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
