"""The sessions of a run, from the journal: atom, role, times, slot and outcome."""

from __future__ import annotations

from typing import Final

from dwindle.kernel.events import (
    AlternativesProposed,
    AtomResolved,
    AttemptFailed,
    DeclaredInfeasible,
    Decomposed,
    Event,
    IterationCommitted,
    ProbeEnded,
    Replanned,
    RunStarted,
    SessionInterrupted,
    SessionNews,
    SessionReaped,
    SessionStarted,
    VerificationEnded,
    Waited,
)
from dwindle.kernel.model import Plan, PlanKind
from dwindle.ports.iteration import Iteration
from dwindle.text.escape import excerpt
from dwindle.views.read_model.shapes import SessionView

WORDS: Final = 4000
"""Characters of why a session ended; the journal has all of it."""


class Sessions:
    """All sessions so far, by nonce, in the order of their starts."""

    def __init__(self) -> None:
        self.by_nonce: dict[int, SessionView] = {}
        self.changed: dict[int, None] = {}
        """Nonces of those that are different since the caller emptied it."""
        self._open: dict[int, None] = {}
        self._committed = 0
        """Of a tree: the number of the last iteration on the branch."""

    def follow(self, plan: Plan, number: int, event: Event) -> None:
        """`plan` is the one after the event."""
        if isinstance(event, SessionStarted):
            self._start(plan, number, event)
        elif isinstance(event, SessionNews):
            self._end(plan, event)
        elif isinstance(event, Waited) and event.atom is not None and event.seconds:
            self._wait(plan, event)
        elif isinstance(event, IterationCommitted):
            self._commit(event)
        self._close_others(plan, event)

    def running(self) -> list[SessionView]:
        return [self.by_nonce[nonce] for nonce in self._open]

    def _start(self, plan: Plan, number: int, event: SessionStarted) -> None:
        taken = {self.by_nonce[nonce]["slot"] for nonce in self._open}
        found = plan.sessions.get(event.atom)
        nonce = number if found is None else found.nonce
        is_tree = plan.kind is PlanKind.TREE
        self.by_nonce[nonce] = SessionView(
            nonce=nonce,
            number=0 if found is None else found.number,
            atom=excerpt(event.atom),
            role=event.role,
            slot=next(slot for slot in range(len(taken) + 1) if slot not in taken),
            iteration=self._committed + 1 if is_tree else plan.control.iteration,
            start=plan.spent.seconds,
            end=None,
            start_at=event.at,
            end_at="",
            outcome="running",
            words="",
            waits="",
            waits_until=None,
            tokens=0,
            usd=0.0,
            estimated=False,
            commit="",
            guard="",
        )
        self._open[nonce] = None
        self.changed[nonce] = None

    def _end(self, plan: Plan, event: SessionNews) -> None:
        view = self.by_nonce.get(event.nonce)
        if view is None:
            return
        view["tokens"] += max(0, event.usage.tokens)
        view["usd"] += max(0.0, event.usage.usd)
        view["estimated"] |= event.usage.estimated
        self.changed[event.nonce] = None
        if event.nonce in self._open:
            view["outcome"], words = outcome_of(event)
            view["words"] = excerpt(words, WORDS)
            self._over(plan, event.nonce, event.at)

    def _over(self, plan: Plan, nonce: int, at: str) -> None:
        view = self.by_nonce[nonce]
        view["end"], view["end_at"] = plan.spent.seconds, at
        view["waits"], view["waits_until"] = "", None
        del self._open[nonce]
        self.changed[nonce] = None

    def _wait(self, plan: Plan, event: Waited) -> None:
        session = None if event.atom is None else plan.sessions.get(event.atom)
        view = None if session is None else self.by_nonce.get(session.nonce)
        if view is not None:
            view["waits"] = excerpt(event.note, WORDS)
            view["waits_until"] = plan.spent.seconds + event.seconds
            self.changed[view["nonce"]] = None

    def _commit(self, event: IterationCommitted) -> None:
        self._committed = event.number
        found = Iteration.of(event.subject)
        for view in reversed(self.by_nonce.values()):
            if view["iteration"] == event.number:
                view["commit"] = excerpt(event.commit, 64)
                view["guard"] = "" if found is None else found.guard
                self.changed[view["nonce"]] = None
                return

    def _close_others(self, plan: Plan, event: Event) -> None:
        """Close sessions that ended without an event of their own, such as by a redirect."""
        if not self._open:
            return
        alive = {session.nonce for session in plan.sessions.values()}
        for nonce in [nonce for nonce in self._open if nonce not in alive]:
            view = self.by_nonce[nonce]
            view["outcome"] = "interrupted" if isinstance(event, RunStarted) else "ended"
            died = "its runner was ended" if isinstance(event, RunStarted) else ""
            view["words"] = died or f"ended by {type(event).__name__}"
            self._over(plan, nonce, event.at)


def outcome_of(event: SessionNews) -> tuple[str, str]:  # noqa: C901 - one for each event
    """A word for programs, and what was said."""
    match event:
        case AtomResolved():
            return "resolved", event.summary
        case AttemptFailed(refused=True):
            return "refused", event.reason
        case AttemptFailed():
            return "failed", event.reason
        case DeclaredInfeasible():
            return "infeasible", event.reason
        case ProbeEnded():
            return "looked", event.findings
        case Decomposed():
            return "split", event.reason
        case AlternativesProposed():
            return "alternatives", event.reason
        case Replanned():
            return "replanned", "the tree was changed" if event.edit else "the tree stays as it was"
        case SessionInterrupted():
            return "interrupted", event.cause
        case SessionReaped():
            return "reaped", "its branch was left"
        case VerificationEnded():
            if event.passed:
                return "passed", "; ".join(f"to be confirmed: {item}" for item in event.questions)
            gaps = "; ".join(f"{gap.item}: {gap.evidence}" for gap in event.gaps)
            open_items = ", ".join(event.unjudged) or "nothing could be judged"
            return ("gaps", gaps) if event.gaps else ("unjudged", open_items)
    return "ended", type(event).__name__
