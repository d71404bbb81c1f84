"""What a person sees of a run while it runs: a line for everything that happens.

Plain lines, so that they can be piped, kept and searched. Colour only on a terminal.
"""

from __future__ import annotations

from collections.abc import Callable

from dwindle.kernel.events import (
    AlternativesProposed,
    AtomResolved,
    AttemptFailed,
    Backjumped,
    ChoiceFailed,
    DeclaredInfeasible,
    Decomposed,
    EarlyChecked,
    Event,
    ProbeEnded,
    Redirected,
    RunEnded,
    RunStarted,
    SessionInterrupted,
    SessionReaped,
    SessionStarted,
    StopRequested,
    VerificationEnded,
)
from dwindle.kernel.graph import view
from dwindle.kernel.measure import gauge
from dwindle.kernel.model import Plan, Role


class Progress:
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def told(self, plan: Plan, event: Event) -> None:
        """The loop calls this after every event."""
        line = sentence(event)
        if line:
            now = view(plan)
            self._say(f"{event.at[11:19]} {line}  [{now.open_count} open, gauge {gauge(plan)}]")


def sentence(event: Event) -> str:  # noqa: C901, PLR0912 - one line for each event
    match event:
        case RunStarted():
            return "the run begins"
        case SessionStarted(role=Role.VERIFIER):
            return "the base case is verified"
        case SessionStarted():
            return f"{event.atom}: a {event.role} starts"
        case AtomResolved():
            return f"{event.atom}: resolved: {_short(event.summary)}"
        case AttemptFailed():
            return f"{event.atom}: failed: {_short(event.reason)}"
        case DeclaredInfeasible():
            return f"{event.atom}: not feasible: {_short(event.reason)}"
        case ProbeEnded():
            return f"{event.atom}: looked at: {_short(event.findings)}"
        case Decomposed():
            return f"{event.atom}: split into {len(event.children)}: {_short(event.reason)}"
        case AlternativesProposed():
            return f"{event.atom}: given up for {len(event.alternatives)} other ways"
        case SessionInterrupted():
            return f"{event.atom or 'the verification'}: interrupted ({event.cause})"
        case SessionReaped():
            return f"{event.atom}: ended, its branch was left"
        case ChoiceFailed():
            return f"{event.group}: {event.choice} has failed; its work is off the branch"
        case Backjumped():
            return f"{event.group}: another choice, for the sake of {event.atom}"
        case VerificationEnded():
            return _verified(event)
        case EarlyChecked(passed=True):
            return "the base case holds already"
        case StopRequested():
            return f"asked to stop: {_short(event.reason)}"
        case Redirected():
            return f"redirected: {_short(event.description)}"
        case RunEnded():
            return f"the run ends, {event.code}: {_short(event.reason)}"
    return ""


def _verified(event: VerificationEnded) -> str:
    if event.passed:
        asked = f"; a person is asked about {len(event.questions)}" if event.questions else ""
        return f"the base case holds{asked}"
    if not event.gaps:
        return "the base case could not be judged"
    return f"the base case does not hold: {', '.join(_short(g.item) for g in event.gaps)}"


def _short(text: str, most: int = 100) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 3]}..."
