"""Who starts and ends sessions for a loop: its own crew, or somebody it only keeps books for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from dwindle.kernel.actions import Probe, Work
from dwindle.kernel.model import AtomId, Plan
from dwindle.runner.crew import News


class Hands(Protocol):
    """`news` is where what sessions come to is heard of."""

    @property
    def news(self) -> asyncio.Queue[News]: ...

    def prepare(self, plan: Plan, action: Work | Probe) -> Callable[[], None]:
        """What can be written down for a session before it starts, perhaps in another thread."""
        ...

    def start(self, plan: Plan, action: Work | Probe) -> None: ...
    def verify(self, plan: Plan, after: int) -> None: ...
    def check_early(self, plan: Plan) -> bool: ...
    async def end(self, atoms: Iterable[AtomId]) -> None: ...
    async def end_all(self) -> None: ...
