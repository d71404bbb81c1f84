"""Codex as an agent: `codex exec`, one fresh session for each order.

The prompt comes on standard input; a key is never an argument. Which sandbox holds is always said:
under ours codex has none of its own, since its own could not even start there; without ours a
worker may write to the workspace and to nothing else of the user's, and other roles to nothing.
What it would load, call and keep besides is switched off as far as it can be; all of it by `-c`,
because an unknown name there is ignored by other versions, and an unknown option is not.

From the workspace comes nothing that decides over a session: neither its `.codex` folder nor
AGENTS.md, and for all but the worker no skills, which a worker before could have written. The
prompt has AGENTS.md as of the commit of alignment.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from dwindle.adapters.agents.codex.home import KEYS, Home, home, stored_logins
from dwindle.adapters.agents.codex.outcome import CodexEnd, report_of
from dwindle.adapters.agents.codex.program import (
    LOG_IN,
    NAME,
    PACKAGE,
    sandbox_problem,
    version_of,
    warning_about,
)
from dwindle.adapters.agents.codex.stream import CodexStream
from dwindle.adapters.agents.npm_program import Program
from dwindle.adapters.agents.prices import openai_price
from dwindle.adapters.agents.reports.schema import report_schema, strict
from dwindle.kernel.model import Role
from dwindle.ports.agent import Place, ReportChannel
from dwindle.ports.backend import AgentFacts, AgentUnavailable, Engagement
from dwindle.ports.process import Command, Ended, Secret, Strength
from dwindle.ports.work import Order, Result
from dwindle.text.redact import secret_names, variable_secrets

ADDRESSES: Final = (
    "OPENAI_BASE_URL",
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"),
)
PASSED_ON: Final = (
    *(name for name in ADDRESSES if name != "OPENAI_BASE_URL"),
    *("NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "CODEX_CA_CERTIFICATE"),
    *("OPENAI_ORGANIZATION", "OPENAI_PROJECT"),
)
"""What the program gets to see of our environment, besides its key and the usual variables."""

KEY: Final = KEYS[0]
SERVICE: Final = "environment"
"""The option that makes codex call the service at OPENAI_BASE_URL."""

SWITCHED_OFF: Final = (
    *("plugins", "apps", "hooks", "memories", "shell_snapshot", "unbounded_connection_retries"),
)
"""Features. Plugins and apps call others than the model; a snapshot of the shell would write our
environment to the disk; and who waits for the network, and says so, are we."""

TEMPORARY: Final = Path("/tmp")  # noqa: S108 - what codex compares with
PATIENCE: Final = 5
"""How often in a row it may say that it waits for the network."""
KEPT: Final = 1 << 20


def backend(wanted: Engagement) -> CodexAgent:
    """Raises AgentUnavailable without a program, a login, or a sandbox where codex needs its own.

    Codex does not print its version in a session, as claude does, so that it is asked here.
    """
    agent = CodexAgent(
        program=wanted.program or NAME,
        own_sandbox=wanted.strength is Strength.WEAK,
        model=wanted.model,
        effort=wanted.effort,
        network=wanted.network,
        environment=wanted.environment,
    )
    if problem := agent.missing():
        raise AgentUnavailable(problem)
    if problem := agent.login_problem:
        raise AgentUnavailable(problem, where=agent.name)
    wanted.warn(warning_about(version_of(agent.executable)))
    if wanted.budget_limited:
        wanted.warn(agent.price_warning)
    return agent


@dataclass(frozen=True, kw_only=True)
class CodexAgent:
    program: str = NAME
    """A name on PATH, or a path."""
    own_sandbox: bool = False
    """Whether its own sandbox holds it: needed where our containment is weak, and impossible where
    it is strong, since it cannot start in our namespaces."""
    model: str | None = None
    effort: str | None = None
    retries: int | None = None
    """Of the program itself, at a service that OPENAI_BASE_URL names; its own number if None."""
    network: bool = True
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Added to what it sees, and stronger."""
    ours: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""
    name: str = "codex"
    channel: ReportChannel = ReportChannel.MESSAGE

    def session(self, order: Order, place: Place) -> CodexSession:
        return CodexSession(self, order, place)

    def missing(self) -> str | None:
        """Why it cannot be started here, as far as one can tell beforehand."""
        if self.executable.problem or not self.own_sandbox:
            return self.executable.problem or None
        return sandbox_problem(self.executable) or None

    def facts(self) -> AgentFacts:
        """From its version and its files; nothing leaves this machine."""
        if self.executable.problem:
            return AgentFacts(problem=self.executable.problem)
        version, path = version_of(self.executable), self.executable.argv[0]
        model = f", model {self.model}" if self.model else ""
        script = f"{path} is a script; the program behind it was not found"
        warnings = (
            warning_about(version),
            "" if self.executable.is_native else script,
            self.price_warning,
        )
        return AgentFacts(
            what=f"codex {version}{model}; {self.home.login} ({path})",
            problem=self.login_problem or "",
            warnings=tuple(filter(None, warnings)),
        )

    @property
    def login_problem(self) -> str | None:
        """Without a login it would ask, be turned away, and ask again for a long time."""
        return None if self.home.login else LOG_IN

    @cached_property
    def executable(self) -> Program:
        return PACKAGE.find(self.program, self.known)

    @cached_property
    def home(self) -> Home:
        return home(self.known)

    @cached_property
    def known(self) -> Mapping[str, str]:
        return {**self.ours, **self.environment}

    def secrets(self) -> tuple[Secret, ...]:
        """With the stored login as it is now: it may have been renewed."""
        stored = dict(stored_logins(self.known))
        names = (*self.secret, *stored, *secret_names(self.environment))
        return variable_secrets({**self.known, **stored}, names, ADDRESSES)

    @property
    def secret(self) -> tuple[str, ...]:
        """Names of what no command and no reader may get to see."""
        return (*KEYS, *self.home.variables)

    @property
    def model_name(self) -> str:
        """The model; empty if it is left to the program, which does not tell."""
        return self.model or self.home.model

    @property
    def price_warning(self) -> str:
        """Why no limit on money can be kept; empty if one can, by estimates."""
        if not self.model_name:
            return (
                "codex chooses its model and does not tell which: name one, to have costs counted"
            )
        if openai_price(self.model_name) is None:
            return f"the price of {self.model_name} is not known here: its tokens are counted only"
        return ""

    def key(self) -> str:
        """What is handed on as CODEX_API_KEY, the only one that codex looks at.

        OPENAI_API_KEY stands in where there is no other login: it would win over one.
        """
        spare = "" if self.home.has_own_login else self.known.get("OPENAI_API_KEY", "")
        return self.known.get(KEY) or spare


