"""dwindle clean: remove what landed or old runs have left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dwindle.app.clean import DAYS, Cleaned, CleanedRun, CleanRequest, clean_runs
from dwindle.app.console import as_json, complain, say
from dwindle.app.errors import Locked
from dwindle.app.refusal import Refused
from dwindle.kernel.model import EXIT_CODES, StopCode
from dwindle.text import amounts
from dwindle.text.terminal import WIDTH, row

MARGIN = 4


def clean(
    run: str | None = None,
    /,
    *,
    dry_run: bool = False,
    days: int = DAYS,
    unlanded: bool = False,
    json: bool = False,
) -> int:
    """Remove work trees, branches, attempts and logs.

    Args:
        run: Only this run; all, if left out.
        dry_run: Say what would be removed, and remove nothing.
        days: Keep logs that are younger; 30, if left out.
        unlanded: Also runs that were not landed: those older than --days, or RUN.
        json: Print one JSON object.
    """
    if days < 0:
        raise Refused("--days cannot be less than 0", hint="0 removes all logs of landed runs")
    request = CleanRequest(run=run, days=days, unlanded=unlanded, dry_run=dry_run)
    try:
        done = clean_runs(Path.cwd(), request)
    except Locked as error:
        complain(f"dwindle: {error}\n  a run goes on; clean up when it has ended")
        return EXIT_CODES[StopCode.LOCKED]
    return say(as_json(done) if json else "\n".join(_lines(done)))


def _lines(done: Cleaned) -> Iterator[str]:
    verb = "removed" if done["is_done"] else "would remove"
    for one in done["runs"]:
        yield f"{one['run']}: {one['why']}"
        yield row("", f"{verb} {', '.join(_parts(one)) or 'nothing'}", margin=MARGIN)
        if one["branch"] and one["why"] == "not landed":
            back = f"git branch runner/{one['run']} {one['branch'][:12]}"
            yield f"{'':{MARGIN}}`{back}` brings it back, until git's next gc"
    for kept in done["kept"]:
        yield f"{kept['run']}: kept"
        yield row("", kept["why"], margin=MARGIN)
    trees = done["pool_trees"]
    if trees:
        yield f"{verb} {amounts.count(trees, 'work tree')} that sessions used in turn"
    if not done["runs"] and not trees:
        yield "there is nothing to remove"
    else:
        yield f"{verb} {amounts.size(done['bytes'])}; git frees objects at its next gc"[:WIDTH]


def _parts(one: CleanedRun) -> Iterator[str]:
    if one["branch"]:
        yield f"the branch runner/{one['run']}"
    if one["attempts"]:
        yield amounts.count(one["attempts"], "attempt")
    if one["trees"]:
        yield amounts.count(one["trees"], "work tree")
    if one["logs"]:
        yield f"{amounts.size(one['logs'])} of logs"
