"""dwindle doctor: could a run start here, and how safely?"""

from __future__ import annotations

from pathlib import Path

from dwindle.surfaces.cli.output import USAGE, say
from dwindle.surfaces.cli.text import as_json, row
from dwindle.surfaces.examination import examined
from dwindle.surfaces.finding import Finding, State

MARGIN = 22
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
    return row(label, finding.what, margin=MARGIN, more=finding.hint)


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
            }
            for finding in found
        ],
    }
