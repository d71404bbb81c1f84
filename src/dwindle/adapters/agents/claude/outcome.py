"""What a session of claude came to: a report, or why there is none.

Nothing that sounds like success is taken for it. `subtype` is "success" when the service refused to
answer; exit code 0 comes with prompts that never reached a model, and with sessions that were
interrupted. What counts is that the program told about itself as it was asked to, that its `result`
says `is_error: false`, and that there is a report that can be read.

What it says went wrong is sorted in `trouble.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dwindle.adapters.agents.claude.stream import ClaudeStream, Outcome
from dwindle.adapters.agents.claude.trouble import SAYS, TOO_LONG, trouble_of
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
from dwindle.ports.work import NoReport, Order, Report, Trouble
from dwindle.text.redact import redact, redact_bytes

LONGEST_WAIT: Final = 14 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeEnd:
    """What is known when the program has ended."""

    order: Order
    place: Place
    stream: ClaudeStream
    ended: Ended
    distrust: str
    """Why it was not to be trusted; empty if it was."""
    secrets: tuple[Secret, ...]
    now: float
    """Seconds since 1970."""

    def quote(self, text: str) -> str:
        """What the program said, fit to be told: without secrets, and not too long."""
        safe = redact(text.strip(), self.secrets)
        return f": {shortened(safe)}" if safe else ""

    @property
    def stderr(self) -> str:
        return self.quote(stderr_end(self.ended))


def report_of(session: ClaudeEnd) -> Report:
    ended, stream = session.ended, session.stream
    began = ended.exit_code is not None or ended.signal is not None or ended.stdout.size > 0
    if ended.timed_out:
        return NoReport(trouble=Trouble.TIMED_OUT, reason=timeout_reason(ended))
    if session.distrust:
        return NoReport(trouble=Trouble.FAILED, reason=redact(session.distrust, session.secrets))
    if ended.error:
        return NoReport(
            trouble=Trouble.FAILED if began or stream.lines else Trouble.UNAVAILABLE,
            reason=redact(ended.error, session.secrets),
        )
    if killer := fatal_signal(ended):  # not sent by us
        what = f"claude was ended by {killer}"
        return NoReport(trouble=Trouble.KILLED, reason=what + session.stderr)
    if stream.init is None:
        return _never_began(session)
    if stream.result is None:
        how = f"claude ended with exit code {ended.exit_code} and without a result"
        return NoReport(trouble=Trouble.FAILED, reason=how + session.stderr)
    if stream.result.is_error is not False:
        return _failed(session, stream.result)
    return _report_in(session, stream.result)


def _never_began(session: ClaudeEnd) -> NoReport:
    """A program that refuses its own command line says so on stderr, and prints nothing."""
    ended, odd = session.ended, session.stream.odd
    said = session.stderr
    if not ended.stdout.size and ended.exit_code:
        if TOO_LONG.search(said):
            return NoReport(trouble=Trouble.CONTEXT, reason=f"claude refused the prompt{said}")
        what = f"claude would not start (exit code {ended.exit_code})"
        return NoReport(trouble=Trouble.UNAVAILABLE, reason=what + (said or ": it said nothing"))
    what = "claude never said how it was set up, so that nothing of it is believed"
    if odd:
        what += f"; {odd} of the lines that it printed are not JSON"
    return NoReport(trouble=Trouble.FAILED, reason=what + said)


# --- it says that it failed ----------------------------------------------------------------------


def _failed(session: ClaudeEnd, result: Outcome) -> NoReport:
    said = _sentence(result)
    trouble = trouble_of(session.stream, result, said)
    what, help_with_it = SAYS.get(trouble, ("claude failed", ""))
    return NoReport(
        trouble=trouble,
        reason=what + session.quote(said) + help_with_it,
        again_after=_wait(session) if trouble is Trouble.RATE_LIMITED else None,
    )


def _wait(session: ClaudeEnd) -> float | None:
    """Seconds until the limit is lifted; claude reports it only for logins by subscription."""
    resets_at = session.stream.resets_at
    if resets_at is None or not 0 < resets_at - session.now <= LONGEST_WAIT:
        return None
    return resets_at - session.now


def _sentence(result: Outcome) -> str:
    said = result.result
    if not isinstance(said, str) or not said.strip():
        errors = result.errors if isinstance(result.errors, list) else []
        said = "; ".join(error for error in errors if isinstance(error, str))
    return " ".join(said.split())


# --- it says that it did not ---------------------------------------------------------------------


def _report_in(session: ClaudeEnd, result: Outcome) -> Report:
    """What it was held to by the schema, else the file, else the end of what it said."""
    text = result.result if isinstance(result.result, str) else ""
    if result.stop_reason == "refusal":
        return NoReport(trouble=Trouble.REFUSED, reason="the model refused" + session.quote(text))
    for look in (_structured_output(result), _left_file(session.place), _last_object(text)):
        try:
            data = look()
        except UnreadableReport as problem:
            return NoReport(trouble=Trouble.MALFORMED, reason=str(problem))
        if data is not None:
            return decode(session.order, redact_bytes(data, session.secrets)).report
    if result.num_turns == 0:
        what = "claude ended without asking a model"
    else:
        what = "it ended without a report"
    return NoReport(trouble=Trouble.NO_REPORT, reason=what + session.quote(text))


def _structured_output(result: Outcome) -> Callable[[], bytes | None]:
    if result.structured_output is None:
        return lambda: None
    return lambda: json.dumps(result.structured_output).encode()


def _left_file(place: Place) -> Callable[[], bytes | None]:
    return lambda: report_file(place.report)


def _last_object(text: str) -> Callable[[], bytes | None]:
    found = last_object(text)
    return lambda: None if found is None else found.encode("utf-8", "surrogatepass")
