"""Run a tree plan: put the run together, then loop until it rests."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from dwindle.adapters.store import event_codec
from dwindle.app.agents.configured import agents_of
from dwindle.app.open_run.tree import OpenTree, open_tree
from dwindle.app.paths import LOGS
from dwindle.app.run import Observer, RunRequest, run_loop
from dwindle.kernel.model import Role
from dwindle.ports.store import StoreFailed
from dwindle.runner.budget import Budget
from dwindle.runner.inbox import Inbox, reporting_to
from dwindle.runner.loop import Halted, Loop
from dwindle.runner.modes.tree.mode import TreeMode


async def run(start: Path, request: RunRequest, progress: Observer) -> Halted:
    """Run the tree of the repository around `start`."""
    opening = open_tree(start, request.overrides, run_id=request.run_id, here=request.here)
    async with opening as opened:
        return await _run(opened, request, progress)


async def _run(opened: OpenTree, request: RunRequest, progress: Observer) -> Halted:
    site, ledger, inbox = opened.site, opened.ledger, Inbox()
    terms = site.terms(Budget(lambda: ledger.plan))
    agents = site.agent_runner(
        agents_of(terms, (Role.WORKER,)),
        terms,
        opened.policy(),
        seconds_left=lambda: loop.seconds_left(),  # noqa: PLW0108 - made below
    )
    agents = reporting_to(agents, inbox)
    mode = TreeMode(
        opened.tree_progress,
        opened.bench(agents),
        lambda: ledger.plan,
        file=opened.file,
        logs=opened.logs,
        encode=event_codec.encode,
        inbox=inbox,
    )
    loop = Loop(ledger, mode, opened.clock, progress.on_event, meter=agents.meter)
    mode.record = loop.record
    errors = _log_failures_as_store_failures(site.root / LOGS)
    return await run_loop(loop, opened, request, progress, errors=errors)


@contextlib.contextmanager
def _log_failures_as_store_failures(logs: Path) -> Iterator[None]:
    """Git and the journal have errors of their own; any other is a log that cannot be written.

    The run ends as if it had been killed then: an iteration that is not committed is done again.
    """
    try:
        yield
    except OSError as error:
        path = Path(os.fsdecode(error.filename)) if error.filename else logs
        raise StoreFailed(path, "write", error.errno or 0) from error
