"""Contained, with a view: some paths that would be hidden are shown to every program, read-only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.ports.process import Command, Containment, Ended, Strength


@dataclass(frozen=True, slots=True)
class Showing:
    """What is in `paths` has to exist when a program starts, or it is not shown."""

    containment: Containment
    paths: tuple[Path, ...]

    @property
    def strength(self) -> Strength:
        return self.containment.strength

    @property
    def mechanism(self) -> str:
        return self.containment.mechanism

    async def run(
        self, command: Command, watch: Callable[[bytes], str | None] | None = None
    ) -> Ended:
        shown = tuple(path for path in self.paths if path.exists())
        readable = dict.fromkeys((*command.readable, *shown))
        return await self.containment.run(replace(command, readable=tuple(readable)), watch)
