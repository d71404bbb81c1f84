"""The plan that a redirect changes: of a run that is paused for it, or of a plan at rest.

Pausing a run ends its sessions, and none starts until the change is made or the pause is given
back. If the user just disappears, the run waits a little and ends; the plan is then at rest, with a
flag that says why.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from dwindle.adapters.store import event_codec
from dwindle.adapters.store.disk import Locked, RealDisk
from dwindle.adapters.store.journal import path_of, read_journal
from dwindle.app.paths import JOURNALS, PLAN_FILE
from dwindle.app.plans.load import load_graph
from dwindle.app.plans.problem_list import Unsound
from dwindle.app.redirect.at_rest import MEANWHILE, redirect_at_rest
from dwindle.app.redirect.flags import DEAF_SECONDS, is_held, set_flags
from dwindle.app.refusal import Refused
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import Event, Redirected, RedirectRequested
from dwindle.kernel.model import Plan, PlanKind
from dwindle.kernel.transitions import apply
from dwindle.runner.control import PATIENCE, ControlClient
from dwindle.runner.ledger import EditedByHand, digest, refold
from dwindle.text import amounts

LONGEST_PAUSE = 30.0
"""Seconds that sessions may take to end; usually it is a fraction of one."""
LONGEST_CHANGE = 300.0
"""Seconds that a run may take to end its sessions and to rebuild its branch."""
ADOPT = "`dwindle redirect --adopt` takes the edit over; or put the file back as it was"

Say = Callable[[str], None]


class RedirectTarget(Protocol):
    """A plan that does not change meanwhile, and the way to change it."""

    @property
    def plan(self) -> Plan: ...

    @property
    def at_rest(self) -> bool:
        """No runner has it."""
        ...

    def apply(self, events: Sequence[Redirected]) -> str:
        """Make the change; returns a sentence for the user. Refused if the kernel refuses it."""
        ...


@contextlib.contextmanager
def redirect_target(root: Path, say: Say, *, pause: bool = True) -> Iterator[RedirectTarget]:
    """The plan of this repository, for as long as the user decides.

    A change that needs no dialogue need not `pause`: the redirect itself ends what runs.
    """
    line = line_to(root) or _wait_until_at_rest(root, say)
    if line is None:
        yield Resting(root, say)
        return
    try:
        if not pause:
            yield Running(root, line)
            return
        paused = Paused(root, line)
        say("paused: running sessions are ended, and their work is set aside")
        try:
            yield paused
        finally:
            paused.give_back()
    finally:
        line.close()


def line_to(root: Path) -> ControlClient | None:
    """A connection to the run of this plan; None if no run listens."""
    folder = root / ".runner"
    return ControlClient.to(folder, LONGEST_CHANGE) if folder.is_dir() else None


def _wait_until_at_rest(root: Path, say: Say) -> ControlClient | None:
    """End a run that holds the plan without listening: a flag pauses it, and it ends by itself."""
    began, flagged = time.monotonic(), False
    while is_held(root, PlanKind.GRAPH):
        if (line := line_to(root)) is not None:
            return line  # it was still starting
        waited = time.monotonic() - began
        if waited >= LONGEST_PAUSE:
            raise Refused("the run does not pause", hint="`dwindle stop` ends it")
        if waited >= DEAF_SECONDS and not flagged:
            set_flags(root, redirect_requested=True)
            flagged = True
            seconds = amounts.duration(PATIENCE)
            say(f"the run does not answer; a flag in its plan ends it in about {seconds}")
        time.sleep(0.05)
    return None


class Resting:
    at_rest = True

    def __init__(self, root: Path, say: Say) -> None:
        self._root = root
        self.plan = plan_of(root)
        if self.plan.control.redirect_requested:
            say("an earlier redirect was not finished; it continues here")

    def apply(self, events: Sequence[Redirected]) -> str:
        try:
            asyncio.run(redirect_at_rest(self._root, events, self.plan))
        except IllegalEvent as refusal:
            raise Refused(refusal_reason(refusal)) from None
        except EditedByHand as error:
            raise Refused(str(error), where=PLAN_FILE, hint=ADOPT) from None
        except Locked as error:
            hint = "a run has begun meanwhile; repeat the command"
            raise Refused(str(error), hint=hint) from None
        return "redirected; `dwindle run` continues from here"


class Running:
    """A run that listens."""

    at_rest = False

    def __init__(self, root: Path, line: ControlClient) -> None:
        self._line = line
        self.plan = _read(root)

    def apply(self, events: Sequence[Redirected]) -> str:
        ask(self._line, *events)
        return "redirected; the run goes on"


class Paused:
    """A run that listens, paused."""

    at_rest = False

    def __init__(self, root: Path, line: ControlClient) -> None:
        self._root = root
        self._line = line
        ask(line, RedirectRequested())
        self._is_paused = True
        try:
            self.plan = self._plan_at_rest(root)
        except BaseException:
            self.give_back()
            raise

    def apply(self, events: Sequence[Redirected]) -> str:
        if not _is_as_shown(self.plan, _read(self._root)):
            hint = "another redirect let the run go on; look at the plan and repeat the command"
            raise Refused(MEANWHILE, hint=hint)
        ask(self._line, *events)
        self._is_paused = False
        return "redirected; the run goes on"

    def give_back(self) -> None:
        """Give the pause back without a change: the run goes on."""
        if self._is_paused:
            self._is_paused = False
            self._line.ask(event_codec.encode(RedirectRequested(active=False)))

    @staticmethod
    def _plan_at_rest(root: Path) -> Plan:
        """The plan once no session is in flight; the file follows within a fraction of a second."""
        end = time.monotonic() + LONGEST_PAUSE
        while time.monotonic() < end:
            plan = _read(root)
            if plan.control.redirect_requested and not plan.sessions:
                return plan
            time.sleep(0.02)
        raise Refused("the run does not pause", hint="`dwindle stop` ends it")


def ask(line: ControlClient, *events: Event) -> None:
    """Send a request; Refused if the run refuses it or has ended."""
    answer = line.ask(*map(event_codec.encode, events))
    if answer is None:
        raise Refused("the run has ended", hint="`dwindle status` says how it ended")
    if not answer.get("ok"):
        raise Refused(str(answer.get("why", "")).removeprefix("Redirected: "))


def _is_as_shown(shown: Plan, now: Plan) -> bool:
    """Is the run still paused, with the same plan? Only counters may have changed."""
    same = replace(now, control=shown.control, spent=shown.spent, pace=shown.pace)
    return now.control.redirect_requested and same == shown


def _read(root: Path) -> Plan:
    loaded = load_graph((root / PLAN_FILE).read_bytes())
    if loaded.plan is None:
        raise Unsound(PLAN_FILE, loaded.problems)
    return loaded.plan


def plan_of(root: Path) -> Plan:
    """The plan at rest; Refused if there is none, or if the file was edited by hand."""
    path = root / PLAN_FILE
    if not path.is_file():
        hint = "agree on one first: `dwindle align`"
        raise Refused("there is no plan yet", where=PLAN_FILE, hint=hint)
    data = path.read_bytes()
    loaded = load_graph(data)
    run_id = loaded.plan.control.run_id if loaded.plan is not None else None
    journal = None
    if run_id is not None and path_of(root / JOURNALS, run_id).is_file():
        journal = read_journal(RealDisk(), root / JOURNALS, run_id)
        if digest(data) not in journal.versions:
            edited = EditedByHand(digest(data), journal.versions)
            raise Refused(str(edited), where=PLAN_FILE, hint=ADOPT)
    if loaded.plan is None:
        raise Unsound(PLAN_FILE, loaded.problems)
    if journal is None:
        return loaded.plan
    # A runner that was killed may have recorded more than the file has.
    return refold(loaded.plan, journal.events(loaded.plan.control.revision), apply)


def refusal_reason(refusal: IllegalEvent) -> str:
    """The reason without the name of the event, which means nothing to a user."""
    return str(refusal).removeprefix(f"{type(refusal.event).__name__}: ")
