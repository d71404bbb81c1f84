"""Any program as an agent. This is the public contract, see docs/agents.md; it does not change.

The program runs in the workspace with the prompt on its standard input. DWINDLE_ORDER is the path
of the order as JSON, DWINDLE_REPORT the path to write the report to. A report counts only if the
program also ended well: what was killed in the middle of its work has not done it, whatever it
wrote before.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

from dwindle.adapters.agents.report import Decoded, decode
from dwindle.adapters.agents.report_file import NoFile, left_at
from dwindle.adapters.agents.secrets_in_text import Secrets
from dwindle.adapters.agents.strict_json import MAX_BYTES, last_object
from dwindle.kernel.model import Role
from dwindle.ports.agent import ORDER, REPORT, Place
from dwindle.ports.process import Captured, Command, Ended, secret_names
from dwindle.ports.work import NoReport, Order, Result, Trouble, WorkerReport

STDERR_LINES: Final = 20
STDERR_CHARACTERS: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAgent:
    argv: tuple[str, ...]
    """A relative program is looked for in the workspace, a bare name on PATH."""
    name: str = "command"
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    network: bool = True
    output_bytes: int = MAX_BYTES
    exits: Mapping[int, Trouble] = field(default_factory=dict)
    """Exit codes that mean something else than a failed attempt."""
    readable: tuple[Path, ...] = ()
    """What it needs to see besides; files that its command names in full are seen anyway."""
    secrets: Secrets = field(init=False, repr=False, compare=False)
    """What was let through to it under a name that says so."""

    def __post_init__(self) -> None:
        found = Secrets(self.environment, secret=secret_names(self.environment))
        object.__setattr__(self, "secrets", found)

    def session(self, order: Order, place: Place) -> CommandSession:
        return CommandSession(agent=self, order=order, place=place)

    def launch(self, order: Order, place: Place) -> Command:
        works = order.role is Role.WORKER
        named = _named(self.argv, int(time.monotonic()))
        return Command(
            argv=self.argv,
            cwd=place.workspace,
            stdin=place.prompted(),
            environment={
                **self.environment,
                "DWINDLE_ORDER": f"{place.outbox}/{ORDER}",
                "DWINDLE_REPORT": f"{place.outbox}/{REPORT}",
            },
            timeout_seconds=order.timeout_seconds,
            output_bytes=self.output_bytes,
            writable=(place.workspace, place.outbox) if works else (place.outbox,),
            readable=tuple(dict.fromkeys((*named, *self.readable))),
            network=self.network,
            secrets=self.secrets.of_command(),
        )

    def conclude(self, order: Order, place: Place, ended: Ended) -> Result:
        decoded = _decoded(order, f"{place.outbox}/{REPORT}", ended.stdout, self.secrets)
        trouble = self._trouble(ended, decoded)
        return Result(report=trouble or decoded.report, usage=decoded.usage)

    def missing(self) -> str | None:
        """Why it cannot be started here, as far as one can tell beforehand."""
        if not self.argv:
            return "no command is given"
        program = self.argv[0]
        if "/" in program and not program.startswith("/"):
            return None  # It is, or will be, in the workspace.
        return None if shutil.which(program) else f"{program} is not found, or not executable"

    def _trouble(self, ended: Ended, decoded: Decoded) -> NoReport | None:
        if ended.error:
            began = ended.exit_code is not None or ended.signal is not None or ended.stdout.size
            trouble = Trouble.FAILED if began else Trouble.UNAVAILABLE
            return NoReport(trouble=trouble, reason=ended.error)
        if ended.timed_out:
            what = f"it was still at work after {ended.seconds:.0f} s and was ended"
            return NoReport(trouble=Trouble.TIMED_OUT, reason=what)
        if ended.exit_code == 0:
            return None
        if ended.exit_code is None:
            reason = f"it was ended by {_signal_name(ended.signal)}"
        else:
            reason = f"it ended with exit code {ended.exit_code}"
        trouble = self.exits.get(ended.exit_code or 0, Trouble.FAILED)
        return NoReport(trouble=trouble, reason=reason + _words(decoded) + _last_lines(ended))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSession:
    agent: CommandAgent
    order: Order
    place: Place

    @property
    def command(self) -> Command:
        return self.agent.launch(self.order, self.place)

    def watch(self, line: bytes) -> str | None:
        """Any program may print anything."""
        del line
        return None

    def conclude(self, ended: Ended) -> Result:
        return self.agent.conclude(self.order, self.place, ended)


@lru_cache(16)
def _named(argv: tuple[str, ...], second: int) -> tuple[Path, ...]:
    """The files that a command names in full; what was found is believed for a second."""
    del second
    return tuple(Path(w) for w in argv if w.startswith("/") and os.path.isfile(w))  # noqa: PTH113


def _decoded(order: Order, path: str, stdout: Captured, secrets: Secrets) -> Decoded:
    """From the file if there is one, else from the output."""
    try:
        data = left_at(path)
    except NoFile as problem:
        return Decoded(report=NoReport(trouble=Trouble.MALFORMED, reason=str(problem)))
    return _printed(order, stdout) if data is None else decode(order, secrets.out_of_bytes(data))


def _printed(order: Order, stdout: Captured) -> Decoded:
    kept = stdout.head + stdout.tail if stdout.is_whole else stdout.tail
    found = last_object(kept.decode("utf-8", "replace"))
    if found is not None:
        return decode(order, found.encode("utf-8", "replace"))
    what = "it wrote no report, and there is no JSON object in what it printed"
    return Decoded(report=NoReport(trouble=Trouble.NO_REPORT, reason=what))


def _words(decoded: Decoded) -> str:
    """What a report says about a session that ended badly; its success does not count."""
    report = decoded.report
    if isinstance(report, WorkerReport):
        return (
            ", so that its report of success does not count"
            if report.success
            else (f": {report.reason.strip()}" if report.reason.strip() else "")
        )
    return ""


def _last_lines(ended: Ended) -> str:
    text = ended.stderr.text().strip()
    lines = "\n".join(text.splitlines()[-STDERR_LINES:])[-STDERR_CHARACTERS:]
    return f"\n{lines}" if lines else ""


def _signal_name(number: int | None) -> str:
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"
