"""Any program as an agent. This is the public contract, see docs/agents.md; it does not change.

The program runs in the workspace with the prompt on its standard input. DWINDLE_ORDER is the path
of the order as JSON, DWINDLE_REPORT the path to write the report to. A report counts only if the
program also ended well: what was killed in the middle of its work has not done it, whatever it
wrote before.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

from dwindle.adapters.agents.reports.report import DecodedReport, decode
from dwindle.adapters.agents.reports.session_end import (
    UnreadableReport,
    report_file,
    signal_name,
    stderr_end,
    timeout_reason,
)
from dwindle.adapters.agents.reports.strict_json import MAX_BYTES, last_object
from dwindle.kernel.model import Role
from dwindle.ports.agent import ORDER, REPORT, Place
from dwindle.ports.backend import AgentFacts, AgentUnavailable, Engagement
from dwindle.ports.process import Captured, Command, Ended, Secret
from dwindle.ports.work import NoReport, Order, Result, Trouble, WorkerReport
from dwindle.text.redact import redact_bytes, redact_command_line, variable_secrets
from dwindle.toolchains.shell import program_names, quoted_line

STDERR_CHARACTERS: Final = 2000


def backend(wanted: Engagement) -> CommandAgent:
    """Raises AgentUnavailable where the program is not found."""
    argv = wanted.command
    shown = " ".join(redact_command_line(argv))
    agent = CommandAgent(
        argv=argv,
        environment=wanted.environment,
        network=wanted.network,
        facts=lambda: AgentFacts(what=shown, version_command=(argv[0], "--version")),
    )
    if problem := agent.missing():
        raise AgentUnavailable(problem)
    return agent


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
    facts: Callable[[], AgentFacts] = field(default=AgentFacts, repr=False, compare=False)
    """For `dwindle doctor`."""
    secrets: tuple[Secret, ...] = field(init=False, repr=False, compare=False)
    """Variables of its environment whose names say that they are."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "secrets", variable_secrets(self.environment))

    def session(self, order: Order, place: Place) -> CommandSession:
        return CommandSession(agent=self, order=order, place=place)

    def launch(self, order: Order, place: Place) -> Command:
        works = order.role is Role.WORKER
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
            readable=_readable_files(self.argv, int(time.monotonic())),
            network=self.network,
            secrets=self.secrets,
        )

    def conclude(self, order: Order, place: Place, ended: Ended) -> Result:
        decoded = _decoded(order, f"{place.outbox}/{REPORT}", ended.stdout, self.secrets)
        trouble = self._trouble(ended, decoded)
        return Result(report=trouble or decoded.report, usage=decoded.usage)

    def missing(self) -> str | None:
        """Why it cannot be started here, as far as one can tell beforehand."""
        if not self.argv:
            return "no command is given"
        line = quoted_line(self.argv)
        inner = () if line is None else program_names(line)
        for program in (self.argv[0], *inner):
            if "/" in program and not program.startswith("/"):
                continue  # It is, or will be, in the workspace.
            if not shutil.which(program):
                return f"{program} is not found, or not executable"
        return None

    def _trouble(self, ended: Ended, decoded: DecodedReport) -> NoReport | None:
        if ended.error:
            began = ended.exit_code is not None or ended.signal is not None or ended.stdout.size
            trouble = Trouble.FAILED if began else Trouble.UNAVAILABLE
            return NoReport(trouble=trouble, reason=ended.error)
        if ended.timed_out:
            return NoReport(trouble=Trouble.TIMED_OUT, reason=timeout_reason(ended))
        if ended.exit_code == 0:
            return None
        if ended.exit_code is None:
            reason = f"it was ended by {signal_name(ended.signal or 0)}"
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
def _readable_files(argv: tuple[str, ...], second: int) -> tuple[Path, ...]:
    """The files that a command names in full; what was found is believed for a second."""
    del second
    words = dict.fromkeys(argv)
    return tuple(Path(w) for w in words if w.startswith("/") and os.path.isfile(w))  # noqa: PTH113


def _decoded(order: Order, path: str, stdout: Captured, secrets: Sequence[Secret]) -> DecodedReport:
    """From the file if there is one, else from the output."""
    try:
        data = report_file(path)
    except UnreadableReport as problem:
        return DecodedReport(report=NoReport(trouble=Trouble.MALFORMED, reason=str(problem)))
    if data is None:
        return _printed(order, stdout)
    return decode(order, redact_bytes(data, secrets))


def _printed(order: Order, stdout: Captured) -> DecodedReport:
    kept = stdout.head + stdout.tail if stdout.is_whole else stdout.tail
    found = last_object(kept.decode("utf-8", "replace"))
    if found is not None:
        return decode(order, found.encode("utf-8", "replace"))
    what = "it wrote no report, and there is no JSON object in what it printed"
    return DecodedReport(report=NoReport(trouble=Trouble.NO_REPORT, reason=what))


def _words(decoded: DecodedReport) -> str:
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
    lines = stderr_end(ended)[-STDERR_CHARACTERS:]
    return f"\n{lines}" if lines else ""
