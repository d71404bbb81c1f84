"""The one place where an event becomes durable.

Recording an event has an order, and the order is the whole point:

1. the kernel judges it; what it refuses is never written;
2. the journal makes it durable: from here on it has happened;
3. the plan that follows from it becomes the current one;
4. sooner or later the plan file is replaced.

The journal is synced to the disk in step 2, and that takes longer than all the rest. So events that
belong together may be noted one after the other (`note`) and made durable in one go (`commit`):
nothing that was only noted may be acknowledged, nor acted upon, before the commit has returned.
If it fails, what was noted has not happened.

Step 4 is for people and tools that read the file. Writing a large plan costs far more than adding a
line, so while many events come in the file is written only every half second, and `flush` brings it
up to date before a reader may depend on it. It costs no safety: the file has the number of its last
event (`control.revision`), and `recover` folds the later ones over it.

Before the file is replaced, the journal records the digest it will have. So after a crash between
the two, and after any number of failed replacements, a file that we wrote is still recognised, and
one that a person edited meanwhile is not mistaken for ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from dwindle.kernel import transitions
from dwindle.kernel.events import Event
from dwindle.kernel.model import Plan
from dwindle.ports.store import Journal, PlanFile, PlanWriter, StoreFailed

SAVE_EVERY = 0.5
"""Seconds by which the plan file may trail the journal while events come in."""

Apply = Callable[[Plan, Event], Plan]


class EditedByHand(Exception):
    """The plan file is not as the runner left it; both arguments are digests."""

    def __init__(self, found: str, expected: tuple[str, ...]) -> None:
        super().__init__(found, expected)
        self.found = found
        self.expected = expected

    def __str__(self) -> str:
        return "the plan file was edited since it was last written"


class OutOfStep(Exception):
    """A plan whose revision the journal cannot have led to."""

    def __init__(self, *, revision: int, expected: int) -> None:
        super().__init__(revision, expected)
        self.revision = revision
        self.expected = expected

    def __str__(self) -> str:
        return f"the plan is at revision {self.revision}, the journal allows {self.expected}"


def digest(content: bytes) -> str:
    """How the journal names one version of the plan file."""
    return sha256(content).hexdigest()


def refold(plan: Plan, events: Iterable[Event], apply: Apply) -> Plan:
    """Bring `plan` up to date with what happened after it was written."""
    for event in events:
        try:
            plan = apply(plan, event)
        except Exception as error:
            error.add_note(f"while replaying journal record {plan.control.revision + 1}: {event}")
            raise
    return plan


def _without_requests(plan: Plan, store: Store) -> Plan:
    """The plan without the request flags of the file; EditedByHand if more was changed."""
    versions, asked = store.journal.versions, plan.control
    # A run that came to rest while it was paused has set the other flag itself, and one that has
    # ended has said why.
    for paused in (False, True) if asked.stop_requested else (False,):
        for reason in dict.fromkeys((None, asked.stop_reason)):
            control = replace(
                asked, stop_requested=False, stop_reason=reason, redirect_requested=paused
            )
            before = replace(plan, control=control)
            if before != plan and digest(store.writer.encode(before)) in versions:
                return before
    raise EditedByHand(digest(store.file.read()), versions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Where a run is kept."""

    journal: Journal
    file: PlanFile
    writer: PlanWriter


