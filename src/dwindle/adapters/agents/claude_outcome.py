"""What a session of claude came to: a report, or why there is none.

Nothing that sounds like success is taken for it. `subtype` is "success" when the service refused to
answer; exit code 0 comes with prompts that never reached a model, and with sessions that somebody
interrupted. What counts is that the program told about itself as it was asked to, that its `result`
says `is_error: false`, and that there is a report that can be read.

What it says went wrong is sorted in `claude_trouble`.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dwindle.adapters.agents.claude_stream import ClaudeStream, Outcome
from dwindle.adapters.agents.claude_trouble import SAYS, TOO_LONG, trouble_of
from dwindle.adapters.agents.report import decode
from dwindle.adapters.agents.report_file import NoFile, left_at
from dwindle.adapters.agents.secrets_in_text import Secrets
from dwindle.adapters.agents.strict_json import last_object
from dwindle.ports.agent import Place
from dwindle.ports.process import Ended
from dwindle.ports.work import NoReport, Order, Report, Trouble

SAID_CHARACTERS: Final = 600
"""Of what the program says; a reason is read by people and by the next attempt."""
LONGEST_WAIT: Final = 14 * 86_400.0
STDERR_LINES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What is known when the program has ended."""

    order: Order
    place: Place
    stream: ClaudeStream
    ended: Ended
    distrust: str
    """Why it was not to be trusted; empty if it was."""
    secrets: Secrets
    now: float
    """Seconds since 1970."""

    def quote(self, text: str) -> str:
        """What the program said, fit to be told: without secrets, and not too long."""
        safe = self.secrets.out_of(text.strip())
        if not safe:
            return ""
        return f": {safe}" if len(safe) <= SAID_CHARACTERS else f": {safe[:SAID_CHARACTERS]} [...]"

    @property
    def stderr(self) -> str:
        return self.quote("\n".join(self.ended.stderr.text().splitlines()[-STDERR_LINES:]))


def report_of(session: Session) -> Report:
    ended, stream = session.ended, session.stream
    began = ended.exit_code is not None or ended.signal is not None or ended.stdout.size > 0
    if ended.timed_out:
        what = f"it was still at work after {ended.seconds:.0f} s and was ended"
        return NoReport(trouble=Trouble.TIMED_OUT, reason=what)
    if session.distrust:
        return NoReport(trouble=Trouble.FAILED, reason=session.secrets.out_of(session.distrust))
    if ended.error:
        return NoReport(
            trouble=Trouble.FAILED if began or stream.lines else Trouble.UNAVAILABLE,
            reason=session.secrets.out_of(ended.error),
        )
    if (killed := _killed(session)) is not None:
        return killed
    if stream.init is None:
        return _never_began(session)
    if stream.result is None:
        how = f"claude ended with exit code {ended.exit_code} and without a result"
        return NoReport(trouble=Trouble.FAILED, reason=how + session.stderr)
    if stream.result.is_error is not False:
        return _failed(session, stream.result)
    return _found(session, stream.result)


def _killed(session: Session) -> NoReport | None:
    """By somebody else than us; a shell's way of saying so counts too."""
    ended = session.ended
    number = ended.signal
    if number is None and ended.exit_code is not None and 128 < ended.exit_code < 128 + 65:
        number = ended.exit_code - 128
    if number is None:
        return None
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return NoReport(trouble=Trouble.KILLED, reason=f"claude was ended by {name}" + session.stderr)


def _never_began(session: Session) -> NoReport:
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


def _failed(session: Session, result: Outcome) -> NoReport:
    said = _sentence(result)
    trouble = trouble_of(session.stream, result, said)
    what, help_with_it = SAYS.get(trouble, ("claude failed", ""))
    return NoReport(
        trouble=trouble,
        reason=what + session.quote(said) + help_with_it,
        again_after=_wait(session) if trouble is Trouble.RATE_LIMITED else None,
    )


def _wait(session: Session) -> float | None:
    """Seconds until the limit is lifted; only logins by subscription are told when that is."""
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


def _found(session: Session, result: Outcome) -> Report:
    """What it was held to by the schema, else the file, else the end of what it said."""
    text = result.result if isinstance(result.result, str) else ""
    if result.stop_reason == "refusal":
        return NoReport(trouble=Trouble.REFUSED, reason="the model refused" + session.quote(text))
    for look in (_held_to(result), _left(session.place), _said_last(text)):
        try:
            data = look()
        except NoFile as problem:
            return NoReport(trouble=Trouble.MALFORMED, reason=str(problem))
        if data is not None:
            return decode(session.order, session.secrets.out_of_bytes(data)).report
    if result.num_turns == 0:
        what = "claude ended without asking a model"
    else:
        what = "it ended without a report"
    return NoReport(trouble=Trouble.NO_REPORT, reason=what + session.quote(text))


def _held_to(result: Outcome) -> Callable[[], bytes | None]:
    if result.structured_output is None:
        return lambda: None
    return lambda: json.dumps(result.structured_output).encode()


def _left(place: Place) -> Callable[[], bytes | None]:
    return lambda: left_at(place.report)


def _said_last(text: str) -> Callable[[], bytes | None]:
    found = last_object(text)
    return lambda: None if found is None else found.encode("utf-8", "surrogatepass")
