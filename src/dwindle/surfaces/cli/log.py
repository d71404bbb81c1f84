"""dwindle log: everything that happened in a run, a line for each event; or why an atom failed."""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from pathlib import Path

from dwindle.app.console import as_json, complain, painted, say
from dwindle.app.errors import JournalDamaged, StoreFailed
from dwindle.app.journal.event_words import Told, event_text
from dwindle.app.journal.run_journal import RunJournal, read_run_journal, run_named
from dwindle.app.paths import journal_path
from dwindle.app.plans.plan_files import root_of_here
from dwindle.app.refusal import Refused
from dwindle.app.spending.account import spending_of
from dwindle.app.spending.text import spending_in_full, spending_text
from dwindle.kernel.events import RunEnded
from dwindle.kernel.model import EXIT_CODES, PlanKind, StopCode
from dwindle.runner.alignment import RUN_ID
from dwindle.text.terminal import one_line, shortened
from dwindle.views.read_model.attempts import Attempt, attempt_lines, attempts_of, has_attempts
from dwindle.views.read_model.run_view import Follower

COLOURS = defaultdict(
    lambda: "bold",
    resolved="green",
    passed="green",
    failed="red",
    refused="red",
    infeasible="red",
    gaps="red",
    unjudged="yellow",
    interrupted="yellow",
    running="blue",
)
"""By the outcome of a session."""
POLL = 0.2
"""Seconds between two looks at a journal that is followed."""


def log(
    name: str | None = None,
    /,
    *,
    json: bool = False,
    follow: bool = False,
    plan: PlanKind | None = None,
    spending: bool = False,
) -> int:
    """Print the journal of a run, or the attempts of an atom.

    Args:
        name: An atom, a choice point or `verification`; or the id of another run.
        plan: Which plan, where there are two.
        json: Print the events as they stand in the journal, or a list of attempts.
        follow: Go on printing until the run ends; Ctrl-C leaves.
        spending: Print what was spent instead, by session, atom and role.
    """
    if spending and follow:
        raise Refused("--spending is about what is on record by now", hint="leave out --follow")
    root = root_of_here()
    told: Told = {}
    if name is not None and not is_run(root, name):
        return _attempts(root, name, plan, json=json)
    named = run_named(root, name, plan)
    if json:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    try:
        if spending:
            return _spending(read_run_journal(root, named), json=json)
        seen = _print_new(read_run_journal(root, named), 0, told, json=json)
        while follow and not _has_ended(seen) and not reader_left():
            time.sleep(POLL)
            if journal_path(root, named).stat().st_size != seen.content.size:
                seen = _print_new(read_run_journal(root, named), seen.last, told, json=json)
    except JournalDamaged as error:
        complain(f"dwindle: {error}\n  it was changed from outside, so nothing in it is trusted")
        return EXIT_CODES[StopCode.IO_ERROR]
    if seen.content.torn:
        complain("dwindle: the last line is unfinished; it was never acknowledged")
    return 0


def _print_new(seen: RunJournal, after: int, told: Told, *, json: bool) -> RunJournal:
    if json:
        lines = list(seen.lines(after))
    else:
        lines = [event_text(number, event, told) for number, event in seen.events(after)]
    if lines:
        say("\n".join(lines))
    return seen


def is_run(root: Path, name: str) -> bool:
    """What has the form of a run's id can be nothing else; any other run has a journal."""
    if RUN_ID.fullmatch(name):
        return True
    try:
        return journal_path(root, name).is_file()
    except StoreFailed:
        return False  # it cannot be the name of one


def _attempts(root: Path, name: str, plan: PlanKind | None, *, json: bool) -> int:
    run = Follower(root, run_named(root, None, plan))
    run.poll()
    if run.plan is not None and not has_attempts(run.plan, name):
        what = f"there is neither a run nor an atom {shortened(name, 64)!r}"
        raise Refused(what, hint="`dwindle status` lists open atoms, `dwindle log` everything")
    found = attempts_of(root, run, name)
    if json:
        return say(as_json(found))
    return say(attempts_text(found) or f"{one_line(name)}: no session has worked on it yet")


def attempts_text(found: list[Attempt]) -> str:
    lines = (painted(line, COLOURS[of]) if of else line for line, of in attempt_lines(found))
    return "\n".join(lines)


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
