"""What happened, in words: one sentence for each event, for the terminal, the log and the page."""

from __future__ import annotations

from collections.abc import Sequence

from dwindle.kernel.branches import LastRung, rung
from dwindle.kernel.events import (
    AlternativesProposed,
    AtomResolved,
    AttemptFailed,
    Backjumped,
    ChoiceFailed,
    Confirmed,
    DeclaredInfeasible,
    Decomposed,
    EarlyChecked,
    Event,
    IterationCommitted,
    ProbeEnded,
    Redirected,
    RedirectRequested,
    Replanned,
    RunEnded,
    RunStarted,
    SessionInterrupted,
    SessionNews,
    SessionReaped,
    SessionStarted,
    Settled,
    StopRequested,
    VerificationEnded,
    Waited,
    WindBegan,
)
from dwindle.kernel.graph import view
from dwindle.kernel.model import Answer, AtomId, Plan, Role, TreeEdit
from dwindle.kernel.winds import last_reason, startable
from dwindle.text import amounts
from dwindle.text.terminal import one_line, without_rulers

NAMES = 5
LAST_WORDS = 1000
"""Characters of why a run ended: what a person can do about it often stands at the end."""


PARKING = (AttemptFailed, DeclaredInfeasible, ProbeEnded, Replanned, SessionInterrupted)
"""After these there may be nothing left to try for their atom. To ask of all atoms costs more."""


def sentence(event: Event) -> str:  # noqa: C901, PLR0912 - one line for each event
    match event:
        case RunStarted():
            return "the run begins"
        case SessionStarted(role=Role.VERIFIER):
            return "verifying the base case"
        case SessionStarted():
            by = f" ({event.agent})" if event.agent else ""
            return f"{event.atom}: a {event.role} starts{by}"
        case AtomResolved():
            return f"{event.atom}: resolved: {_short(event.summary)}{_about_paths(event)}"
        case AttemptFailed(refused=True):
            return f"{event.atom}: {_short(event.reason)}"
        case AttemptFailed():
            return f"{event.atom}: failed: {_short(event.reason)}{_about_paths(event)}"
        case DeclaredInfeasible():
            return f"{event.atom}: not feasible: {_short(event.reason)}"
        case ProbeEnded():
            return f"{event.atom}: looked at: {_short(event.findings)}"
        case Decomposed():
            return f"{event.atom}: split into {len(event.children)}: {_short(event.reason)}"
        case Replanned(edit=None):
            return f"{event.atom}: planned: nothing was changed"
        case Replanned(edit=TreeEdit() as edit):
            return f"{event.atom}: planned: the tree has {amounts.count(len(edit.nodes), 'node')}"
        case IterationCommitted():
            short = event.subject.removeprefix("chore(loop): ").partition(" iter ")[2]
            said = f"iteration {short or event.number} is committed: {event.commit[:12]}"
            return "; note: ".join((said, *(_short(note, LAST_WORDS) for note in event.notes)))
        case AlternativesProposed():
            return f"{event.atom}: given up for {len(event.alternatives)} other ways"
        case Waited(atom=str() as atom) if event.agent:
            return f"{atom or 'the verification'}: {event.note}"
        case Waited(atom=str() as atom):
            wait = amounts.duration(event.seconds)
            return f"{atom or 'the verification'}: waits {wait}: {_short(event.note)}"
        case SessionInterrupted():
            return f"{event.atom or 'the verification'}: interrupted ({event.cause})"
        case SessionReaped():
            return f"{event.atom}: ended, its branch was left"
        case ChoiceFailed():
            return f"{event.group}: {event.choice} has failed; its work is off the branch"
        case Backjumped():
            return f"{event.group}: another choice, for the sake of {event.atom}"
        case WindBegan():
            return f"a new wind: {_short(event.reason)}"
        case VerificationEnded():
            return _verified(event)
        case EarlyChecked(passed=True):
            return "the base case holds already"
        case StopRequested():
            return f"asked to stop: {_short(event.reason)}"
        case Redirected():
            return f"redirected: {_short(event.description)}"
        case RunEnded():
            return f"the run ends, {event.code}: {_short(event.reason, LAST_WORDS)}"
    return ""


def _about_paths(event: AtomResolved | AttemptFailed) -> str:
    said = ""
    if event.set_aside:
        said += f"; set aside, outside of the work paths: {_some(event.set_aside)}"
    if event.wider:
        said += f"; asks for more work paths: {_some(event.wider)}"
    return said


def _some(paths: Sequence[str]) -> str:
    more = len(paths) - NAMES
    shown = ", ".join(_short(path) for path in paths[:NAMES])
    return f"{shown} and {more} more" if more > 0 else shown


def is_parked(plan: Plan, atom: AtomId) -> bool:
    return atom in view(plan).exhausted and isinstance(rung(plan, atom), LastRung)


def parked_sentence(plan: Plan, atom: AtomId) -> str:
    reason = last_reason(plan, atom)
    last = f" (last: {_short(reason)})" if reason else ""
    rest = "; the rest goes on" if plan.sessions or startable(plan) else ""
    return f"{atom}: parked, nothing is left to try for now{last}{rest}"


def _verified(event: VerificationEnded) -> str:
    if event.passed:
        asked = f"; a person is asked about {len(event.questions)}" if event.questions else ""
        return f"the base case holds{asked}"
    if not event.gaps:
        return "the base case could not be judged"
    return f"the base case does not hold: {', '.join(_short(g.item) for g in event.gaps)}"


def _short(text: str, most: int = 100) -> str:
    """The beginning of it, without the rulers that test runners draw."""
    line = without_rulers(text)
    return line if len(line) <= most else f"{line[: most - 3]}..."


def event_text(number: int, event: Event) -> str:
    """One line: when, which, what, and what it cost."""
    return f"{event.at or '-':<20} {number:>5}  {one_line(words_of(event))}{_cost(event)}"


def words_of(event: Event) -> str:
    """A sentence for every event, also for those that `sentence` has none for."""
    match event:
        case Waited():
            return f"waited: {event.note}" if event.note else "time passed"
        case Settled():
            return "consequences were written into the plan"
        case RedirectRequested(active=True):
            return "a person is about to redirect"
        case RedirectRequested():
            return "the redirect was given up"
        case EarlyChecked(passed=False):
            return "the base case does not hold yet"
        case Confirmed():
            said = "confirmed" if event.answer is Answer.YES else "denied"
            words = f": {event.words}" if event.words else ""
            return f"a person {said} {event.item}{words}"
    return sentence(event) or type(event).__name__


def _cost(event: Event) -> str:
    if not isinstance(event, SessionNews):
        return ""
    used = event.usage
    cost = amounts.cost(used.tokens, used.usd, estimated=used.estimated)
    return f" ({cost})" if cost else ""
