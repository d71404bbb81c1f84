"""Claude Code as an agent: `claude -p`, one fresh session for each order.

Everything that it must know comes on standard input, in its environment or as a folder of its own;
a key is never an argument. A prompt is never taken for a command of claude's (those begin with a
slash) and never attaches files (`@path` would, also from outside of the workspace). What it loads,
calls and keeps besides is switched off as far as it can be: also CLAUDE.md, which the prompt brings
as of the commit of alignment, since a worker before could have written the one in the tree.

The config directory is claude's own: the login is in there, and is renewed there, so a session may
write to it. What in it decides over later sessions of the person (settings, hooks, commands,
plugins, servers) is shown read-only, as far as it is there. What is not there yet a worker could
make: the sandbox cannot forbid a name. What claude remembers by itself from one session to the next
is switched off; it would be a way from a worker to the verifier that judges it.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from dwindle.adapters.agents.claude.outcome import ClaudeEnd, report_of
from dwindle.adapters.agents.claude.program import (
    PACKAGE,
    config_folder,
    login,
    login_problem,
    state_file,
    stored_logins,
    version_warning,
    warning_about,
)
from dwindle.adapters.agents.claude.roles import Allowance, allowance, distrust
from dwindle.adapters.agents.claude.stream import ClaudeStream, LineKind, usage_of
from dwindle.adapters.agents.reports.schema import report_schema
from dwindle.kernel.model import Role
from dwindle.ports.agent import Place, ReportChannel
from dwindle.ports.backend import AgentFacts, AgentUnavailable, Engagement
from dwindle.ports.process import Command, Ended, Secret
from dwindle.ports.work import Order, Result
from dwindle.text.redact import secret_names, variable_secrets

SECRET: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
ADDRESSES: Final = (
    "ANTHROPIC_BASE_URL",
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"),
)
PASSED_ON: Final = (*SECRET, *ADDRESSES, "ANTHROPIC_MODEL", "NO_PROXY", "no_proxy")
"""What the program gets to see of our environment, besides what every contained program does."""

QUIET: Final[Mapping[str, str]] = {
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}
RETRIES: Final = 3
"""Of the program itself, a few seconds in all; we can wait longer, and say that we do."""
SMALLEST_BUDGET: Final = 0.01
KEPT: Final = 1 << 20

GUARDED: Final = (
    *("settings.json", "settings.local.json", "CLAUDE.md", "commands", "agents", "skills"),
    *("hooks", "output-styles", "plugins/cache", "plugins/marketplaces", "plugins/repos"),
    *("plugins/installed_plugins.json", "plugins/known_marketplaces.json", "plugins/config.json"),
)
"""In the config directory: what later sessions of the person would obey."""


def backend(wanted: Engagement) -> ClaudeAgent:
    """Raises AgentUnavailable where claude is not found; without a login a session will fail."""
    agent = ClaudeAgent(
        program=wanted.program or "claude",
        sandboxed=wanted.read_only,
        model=wanted.model,
        effort=wanted.effort,
        max_turns=wanted.max_turns,
        budget=wanted.budget,
        network=wanted.network,
        environment=wanted.environment,
    )
    if problem := agent.missing():
        raise AgentUnavailable(problem)
    return agent


@dataclass(frozen=True, kw_only=True)
class ClaudeAgent:
    program: str = "claude"
    """A name on PATH, or a path."""
    sandboxed: bool = True
    """Whether our containment restricts files too: all but what is named writable is read-only."""
    model: str | None = None
    effort: str | None = None
    max_turns: int | None = None
    budget: Callable[[Order], float | None] = lambda _: None
    """US dollars that a session which begins now may spend; None: no limit."""
    retries: int = RETRIES
    network: bool = True
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Added to what it sees, and stronger."""
    ours: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""
    name: str = "claude"
    channel: ReportChannel = ReportChannel.STRUCTURED

    def session(self, order: Order, place: Place) -> ClaudeSession:
        return ClaudeSession(self, order, place)

    def missing(self) -> str | None:
        """Why it cannot be started here, as far as one can tell beforehand."""
        return PACKAGE.find(self.program, self.ours).problem or None

    def facts(self) -> AgentFacts:
        """From its version and its files; nothing leaves this machine."""
        program = PACKAGE.find(self.program, self.ours)
        if program.problem:
            return AgentFacts(problem=program.problem)
        version = PACKAGE.version(program)
        warning = warning_about(version)
        model = f", model {self.model}" if self.model else ""
        return AgentFacts(
            what=f"claude {version}{model}; {login(self.ours)} ({program.argv[0]})",
            problem=login_problem(self.ours),
            warnings=(warning,) if warning else (),
        )

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """With the stored login as it is now: it may have been renewed."""
        stored = dict(stored_logins(self.ours))
        known = {**self.ours, **self.environment, **stored}
        names = (*SECRET, *stored, *secret_names(self.environment))
        return variable_secrets(known, names, ADDRESSES)

    def variables(self, role: str) -> dict[str, str]:
        """What is added to the environment that every contained program has."""
        passed = {name: self.ours[name] for name in PASSED_ON if self.ours.get(name)}
        named = self.ours.get("CLAUDE_CONFIG_DIR")
        folder = config_folder(self.ours)
        if named and folder is not None and folder.is_dir():
            passed["CLAUDE_CONFIG_DIR"] = str(folder)
        if role == Role.WORKER and self.sandboxed:
            passed["IS_SANDBOX"] = "1"  # else it refuses to do without asking, if we are root
        passed["CLAUDE_CODE_MAX_RETRIES"] = str(self.retries)
        return {**passed, **QUIET, **self.environment}

    def own_folders(self) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """What of its configuration it may write, and what it may only read."""
        folder = config_folder(self.ours)
        if folder is None:
            return (), ()
        guarded = (state_file(self.ours, folder), *(folder / name for name in GUARDED))
        writable = (folder,) if folder.is_dir() else ()
        return writable, tuple(path for path in guarded if path.exists())


