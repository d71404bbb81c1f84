"""dwindle log: everything that happened in a run, one line for each event."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from dwindle.app.console import as_json, complain, say
from dwindle.app.errors import JournalDamaged
from dwindle.app.journal.event_words import event_text
from dwindle.app.journal.run_journal import RunJournal, read_run_journal, run_named
from dwindle.app.paths import journal_path
from dwindle.app.plans.plan_files import root_of_here
from dwindle.app.refusal import Refused
from dwindle.app.spending.account import spending_of
from dwindle.app.spending.text import spending_in_full, spending_text
from dwindle.kernel.events import RunEnded
from dwindle.kernel.model import EXIT_CODES, PlanKind, StopCode

POLL = 0.2
"""Seconds between two looks at a journal that is followed."""


def log(
    run: str | None = None,
    /,
    *,
    json: bool = False,
    follow: bool = False,
    plan: PlanKind | None = None,
    spending: bool = False,
) -> int:
    """Print the journal of a run.

    Args:
        run: The id of a run; the run of the plan, if left out.
        plan: Which plan, where there are two.
        json: Print the events as they stand in the journal, one object per line.
        follow: Go on printing until the run ends; Ctrl-C leaves.
        spending: Print what was spent instead, by session, atom and role.
    """
    if spending and follow:
        raise Refused("--spending is about what is on record by now", hint="leave out --follow")
    root = root_of_here()
    named = run_named(root, run, plan)
    if json:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    try:
        if spending:
            return _spending(read_run_journal(root, named), json=json)
        seen = _print_new(read_run_journal(root, named), 0, json=json)
        while follow and not _has_ended(seen) and not reader_left():
            time.sleep(POLL)
            if journal_path(root, named).stat().st_size != seen.content.size:
                seen = _print_new(read_run_journal(root, named), seen.last, json=json)
    except JournalDamaged as error:
        complain(f"dwindle: {error}\n  it was changed from outside, so nothing in it is trusted")
        return EXIT_CODES[StopCode.IO_ERROR]
    if seen.content.torn:
        complain("dwindle: the last line is unfinished; it was never acknowledged")
    return 0


def _print_new(seen: RunJournal, after: int, *, json: bool) -> RunJournal:
    if json:
        lines = list(seen.lines(after))
    else:
        lines = [event_text(number, event) for number, event in seen.events(after)]
    if lines:
        say("\n".join(lines))
    return seen


def _spending(seen: RunJournal, *, json: bool) -> int:
    numbered = list(seen.events())
    spent = spending_of((event for _, event in numbered), first=numbered[0][0] if numbered else 1)
    return say(as_json(spending_in_full(spent)) if json else spending_text(spent))


def _has_ended(seen: RunJournal) -> bool:
    last = [event for _, event in seen.events(seen.last - 1)]
    return bool(last) and isinstance(last[-1], RunEnded)


def reader_left() -> bool:
    """Whether the reader closed the pipe: `say` has then replaced stdout by the null device."""
    try:
        return os.path.samestat(os.fstat(sys.stdout.fileno()), Path(os.devnull).stat())
    except (OSError, ValueError):
        return False
