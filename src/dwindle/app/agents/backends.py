"""Agents by name: the built-in ones, and those of packages with an entry point.

A built-in name is never looked up among packages, so that none can take the place of claude. The
module of an agent is imported when its agent is made, and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from dwindle.adapters.formats.config.kinds import BuiltinAgent
from dwindle.adapters.formats.graph.shape import closest
from dwindle.app.refusal import Refused
from dwindle.kernel.model import EXIT_CODES, StopCode
from dwindle.ports.agent import Agent
from dwindle.ports.backend import GROUP, AgentUnavailable, Engagement

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

UNAVAILABLE: Final = EXIT_CODES[StopCode.AGENT_UNAVAILABLE]

BUILT_IN: Final[Mapping[str, str]] = {
    BuiltinAgent.COMMAND: "dwindle.adapters.agents.command:backend",
    BuiltinAgent.SCRIPTED: "dwindle.adapters.agents.scripted:backend",
    BuiltinAgent.CLAUDE: "dwindle.adapters.agents.claude.agent:backend",
    BuiltinAgent.CODEX: "dwindle.adapters.agents.codex.agent:backend",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Where the function of an agent is."""

    name: str
    value: str
    """module:function"""
    load: Callable[[], object]
    package: str = ""
    """With its version; empty for a built-in agent."""

    def __str__(self) -> str:
        return f"the agent {self.name!r} of {self.package or 'dwindle'}"


def make_agent(name: str, wanted: Engagement) -> Agent:
    """Raises AgentUnavailable, or Refused if no such agent is found or its function is broken."""
    source = _source(name)
    try:
        backend = source.load()
    except Exception as error:
        what = f"{source} could not be loaded: {_sentence(error)}"
        raise _refused(what, f"see to it that `{source.value}` can be imported") from error
    if not callable(backend):
        what = f"{source} leads to {source.value}, which is no function"
        raise _refused(what, "tell its author")
    try:
        made = backend(wanted)
    except AgentUnavailable:
        raise
    except Exception as error:
        what = f"{source} could not make an agent: {_sentence(error)}"
        raise _refused(what, "its documentation should say what it needs") from error
    if not callable(getattr(made, "session", None)) or not isinstance(
        getattr(made, "name", None), str
    ):
        what = f"{source} made {type(made).__name__}, which is no agent: it has no name or session"
        raise _refused(what, "tell its author; dwindle.testing.check_agent would have said so")
    agent: Agent = made
    return agent


def package_of(name: str) -> str:
    """The package that offers the agent, with its version; empty for a built-in one. Or Refused."""
    return _source(name).package


def installed() -> tuple[str, ...]:
    """The names that packages on this machine offer."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - as below

    return tuple(sorted({one.name for one in entry_points(group=GROUP)}))


def _source(name: str) -> _Source:
    if value := BUILT_IN.get(name):
        module, _, function = value.partition(":")
        return _Source(
            name=name, value=value, load=lambda: getattr(import_module(module), function)
        )
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow; most agents are built in

    found = tuple(entry_points(group=GROUP, name=name))
    if len({one.value for one in found}) > 1:
        packages = ", ".join(sorted({_package(one) for one in found}))
        what = f"more than one package has an agent {name!r}: {packages}"
        raise _refused(what, "uninstall the others")
    if not found:
        hint = closest(name, (*BuiltinAgent, *installed()))
        more = f"or is its package, with an entry point in {GROUP}, installed elsewhere?"
        raise _refused(f"there is no agent {name!r}", f"{hint}\n  {more}")
    entry = found[0]
    return _Source(name=name, value=entry.value, load=entry.load, package=_package(entry))


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _refused(what: str, hint: str) -> Refused:
    return Refused(what, hint=hint, code=UNAVAILABLE)
