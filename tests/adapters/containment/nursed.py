"""Programs that are started in the nursery from the first on, which else takes many of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dwindle.adapters.containment import Bare
from dwindle.adapters.containment.bounds import limits_from_birth
from dwindle.adapters.containment.nursery import Nursery
from dwindle.ports.process import UNBOUNDED, Bounds, Command, Ended

SECONDS = 20.0


async def nursery(bounds: Bounds = UNBOUNDED) -> Nursery:
    """The one of the running loop, once it is ready."""
    loop = asyncio.get_running_loop()
    limits = limits_from_birth(bounds)
    assert limits is not None
    async with asyncio.timeout(SECONDS):
        while (found := Nursery.of(loop, limits)) is None:  # noqa: ASYNC110 - nobody tells us
            await asyncio.sleep(0.001)
    return found


class Nursed(Bare):
    async def run(
        self, command: Command, watch: Callable[[bytes], str | None] | None = None
    ) -> Ended:
        await nursery(command.bounds)
        return await super().run(command, watch)
