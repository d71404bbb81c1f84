"""Replay: does the journal contain what the kernel would have decided?

The kernel is a function, so a run can be computed again from its first plan and its events. What
agents, checks and people did is taken from the journal; what the loop did by itself (start a
session, give up a choice, turn back, settle, end the run) has to be what `decide` asks for at that
point.

The loop decides, carries out all actions in order, and only then listens. So actions are owed until
the last of their events is on record. News in between means that the loop was interrupted: then a
person restarted or redirected the run before anything else happened.

In a hosted run nothing is owed: the host starts sessions when it likes, and perhaps not all. What
it does start must have been decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dwindle.kernel.actions import (
    Action,
    Backjump,
    BeginWind,
    CheckEarly,
    Decision,
    FailChoice,
    Kill,
    Probe,
    Settle,
    Verify,
    Work,
)
from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent, NotDwindling
from dwindle.kernel.events import (
    Backjumped,
    ChoiceFailed,
    Confirmed,
    Event,
    Interruption,
    Redirected,
    RedirectRequested,
    RunEnded,
    RunStarted,
    SessionInterrupted,
    SessionReaped,
    SessionStarted,
    Settled,
    StopRequested,
    WindBegan,
)
from dwindle.kernel.model import ROOT, Plan, Role
from dwindle.kernel.transitions import apply

OWN = (SessionStarted, ChoiceFailed, Backjumped, WindBegan, Settled, RunEnded, SessionReaped)
"""Events that only a decision causes."""

FROM_OUTSIDE = (RunStarted, StopRequested, RedirectRequested, Redirected, Confirmed)
"""What people do, at any time."""


class Differs(Exception):
    """The first event that is not what had to come; `number` is its number in the journal."""

    def __init__(self, number: int, found: str, expected: str) -> None:
        super().__init__(number, found, expected)
        self.number = number
        self.found = found
        self.expected = expected

    def __str__(self) -> str:
        return f"event {self.number} is {self.found}, but {self.expected}"


def replay(plan: Plan, events: Iterable[tuple[int, Event]]) -> Iterator[Plan]:
    """The plan after each event; raises Differs at the first that should not be there."""
    owed: tuple[Action, ...] = ()
    hosted = False
    for number, event in events:
        if isinstance(event, RunStarted):
            hosted = event.hosted
        if hosted:
            _judge_of_host(plan, number, event)
        else:
            owed = _judge(plan, number, event, owed)
        try:
            plan = apply(plan, event)
        except (IllegalEvent, NotDwindling) as refusal:
            raise Differs(number, _name(event), f"the kernel refuses it: {refusal}") from refusal
        yield plan


def _judge(plan: Plan, number: int, event: Event, owed: tuple[Action, ...]) -> tuple[Action, ...]:
    """What is still owed after this event."""
    if isinstance(event, FROM_OUTSIDE) or _is_clearing_up(event):
        return ()
    if not owed:
        decision = decide(plan)
        if isinstance(event, RunEnded):
            _judge_end(decision, number, event)
            return ()
        owed = tuple(a for a in decision.actions if not isinstance(a, CheckEarly))
        if not isinstance(event, OWN) and not (owed and _is_done_by(owed[0], event)):
            return ()  # News. What it is worth is decided next.
        if not owed:
            why = decision.stop.reason if decision.stop else decision.because
            raise Differs(number, _name(event), f"nothing was to be done: {why}")
    if _pays_for(owed[0], event):
        return owed
    if not _is_done_by(owed[0], event):
        raise Differs(number, _name(event), f"{_action_words(owed[0])} was decided")
    return owed[1:]


def _judge_of_host(plan: Plan, number: int, event: Event) -> None:
    if isinstance(event, FROM_OUTSIDE) or _is_clearing_up(event):
        return
    decision = decide(plan)
    if isinstance(event, RunEnded):
        _judge_end(decision, number, event)
    elif isinstance(event, OWN) and not any(
        _is_done_by(a, event) or _pays_for(a, event) for a in decision.actions
    ):
        wanted = ", ".join(map(_action_words, decision.actions))
        raise Differs(number, _name(event), f"{wanted or 'nothing'} was decided")


def _is_clearing_up(event: Event) -> bool:
    """A runner that takes over from a dead one records the sessions that died with it."""
    return isinstance(event, SessionInterrupted) and event.cause is Interruption.RUNNER_DIED


def _judge_end(decision: Decision, number: int, event: RunEnded) -> None:
    stop = decision.stop
    if stop is None:
        raise Differs(number, _name(event), "there was no reason to end")
    if (stop.code, stop.reason) != (event.code, event.reason):
        raise Differs(number, _name(event), f"the end was {stop.code}: {stop.reason}")


def _is_done_by(action: Action, event: Event) -> bool:  # the loop's table, read backwards
    match action, event:
        case Work(), SessionStarted(role=Role.WORKER):
            return event.atom == action.atom
        case Probe(), SessionStarted(role=Role.PROBE):
            return event.atom == action.atom
        case Verify(), SessionStarted(role=Role.VERIFIER):
            return event.atom == ROOT
        case Kill(), SessionInterrupted() | SessionReaped():
            return (event.atom, event.nonce) == (action.atom, action.nonce)
        case FailChoice(), ChoiceFailed():
            said = (event.group, event.choice, event.reason)
            return said == (action.group, action.choice, action.because)
        case Backjump(), Backjumped():
            said = (event.group, event.atom, event.reason)
            return said == (action.group, action.atom, action.because)
        case BeginWind(), WindBegan():
            return event.reason == action.because
        case Settle(), Settled():
            return True
    return False


def _pays_for(action: Action, event: Event) -> bool:
    """The branch could not be rebuilt for a switch without a backjump, and a wind brought some."""
    return isinstance(action, FailChoice) and isinstance(event, WindBegan)


def _name(event: Event) -> str:
    about = [str(getattr(event, name, "") or "") for name in ("group", "atom", "role", "code")]
    return " ".join([type(event).__name__, *filter(None, about)])


def _action_words(action: Action) -> str:
    about = [str(getattr(action, name, "")) for name in ("group", "atom")]
    return " ".join([type(action).__name__, *filter(None, about)])