class Ledger:
    """The current plan, and how it becomes the next one. Only for the holder of the lock."""

    def __init__(
        self,
        plan: Plan,
        store: Store | Journal,
        *,
        apply: Apply = transitions.apply,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Go on from `plan`, which the file holds, with a journal that holds nothing beyond it.

        A tree has a journal only: its mode writes the tree file, between the event that closes an
        iteration and the commit.
        """
        saved = store if isinstance(store, Store) else None
        journal = store.journal if isinstance(store, Store) else store
        self._check_step(plan.control.revision, journal.last)
        self._plan = self._durable = plan
        self._noted: list[Event] = []
        self._journal = journal
        self._store = saved
        self._apply = apply
        self._clock = clock
        self._versions = journal.versions
        self._run_on_file = plan.control.run_id
        self._dirty = False
        self._saved = plan
        self._tried_plans: tuple[Plan, ...] = ()
        """Whose saves failed since; the file may hold one of them all the same."""
        self._tried = clock() - SAVE_EVERY
        self.trouble: StoreFailed | None = None
        """Why the plan file could not be written last time; the events themselves are safe."""

    @classmethod
    def recover(
        cls,
        plan: Plan,
        store: Store,
        *,
        apply: Apply = transitions.apply,
        clock: Callable[[], float] = time.monotonic,
    ) -> Ledger:
        """Go on after a stop or a crash. `plan` is what the file was just decoded to.

        Requests that other tools left in the file while no runner watched are dropped.
        """
        journal = store.journal
        revision = plan.control.revision
        if revision > journal.last:  # the journal was cut, or put back: it comes first, always
            raise OutOfStep(revision=revision, expected=journal.last)
        found = digest(store.file.read())
        asked = found not in journal.versions
        if asked:
            plan = _without_requests(plan, store)
        current = refold(plan, journal.events(revision), apply)
        ledger = cls(current, store, apply=apply, clock=clock)
        ledger._run_on_file = plan.control.run_id
        ledger._dirty = revision != journal.last
        ledger._saved = plan
        if asked:  # at once, or the file watch would take it for tampering
            ledger.put_back()
        return ledger

    @property
    def plan(self) -> Plan:
        return self._plan

    @property
    def saved(self) -> tuple[Plan, ...]:
        """The plans that the file may hold: the last one saved, and those whose save failed."""
        return (self._saved, *self._tried_plans)

    def is_ours(self, content: bytes) -> bool:
        """Is this what we wrote, or were about to write?"""
        return digest(content) in self._versions

    def put_back(self) -> None:
        """Write the plan file again, whatever it holds now."""
        self._dirty = True
        self.flush()

    def history(self) -> Iterator[Event]:
        """Everything on record, oldest first."""
        return self._journal.events(0)

    def record(self, event: Event) -> Plan:
        """Return the plan that follows from `event`, which is durable by then, as all noted before.

        Raises what the kernel raises, or StoreFailed: then the event is not acknowledged. A plan
        file that could not be written is no reason to raise (see `trouble`), unless it does not
        even name the run yet.
        """
        plan = self.note(event)
        self.commit()
        return plan

    def note(self, event: Event) -> Plan:
        """Return the plan that will follow from `event`, once it is committed.

        Raises what the kernel raises.
        """
        plan = self._apply(self._plan, event)
        self._check_step(plan.control.revision, self._journal.last + len(self._noted) + 1)
        self._noted.append(event)
        self._plan = plan
        return plan

    def commit(self) -> None:
        """Make what was noted durable, all of it or, raising StoreFailed, nothing."""
        if not self._noted:
            return
        noted, self._noted = self._noted, []
        try:
            self._journal.append(*noted)
        except BaseException:
            self._plan = self._durable
            raise
        self._after_commit()

    def _after_commit(self) -> None:
        self._durable = self._plan
        if self._store is None:
            return
        self._dirty = True
        if self._plan.control.run_id != self._run_on_file:
            # The file names the run, and the run names the journal: without the file, the
            # journal could not be found.
            self.flush()
        else:
            self.save_when_due()

    def seconds_until_due(self) -> float | None:
        """How long the loop may sleep before it calls `save_when_due`; None if nothing waits."""
        if not self._dirty:
            return None
        return max(0.0, self._tried + SAVE_EVERY - self._clock())

    def save_when_due(self) -> None:
        """Write the plan file if it trails and was not written just now; never raises for it."""
        if self.seconds_until_due() == 0:
            try:
                self.flush()
            except StoreFailed as error:
                self.trouble = error

    def flush(self) -> None:
        """Bring the plan file up to date; StoreFailed leaves it as it was."""
        self.commit()
        if not self._dirty or self._store is None:
            return
        self._tried = self._clock()
        content = self._store.writer.encode(self._plan)
        version = digest(content)
        if version not in self._versions:
            versions = (*self._versions, version)
            self._journal.expect(versions)
            self._versions = versions
            self._tried_plans = (*self._tried_plans, self._plan)
        self._store.file.replace(content)
        self._versions = (version,)
        self._run_on_file = self._plan.control.run_id
        self._saved = self._plan
        self._tried_plans = ()
        self._dirty = False
        self.trouble = None

    def close(self) -> None:
        """Flush and let the journal go, also when the flush fails."""
        try:
            self.flush()
            if self._journal.versions != self._versions:
                # No save is under way any more, so the version before the last is not ours now.
                self._journal.expect(self._versions)
        finally:
            self._journal.close()

    @staticmethod
    def _check_step(revision: int, expected: int) -> None:
        if revision != expected:
            raise OutOfStep(revision=revision, expected=expected)
