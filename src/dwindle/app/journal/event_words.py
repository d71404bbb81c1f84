"""What happened, in words: one sentence for each event, for the terminal, the log and the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dwindle.kernel.branches import LastRung, rung
from dwindle.kernel.decide import quoted
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
from dwindle.kernel.winds import startable
from dwindle.text import amounts
from dwindle.text.terminal import one_line, without_rulers

NAMES = 5
LAST_WORDS = 1000
"""Characters of why a run ended: what a person can do about it often stands at the end."""
SHORT_REASON = 40
"""Characters of a reason that is worth repeating."""

PARKING = (AttemptFailed, DeclaredInfeasible, ProbeEnded, Replanned, SessionInterrupted)
"""After these there may be nothing left to try for their atom. To ask of all atoms costs more."""


def sentence(event: Event, *, whole: bool = False) -> str:  # noqa: C901, PLR0912 - one for each
    """One line; reasons are shortened, unless the whole of them is wanted."""
    short = one_line if whole else _short
    match event:
        case RunStarted():
            return "the run begins"
        case SessionStarted(role=Role.VERIFIER):
            return "verifying the base case"
        case SessionStarted():
            by = f" ({event.agent})" if event.agent else ""
            return f"{event.atom}: a {event.role} starts{by}"
        case AtomResolved():
            return f"{event.atom}: resolved: {short(event.summary)}{_about_paths(event)}"
        case AttemptFailed(refused=True):
            return f"{event.atom}: {short(event.reason)}"
        case AttemptFailed():
            return f"{event.atom}: failed: {short(event.reason)}{_about_paths(event)}"
        case DeclaredInfeasible():
            return f"{event.atom}: not feasible: {short(event.reason)}"
        case ProbeEnded():
            return f"{event.atom}: looked at: {short(event.findings)}"
        case Decomposed():
            return f"{event.atom}: split into {len(event.children)}: {short(event.reason)}"
        case Replanned(edit=None):
            return f"{event.atom}: planned: the tree stays as it was"
        case Replanned(edit=TreeEdit() as edit):
            return f"{event.atom}: planned: the tree has {amounts.count(len(edit.nodes), 'node')}"
        case IterationCommitted():
            about = event.subject.removeprefix("chore(loop): ").partition(" iter ")[2]
            said = f"iteration {about or event.number} is committed: {event.commit[:12]}"
            return "; note: ".join((said, *(_short(note, LAST_WORDS) for note in event.notes)))
        case AlternativesProposed():
            return f"{event.atom}: given up for {len(event.alternatives)} other ways"
        case Waited(atom=str() as atom) if event.agent:
            return f"{atom or 'the verification'}: {event.note}"
        case Waited(atom=str() as atom):
            wait = amounts.duration(event.seconds)
            return f"{atom or 'the verification'}: waits {wait}: {short(event.note)}"
        case SessionInterrupted():
            return f"{event.atom or 'the verification'}: interrupted ({event.cause})"
        case SessionReaped():
            return f"{event.atom}: ended, its branch was left"
        case ChoiceFailed():
            return f"{event.group}: {event.choice} has failed; its work is off the branch"
        case Backjumped():
            return f"{event.group}: another choice, for the sake of {event.atom}"
        case WindBegan():
            return f"a new wind: {short(event.reason)}"
        case VerificationEnded():
            return _verified(event, short)
        case EarlyChecked(passed=True):
            return "the base case holds already"
        case StopRequested():
            return f"asked to stop: {short(event.reason)}"
        case Redirected():
            return f"redirected: {short(event.description)}"
        case RunEnded():
            why = short(event.reason) if whole else _short(event.reason, LAST_WORDS)
            return f"the run ends, {event.code}: {why}"
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
    """Why was said by the event before."""
    rest = "; the rest goes on" if plan.sessions or startable(plan) else ""
    return f"{atom}: parked, nothing is left to try for now{rest}"


def _verified(event: VerificationEnded, short: Callable[[str], str]) -> str:
    if event.passed:
        asked = f"; a person is asked about {len(event.questions)}" if event.questions else ""
        return f"the base case holds{asked}"
    if not event.gaps:
        named = f": {', '.join(map(short, event.unjudged))}" if event.unjudged else ""
        return f"the base case could not be judged{named}"
    return f"the base case does not hold: {', '.join(short(g.item) for g in event.gaps)}"


def _short(text: str, most: int = 100) -> str:
    """The beginning of it, without the rulers that test runners draw."""
    line = without_rulers(text)
    return line if len(line) <= most else f"{line[: most - 3]}..."


Told = dict[str, int]
"""Reasons, and the number of the event that gave each."""


def event_text(number: int, event: Event, told: Told) -> str:
    """One line: when, which, what, and what it cost. A reason is given in full, and once."""
    words = one_line(without_rulers(words_of(event, whole=True)))
    for reason, earlier in told.items():
        words = words.replace(reason, f"as in {earlier}")
    if isinstance(event, (AttemptFailed, DeclaredInfeasible)):
        # The end of the run quotes the beginning of a long one.
        for said in (event.reason, quoted(event.reason)):
            line = one_line(without_rulers(said))
            if len(line) > SHORT_REASON:
                told.setdefault(line, number)
    return f"{event.at or '-':<20} {number:>5}  {words}{_cost(event)}"


def words_of(event: Event, *, whole: bool = False) -> str:
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
    return sentence(event, whole=whole) or type(event).__name__


def _cost(event: Event) -> str:
    if not isinstance(event, SessionNews):
        return ""
    used = event.usage
    cost = amounts.cost(used.tokens, used.usd, estimated=used.estimated)
    return f" ({cost})" if cost else ""
