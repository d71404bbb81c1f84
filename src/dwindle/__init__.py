"""Dwindle drives coding agents in a loop that provably ends.

The names below are the public ones. Each is fetched when it is first asked for, so that importing
this package does nothing and costs nothing.
"""

from __future__ import annotations

# Type checkers take this for true wherever it is defined; `typing` costs as much as Python's start.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from dwindle._version import __version__ as __version__
    from dwindle.kernel.actions import Action as Action
    from dwindle.kernel.actions import Decision as Decision
    from dwindle.kernel.actions import Stop as Stop
    from dwindle.kernel.decide import decide as decide
    from dwindle.kernel.errors import IllegalEvent as IllegalEvent
    from dwindle.kernel.errors import NotDwindling as NotDwindling
    from dwindle.kernel.events import Event as Event
    from dwindle.kernel.measure import Measure as Measure
    from dwindle.kernel.measure import gauge as gauge
    from dwindle.kernel.measure import measure as measure
    from dwindle.kernel.measure import session_bound as session_bound
    from dwindle.kernel.model import Atom as Atom
    from dwindle.kernel.model import Binding as Binding
    from dwindle.kernel.model import Check as Check
    from dwindle.kernel.model import Decomposition as Decomposition
    from dwindle.kernel.model import Limits as Limits
    from dwindle.kernel.model import Objective as Objective
    from dwindle.kernel.model import OrGroup as OrGroup
    from dwindle.kernel.model import Plan as Plan
    from dwindle.kernel.model import PlanKind as PlanKind
    from dwindle.kernel.model import Problem as Problem
    from dwindle.kernel.model import Status as Status
    from dwindle.kernel.model import StopCode as StopCode
    from dwindle.kernel.problems import validate as validate
    from dwindle.kernel.transitions import apply as apply

_HOMES = {
    "__version__": "_version",
    "Action": "kernel.actions",
    "Atom": "kernel.model",
    "Binding": "kernel.model",
    "Check": "kernel.model",
    "Decision": "kernel.actions",
    "Decomposition": "kernel.model",
    "Event": "kernel.events",
    "IllegalEvent": "kernel.errors",
    "Limits": "kernel.model",
    "Measure": "kernel.measure",
    "NotDwindling": "kernel.errors",
    "Objective": "kernel.model",
    "OrGroup": "kernel.model",
    "Plan": "kernel.model",
    "PlanKind": "kernel.model",
    "Problem": "kernel.model",
    "Status": "kernel.model",
    "Stop": "kernel.actions",
    "StopCode": "kernel.model",
    "apply": "kernel.transitions",
    "decide": "kernel.decide",
    "gauge": "kernel.measure",
    "measure": "kernel.measure",
    "session_bound": "kernel.measure",
    "validate": "kernel.problems",
}

__all__ = [  # noqa: PLE0604 - names that __getattr__ answers for
    *_HOMES,
]


def __getattr__(name: str) -> object:
    """Fetch a public name from the module that it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dwindle' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - importing the package does nothing

    value: object = getattr(import_module(f"dwindle.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
