"""What must hold of a whole run, checked after every event of it; the first breach ends it.

The kernel's own laws (`tests.model.invariants`) are about one transition. Those here are about
the world around it: what is on disk when a program is started, who is at work, what the branch
holds when the run says that it is done, what a crash may take away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256

from tests.doubles.memory_git import MemoryGit
from tests.model.invariants import violations
from tests.simulation.actors import Made, is_held

from dwindle.adapters.formats.graph import plan as graph_plan
from dwindle.adapters.store import event_codec
from dwindle.kernel import transitions
from dwindle.kernel.base_case import Verdict, verdict
from dwindle.kernel.decide import decide
from dwindle.kernel.events import (
    Event,
    Redirected,
    RunEnded,
    SessionInterrupted,
    SessionStarted,
    WindBegan,
)
from dwindle.kernel.measure import gauge
from dwindle.kernel.model import (
    Check,
    CheckType,
    CorrectionType,
    Plan,
    Role,
    RunStatus,
    Status,
    StopCode,
)
from dwindle.ports.work import WorkOrder
from dwindle.runner.replay import replay

NEVER_LESS = ("sessions", "redirects", "seconds", "tokens")
IN_AN_EPOCH = ("created", "winds", "forgiven")
"""Another objective begins anew; it is paid for with a redirect."""
IN_A_WIND = ("backjumps", "verifications")
"""A wind begins these anew; it is paid for from the winds."""


class Broken(Exception):
    """A law does not hold."""


class Laws:
    """Watches one run through all of its lives."""

    def __init__(self, start: Plan) -> None:
        self.start = start
        self.acknowledged: list[Event] = []
        """What a reader could have acted upon, in order of its number."""
        self.events = 0
        self.starts = 0
        self.fenced = 0
        self.git: MemoryGit | None = None
        self._at_work: dict[str, WorkOrder] = {}
        self._most = 0
        self._seal = sha256()

    @property
    def digest(self) -> str:
        """Of all decisions; with the journal, all that a run did."""
        return self._seal.hexdigest()

    # --- every event -----------------------------------------------------------------------------

    def apply(self, plan: Plan, event: Event) -> Plan:
        after = transitions.apply(plan, event)
        self.events += 1
        self.fenced += transitions.is_fenced(plan, event)
        for breach in (
            *self._end(event, after),
            *(breach for breach in violations(plan, event, after) if not _is_allowed(breach)),
            *_belts(plan, event, after),
            *_codec(event),
        ):
            raise Broken(f"{type(event).__name__}: {breach}")
        self._seal.update(repr(decide(after)).encode())
        return after

    def _end(self, event: Event, after: Plan) -> Iterator[str]:
        if isinstance(event, RunEnded) and event.code is StopCode.INTERNAL_ERROR:
            yield f"internal error: {event.reason}"
        if isinstance(event, RunEnded) and event.code is StopCode.TAMPERED:
            yield f"there was no tampering: {event.reason}"
        if isinstance(event, RunEnded) and after.control.status is RunStatus.COMPLETED:
            assert self.git is not None
            files = self.git.files()
            truth = verdict(after.objective.base_case, lambda check: _truth(check, files))
            if truth is not Verdict.PASSED:
                yield f"completed, but of {sorted(files)} the base case is {truth}"

    # --- what is durable, and who is at work -----------------------------------------------------

    def heard(self, plan: Plan, event: Event) -> None:
        """An event is acknowledged: from now on nothing may undo it."""
        if plan.control.revision != len(self.acknowledged) + 1:
            raise Broken(f"number {plan.control.revision} after {len(self.acknowledged)}")
        self.acknowledged.append(event)
        self._most = plan.limits.max_parallel_agents

    def spawned(self, order: WorkOrder) -> Callable[[], None]:
        """A program is started: its start is on record, and no other session is at it."""
        self.starts += 1
        if order.nonce > len(self.acknowledged):
            raise Broken(f"{order.atom} was started before its start was on record")
        began = self.acknowledged[order.nonce - 1]
        if not isinstance(began, SessionStarted) or began.atom != order.atom:
            raise Broken(f"{order.atom} was started for {began}")
        if order.atom in self._at_work:
            raise Broken(f"{order.atom} is being worked on twice")
        self._at_work[order.atom] = order
        if sum(o.role is not Role.VERIFIER for o in self._at_work.values()) > self._most:
            raise Broken("more sessions than slots")

        def gone() -> None:
            del self._at_work[order.atom]

        return gone

    def born(self, git: MemoryGit) -> None:
        """A new process: the sessions of the last one are gone."""
        self.git = git
        self._at_work.clear()

    # --- after a crash, and at rest --------------------------------------------------------------

    def recovered(self, plan: Plan, events: list[Event]) -> None:
        """Everything acknowledged is there; of what was not, the first part may be."""
        count = len(self.acknowledged)
        if events[:count] != self.acknowledged:
            raise Broken(f"{count} events were acknowledged, {len(events)} others are on record")
        self.acknowledged = events
        self.same(plan, events)

    def same(self, plan: Plan, events: list[Event]) -> None:
        """The journal says what the kernel would do, and leads to this plan."""
        *_, last = (self.start, *replay(self.start, enumerate(events, 1)))
        if last != plan:
            raise Broken("the plan is not what the journal leads to")

    def rested(self, plan: Plan, content: bytes, *, git_failed: bool) -> None:
        """No session is at work, the file holds the plan; what git failed at is left for later."""
        if self._at_work:
            raise Broken(f"{', '.join(self._at_work)}: at work after the run has ended")
        if graph_plan.decode(content).plan != plan:
            raise Broken("the plan file does not hold the plan")
        assert self.git is not None
        if self.git.trees and not git_failed:
            raise Broken(f"trees were not given back: {', '.join(map(str, self.git.trees))}")
        if not git_failed:
            self._in_step(plan, self.git)
        if self.events > self.most_events:
            raise Broken(f"{self.events} events, and {self.most_events} were possible")

    @staticmethod
    def _in_step(plan: Plan, git: MemoryGit) -> None:
        """Whatever is on the branch belongs to an atom that is resolved."""
        on_branch = [c.trailers.atom for c in git.branch() if c.trailers is not None]
        done = [n for n, a in plan.atoms.items() if a.status is Status.RESOLVED]
        if stray := [atom for atom in on_branch if atom not in done]:
            raise Broken(f"on the branch, and not resolved: {', '.join(stray)}")

    @property
    def most_events(self) -> int:
        """The gauge, and room for what is only noted."""
        return 50 * gauge(self.start) + 10_000

    def nothing_lost(self, made: list[Made], git: MemoryGit) -> None:
        """Whatever a worker wrote is in a commit, under a ref, or in a tree that is saved later."""
        kept = [*git.kept.values(), *(commit.files for commit in git.commits.values())]
        kept += [tree.files for tree in git.trees.values()]
        for one in made:
            wanted = one.changed.items()
            if not any(wanted <= files.items() for files in kept):
                raise Broken(f"the work of session {one.number} on {one.atom} is nowhere")


def _belts(before: Plan, event: Event, after: Plan) -> Iterator[str]:
    anew = isinstance(event, Redirected) and event.type is CorrectionType.OBJECTIVE_CHANGE
    refilled = anew or isinstance(event, (WindBegan, Redirected, SessionInterrupted))
    belts = (*NEVER_LESS, *(() if anew else IN_AN_EPOCH), *(() if refilled else IN_A_WIND))
    for name in belts:
        if getattr(after.spent, name) < getattr(before.spent, name):
            yield f"{name} went back"
    if after.control.iteration < before.control.iteration:
        yield "the iteration went back"
    if after.control.revision != before.control.revision + 1:
        yield f"revision {before.control.revision} became {after.control.revision}"
    if isinstance(event, SessionStarted) and event.role is not Role.VERIFIER:
        tokens, seconds = before.limits.max_tokens, before.limits.max_wall_seconds
        if before.spent.seconds >= seconds or (tokens and before.spent.tokens >= tokens):
            yield f"{event.atom} was started with nothing left of the budget"


def _is_allowed(breach: str) -> bool:
    """A probe, or a session that was ended and not forgiven, is a stall that uses up no attempt."""
    return breach.startswith("stalled while")


def _codec(event: Event) -> Iterator[str]:
    if event_codec.decode(event_codec.encode(event)) != event:
        yield "it is not the same after it was written and read"


def _truth(check: Check, files: Mapping[str, bytes]) -> Verdict:
    if check.type is CheckType.ASSERTION and not files:
        return Verdict.NOT_JUDGED
    return Verdict.PASSED if is_held(check.value or "", files) else Verdict.FAILED