class ClaudeSession:
    """One program on one order. `warning` says what a person might want to know about it."""

    def __init__(self, agent: ClaudeAgent, order: Order, place: Place) -> None:
        self._agent = agent
        self._order = order
        self._place = place
        self._allowed = allowance(
            order.role, sandboxed=agent.sandboxed, outbox=place.outbox, only=order.tools
        )
        self._stream = ClaudeStream()
        self._distrust = ""
        self.warning = ""

    @cached_property
    def command(self) -> Command:
        agent, place = self._agent, self._place
        works = self._order.role == Role.WORKER
        # Each time anew: it may have been updated since the last session.
        program = PACKAGE.find(agent.program, agent.ours)
        writable, guarded = agent.own_folders()
        return Command(
            argv=(*program.argv, *_options(agent, self._allowed, self._order)),
            cwd=place.workspace,
            stdin=_as_text(place.prompted()),
            environment={
                **agent.variables(self._order.role),
                "DWINDLE_ORDER": str(place.order),
                "DWINDLE_REPORT": str(place.report),
            },
            timeout_seconds=self._order.timeout_seconds,
            output_bytes=KEPT,
            writable=(*((place.workspace,) if works else ()), place.outbox, *writable),
            readable=(*program.needs, *guarded),
            network=agent.network,
            secrets=agent.secrets,
        )

    def watch(self, line: bytes) -> str | None:
        kind = self._stream.feed(line)
        if kind is LineKind.INIT:
            self._distrust = distrust(self._stream.init, self._allowed)
            self.warning = version_warning(self._stream.init)
        elif kind in (LineKind.SAID, LineKind.RESULT) and self._stream.init is None:
            self._distrust = "claude began without saying how it was set up"
        return self._distrust or None

    def conclude(self, ended: Ended) -> Result:
        stream = self._stream
        session = ClaudeEnd(
            order=self._order,
            place=self._place,
            stream=stream,
            ended=ended,
            distrust=self._distrust,
            secrets=self._agent.secrets,
            now=self._agent.clock(),
        )
        usage = stream.usage_so_far if stream.result is None else usage_of(stream.result)
        return Result(report=report_of(session), usage=usage)


def _options(agent: ClaudeAgent, allowed: Allowance, order: Order) -> Iterator[str]:
    yield from ("-p", "--output-format", "stream-json", "--verbose")
    yield from ("--no-session-persistence", "--strict-mcp-config")
    if agent.model:
        yield from ("--model", agent.model)
    if agent.effort:
        yield from ("--effort", agent.effort)
    if agent.max_turns is not None:
        yield from ("--max-turns", str(agent.max_turns))
    left = agent.budget(order)
    if left is not None and math.isfinite(left):
        yield from ("--max-budget-usd", f"{max(left, SMALLEST_BUDGET):.4f}")
    yield from ("--json-schema", json.dumps(report_schema(order), separators=(",", ":")))
    yield from allowed.options


def _as_text(prompt: bytes) -> bytes:
    """Never a command of claude's: those begin with a slash at the very beginning."""
    begins = prompt.removeprefix(b"\xef\xbb\xbf")
    return b"\n" + prompt if begins.startswith(b"/") else prompt
