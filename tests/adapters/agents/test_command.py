"""How a program ended, and what that means for the attempt."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from dwindle.adapters.agents.command import CommandAgent
from dwindle.kernel.events import NO_USAGE, Usage
from dwindle.ports.process import Captured, Ended
from dwindle.ports.work import NoReport, Result, Trouble, WorkerReport
from dwindle.testing.agents import DONE, DONE_REPORT, ORDER, set_up
from dwindle.testing.bare_process import BareProcess

AGENT = CommandAgent(argv=("agent",), exits={75: Trouble.RATE_LIMITED})


def printed(text: str) -> Captured:
    data = text.encode()
    return Captured(head=data, size=len(data))


def concluded(folder: Path, ended: Ended, report: object = None) -> Result:
    place = set_up(folder)
    if report is not None:
        place.report.write_text(json.dumps(report), "utf-8")
    return AGENT.conclude(ORDER, place, ended)


def test_what_is_launched(tmp_path: Path) -> None:
    place = set_up(tmp_path)
    agent = CommandAgent(argv=("agent", "--fast"), environment={"MODE": "x"}, network=False)
    command = agent.launch(ORDER, place)
    assert (command.argv, command.cwd, command.stdin) == (
        ("agent", "--fast"),
        place.workspace,
        b"Write it.\n",
    )
    assert command.environment == {
        "MODE": "x",
        "DWINDLE_ORDER": str(place.outbox / "order.json"),
        "DWINDLE_REPORT": str(place.outbox / "report.json"),
    }
    assert (command.writable, command.network) == ((place.workspace, place.outbox), False)
    assert agent.session(ORDER, place).watch(b"anything") is None


def test_files_that_the_command_names_are_seen_by_it(tmp_path: Path) -> None:
    place = set_up(tmp_path / "session")
    program = tmp_path / "agent.sh"
    program.write_text("exit 0", "utf-8")
    argv = (str(program), "/no/such/file", str(tmp_path), "relative", str(program))
    assert CommandAgent(argv=argv).launch(ORDER, place).readable == (program,)


@pytest.mark.parametrize(
    ("ended", "trouble", "reason"),
    [
        (Ended(exit_code=0), Trouble.NO_REPORT, ("it wrote no report, and there is no JSON object "
         "in what it printed")),
        (Ended(exit_code=3), Trouble.FAILED, "it ended with exit code 3"),
        (Ended(exit_code=3, stderr=printed("a\n" * 50 + "the end\n")), Trouble.FAILED,
         "it ended with exit code 3\n" + "a\n" * 19 + "the end"),
        (Ended(exit_code=3, stderr=printed("x" * 9000)), Trouble.FAILED,
         "it ended with exit code 3\n" + "x" * 2000),
        (Ended(exit_code=75), Trouble.RATE_LIMITED, "it ended with exit code 75"),
        (Ended(signal=11), Trouble.FAILED, "it was ended by SIGSEGV"),
        (Ended(signal=200), Trouble.FAILED, "it was ended by signal 200"),
        (Ended(signal=9, timed_out=True, seconds=60.02), Trouble.TIMED_OUT,
         "it was still at work after 1 min and was ended"),
        (Ended(error="agent: not found"), Trouble.UNAVAILABLE, "agent: not found"),
        (Ended(signal=9, error="it asked for a key"), Trouble.FAILED, "it asked for a key"),
    ],
)  # fmt: skip
def test_an_end_without_a_report(
    tmp_path: Path, ended: Ended, trouble: Trouble, reason: str
) -> None:
    report = NoReport(trouble=trouble, reason=reason)
    assert concluded(tmp_path, ended) == Result(report=report, usage=NO_USAGE)


def test_success_does_not_outlive_a_bad_end(tmp_path: Path) -> None:
    result = concluded(tmp_path, Ended(exit_code=1), {**DONE, "usage": {"tokens": 7}})
    reason = "it ended with exit code 1, so that its report of success does not count"
    assert result == Result(
        report=NoReport(trouble=Trouble.FAILED, reason=reason), usage=Usage(tokens=7)
    )


def test_a_failure_that_says_why_is_heard(tmp_path: Path) -> None:
    told = {"success": False, "reason": "the compiler is missing"}
    result = concluded(tmp_path, Ended(exit_code=1, stderr=printed("cc: not found\n")), told)
    reason = "it ended with exit code 1: the compiler is missing\ncc: not found"
    assert result.report == NoReport(trouble=Trouble.FAILED, reason=reason)


def test_only_the_end_of_a_flood_is_searched(tmp_path: Path) -> None:
    early = json.dumps({**DONE, "summary": "early"}).encode()
    tail = b'...cut"}\n' + json.dumps(DONE).encode() + b"\n"
    flood = Ended(exit_code=0, stdout=Captured(head=early, tail=tail, size=10**9))
    assert concluded(tmp_path, flood).report == DONE_REPORT


def test_a_folder_in_place_of_the_report_is_no_report(tmp_path: Path) -> None:
    place = set_up(tmp_path)
    place.report.mkdir()
    report = AGENT.conclude(ORDER, place, Ended(exit_code=0)).report
    reason = "the report is malformed: what is in its place is not a file"
    assert report == NoReport(trouble=Trouble.MALFORMED, reason=reason)


def test_an_outbox_that_is_gone_is_no_report(tmp_path: Path) -> None:
    place = set_up(tmp_path)
    for path in (place.order, place.prompt):
        path.unlink()
    place.outbox.rmdir()
    place.outbox.write_text("a file now", "utf-8")
    report = AGENT.conclude(ORDER, place, Ended(exit_code=0)).report
    reason = "the report file could not be read: Not a directory"
    assert report == NoReport(trouble=Trouble.MALFORMED, reason=reason)


def test_a_program_that_is_missing_is_known_beforehand_where_that_can_be() -> None:
    assert CommandAgent(argv=("sh",)).missing() is None
    assert CommandAgent(argv=("./in/the/workspace.sh",)).missing() is None
    assert CommandAgent(argv=()).missing() == "no command is given"
    assert CommandAgent(argv=("no-such-agent",)).missing() == (
        "no-such-agent is not found, or not executable"
    )


def test_a_program_that_is_missing_is_unavailable(tmp_path: Path) -> None:
    place = set_up(tmp_path)
    agent = CommandAgent(argv=("no-such-agent",))
    ended = asyncio.run(BareProcess().run(agent.launch(ORDER, place)))
    reason = "no-such-agent could not be started: No such file or directory"
    assert agent.conclude(ORDER, place, ended).report == NoReport(
        trouble=Trouble.UNAVAILABLE, reason=reason
    )


def test_a_whole_session(tmp_path: Path) -> None:
    place = set_up(tmp_path, prompt="Write hello.\n")
    line = 'cat > hello.txt && echo \'{"success": true, "summary": "it is there"}\''
    agent = CommandAgent(argv=("sh", "-c", line))
    ended = asyncio.run(BareProcess().run(agent.launch(ORDER, place)))
    result = agent.conclude(ORDER, place, ended)
    assert result.report == WorkerReport(success=True, summary="it is there")
    assert (place.workspace / "hello.txt").read_text("utf-8") == "Write hello.\n"
