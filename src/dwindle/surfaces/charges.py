"""What each role has cost, as a certificate says it."""

from __future__ import annotations

import sys
from pathlib import Path

from dwindle.runner.certificate import Charge
from dwindle.surfaces.spending_text import total_data
from dwindle.surfaces.spent_on_record import spent_on_record


def charges_on_record(journals: Path, run: str) -> tuple[Charge, ...]:
    """Of a run that is going on, however long it has been: it is asked for once a round."""
    spent = spent_on_record(str(journals), run, most=sys.maxsize)
    if spent is None:
        return ()
    return tuple(Charge(role=role, **total_data(total)) for role, total in spent.by_role.items())
