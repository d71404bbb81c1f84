"""Reaching a loop that runs: one line in, one line out."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dwindle.adapters.store import event_codec
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    Event,
    Redirected,
    RedirectRequested,
    SetLimit,
    StopRequested,
    Waited,
)
from dwindle.kernel.model import CorrectionType, PlanKind
from dwindle.runner import control
from dwindle.runner.control import GONE, ControlClient, ControlSocket
from dwindle.runner.inbox import Inbox
from dwindle.runner.sockets import SOCKETS


async def told(
    folder: Path, speak: Callable[[], object], refusal: IllegalEvent | None = None
) -> tuple[object, list[Event]]:
    """What a person gets to hear, and what the loop was asked."""
    asked = Inbox()
    heard: list[Event] = []

    async def loop() -> None:
        while True:
            news = await asked.get()
            assert news is not None
            heard.extend((news.event, *news.also))
            news.answer(refusal)

    listening = asyncio.create_task(loop())
    try:
        async with ControlSocket(folder, asked, event_codec.decode):
            said = await asyncio.to_thread(speak)
            await asyncio.sleep(0.05)
    finally:
        listening.cancel()
    return said, heard


def spoken(folder: Path, line: bytes) -> object:
    there = ControlClient.to(folder)
    assert there is not None
    try:
        return there.ask(line)
    finally:
        there.close()


def test_a_request_is_answered_when_it_is_on_record(tmp_path: Path) -> None:
    wanted = StopRequested(reason="enough")
    said, heard = asyncio.run(told(tmp_path, lambda: spoken(tmp_path, event_codec.encode(wanted))))
    assert said == {"ok": True, "why": ""}
    assert heard == [wanted]


def test_a_refusal_says_why(tmp_path: Path) -> None:
    wanted = StopRequested(reason="enough")
    refusal = IllegalEvent(wanted, "it is over")
    line = event_codec.encode(wanted)
    said, _ = asyncio.run(told(tmp_path, lambda: spoken(tmp_path, line), refusal))
    assert said == {"ok": False, "why": "StopRequested: it is over"}


@pytest.mark.parametrize("line", [b"hello", b"{}", b"\xff", b'{"kind":"Nothing"}'])
def test_rubbish_is_no_request(tmp_path: Path, line: bytes) -> None:
    said, heard = asyncio.run(told(tmp_path, lambda: spoken(tmp_path, line)))
    assert isinstance(said, dict)
    assert not said["ok"]
    assert heard == []


def test_a_client_may_not_make_news(tmp_path: Path) -> None:
    line = event_codec.encode(Waited())
    said, heard = asyncio.run(told(tmp_path, lambda: spoken(tmp_path, line)))
    assert (said, heard) == ({"ok": False, "why": "Waited cannot be requested"}, [])


def test_a_client_that_pauses_and_goes_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "PATIENCE", 0.01)
    line = event_codec.encode(RedirectRequested())
    _, heard = asyncio.run(told(tmp_path, lambda: spoken(tmp_path, line)))
    assert heard[0] == RedirectRequested()
    assert isinstance(heard[1], StopRequested)


def test_a_list_is_one_change_and_of_redirects_only(tmp_path: Path) -> None:
    change = Redirected(
        type=CorrectionType.CONSTRAINT_CHANGE,
        edits=(SetLimit(name="max_atoms", value=9),),
        description="room",
    )
    lists: list[tuple[Event, ...]] = [
        (change, change),
        (change, Waited()),
        (change, RedirectRequested(active=False)),
        (StopRequested(reason="n"), change),
    ]

    def speak() -> list[object]:
        there = ControlClient.to(tmp_path)
        assert there is not None
        answers: list[object] = [there.ask(*map(event_codec.encode, one)) for one in lists]
        answers.append(there.ask(b"[]"))
        there.close()
        return answers

    said, heard = asyncio.run(told(tmp_path, speak))
    together = {"ok": False, "why": "only redirects may be asked for together"}
    assert said == [
        {"ok": True, "why": ""},
        {"ok": False, "why": "Waited cannot be requested"},
        together,
        together,
        {"ok": False, "why": "not a request: the list is empty"},
    ]
    assert heard == [change, change]


@pytest.mark.parametrize(
    "taken_up_by", [RedirectRequested(active=False), StopRequested(reason="n")]
)
def test_a_pause_that_another_client_takes_up_does_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_up_by: Event
) -> None:
    """A client that ends the pause takes it up; one that asks for something else does not."""
    monkeypatch.setattr(control, "PATIENCE", 0.04)

    def speak() -> None:
        spoken(tmp_path, event_codec.encode(RedirectRequested()))
        spoken(tmp_path, event_codec.encode(taken_up_by))
        time.sleep(0.08)

    _, heard = asyncio.run(told(tmp_path, speak))
    ends = [] if isinstance(taken_up_by, RedirectRequested) else [StopRequested(reason=GONE)]
    assert heard == [RedirectRequested(), taken_up_by, *ends]


def test_no_run_listens(tmp_path: Path) -> None:
    assert ControlClient.to(tmp_path) is None
    (tmp_path / SOCKETS[PlanKind.GRAPH]).touch()
    assert ControlClient.to(tmp_path) is None


def test_a_path_longer_than_a_socket_may_have(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["a-rather-long-name-of-a-folder"] * 5)
    folder.mkdir(parents=True)
    line = event_codec.encode(StopRequested(reason="enough"))
    said, _ = asyncio.run(told(folder, lambda: spoken(folder, line)))
    assert said == {"ok": True, "why": ""}


# --- who is not let in ---------------------------------------------------------------------------

ASKS = """
import socket, sys
there = socket.socket(socket.AF_UNIX)
there.connect(sys.argv[1])
there.sendall(b'{"kind":"StopRequested","reason":"I want it"}\\n')
print(there.recv(1000).decode(), end="")
"""
IN_A_NAMESPACE = ("unshare", "--user", "--map-current-user", "--pid", "--fork")


@pytest.mark.parametrize(("before", "is_heard"), [((), True), (IN_A_NAMESPACE, False)])
def test_a_process_of_ours_in_a_namespace_of_its_own_is_not_heard(
    tmp_path: Path,
    before: tuple[str, ...],
    is_heard: bool,
    require_tool: Callable[[str], Path],
) -> None:
    """Only what is contained is: a program that tells people things may well ask."""
    require_tool("unshare")
    words = (*before, sys.executable, "-c", ASKS, str(tmp_path / SOCKETS[PlanKind.GRAPH]))

    def speak() -> object:
        done = subprocess.run(words, capture_output=True, check=True, timeout=20)
        return json.loads(done.stdout)

    said, heard = asyncio.run(told(tmp_path, speak))
    refused = {"ok": False, "why": "requests from inside of a sandbox are refused"}
    assert said == ({"ok": True, "why": ""} if is_heard else refused)
    assert heard == ([StopRequested(reason="I want it")] if is_heard else [])


def test_a_client_in_another_namespace_that_is_not_ours_is_heard(
    tmp_path: Path, require_tool: Callable[[str], Path]
) -> None:
    """As a person in a container, whose work is run from outside of it."""
    require_tool("setsid")
    require_tool("unshare")
    path = str(tmp_path / SOCKETS[PlanKind.GRAPH])
    answer = tmp_path / "answer"
    # The shell ends, so the client has no parent of ours any more.
    inner = shlex.join([*IN_A_NAMESPACE, sys.executable, "-c", ASKS, path])
    script = f"setsid sh -c {shlex.quote(f'sleep 0.2; {inner} > {answer}')} &"

    def speak() -> object:
        subprocess.run(("sh", "-c", script), check=True, timeout=20)
        end = time.monotonic() + 20
        while not (answer.exists() and answer.read_text().endswith("\n")):
            assert time.monotonic() < end
            time.sleep(0.01)
        return json.loads(answer.read_text())

    said, heard = asyncio.run(told(tmp_path, speak))
    assert (said, heard) == ({"ok": True, "why": ""}, [StopRequested(reason="I want it")])
