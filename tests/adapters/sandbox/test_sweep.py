"""Finding what an earlier runner left behind, by the mark that it gave to its programs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.adapters.sandbox.survivors import survivors, survivors_after

from dwindle.adapters.sandbox import Bubblewrap, ProcessGroup, sweep
from dwindle.ports.process import Command


def test_what_carries_the_mark_is_killed_and_nothing_else(token: str, another_token: str) -> None:
    """A process group does not hold a program in a session of its own: that is left to sweep."""

    async def leave(mark: str, word: str) -> None:
        script = f"setsid sh -c 'sleep 20; : ' {word} & sleep 0.3"
        await ProcessGroup(mark=mark).run(Command(argv=("sh", "-c", script), cwd=Path("/")))

    asyncio.run(leave(f"run-{token}", token))
    asyncio.run(leave(f"run-{another_token}", another_token))
    left, neighbours = survivors(token), survivors(another_token)
    assert len(left) == len(neighbours) == 1
    killed = sweep(f"run-{token}")
    assert left[0] in killed
    assert survivors_after(token, 1.0) == []
    assert survivors(another_token) == neighbours
    assert sweep(f"run-{token}") == ()
    sweep(f"run-{another_token}")


def test_what_is_inside_of_a_sandbox_is_found_too(
    require_tool: Callable[[str], Path], token: str
) -> None:
    async def story() -> bool:
        bubblewrap = Bubblewrap(program=str(require_tool("bwrap")), mark=f"run-{token}")
        command = Command(argv=("sh", "-c", f"echo up; sleep 20; : {token}"), cwd=Path("/"))
        up = asyncio.Event()
        session = asyncio.ensure_future(bubblewrap.run(command, lambda _: up.set()))
        await asyncio.wait_for(up.wait(), 10)
        sweep(f"run-{token}")
        return (await asyncio.wait_for(session, 5)).is_clean

    assert asyncio.run(story()) is False
    assert survivors(token) == []


@pytest.mark.parametrize("mark", ["", "run"])
def test_a_mark_that_nobody_has_finds_nobody(mark: str) -> None:
    assert sweep(f"{mark}-nobody-has-this") == ()
