"""What a session of codex came to: a report, or why there is none.

Exit code 0 alone means nothing: a turn in which every command failed ends with it, and so does one
in which the model refused. What counts is that the turn was completed, that the program ended well,
and that there is a report that can be read. The report is the model's last answer if that is one
JSON object, as it was asked for (codex does not look whether it is); else the file that it left;
else the last object somewhere in that answer.

What it says went wrong is sorted in `codex_trouble`.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from dwindle.adapters.agents.codex_stream import CodexStream, Turn
from dwindle.adapters.agents.codex_trouble import SAYS, sentence, trouble_of, wait_after
from dwindle.adapters.agents.report import decode
from dwindle.adapters.agents.report_file import NoFile, left_at
from dwindle.adapters.agents.secrets_in_text import Secrets
from dwindle.adapters.agents.strict_json import last_object
from dwindle.ports.agent import Place
from dwindle.ports.process import Ended
from dwindle.ports.work import PASSES, NoReport, Order, Report, Trouble

SAID_CHARACTERS: Final = 600
"""Of what the program says; a reason is read by people and by the next attempt."""
STDERR_LINES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What is known when the program has ended."""

    order: Order
    place: Place
    stream: CodexStream
    ended: Ended
    is_lost: bool
    """Whether we ended it because it had waited for the network for long enough."""
    secrets: Secrets
    now: float
    """Seconds since 1970."""


def report_of(session: Session) -> Report:
    report = _report(session)
    if isinstance(report, NoReport):
        return replace(report, reason=session.secrets.out_of(report.reason))
    return report


def _report(session: Session) -> Report:
    ended, stream = session.ended, session.stream
    if session.is_lost:
        return _in_trouble(session, stream.notice)
    if ended.timed_out:
        return _too_late(session)
    if ended.error:
        began = ended.exit_code is not None or ended.signal is not None or stream.lines
        trouble = Trouble.FAILED if began else Trouble.UNAVAILABLE
        return NoReport(trouble=trouble, reason=ended.error)
    if stream.turn is Turn.FAILED:
        return _in_trouble(session, stream.failure)
    if (killed := _killed(ended)) is not None:
        return killed
    if stream.turn is not Turn.COMPLETED:
        return _not_done(session)
    if ended.exit_code:
        how = f"codex ended with exit code {ended.exit_code}, so that its report does not count"
        return NoReport(trouble=Trouble.FAILED, reason=how + _stderr(ended))
    return _found(session)


def _too_late(session: Session) -> NoReport:
    """Unless it was waiting for the service all the while: that is nobody's fault."""
    what = f"it was still at work after {session.ended.seconds:.0f} s and was ended"
    notice = session.stream.notice
    if notice and trouble_of(notice) in PASSES:
        return _in_trouble(session, notice)
    last = f"; the last thing it said was: {_cut(notice)}" if notice else ""
    return NoReport(trouble=Trouble.TIMED_OUT, reason=what + last)


def _in_trouble(session: Session, said: str) -> NoReport:
    trouble = trouble_of(said)
    what, help_with_it = SAYS.get(trouble, ("codex failed", ""))
    words = _cut(" ".join(sentence(said).split()))
    return NoReport(
        trouble=trouble,
        reason=what + (f": {words}" if words else "") + help_with_it,
        again_after=wait_after(said, session.now) if trouble in PASSES else None,
    )


def _killed(ended: Ended) -> NoReport | None:
    """By somebody else than us; a shell's way of saying so counts too."""
    number = ended.signal
    if number is None and ended.exit_code is not None and 128 < ended.exit_code < 128 + 65:
        number = ended.exit_code - 128
    if number is None:
        return None
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return NoReport(trouble=Trouble.KILLED, reason=f"codex was ended by {name}" + _stderr(ended))


def _not_done(session: Session) -> NoReport:
    ended, stream = session.ended, session.stream
    trouble, said = _refusal(ended), _stderr(ended)
    if not ended.stdout.size and not stream.lines and ended.exit_code:
        # A program that refuses its command line or its config says so on stderr only.
        what = f"codex would not start (exit code {ended.exit_code})"
        reason = what + (said or ": it said nothing")
        return NoReport(trouble=trouble or Trouble.UNAVAILABLE, reason=reason)
    what = (
        f"codex ended with exit code {ended.exit_code} and without saying that it was done, "
        "so that nothing of it is believed"
    )
    if stream.odd:
        what += f"; {stream.odd} of the {stream.lines} lines that it printed are not JSON"
    if stream.notice:
        what += f"; the last thing it said was: {_cut(stream.notice)}"
    return NoReport(trouble=trouble or Trouble.FAILED, reason=what + said)


def _refusal(ended: Ended) -> Trouble | None:
    """What stderr says in the end, if that has a name; before it may be words of anybody."""
    lines = ended.stderr.text().strip().splitlines()
    if not lines or not lines[-1].startswith("Error: "):
        return None
    trouble = trouble_of(lines[-1])
    return trouble if trouble in (Trouble.NOT_LOGGED_IN, Trouble.CONTEXT) else None


# --- it was done ---------------------------------------------------------------------------------


def _found(session: Session) -> Report:
    answer = session.stream.answer
    try:
        data = next(_candidates(session), None)
    except NoFile as problem:
        return NoReport(trouble=Trouble.MALFORMED, reason=str(problem))
    if data is not None:
        return decode(session.order, session.secrets.out_of_bytes(data)).report
    if answer.strip():
        what = f"it ended without a report: {_cut(answer.strip())}"
    else:
        what = "it ended without a report and without a word, as it does when the model refuses"
    if session.stream.remark:
        what += f"; it remarked: {_cut(session.stream.remark)}"
    return NoReport(trouble=Trouble.NO_REPORT, reason=what)


def _candidates(session: Session) -> Iterator[bytes]:
    """The best first. Raises NoFile."""
    answer = session.stream.answer.strip()
    last = last_object(answer)
    if last is not None and last == answer:
        yield _bytes(last)
    left = left_at(session.place.report)
    if left is not None:
        yield left
    if last is not None:
        yield _bytes(last)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _stderr(ended: Ended) -> str:
    lines = ended.stderr.text().strip().splitlines()[-STDERR_LINES:]
    return f": {_cut(chr(10).join(lines))}" if lines else ""


def _cut(text: str) -> str:
    return text if len(text) <= SAID_CHARACTERS else f"{text[:SAID_CHARACTERS]} [...]"
