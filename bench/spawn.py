"""What it costs to run `true` under each containment.

The peer is `asyncio.create_subprocess_exec` with pipes and `communicate`, in the same loop. The
goal is for the uncontained one: bounded capture, the watch for the end and the killing of the group
may cost at most 1.3 times the peer. What namespaces cost is bubblewrap's and the kernel's; it is
printed to be known, and is to be compared with a session that takes minutes.

The median of rounds that take turns, so that a busy machine slows all alike.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from dwindle.adapters.sandbox import ProcessGroup, kinds
from dwindle.ports.process import Command, Containment

ROUNDS = 60
LIMIT = 1.3
TRUE = Command(argv=("true",), cwd=Path("/"))


async def peer() -> None:
    process = await asyncio.create_subprocess_exec(
        *TRUE.argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=TRUE.cwd,
        start_new_session=True,
    )
    await process.communicate()
    if process.returncode != 0:
        raise SystemExit("`true` failed")


def contained(containment: Containment) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        ended = await containment.run(TRUE)
        if not ended.is_clean:
            raise SystemExit(f"{containment.mechanism}: {ended}")

    return run


async def measure(rounds: int) -> None:
    ways: dict[str, Callable[[], Awaitable[None]]] = {
        "peer": peer,
        "bare": contained(ProcessGroup()),
    }
    for kind in kinds():
        ways[kind.mechanism.split()[0]] = contained(kind)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            began = time.perf_counter()
            await way()
            if turn:  # the first one warms up
                times[name].append(time.perf_counter() - began)
    floor = statistics.median(times["peer"])
    for name, taken in times.items():
        value = statistics.median(taken)
        limit = f" limit={LIMIT}" if name == "bare" else ""
        print(f"spawn_{name} {value * 1000:.2f} ms ratio={value / floor:.2f}{limit}")


def main(rounds: int = ROUNDS) -> None:
    asyncio.run(measure(rounds))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
