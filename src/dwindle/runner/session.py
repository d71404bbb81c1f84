"""The one way to run an agent: worker, probe, verifier, planner and tree sessions all come here.

`AgentRunner.run` takes one order to its report:

1. order.json and prompt.md go into the session's folder of the log, which no agent can write to;
2. an outbox of its own gets a copy of the order, and is where the agent leaves its report;
3. the agent names the program to start; the policy of the run says what the program may read and
   write, how long it may take, how much it may print and which values are secret;
4. the sandbox runs the program; the meter and the budget count what it uses;
5. the report is decoded, redacted, and kept beside the log;
6. if the agent is unavailable and the settings name another, that one goes on; else, after a rate
   limit, an overload or a lost network, the runner waits and starts the program again. Both happen
   in the same tree and under the same nonce, and cost nothing but the wall clock of the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import math
import os
import stat
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from dwindle.kernel.events import NO_USAGE, Usage
from dwindle.kernel.model import Role
from dwindle.ports.agent import ORDER, PROMPT, REPORT, Agent, AgentSession, Place, ReportChannel
from dwindle.ports.process import Command, Containment, Ended, Limit, Secret
from dwindle.ports.removal import remove
from dwindle.ports.work import (
    NOT_BRIEFED,
    PASSES,
    Briefing,
    NoReport,
    Order,
    PlanningOrder,
    Report,
    Result,
)
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.budget import Budget
from dwindle.runner.escalation import channel_for, label_for, substitute_for
from dwindle.runner.gate.judgement import bounded
from dwindle.runner.meter import Meter
from dwindle.runner.orders.planning import planning_order_json
from dwindle.runner.orders.prompt import planning_prompt, prompt_for
from dwindle.runner.orders.work import order_json
from dwindle.text.escape import escape_bytes
from dwindle.text.redact import longest_first, redact_and_escape, redact_bytes

SESSION_LOG: Final = "session.log"
REPORT_BYTES: Final = (1 << 20) + 1
"""A longer report is refused; one byte more shows that it is too long."""
WAITS: Final = (5.0, 15.0, 45.0, 120.0, 300.0)
"""Seconds between tries, where the service did not say how long; the last one is repeated."""
REASON_CHARACTERS: Final = 300
MARGIN: Final = 1.0
"""Seconds added to what the service said: its clock is not ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The limits of every session of a run, for every agent."""

    writable: tuple[Path, ...] = ()
    """What workers may write besides their tree."""
    readable: tuple[Path, ...] = ()
    """Shown read-only, though what is around it is hidden or writable."""
    hidden: tuple[Path, ...] = ()
    """The plan, the journal, the sockets."""
    secrets: tuple[Secret, ...] = field(default=(), repr=False)
    """Redacted from logs and reports, besides what the agent's adapter knows to be secret."""
    timeouts: Mapping[str, float] = field(default_factory=dict)
    """Seconds for a session of a role, where the user allows fewer than the order does."""
    output_bytes: int = 1 << 20
    """How much of each stream of output is kept."""

    def apply(self, command: Command, role: str, log: Path) -> Command:
        """The agent's command, within this policy."""
        return replace(
            command,
            writable=(*command.writable, *(self.writable if role == Role.WORKER else ())),
            readable=(*command.readable, *self.readable),
            hidden=(*command.hidden, *self.hidden),
            secrets=longest_first((*command.secrets, *self.secrets)),
            timeout_seconds=min(command.timeout_seconds, self.timeouts.get(role, math.inf)),
            output_bytes=self.output_bytes,
            log=log,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What the runner waits for, and for how long."""

    seconds: float
    why: NoReport
    tries: int

    @property
    def words(self) -> str:
        return f"{self.why.trouble.replace('_', ' ')}: {_reason(self.why)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The report of a session, and how its last program ended."""

    report: Report
    usage: Usage
    """Of all programs of the session."""
    ended: Ended
    timeout_seconds: float
    agent: str = ""
    """The label of the agent, where the settings name several."""

    @property
    def result(self) -> Result:
        return Result(report=self.report, usage=self.usage)


async def not_briefed() -> Briefing:
    return NOT_BRIEFED


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRunner:
    """Runs the sessions of one run, or of one conversation with a planner."""

    agents: Mapping[str, Agent]
    """By role."""
    sandbox: Containment
    outboxes: Path
    """Folder in which each program gets an outbox, removed when the program has ended."""
    policy: Policy = field(default_factory=Policy)
    budget: Budget | None = None
    meter: Meter = field(default_factory=Meter)
    warn: Callable[[str], None] = lambda _: None
    """Gets the warnings of an agent for the user, such as that its version is untested."""
    seconds_left: Callable[[], float] = lambda: math.inf
    """How long the run may still take: the runner waits no longer than that."""
    on_wait: Callable[[Order, Wait], None] = lambda _order, _wait: None
    """Told when a session begins to wait."""
    on_switch: Callable[[Order, str], None] = lambda _order, _why: None
    """Told when another agent, which the order names, goes on with a session."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    briefing: Callable[[], Awaitable[Briefing]] = not_briefed
    """What every session is told besides its order."""

    def label(self, role: str, failed: int) -> str:
        """Which of several agents takes an atom that failed so often; "" where there is one."""
        return label_for(self.agents.get(role), failed)

    async def run(
        self, order: Order, tree: Path, folder: Path, *, prompt: str = "", log: str = SESSION_LOG
    ) -> Finished:
        """Run one session in `tree` and keep its record in `folder`; the whole list above.

        Raises OSError if the record cannot be written: then no program was started.
        """
        agent, usage, waits = self.agents[order.role], NO_USAGE, 0
        if order.briefing is NOT_BRIEFED:
            order = replace(order, briefing=await self.briefing())
        words = self._words(order, prompt)
        with _disk_errors():
            write_record(folder, order_content(order), words)
        for number in itertools.count(1):
            name = log if number == 1 else log.replace(".log", f".{number}.log")
            finished = await self._program(order, tree, folder, words, folder / name)
            usage += finished.usage
            finished = replace(finished, usage=usage)
            report = finished.report
            if label := substitute_for(agent, order, report):
                gone = f"{order.agent or agent.name} cannot be had ({_reason(report)})"
                order = replace(order, agent=label)
                words = self._words(order, prompt)
                self.on_switch(order, f"{gone}; {label} goes on")
                continue
            if not isinstance(report, NoReport) or report.trouble not in PASSES:
                return finished
            wait = Wait(seconds=_seconds(report, waits), why=report, tries=waits + 1)
            if wait.seconds >= self.seconds_left():
                return finished
            waits += 1
            self.on_wait(order, wait)
            await self.sleep(wait.seconds)
        raise AssertionError("there is always another number")

    def _words(self, order: Order, prompt: str) -> bytes:
        """The prompt for the agent that takes this order."""
        if not prompt:
            channel = channel_for(self.agents[order.role], order)
            prompt = prompt_of(order, channel, may_commit=self.sandbox.mechanism != "bubblewrap")
        return prompt.encode("utf-8", "replace")

    async def _program(
        self, order: Order, tree: Path, folder: Path, prompt: bytes, log: Path
    ) -> Finished:
        """Start the agent's program once and read what it left."""
        if self.budget is not None:
            self.budget.share(order)
        outbox = self.outboxes / outbox_name(folder)
        _remove(outbox)  # of a runner that was killed
        with _disk_errors():
            outbox.mkdir(parents=True)
            (outbox / ORDER).write_bytes(order_content(order))
        place = Place(workspace=tree, outbox=outbox, words=prompt)
        session = self.agents[order.role].session(order, place)
        command = self.policy.apply(session.command, order.role, log)
        try:
            ended = await self._run_metered(order, session, command)
            result = self._conclude(order, session, ended)
        finally:
            keep_report(place.report, folder / REPORT, command)
            _remove(outbox)
        if ended.limit is Limit.DISK and ended.signal is None:  # it was not even started
            raise WorkspaceFailed(ended.error, os.strerror(errno.ENOSPC))
        return Finished(
            report=result.report,
            usage=result.usage,
            ended=ended,
            timeout_seconds=command.timeout_seconds,
            agent=order.agent,
        )

    async def _run_metered(self, order: Order, session: AgentSession, command: Command) -> Ended:
        try:
            return await self.sandbox.run(command, watch=session.watch)
        except asyncio.CancelledError:
            # The runner ended the program. What it has printed may tell what it used.
            with contextlib.suppress(Exception):
                self._conclude(order, session, Ended(error="ended by the runner"))
            raise

    def _conclude(self, order: Order, session: AgentSession, ended: Ended) -> Result:
        """The report of a program that has ended, without secrets; its usage is counted."""
        if warning := getattr(session, "warning", ""):
            self.warn(warning)
        result = session.conclude(ended)
        if not isinstance(result.report, NoReport) and result.report.ignored:
            names = ", ".join(result.report.ignored)
            self.warn(f"the report of {order.atom or 'a session'} has unknown keys: {names}")
        self.meter.add(order.nonce, result.usage)
        if self.budget is not None:
            self.budget.pay(order, result.usage.usd)
        return replace(result, report=redact_and_escape(result.report, self.policy.secrets))


def order_content(order: Order) -> bytes:
    """The order as the file that an agent reads."""
    return planning_order_json(order) if isinstance(order, PlanningOrder) else order_json(order)


def prompt_of(
    order: Order, channel: ReportChannel = ReportChannel.FILE, *, may_commit: bool = True
) -> str:
    if isinstance(order, PlanningOrder):
        return planning_prompt(order, channel)
    return prompt_for(order, channel, may_commit=may_commit)


def write_record(folder: Path, order: bytes, prompt: bytes) -> None:
    """Write order and prompt into the session's folder of the log. The prompt comes last."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ORDER).write_bytes(order)
    (folder / PROMPT).write_bytes(prompt)


def outbox_name(folder: Path) -> str:
    """Every session has an outbox of its own: what an earlier one writes late is not its report."""
    return f"{folder.parent.name}.{folder.name}"


def numbered_folder(logs: Path) -> Path:
    """A new folder with the next number; two callers at the same time get two."""
    logs.mkdir(parents=True, exist_ok=True)
    taken = [int(path.name) for path in logs.iterdir() if path.name.isdecimal()]
    number = max(taken, default=0) + 1
    while True:
        try:
            (logs / f"{number:04}").mkdir()
        except FileExistsError:
            number += 1
        else:
            return logs / f"{number:04}"


def keep_report(report: Path, kept: Path, command: Command) -> None:
    """Copy what the agent left, redacted: a plain file only, and no more than could be read."""
    with contextlib.suppress(OSError):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(report, flags)
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                data = file.read(REPORT_BYTES)
                kept.write_bytes(escape_bytes(redact_bytes(data, command.secrets))[:REPORT_BYTES])


def _reason(report: Report) -> str:
    return bounded(report.reason, REASON_CHARACTERS) if isinstance(report, NoReport) else ""


def _seconds(report: NoReport, tries: int) -> float:
    if report.again_after is not None and report.again_after > 0:
        return report.again_after + MARGIN
    return WAITS[min(tries, len(WAITS) - 1)]


@contextlib.contextmanager
def _disk_errors() -> Iterator[None]:
    """A file of the session that cannot be written ends the run, and is no mistake of ours."""
    try:
        yield
    except OSError as error:
        raise WorkspaceFailed(str(error.filename or "a file"), error.strerror or "") from error


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        remove(path)
