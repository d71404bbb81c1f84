"""Contained, with bounds on what every program may take of the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dwindle.adapters.containment.spare_disk import run_with_room
from dwindle.ports.process import Bounds, Command, Containment, Ended, Strength


@dataclass(frozen=True, slots=True)
class Bounded:
    containment: Containment
    bounds: Bounds

    @property
    def strength(self) -> Strength:
        return self.containment.strength

    @property
    def mechanism(self) -> str:
        return self.containment.mechanism

    async def run(
        self, command: Command, watch: Callable[[bytes], str | None] | None = None
    ) -> Ended:
        return await run_with_room(self.containment, replace(command, bounds=self.bounds), watch)
