"""One session of a planner: read-only, in a folder of its own, kept like every other session.

A planner talks with a person before there is a run, or beside one. Nothing that it does is an event
and nothing is charged: what comes of it is a draft that a person accepts, or a redirect that the
kernel takes like any other. So it needs no lease, no journal and no lock.
"""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.ports.agent import Agent, Place
from dwindle.ports.legible import legible_bytes
from dwindle.ports.process import Command, Containment
from dwindle.ports.work import PlanningOrder, Result
from dwindle.runner.planning_orders import bounded, planning_order_json
from dwindle.runner.planning_prompt import planning_prompt

REPORT_BYTES = (1 << 20) + 1
"""A longer report is refused; this much of it shows that it was too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    agent: Agent
    containment: Containment
    tree: Path
    """What it looks at."""
    logs: Path
    """`.runner/iterations/planning`."""
    outboxes: Path

    async def session(self, order: PlanningOrder) -> Result:
        """One program, one report. When this is cancelled, the program and all of its are gone."""
        order = bounded(order)
        folder = numbered_folder(self.logs)
        place = Place(workspace=self.tree, outbox=self.outboxes / f"planning.{folder.name}")
        shutil.rmtree(place.outbox, ignore_errors=True)
        place.outbox.mkdir(parents=True)
        for where in (place.outbox, folder):
            (where / "order.json").write_bytes(planning_order_json(order))
            (where / "prompt.md").write_text(planning_prompt(order), encoding="utf-8")
        session = self.agent.session(order, place)
        command = replace(session.command, log=folder / "session.log")
        try:
            return session.conclude(await self.containment.run(command, watch=session.watch))
        finally:
            _keep(place.report, folder / "report.json", command)
            shutil.rmtree(place.outbox, ignore_errors=True)


def numbered_folder(logs: Path) -> Path:
    """A new folder with the next number; two at a time get two."""
    logs.mkdir(parents=True, exist_ok=True)
    taken = [int(path.name) for path in logs.iterdir() if path.name.isdecimal()]
    number = max(taken, default=0) + 1
    while True:
        try:
            (logs / f"{number:04}").mkdir()
        except FileExistsError:
            number += 1
        else:
            return logs / f"{number:04}"


def _keep(report: Path, kept: Path, command: Command) -> None:
    with contextlib.suppress(OSError):
        if report.is_file() and not report.is_symlink():
            with report.open("rb") as file:
                kept.write_bytes(legible_bytes(command.told(file.read(REPORT_BYTES))))
