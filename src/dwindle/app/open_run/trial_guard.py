"""A trial of the guard in a clean checkout, before an agent works.

The last leaf of a tree passes only if the guard is green in a clean checkout too. A guard that
cannot even run there, because its test tool lies in a folder that git ignores, would let a run work
for hours and then never end. So it is tried first; the user is told what to share or to set up.
A guard that runs and is red is fine: making it green is what the run is for.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dwindle.adapters.git.in_place.run_branch import ignored_in
from dwindle.app.agents.backends import UNAVAILABLE
from dwindle.app.console import complain
from dwindle.app.environments import suspects
from dwindle.app.open_run.shared import Site
from dwindle.app.refusal import Refused
from dwindle.app.settings import SETTINGS_FILE
from dwindle.ports.iteration import Guarded
from dwindle.runner.modes.tree.clean_guard import CleanGuard
from dwindle.runner.modes.tree.guard import Guard, Judgement
from dwindle.text.escape import without_colours
from dwindle.toolchains.environments import SETUPS

PATIENCE: Final = 1.0
"""Seconds after which the user is told what takes so long."""
SHOWN: Final = 5
WEAKER: Final = "[guard] clean_checkout = false does without a clean checkout, which is weaker"
MISSING: Final = (126, 127)
_MADE: Final = re.compile(r"\bError 12[67]\b")
"""How make says that a program of a recipe was not found; its own exit code is 2 then."""
_NOT_FOUND: Final = re.compile(
    r"command not found|: not found|cannot open |can't open file|No module named"
    r"|Cannot find module|ERR_MODULE_NOT_FOUND"
)
"""What programs print that miss another program, or a part of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialGuard:
    tests: int | None = None
    """How many tests ran in the clean checkout, if one was made and they were counted."""
    ran_in_place: bool = False
    """The guard ran in the user's checkout as well, and may have left files there."""


async def trial(site: Site, guards: tuple[Guard, CleanGuard | None], commit: str) -> TrialGuard:
    """Run the guard in a clean checkout of a commit, where that differs from the user's own.

    Refused if the guard can run in place and not there.
    """
    guard, clean = guards
    ignored = () if clean is None else await ignored_in(site.repository.git)
    if clean is None or not ignored:
        return TrialGuard()
    seconds = float(site.settings.limits.iteration_timeout_seconds)
    with _said_if_slow(guard):
        found = await clean.judge(commit, seconds)
        if found.judgement is None:
            what = f"the guard `{guard.line}` cannot be tried: {found.trouble}"
            hint = f"correct [workspace] setup; {WEAKER}"
            raise Refused(what, where=SETTINGS_FILE, hint=hint, code=UNAVAILABLE)
        why = _obstacle(guard, found.judgement)
        if not why:
            return TrialGuard(tests=found.judgement.tests)
        here = await guard.run(seconds, None)
    if not _obstacle(guard, here) or (_is_missing(found.judgement) and not _is_missing(here)):
        raise _refused(guard, why, ignored, site.root)
    return TrialGuard(tests=found.judgement.tests, ran_in_place=True)


def _obstacle(guard: Guard, judgement: Judgement) -> str:
    """Why it could not run; empty if it could, whatever it said then."""
    ended, said = judgement.ended, _output(judgement)
    if judgement.verdict is Guarded.PASS or judgement.tests or ended.timed_out:
        return ""
    missing = [line.strip() for line in said.splitlines() if _NOT_FOUND.search(line)]
    last = [*said.strip().splitlines()[-1:], f"it ended with exit code {ended.exit_code}"]
    if _is_missing(judgement) or missing:
        return ended.error or (missing or last)[-1 if missing else 0]
    return f"no test ran: {last[0].strip()}" if guard.is_countable else ""


def _is_missing(judgement: Judgement) -> bool:
    """Whether a program was not found, or could not be started."""
    ended = judgement.ended
    is_missing = ended.exit_code in MISSING or _MADE.search(_output(judgement)) is not None
    return bool(ended.error) or is_missing


def _output(judgement: Judgement) -> str:
    ended = judgement.ended
    return without_colours(f"{ended.stdout.text()}\n{ended.stderr.text()}")


@contextmanager
def _said_if_slow(guard: Guard) -> Iterator[None]:
    words = f"dwindle: trying the guard `{guard.line}` in a clean checkout, before an agent works"
    timer = asyncio.get_running_loop().call_later(PATIENCE, complain, words)
    try:
        yield
    finally:
        timer.cancel()


# --- what to tell the user -----------------------------------------------------------------------


def _refused(guard: Guard, why: str, ignored: Iterable[str], root: Path) -> Refused:
    found = suspects(ignored, root)
    names = ", ".join(found[:SHOWN]) + (" and others" if len(found) > SHOWN else "")
    setup = next((SETUPS[Path(path).name] for path in found if Path(path).name in SETUPS), "")
    lines = [
        f"git ignores {names}, and a clean checkout has none of it; add to {SETTINGS_FILE}:",
        "  [workspace]",
        f"  share = {json.dumps(found[:SHOWN], ensure_ascii=False)}",
        f"or a setup that makes it there, such as: setup = {json.dumps(setup or 'make deps')}",
        f"({WEAKER})",
    ]
    return Refused(
        f"the guard `{guard.line}` can run in this checkout, but not in a clean one, where it has "
        f"to be green before the tree is done: {why}",
        hint="\n  ".join(lines),
        code=UNAVAILABLE,
    )
