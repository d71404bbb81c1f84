"""dwindle verify: does what was certified still hold?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from dwindle.app.console import as_json, complain, say
from dwindle.app.plans.plan_files import refuse_for_tree, root_of_here
from dwindle.app.refusal import refused_by
from dwindle.app.verify import Verified, verify_again
from dwindle.kernel.base_case import Verdict
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.gate.certificate import Certificate, CheckRecord, NotACertificate
from dwindle.runner.gate.certificate_text import MARKS
from dwindle.text.terminal import one_line, row

DOES_NOT_HOLD = 1
MARGIN = 11


def verify(*, mechanical: bool = False, json: bool = False) -> int:
    """Run the checks again.

    Args:
        mechanical: Only the checks that a machine can decide.
        json: Print one JSON object.
    """
    refuse_for_tree(
        root_of_here(),
        "a tree has no certificate: each leaf had its guard",
        "run the guard yourself ([guard] command, `just ci` unless set); `dwindle replay` decides\n"
        "  the run again",
    )
    try:
        found = asyncio.run(verify_again(Path.cwd(), mechanical=mechanical))
    except NotACertificate as error:
        complain(f"dwindle: DOES NOT HOLD: {error}")
        return DOES_NOT_HOLD
    except WorkspaceFailed as error:
        raise refused_by(error) from None
    code = 0 if found.comparison.holds else DOES_NOT_HOLD
    return say(as_json(data(found)) if json else "\n".join(_lines(found)), code)


def data(found: Verified) -> dict[str, Any]:
    """The documented object."""
    old, new = found.old, found.new
    return {
        "holds": found.comparison.holds,
        "because": found.comparison.because,
        "run": new.run,
        "commit": new.commit,
        "tree": new.tree,
        "worktree": None if found.tree is None else str(found.tree),
        "certified": None if old is None else {"at": old.at, "held": old.holds},
        "containment": {
            "strength": new.containment.strength,
            "mechanism": new.containment.mechanism,
        },
        "checks": [
            {
                "item": record.item,
                "type": record.type,
                "command": record.command,
                "verdict": record.verdict,
                "then": then,
                "judged_by": record.judged_by,
                "exit_code": record.exit_code,
                "seconds": record.seconds,
                "evidence": record.evidence,
            }
            for record, then in _pairs(found)
        ],
        "differences": list(found.comparison.differences),
    }


def _pairs(found: Verified) -> list[tuple[CheckRecord, Verdict | None]]:
    """Each check as it is now, and its verdict then."""
    then = {r.claim: r.verdict for r in found.old.checks} if found.old else {}
    return [(record, then.get(record.claim)) for record in found.new.checks]


def _lines(found: Verified) -> list[str]:
    new = found.new
    lines = [
        row("run", new.run, margin=MARGIN),
        row("commit", new.commit, margin=MARGIN),
        row("certified", _certified_text(found.old), margin=MARGIN),
        row(
            "contained", f"{new.containment.strength} ({new.containment.mechanism})", margin=MARGIN
        ),
    ]
    for record, then in _pairs(found):
        lines.append(row(f"  {MARKS[record.verdict]}", record.item, margin=MARGIN))
        lines.append(row("", _verdicts(record, then), margin=MARGIN))
        if record.verdict is not Verdict.PASSED and record.evidence:
            lines.append(row("", record.evidence.splitlines()[0], margin=MARGIN))
    lines += [
        row("different" if n == 0 else "", one_line(difference), margin=MARGIN)
        for n, difference in enumerate(found.comparison.differences)
    ]
    verdict = "holds" if found.comparison.holds else "DOES NOT HOLD"
    return [*lines, f"{verdict}: {one_line(found.comparison.because)}"]


def _certified_text(old: Certificate | None) -> str:
    if old is None:
        return "never; this is the tip of the run's branch"
    return f"{old.at}, when it {'held' if old.holds else 'did not hold'}"


def _verdicts(record: CheckRecord, then: Verdict | None) -> str:
    if then is None:
        return f"{record.verdict}"
    if then is record.verdict:
        return f"{record.verdict}, as it was then"
    return f"{record.verdict}; {then} then"
