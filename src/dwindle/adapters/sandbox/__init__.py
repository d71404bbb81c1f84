"""Running programs that are not trusted, so that no process of them is left.

Mechanisms, strongest first: `Bubblewrap`, `Unshare`, `Subreaper`; `ProcessGroup` contains nothing.
`choose` takes the strongest that works here; `policy.py` has what holds for all of them.
"""

from dwindle.adapters.process.proc import sweep
from dwindle.adapters.sandbox.bubblewrap import Bubblewrap
from dwindle.adapters.sandbox.choice import (
    MechanismTrial,
    NoContainment,
    choose,
    kinds,
    survey,
)
from dwindle.adapters.sandbox.process_group import ProcessGroup
from dwindle.adapters.sandbox.subreaper import Subreaper
from dwindle.adapters.sandbox.unshare import Unshare

__all__ = [
    "Bubblewrap",
    "MechanismTrial",
    "NoContainment",
    "ProcessGroup",
    "Subreaper",
    "Unshare",
    "choose",
    "kinds",
    "survey",
    "sweep",
]
