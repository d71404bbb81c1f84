"""Running programs that are not trusted, so that nothing of them is left.

One family, strongest first: `Bubblewrap`, `Unshare`, `Subreaper`; and `Bare`, which is none.
`choose` takes the strongest that works here.
"""

from dwindle.adapters.containment.bare import Bare
from dwindle.adapters.containment.bubblewrap import Bubblewrap
from dwindle.adapters.containment.choice import (
    DescribedContainment,
    Finding,
    NoContainment,
    choose,
    kinds,
    survey,
)
from dwindle.adapters.containment.proc import sweep
from dwindle.adapters.containment.subreaper import Subreaper
from dwindle.adapters.containment.unshare import Unshare

__all__ = [
    "Bare",
    "Bubblewrap",
    "DescribedContainment",
    "Finding",
    "NoContainment",
    "Subreaper",
    "Unshare",
    "choose",
    "kinds",
    "survey",
    "sweep",
]
