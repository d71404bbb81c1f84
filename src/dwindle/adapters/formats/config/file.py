"""`.runner/config.toml`: read strictly, with everything that is wrong with it at once.

What was said on the command line stands above the file, the file above the defaults. Of an agent
there is one layer more: `[agents]` is for all roles, `[agents.worker]` for one. A layer that names
another backend than the layers below it starts afresh, because the command, the model and the
script of one backend mean nothing to another; only the timeout is kept.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from dwindle.adapters.formats.config.kinds import BuiltinAgent, Unfit, agent_named, shown
from dwindle.adapters.formats.config.lines import Place, fault_of, line_of, lines_of
from dwindle.adapters.formats.config.settings import (
    AgentSettings,
    AgentsSettings,
    GitSettings,
    GuardSettings,
    LimitSettings,
    NotifySettings,
    SandboxSettings,
    Settings,
    WorkspaceSettings,
    kinds_of,
)
from dwindle.adapters.formats.graph.shape import closest
from dwindle.kernel.model import Problem

MAX_BYTES: Final = 256 * 1024
"""A thousand times what a user needs to set."""
ROLES: Final = tuple(field.name for field in fields(AgentsSettings))
SECTIONS: Final[Mapping[str, type[Any]]] = {
    "guard": GuardSettings,
    "workspace": WorkspaceSettings,
    "git": GitSettings,
    "limits": LimitSettings,
    "sandbox": SandboxSettings,
    "notify": NotifySettings,
}
OF_A_BACKEND: Final = ("command", "model", "script", "escalate")

Values = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings:
    """The settings, or why there are none."""

    settings: Settings | None
    problems: tuple[Problem, ...] = ()


def read_settings(
    data: bytes | None, overrides: Mapping[str, object] | None = None
) -> ReadSettings:
    """Read the file (None: there is none) under what the command line says.

    `overrides` has a dotted name for each key: {"agents.worker.backend": "command"}.
    """
    said: Values = {}
    for name, value in (overrides or {}).items():
        _put(said, tuple(name.split(".")), value)
    above = _Layer(said)
    text, values, problems = _parsed(data or b"")
    if problems:
        return ReadSettings(settings=None, problems=(*above.problems, *problems))
    below = _Layer(values)
    found = [*above.problems, *below.problems]
    settings = _merged(below, above)
    if not found:
        found += _agent_problems(settings.agents)
        found += _notify_problems(settings.notify)
    if not found:
        return ReadSettings(settings=settings)
    return ReadSettings(settings=None, problems=_located(found, text, said))


def _parsed(data: bytes) -> tuple[str, Values, tuple[Problem, ...]]:
    if len(data) > MAX_BYTES:
        size = f"the file has {len(data)} bytes; at most {MAX_BYTES} are read"
        return "", {}, (Problem(where=(), what=size, hint="are these settings?", line=1),)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"byte {error.start + 1} is not UTF-8"
        return "", {}, (Problem(where=(), what=what, hint="save it as UTF-8", line=line),)
    try:
        return text, tomllib.loads(text), ()
    except tomllib.TOMLDecodeError as error:
        what, line = fault_of(error, text)
        hint = "texts need quotes, tables look like [this], and a name stands only once"
        return text, {}, (Problem(where=(), what=f"no TOML: {what}", hint=hint, line=line),)
    except RecursionError:
        what = "nested deeper than any setting is"
        return text, {}, (Problem(where=(), what=what, hint="is a bracket missing?", line=1),)


class _Layer:
    """What one source sets: values by place, and what is wrong with the others."""

    def __init__(self, values: Values) -> None:
        self.problems: list[Problem] = []
        self.sections: dict[str, Values] = {}
        self.every_agent: Values = {}
        self.agents: dict[str, Values] = {}
        for name, value in values.items():
            if name == "agents":
                self._read_agents(value)
            elif name in SECTIONS:
                self.sections[name] = self._read(value, SECTIONS[name], (name,))
            else:
                self._unknown((name,), ("agents", *SECTIONS), "table")

    def _read_agents(self, given: object) -> None:
        if not self._is_table(given, ("agents",)):
            return
        assert isinstance(given, dict)  # noqa: S101 - for mypy; just asked
        roles = {name: value for name, value in given.items() if name in ROLES}
        rest = {name: value for name, value in given.items() if name not in ROLES}
        self.every_agent = self._read(rest, AgentSettings, ("agents",), besides=ROLES)
        for role, value in roles.items():
            self.agents[role] = self._read(value, AgentSettings, ("agents", role))

    def _read(
        self, given: object, shape: type[Any], where: Place, besides: tuple[str, ...] = ()
    ) -> Values:
        if not self._is_table(given, where):
            return {}
        assert isinstance(given, dict)  # noqa: S101 - as above
        kinds = kinds_of(shape)
        values: Values = {}
        for name, value in given.items():
            if name not in kinds:
                self._unknown((*where, name), (*kinds, *besides), "key")
                continue
            try:
                values[name] = kinds[name].read(value)
            except Unfit as fault:
                what = f"{name} {fault.what}"
                self.problems.append(Problem(where=(*where, name), what=what, hint=fault.hint))
        return values

    def _is_table(self, given: object, where: Place) -> bool:
        if isinstance(given, dict):
            return True
        what = f"{where[-1]} must be a table, not {shown(given)}"
        hint = f"write [{'.'.join(map(str, where))}] on a line of its own, and its keys below"
        self.problems.append(Problem(where=where, what=what, hint=hint))
        return False

    def _unknown(self, where: Place, known: tuple[str, ...], noun: str) -> None:
        what = f"unknown {noun} {shown(where[-1])}"
        self.problems.append(Problem(where=where, what=what, hint=closest(where[-1], known)))


def _merged(below: _Layer, above: _Layer) -> Settings:
    sections = {
        name: shape(**(below.sections.get(name, {}) | above.sections.get(name, {})))
        for name, shape in SECTIONS.items()
    }
    agents = {}
    for role in ROLES:
        agent = AgentSettings()
        for layer in (below, above):
            agent = _upon(_upon(agent, layer.every_agent), layer.agents.get(role, {}))
        agents[role] = _with_backend(agent)
    return Settings(agents=AgentsSettings(**agents), **sections)


def _upon(agent: AgentSettings, layer: Values) -> AgentSettings:
    if layer.get("backend", agent.backend) != agent.backend:
        agent = AgentSettings(timeout_seconds=agent.timeout_seconds)
    return replace(agent, **layer)


def _with_backend(agent: AgentSettings) -> AgentSettings:
    """A command needs no backend beside it, and several agents begin with the first of them."""
    if agent.backend is None and agent.escalate:
        return replace(agent, **agent_named(agent.escalate[0]))
    if agent.backend is None and agent.command and not agent.script:
        return replace(agent, backend=BuiltinAgent.COMMAND)
    if agent.backend is None and agent.script and not agent.command:
        return replace(agent, backend=BuiltinAgent.SCRIPTED)
    return agent


def _agent_problems(agents: AgentsSettings) -> Iterator[Problem]:
    """What belongs together, role by role."""
    for role in ROLES:
        agent: AgentSettings = getattr(agents, role)
        where = ("agents", role)
        if agent.backend is None and any(getattr(agent, name) for name in OF_A_BACKEND):
            what = f"the {role} has no backend"
            hint = f"add backend: {', '.join(BuiltinAgent)}, or the name of an installed one"
            yield Problem(where=where, what=what, hint=hint)
        if agent.backend is BuiltinAgent.COMMAND and not agent.command:
            what = f"the {role} has backend command, and no command"
            yield Problem(where=where, what=what, hint='add command = ["program", "word"]')
        if agent.backend is BuiltinAgent.SCRIPTED and not agent.script:
            what = f"the {role} has backend scripted, and no script"
            yield Problem(where=where, what=what, hint='add script = "path/of/the/script"')


def _notify_problems(notify: NotifySettings) -> Iterator[Problem]:
    if notify.webhook is not None and notify.webhook_env is not None:
        what = "webhook and webhook_env name two addresses"
        yield Problem(where=("notify", "webhook_env"), what=what, hint="leave one of them out")


def _put(values: Values, place: tuple[str, ...], value: object) -> None:
    for name in place[:-1]:
        if not isinstance(values.get(name), dict):
            values[name] = {}
        values = values[name]
    values[place[-1]] = value


def _located(problems: list[Problem], text: str, said: Values) -> tuple[Problem, ...]:
    """By line; what was said on the command line has none, and comes first."""
    lines = lines_of(text)
    found = [
        problem
        if _is_in(said, problem.where)
        else replace(problem, line=line_of(lines, problem.where))
        for problem in problems
    ]
    return tuple(sorted(found, key=lambda problem: problem.line or 0))


def _is_in(values: object, place: Place) -> bool:
    for name in place:
        if not isinstance(values, dict) or name not in values:
            return False
        values = values[name]
    return True