class CodexSession:
    """One program on one order."""

    def __init__(self, agent: CodexAgent, order: Order, place: Place) -> None:
        self._agent = agent
        self._order = order
        self._place = place
        self._stream = CodexStream()
        self._is_offline = False

    @cached_property
    def command(self) -> Command:
        agent, place = self._agent, self._place
        works = self._order.role == Role.WORKER
        folder = self._home()
        self._schema.write_text(json.dumps(strict(report_schema(self._order))), "utf-8")
        return Command(
            argv=(*agent.executable.argv, *self._options(works=works), "-"),
            cwd=place.workspace,
            stdin=place.prompted(),
            environment={
                **_variables(agent),
                **agent.environment,
                **self._scratch(folder),
                "CODEX_HOME": str(folder),
                "DWINDLE_ORDER": str(place.order),
                "DWINDLE_REPORT": str(place.report),
            },
            timeout_seconds=self._order.timeout_seconds,
            output_bytes=KEPT,
            writable=(*((place.workspace,) if works else ()), place.outbox, folder),
            readable=(*agent.executable.needs, *agent.home.guarded),
            network=agent.network,
            secrets=agent.secrets(),
        )

    def watch(self, line: bytes) -> str | None:
        self._stream.feed(line)
        if self._stream.waits < PATIENCE:
            return None
        self._is_offline = True
        return "codex waits for the network"

    def conclude(self, ended: Ended) -> Result:
        session = CodexEnd(
            order=self._order,
            place=self._place,
            stream=self._stream,
            ended=ended,
            is_offline=self._is_offline,
            secrets=self._agent.secrets(),
            now=self._agent.clock(),
        )
        result = Result(report=report_of(session), usage=self._stream.usage(self._agent.model_name))
        # Without it the outbox is as it was handed out, and can be used again.
        with suppress(OSError):
            self._schema.unlink()
        return result

    # --- how it is started -----------------------------------------------------------------------

    @property
    def _schema(self) -> Path:
        return self._place.outbox / "report.schema.json"

    def _home(self) -> Path:
        """The person's own, or an empty one of the session's: codex wants it to exist."""
        found = self._agent.home
        if found.folder is not None and found.is_there:
            return found.folder
        folder = self._place.outbox / "codex-home"
        folder.mkdir(exist_ok=True)
        return folder

    def _scratch(self, folder: Path) -> dict[str, str]:
        """Its own sandbox cannot start from below the folder for temporary files."""
        if not self._agent.own_sandbox and not folder.is_relative_to(TEMPORARY):
            return {}
        scratch = self._place.outbox / "tmp"
        scratch.mkdir(exist_ok=True)
        return {"TMPDIR": str(scratch)}

    def _options(self, *, works: bool) -> Iterator[str]:
        agent = self._agent
        yield from ("exec", "--json", "--ephemeral", "--skip-git-repo-check", "--ignore-rules")
        if not agent.home.keeps_config:
            yield "--ignore-user-config"
        yield from ("--color", "never", "--output-schema", str(self._schema))
        if agent.model_name:
            yield from ("-m", agent.model_name)
        if effort := agent.effort or agent.home.effort:
            yield from _set("model_reasoning_effort", _toml(effort))
        yield from _set("analytics.enabled", "false")
        # What agents of its own use is in no sum that it tells.
        yield from _set("agents.enabled", "false")
        for feature in SWITCHED_OFF:
            yield from _set(f"features.{feature}", "false")
        yield from _set("shell_environment_policy.inherit", _toml("all"))
        yield from _set("shell_environment_policy.ignore_default_excludes", "true")
        excluded = ",".join(_toml(name) for name in agent.secret)
        yield from _set("shell_environment_policy.exclude", f"[{excluded}]")
        yield from _set("project_doc_max_bytes", "0")
        if not works:
            yield from _set("skills.include_instructions", "false")
        yield from _set("projects", _untrusted(self._place.workspace))
        yield from _service(agent)
        yield from self._sandbox(works=works)

    def _sandbox(self, *, works: bool) -> Iterator[str]:
        if not self._agent.own_sandbox:
            yield from ("-s", "danger-full-access")
        elif works:
            yield from ("-s", "workspace-write", "--add-dir", str(self._place.outbox))
            yield from _set("sandbox_workspace_write.exclude_slash_tmp", "true")
            network = "true" if self._agent.network else "false"
            yield from _set("sandbox_workspace_write.network_access", network)
        else:
            yield from ("-s", "read-only")


