"""Asking a run by its plan file, where nobody listens.

A socket cannot be made everywhere (a file system may have none), and the flags of the plan file are
part of its contract: a run looks at them twice a second. So whoever wants something of a run that
holds its plan and does not answer sets the flag. That is the second choice: the run may write the
file between our look at it and our change, and would then find its own older text there.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dwindle.adapters.disk import DirectoryLock, DurableFile, Locked, RealDisk
from dwindle.kernel.model import PlanKind
from dwindle.surfaces.refusal import Refused
from dwindle.wiring import PLAN_FILES

DEAF_SECONDS = 3.0
"""A run that is just beginning has its plan already, and does not listen yet: for at most this."""
TRIES = 20


def is_held(root: Path, kind: PlanKind) -> bool:
    """Whether somebody has the plan."""
    folder = (root / PLAN_FILES[kind]).parent
    try:
        if folder.is_dir():
            DirectoryLock(folder).release()
    except Locked:
        return True
    return False


def set_flags(root: Path, **flags: Any) -> None:
    """Set these in the graph plan, and leave all else as it is; Refused if it is no plan."""
    from dwindle.adapters.formats import graph_plan  # noqa: PLC0415 - only where nobody listens

    where = PLAN_FILES[PlanKind.GRAPH]
    file = DurableFile(RealDisk(), root / where)
    for _ in range(TRIES):
        before = file.read()
        found = graph_plan.decode(before)
        if found.plan is None:
            hint = "`dwindle validate` says what is wrong with it"
            raise Refused("the plan file cannot be read", where=where, hint=hint)
        asked = replace(found.plan, control=replace(found.plan.control, **flags))
        content = found.writer().encode(asked)
        if file.read() == before:
            file.replace(content)
            return
    raise Refused("the run writes its plan all the time", where=where, hint="try it again")
