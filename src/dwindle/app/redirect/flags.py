"""Requests by flags in the plan file, for a run that does not listen on a socket.

A socket cannot be made everywhere, and the flags of the plan file are part of its contract: the
runner looks at them twice a second. This is the second choice: the runner may write the file
between our read and our write, and would then find its own older text.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dwindle.adapters.store.disk import DirectoryLock, DurableFile, Locked, RealDisk
from dwindle.app.plans.load import PLAN_FILES
from dwindle.app.refusal import Refused
from dwindle.kernel.model import PlanKind

DEAF_SECONDS = 3.0
"""How long a starting run may hold its plan before it listens."""
TRIES = 20


def is_held(root: Path, kind: PlanKind) -> bool:
    """Whether a process holds the lock of the plan."""
    folder = (root / PLAN_FILES[kind]).parent
    try:
        if folder.is_dir():
            DirectoryLock(folder).release()
    except Locked:
        return True
    return False


def set_flags(root: Path, **flags: Any) -> None:
    """Set these fields of `control` in the graph plan; Refused if the file is no plan."""
    from dwindle.adapters.formats.graph import plan as graph_plan  # noqa: PLC0415 - only without a socket

    where = PLAN_FILES[PlanKind.GRAPH]
    file = DurableFile(RealDisk(), root / where)
    for _ in range(TRIES):
        before = file.read()
        found = graph_plan.decode(before)
        if found.plan is None:
            hint = "`dwindle validate` says what is wrong with it"
            raise Refused("the plan file cannot be read", where=where, hint=hint)
        asked = replace(found.plan, control=replace(found.plan.control, **flags))
        content = graph_plan.GraphWriter(found.body).encode(asked)
        if file.read() == before:
            file.replace(content)
            return
    raise Refused("the run keeps writing its plan", where=where, hint="try again")
