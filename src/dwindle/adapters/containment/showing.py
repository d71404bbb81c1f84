"""Contained, with a view: of a repository, what every program is shown, and what none may see."""

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
    """Shown read-only, though what is around them may be hidden."""
    hidden: tuple[Path, ...] = ()

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
        hidden = dict.fromkeys((*command.hidden, *self.hidden))
        viewed = replace(command, readable=tuple(readable), hidden=tuple(hidden))
        return await self.containment.run(viewed, watch)
