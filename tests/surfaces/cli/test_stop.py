"""Asking a run to end that is only just beginning."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.surfaces.command import GRAPH_FILE, Ended, dwindle, repository, write

from dwindle.adapters.store import event_codec
from dwindle.adapters.store.disk import DirectoryLock
from dwindle.kernel.events import StopRequested
from dwindle.runner.control import ControlSocket
from dwindle.runner.inbox import Inbox


def test_a_run_that_does_not_listen_yet_is_waited_for(tmp_path: Path) -> None:
    async def story() -> tuple[Ended, object]:
        asked = Inbox()
        with DirectoryLock((tmp_path / GRAPH_FILE).parent):
            stopping = asyncio.create_task(asyncio.to_thread(dwindle, tmp_path, "stop"))
            await asyncio.sleep(1)  # it has found no runner, and looks again
            async with ControlSocket(tmp_path / ".runner", asked, event_codec.decode):
                news = await asyncio.wait_for(asked.get(), 20)
                assert news is not None
                news.answer(None)
                await asyncio.sleep(0.1)
        return await stopping, news.event

    repository(tmp_path)
    write(tmp_path, GRAPH_FILE, "a plan\n")

    said, heard = asyncio.run(story())

    assert said == Ended(code=0, out="stopped; `dwindle run` goes on from here\n")
    assert heard == StopRequested(reason="stopped by hand")


def test_no_runner_has_the_plan(tmp_path: Path) -> None:
    repository(tmp_path)
    write(tmp_path, GRAPH_FILE, "a plan\n")
    said = dwindle(tmp_path, "stop")
    assert (said.code, said.err.splitlines()[0]) == (2, "dwindle: no run is listening here")
