"""Agents from other people's packages: looked for by name, when somebody named one, and not before.

A built-in name is never looked for, so that no package can put itself in the place of claude.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from dwindle.adapters.formats.config_kinds import Backend
from dwindle.adapters.formats.graph_shape import closest
from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.model import StopCode
from dwindle.ports.agent import Agent
from dwindle.ports.backend import GROUP, Engagement
from dwindle.surfaces.refusal import Refused

UNAVAILABLE = EXIT_CODES[StopCode.AGENT_UNAVAILABLE]


def installed() -> tuple[str, ...]:
    """The names that packages on this machine offer."""
    return tuple(sorted({one.name for one in entry_points(group=GROUP)}))


def installed_agent(name: str, wanted: Engagement) -> Agent:
    """Refused, with what to do about it, if it cannot be had."""
    found = _entry(name)
    whose = _whose(found)
    try:
        make = found.load()
    except Exception as error:
        what = f"{whose} could not be loaded: {_said(error)}"
        raise _refused(what, f"see to it that `{found.value}` can be imported") from error
    if not callable(make):
        what = f"{whose} leads to {found.value}, which is no function"
        raise _refused(what, "tell whoever made it")
    try:
        made = make(wanted)
    except Exception as error:
        what = f"{whose} could not make an agent: {_said(error)}"
        raise _refused(what, "its documentation should say what it needs") from error
    if not callable(getattr(made, "session", None)) or not isinstance(
        getattr(made, "name", None), str
    ):
        what = f"{whose} made {type(made).__name__}, which is no agent: it has no name or session"
        raise _refused(what, "tell whoever made it; dwindle.testing.check_agent would have said so")
    agent: Agent = made
    return agent


def about(name: str) -> str:
    """Which package offers it, and its version; or Refused."""
    return _package(_entry(name))


def _entry(name: str) -> EntryPoint:
    found = tuple(entry_points(group=GROUP, name=name))
    if len({one.value for one in found}) > 1:
        packages = ", ".join(sorted({_package(one) for one in found}))
        what = f"more than one package has an agent {name!r}: {packages}"
        raise _refused(what, "uninstall the others")
    if not found:
        hint = closest(name, (*Backend, *installed()))
        more = f"or is its package, with an entry point in {GROUP}, installed elsewhere?"
        raise _refused(f"there is no agent {name!r}", f"{hint}\n  {more}")
    return found[0]


def _whose(found: EntryPoint) -> str:
    return f"the agent {found.name!r} of {_package(found)}"


def _package(found: EntryPoint) -> str:
    return f"{found.dist.name} {found.dist.version}" if found.dist else "an unknown package"


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _refused(what: str, hint: str) -> Refused:
    return Refused(what, hint=hint, code=UNAVAILABLE)