def _variables(agent: CodexAgent) -> dict[str, str]:
    known = agent.known
    passed = {name: known[name] for name in PASSED_ON if known.get(name)}
    passed |= {name: known[name] for name in agent.home.variables if known.get(name)}
    key = agent.key()
    return {**passed, KEY: key} if key else passed


def _service(agent: CodexAgent) -> Iterator[str]:
    """What OPENAI_BASE_URL says; codex itself does not look at it.

    Only together with a key from the environment: a stored login is not for strangers.
    """
    address = agent.known.get("OPENAI_BASE_URL", "")
    if not address or not agent.key() or agent.home.names_service:
        return
    # As a service of its own: the one that is built in tries WebSockets first, which whatever
    # stands at such an address seldom has.
    table = {
        "name": _toml(SERVICE),
        "base_url": _toml(address),
        "env_key": _toml(KEY),
        "wire_api": _toml("responses"),
    }
    if agent.retries is not None:
        table |= dict.fromkeys(("request_max_retries", "stream_max_retries"), str(agent.retries))
    inside = ",".join(f"{name}={value}" for name, value in table.items())
    yield from _set("model_provider", _toml(SERVICE))
    yield from _set(f"model_providers.{SERVICE}", f"{{{inside}}}")


def _set(name: str, value: str) -> tuple[str, str]:
    return "-c", f"{name}={value}"


def _untrusted(workspace: Path) -> str:
    """For every role: else codex writes into the user's config that it trusts the repository.

    And not this checkout of it but the main one, in which their own sessions would then start with
    more rights than before.
    """
    return f'{{{_toml(str(workspace))}={{trust_level="untrusted"}}}}'


def _toml(text: str) -> str:
    """A text as TOML has it, which is as JSON has it but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
