"""What a session of codex came to: a report, or why there is none.

Exit code 0 alone means nothing: a turn in which every command failed ends with it, and so does one
in which the model refused. What counts is that the turn was completed, that the program ended well,
and that there is a report that can be read. The report is the model's last answer if that is one
JSON object, as it was asked for (codex does not look whether it is); else the file that it left;
else the last object somewhere in that answer.

What it says went wrong is sorted in `trouble.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dwindle.adapters.agents.codex.stream import CodexStream, Turn
from dwindle.adapters.agents.codex.trouble import SAYS, sentence, trouble_of, wait_after
from dwindle.adapters.agents.reports.report import decode
from dwindle.adapters.agents.reports.session_end import (
    UnreadableReport,
    fatal_signal,
    report_file,
    shortened,
    stderr_end,
    timeout_reason,
)
from dwindle.adapters.agents.reports.strict_json import last_object
from dwindle.ports.agent import Place
from dwindle.ports.process import Ended, Secret
from dwindle.ports.work import PASSES, NoReport, Order, Report, Trouble
from dwindle.text.redact import redact, redact_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexEnd:
    """What is known when the program has ended."""

    order: Order
    place: Place
    stream: CodexStream
    ended: Ended
    is_offline: bool
    """Whether we ended it because it had waited for the network for long enough."""
    secrets: tuple[Secret, ...]
    now: float
    """Seconds since 1970."""


def report_of(session: CodexEnd) -> Report:
    report = _report(session)
    if isinstance(report, NoReport):
        return replace(report, reason=redact(report.reason, session.secrets))
    return report


def _report(session: CodexEnd) -> Report:
    ended, stream = session.ended, session.stream
    if session.is_offline:
        return _in_trouble(session, stream.notice)
    if ended.timed_out:
        return _timed_out(session)
    if ended.error:
        began = ended.exit_code is not None or ended.signal is not None or stream.lines
        trouble = Trouble.FAILED if began else Trouble.UNAVAILABLE
        return NoReport(trouble=trouble, reason=ended.error)
    if stream.turn is Turn.FAILED:
        return _in_trouble(session, stream.failure)
    if killer := fatal_signal(ended):  # not sent by us
        what = f"codex was ended by {killer}"
        return NoReport(trouble=Trouble.KILLED, reason=what + _stderr(ended))
    if stream.turn is not Turn.COMPLETED:
        return _not_done(session)
    if ended.exit_code:
        how = f"codex ended with exit code {ended.exit_code}, so that its report does not count"
        return NoReport(trouble=Trouble.FAILED, reason=how + _stderr(ended))
    return _report_in(session)


def _timed_out(session: CodexEnd) -> NoReport:
    """Unless it was waiting for the service all the while: then the service failed."""
    notice = session.stream.notice
    if notice and trouble_of(notice) in PASSES:
        return _in_trouble(session, notice)
    last = f"; the last thing it said was: {shortened(notice)}" if notice else ""
    return NoReport(trouble=Trouble.TIMED_OUT, reason=timeout_reason(session.ended) + last)


def _in_trouble(session: CodexEnd, said: str) -> NoReport:
    trouble = trouble_of(said)
    what, help_with_it = SAYS.get(trouble, ("codex failed", ""))
    words = shortened(" ".join(sentence(said).split()))
    return NoReport(
        trouble=trouble,
        reason=what + (f": {words}" if words else "") + help_with_it,
        again_after=wait_after(said, session.now) if trouble in PASSES else None,
    )


def _not_done(session: CodexEnd) -> NoReport:
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
        what += f"; the last thing it said was: {shortened(stream.notice)}"
    return NoReport(trouble=trouble or Trouble.FAILED, reason=what + said)


def _refusal(ended: Ended) -> Trouble | None:
    """What stderr says in the end, if it has a name; earlier lines may quote a prompt."""
    lines = ended.stderr.text().strip().splitlines()
    if not lines or not lines[-1].startswith("Error: "):
        return None
    trouble = trouble_of(lines[-1])
    return trouble if trouble in (Trouble.NOT_LOGGED_IN, Trouble.CONTEXT) else None


# --- it was done ---------------------------------------------------------------------------------


def _report_in(session: CodexEnd) -> Report:
    answer = session.stream.answer
    try:
        data = next(_candidates(session), None)
    except UnreadableReport as problem:
        return NoReport(trouble=Trouble.MALFORMED, reason=str(problem))
    if data is not None:
        return decode(session.order, redact_bytes(data, session.secrets)).report
    if answer.strip():
        what = f"it ended without a report: {shortened(answer.strip())}"
    else:
        what = "it ended without a report and without a word, as it does when the model refuses"
    if session.stream.remark:
        what += f"; it remarked: {shortened(session.stream.remark)}"
    return NoReport(trouble=Trouble.NO_REPORT, reason=what)


def _candidates(session: CodexEnd) -> Iterator[bytes]:
    """The best first. Raises UnreadableReport."""
    answer = session.stream.answer.strip()
    last = last_object(answer)
    if last is not None and last == answer:
        yield _bytes(last)
    left = report_file(session.place.report)
    if left is not None:
        yield left
    if last is not None:
        yield _bytes(last)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _stderr(ended: Ended) -> str:
    text = stderr_end(ended)
    return f": {shortened(text)}" if text else ""
