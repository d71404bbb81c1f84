"""Notifications are sent beside the run, and their failures do not disturb it."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from tests.app.test_notices import AT, BEGUN, ended, running, spending

from dwindle.adapters.formats.config.settings import NotifySettings
from dwindle.app.notify.notifier import Notifier
from dwindle.kernel.events import RunEnded, Waited
from dwindle.kernel.model import StopCode

DONE = RunEnded(code=StopCode.COMPLETED, reason="all is well", at=AT)
SECRET = "s3cret"  # noqa: S105 - ours, for looking where it turns up


@dataclass
class Told:
    """The notifications of a run with these settings."""

    said: list[str] = field(default_factory=list)
    seconds: float = 0.0
    """Until the run itself was over."""
    all_seconds: float = 0.0


def a_run(
    settings: NotifySettings,
    folder: Path,
    *,
    last_wait: float = 5.0,
    notices: int = 1,
    fails_with: BaseException | None = None,
) -> Told:
    """A run whose budgets are nearly spent one by one, and which is completed then."""
    told = Told()

    async def run() -> None:
        began = time.monotonic()
        try:
            async with Notifier(last_wait=last_wait) as notifier:
                notifier.serve(settings, folder, told.said.append)
                notifier.on_event(spending(), BEGUN)
                for number in range(1, notices):
                    raised = replace(
                        spending(usd=100),
                        limits=replace(spending().limits, max_cost_usd=float(number)),
                    )
                    notifier.on_event(raised, Waited(at=AT))
                if fails_with is not None:
                    raise fails_with
                notifier.on_event(ended(running(), DONE.code), DONE)
                told.seconds = time.monotonic() - began
        except OSError:
            pass
        told.all_seconds = time.monotonic() - began

    asyncio.run(run())
    return told


def script(folder: Path, text: str) -> tuple[str, ...]:
    path = folder / "tell"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(stat.S_IRWXU)
    return (str(path),)


# --- a program -----------------------------------------------------------------------------------


def test_a_program_is_told_on_its_stdin_and_in_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    monkeypatch.setenv("DISPLAY", ":7")
    command = script(tmp_path, "cat > heard; env > surroundings; pwd > place")
    told = a_run(NotifySettings(command=command, env=("DISPLAY", "NOT_THERE")), tmp_path)
    assert told.said == []
    heard = json.loads((tmp_path / "heard").read_text())
    assert heard == {
        "event": "completed",
        "repository": tmp_path.name,
        "plan": "graph",
        "run": "R1",
        "at": AT,
        "code": "completed",
        "exit_code": 0,
        "reason": "all is well",
        "questions": [],
        "budget": None,
        "text": f"{tmp_path.name}: the run is completed: all is well",
        "next": "`dwindle diff` shows what changed, `dwindle land` brings it to your branch",
    }
    surroundings = dict(
        line.split("=", 1) for line in (tmp_path / "surroundings").read_text().splitlines()
    )
    ours = {name: text for name, text in surroundings.items() if name.startswith("DWINDLE_")}
    assert ours == {
        "DWINDLE_EVENT": "completed",
        "DWINDLE_RUN": "R1",
        "DWINDLE_CODE": "completed",
        "DWINDLE_TEXT": heard["text"],
    }
    assert surroundings["DISPLAY"] == ":7"
    assert SECRET not in surroundings.values()
    assert (tmp_path / "place").read_text() == f"{tmp_path}\n"


def test_notices_come_in_their_order(tmp_path: Path) -> None:
    a_run(NotifySettings(command=script(tmp_path, "cat >> heard")), tmp_path, notices=4)
    heard = [json.loads(line) for line in (tmp_path / "heard").read_text().splitlines()]
    assert [(one["event"], (one["budget"] or {}).get("limit")) for one in heard] == [
        ("budget", 1.0),
        ("budget", 2.0),
        ("budget", 3.0),
        ("completed", None),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("exit 3", "it ended with 3"),
        ("kill -9 $$", "it ended with -9"),
        ("exec /nonexistent/at/all 2>/dev/null", "it ended with 127"),
    ],
)
def test_a_program_that_fails_is_mentioned_once(tmp_path: Path, text: str, why: str) -> None:
    told = a_run(NotifySettings(command=script(tmp_path, text)), tmp_path, notices=3)
    assert told.said == [f"dwindle: [notify] command: {why}; the run is not affected"]


@pytest.mark.parametrize("argv", [("/nonexistent/tell",), ("",), (".",)])
def test_a_program_that_cannot_be_started(tmp_path: Path, argv: tuple[str, ...]) -> None:
    told = a_run(NotifySettings(command=argv), tmp_path)
    [said] = told.said
    assert said.startswith("dwindle: [notify] command: it cannot be started: ")


def test_a_program_that_does_not_read_and_one_that_leaves_a_process_behind(tmp_path: Path) -> None:
    command = script(tmp_path, "exec 0<&-; sleep 30 & echo $! > left; exit 0")
    told = a_run(NotifySettings(command=command), tmp_path)
    os.kill(int((tmp_path / "left").read_text()), 9)
    assert told.said == []
    assert told.all_seconds < 10


def test_a_program_that_hangs_is_ended_and_does_not_hold_up_the_run(tmp_path: Path) -> None:
    command = script(tmp_path, "echo $$ > pid; sleep 60")
    settings = NotifySettings(command=command, timeout_seconds=60)
    told = a_run(settings, tmp_path, last_wait=0.5, notices=30)
    assert told.seconds < 0.4
    assert told.all_seconds < 5
    assert told.said == [
        "dwindle: [notify] command: too many notices are waiting; the run is not affected"
    ]
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_program_has_its_time(tmp_path: Path) -> None:
    command = script(tmp_path, "echo $$ > pid; sleep 60")
    told = a_run(NotifySettings(command=command, timeout_seconds=1), tmp_path)
    assert told.said == [
        (
            "dwindle: [notify] command: it was still running after 1 s, and was ended;"
            " the run is not affected"
        )
    ]
    assert is_gone(int((tmp_path / "pid").read_text()))


def is_gone(pid: int) -> bool:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_the_second_interruption_waits_for_no_program(tmp_path: Path) -> None:
    command = script(tmp_path, "sleep 60")
    settings = NotifySettings(command=command, timeout_seconds=60)
    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        a_run(settings, tmp_path, notices=2, fails_with=asyncio.CancelledError())
    assert time.monotonic() - began < 4


def test_an_interruption_with_nothing_on_its_way_is_quiet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A complaint would be about nothing; the lines of this run are those of the terminal."""

    async def run() -> None:
        async with Notifier() as notifier:
            notifier.serve(NotifySettings(command=("true",)), tmp_path, print)
            notifier.on_event(running(), BEGUN)
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())
    assert capsys.readouterr() == ("", "")


def test_a_run_that_breaks_off_is_told_too(tmp_path: Path) -> None:
    command = script(tmp_path, "cat > heard")
    full = OSError(28, "No space left on device")
    a_run(NotifySettings(command=command), tmp_path, fails_with=full)
    heard = json.loads((tmp_path / "heard").read_text())
    assert (heard["event"], heard["code"], heard["reason"]) == (
        "stopped",
        None,
        "[Errno 28] No space left on device",
    )


def test_nothing_is_set_and_nothing_is_started(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    begun: set[threading.Thread] = set()

    async def run() -> None:
        async with Notifier() as notifier:
            notifier.serve(NotifySettings(), tmp_path, print)
            notifier.on_event(running(), BEGUN)
            notifier.on_event(ended(running(), DONE.code), DONE)
            begun.update(set(threading.enumerate()) - before)

    asyncio.run(run())
    assert begun == set()
