"""A plan while its person changes it: a run that is held up for that, or a plan at rest.

A run is paused: its sessions are ended at once and nothing starts until the change is made, or
until the person leaves without one and the pause is given back. Should they just disappear, the
run waits a little and ends; then the plan is at rest, with a flag that says why.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from dwindle import wiring
from dwindle.adapters.disk import Locked, RealDisk
from dwindle.adapters.journals import event_codec
from dwindle.adapters.journals.jsonl import path_of, read_journal
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import Event, Redirected, RedirectRequested
from dwindle.kernel.model import Plan, PlanKind
from dwindle.kernel.transitions import apply
from dwindle.runner.control import PATIENCE, Line
from dwindle.runner.ledger import EditedByHand, digest, refold
from dwindle.surfaces.at_rest import MEANWHILE, redirect_at_rest
from dwindle.surfaces.cli.problem_list import Unsound
from dwindle.surfaces.flags import DEAF_SECONDS, is_held, set_flags
from dwindle.surfaces.plan_place import JOURNALS, PLAN_FILE
from dwindle.surfaces.refusal import Refused

LONGEST_PAUSE = 30.0
"""Seconds that sessions may take to end; usually it is a fraction of one."""
LONGEST_CHANGE = 300.0
"""Seconds that a run may take to end its sessions and to rebuild its branch."""
ADOPT = "`dwindle redirect --adopt` takes the edit over; or put the file back as it was"

Say = Callable[[str], None]


class Held(Protocol):
    """The plan, still, and how to change it."""

    @property
    def plan(self) -> Plan: ...

    def apply(self, events: Sequence[Redirected]) -> str:
        """Make the change; what to tell the person. Refused if it is not taken."""
        ...


@contextlib.contextmanager
def held(root: Path, say: Say, *, pause: bool = True) -> Iterator[Held]:
    """The plan of this repository for as long as its person thinks.

    Somebody who knows what they want need not `pause`: the redirect itself ends what runs, and
    pays for it.
    """
    line = line_to(root) or _brought_to_rest(root, say)
    if line is None:
        yield Resting(root, say)
        return
    try:
        if not pause:
            yield Running(root, line)
            return
        paused = Paused(root, line)
        say("paused: what was running is ended, and its results are set aside")
        try:
            yield paused
        finally:
            paused.give_back()
    finally:
        line.close()


def line_to(root: Path) -> Line | None:
    """To the run of this plan, if one is listening."""
    folder = root / ".runner"
    return Line.to(folder, LONGEST_CHANGE) if folder.is_dir() else None


def _brought_to_rest(root: Path, say: Say) -> Line | None:
    """Where a run has the plan and nobody answers, it is paused by a flag, and ends by itself."""
    began, flagged = time.monotonic(), False
    while is_held(root, PlanKind.GRAPH):
        if (line := line_to(root)) is not None:
            return line  # it was only just beginning
        waited = time.monotonic() - began
        if waited >= LONGEST_PAUSE:
            raise Refused("the run does not come to rest", hint="`dwindle stop` ends it")
        if waited >= DEAF_SECONDS and not flagged:
            set_flags(root, redirect_requested=True)
            flagged = True
            say(f"the run does not listen; a flag in its plan ends it in some {PATIENCE:.0f} s")
        time.sleep(0.05)
    return None


class Resting:
    def __init__(self, root: Path, say: Say) -> None:
        self._root = root
        self.plan = plan_of(root)
        if self.plan.control.redirect_requested:
            say("an earlier redirect was not brought to its end; it is taken up here")

    def apply(self, events: Sequence[Redirected]) -> str:
        try:
            asyncio.run(redirect_at_rest(self._root, events, self.plan))
        except IllegalEvent as refusal:
            raise Refused(refused_because(refusal)) from None
        except EditedByHand as error:
            raise Refused(str(error), where=PLAN_FILE, hint=ADOPT) from None
        except Locked as error:
            hint = "a run has begun meanwhile; say it again"
            raise Refused(str(error), hint=hint) from None
        return "redirected; `dwindle run` goes on from here"


class Running:
    """A run that listens."""

    def __init__(self, root: Path, line: Line) -> None:
        self._line = line
        self.plan = _read(root)

    def apply(self, events: Sequence[Redirected]) -> str:
        ask(self._line, *events)
        return "redirected; the run goes on"


class Paused:
    """A run that listens, held up."""

    def __init__(self, root: Path, line: Line) -> None:
        self._root = root
        self._line = line
        ask(line, RedirectRequested())
        self._is_held = True
        try:
            self.plan = self._still(root)
        except BaseException:
            self.give_back()
            raise

    def apply(self, events: Sequence[Redirected]) -> str:
        if not _is_as_shown(self.plan, _read(self._root)):
            hint = "somebody else has let the run go on; look at it, and say it again"
            raise Refused(MEANWHILE, hint=hint)
        ask(self._line, *events)
        self._is_held = False
        return "redirected; the run goes on"

    def give_back(self) -> None:
        """Nothing was changed: the run goes on as if nobody had asked."""
        if self._is_held:
            self._is_held = False
            self._line.ask(event_codec.encode(RedirectRequested(active=False)))

    @staticmethod
    def _still(root: Path) -> Plan:
        """The plan once nothing is in flight; its file follows within a fraction of a second."""
        end = time.monotonic() + LONGEST_PAUSE
        while time.monotonic() < end:
            plan = _read(root)
            if plan.control.redirect_requested and not plan.sessions:
                return plan
            time.sleep(0.02)
        raise Refused("the run does not come to rest", hint="`dwindle stop` ends it")


def ask(line: Line, *events: Event) -> None:
    """Refused if the run says no, or is gone."""
    answer = line.ask(*map(event_codec.encode, events))
    if answer is None:
        raise Refused("the run is gone", hint="`dwindle status` says how it ended")
    if not answer.get("ok"):
        raise Refused(str(answer.get("why", "")).removeprefix("Redirected: "))


def _is_as_shown(shown: Plan, now: Plan) -> bool:
    """Is the run paused, as it was? Only time may have passed, and late reports been counted."""
    same = replace(now, control=shown.control, spent=shown.spent, pace=shown.pace)
    return now.control.redirect_requested and same == shown


def _read(root: Path) -> Plan:
    loaded = wiring.load_graph((root / PLAN_FILE).read_bytes())
    if loaded.plan is None:
        raise Unsound(PLAN_FILE, loaded.problems)
    return loaded.plan


def plan_of(root: Path) -> Plan:
    """The plan at rest; Refused where there is none, or where somebody has edited it."""
    path = root / PLAN_FILE
    if not path.is_file():
        hint = "agree on one first: `dwindle align`"
        raise Refused("there is no plan yet", where=PLAN_FILE, hint=hint)
    data = path.read_bytes()
    loaded = wiring.load_graph(data)
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


def refused_because(refusal: IllegalEvent) -> str:
    """Why, without the name of the event, which means nothing to a person."""
    return str(refusal).removeprefix(f"{type(refusal.event).__name__}: ")
