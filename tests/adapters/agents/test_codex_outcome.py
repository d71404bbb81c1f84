"""What a session of codex came to, for all that its program may do; no codex is needed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.agents.codex_lines import BEGUN, completed, error, failed, item, ran, said

from dwindle.adapters.agents.codex.agent import CodexAgent
from dwindle.kernel.events import Usage
from dwindle.ports.process import Captured, Ended
from dwindle.ports.work import NoReport, Report, Result, Trouble, WorkerReport
from dwindle.testing.agents import DONE, DONE_REPORT, ORDER, set_up

CANARY = "sk-canary-0123456789"
WELL = Ended(exit_code=0)


def captured(text: str) -> Captured:
    return Captured(head=text.encode(), size=len(text.encode()))


def concluded(
    tmp_path: Path, *lines: bytes, ended: Ended = WELL, report: str | None = None
) -> Result:
    place = set_up(tmp_path / "session")
    if report is not None:
        place.report.write_text(report, "utf-8")
    ours = {"CODEX_API_KEY": CANARY}
    session = CodexAgent(program="codex", ours=ours, model="gpt-5.5").session(ORDER, place)
    for line in lines:
        session.watch(line)
    printed = b"\n".join(lines)
    return session.conclude(replace(ended, stdout=Captured(head=printed, size=len(printed))))


def outcome(
    tmp_path: Path, *lines: bytes, ended: Ended = WELL, report: str | None = None
) -> Report:
    return concluded(tmp_path, *lines, ended=ended, report=report).report


# --- where the report comes from -----------------------------------------------------------------


def summed(summary: str) -> str:
    return json.dumps({"success": True, "summary": summary})


@pytest.mark.parametrize(
    ("answer", "file", "summary"),
    [
        (summed("answered"), None, "answered"),
        (summed("answered"), summed("left"), "answered"),
        (f" {summed('answered')}\n", summed("left"), "answered"),
        (f"Done: {summed('answered')}", summed("left"), "left"),
        (f"Done: {summed('answered')}", None, "answered"),
        ("Done.", summed("left"), "left"),
        ("", summed("left"), "left"),
    ],
)
def test_the_answer_counts_then_the_file_then_what_is_in_the_answer(
    answer: str, file: str | None, summary: str, tmp_path: Path
) -> None:
    lines = (*BEGUN, ran(), *((said(answer),) if answer else ()), completed())
    assert outcome(tmp_path, *lines, report=file) == WorkerReport(success=True, summary=summary)


def test_what_is_malformed_is_not_made_good_by_something_else(tmp_path: Path) -> None:
    lines = (*BEGUN, said('{"success": 1}'), completed())
    assert outcome(tmp_path, *lines, report=summed("left")) == NoReport(
        trouble=Trouble.MALFORMED,
        reason="the report is malformed: success is a number, not true or false",
    )


def test_an_answer_before_the_work_is_no_report(tmp_path: Path) -> None:
    lines = (*BEGUN, said(json.dumps(DONE)), ran(), completed())
    assert outcome(tmp_path, *lines) == NoReport(
        trouble=Trouble.NO_REPORT,
        reason="it ended without a report and without a word, as it does when the model refuses",
    )


def test_no_report_says_what_was_said_instead(tmp_path: Path) -> None:
    remark = item("error", message="Model metadata for x not found")
    assert outcome(tmp_path, *BEGUN, remark, said("Sorry."), completed()) == NoReport(
        trouble=Trouble.NO_REPORT,
        reason="it ended without a report: Sorry.; it remarked: Model metadata for x not found",
    )


def test_something_else_in_the_place_of_the_file_is_malformed(tmp_path: Path) -> None:
    place = set_up(tmp_path / "session")
    os.mkfifo(place.report)
    session = CodexAgent(program="codex", ours={}).session(ORDER, place)
    for line in (*BEGUN, completed()):
        session.watch(line)
    assert session.conclude(WELL).report == NoReport(
        trouble=Trouble.MALFORMED,
        reason="the report is malformed: what is in its place is not a file",
    )


def test_a_report_counts_with_what_it_used(tmp_path: Path) -> None:
    used = completed(input_tokens=100, cached_input_tokens=40, output_tokens=10)
    assert concluded(tmp_path, *BEGUN, said(json.dumps(DONE)), used) == Result(
        report=DONE_REPORT,
        usage=Usage(
            tokens=110,
            usd=(60 * 5 + 40 * 0.5 + 10 * 30) / 1_000_000,
            read=60,
            cached=40,
            written=10,
            estimated=True,
        ),
    )


# --- why there is none ---------------------------------------------------------------------------

GOOD = (*BEGUN, said(json.dumps(DONE)), completed())
NOT_DONE = "and without saying that it was done, so that nothing of it is believed"


@pytest.mark.parametrize(
    ("lines", "ended", "wanted"),
    [
        pytest.param(
            (*BEGUN, said(json.dumps(DONE))),
            WELL,
            NoReport(trouble=Trouble.FAILED, reason=f"codex ended with exit code 0 {NOT_DONE}"),
            id="success without a word of it",
        ),
        pytest.param(
            (*BEGUN, error("Reconnecting... 1/5 (cut)"), b"Illegal instruction"),
            Ended(exit_code=1, stderr=captured("core dumped\n")),
            NoReport(
                trouble=Trouble.FAILED,
                reason=f"codex ended with exit code 1 {NOT_DONE}; 1 of the 4 lines that it printed "
                "are not JSON; the last thing it said was: Reconnecting... 1/5 (cut): core dumped",
            ),
            id="dies in the middle",
        ),
        pytest.param(
            (b"hello", b"world"),
            WELL,
            NoReport(
                trouble=Trouble.FAILED,
                reason=f"codex ended with exit code 0 {NOT_DONE}; 2 of the 2 lines that it printed "
                "are not JSON",
            ),
            id="garbage",
        ),
        pytest.param(
            GOOD,
            Ended(exit_code=3, stderr=captured("oh\n")),
            NoReport(
                trouble=Trouble.FAILED,
                reason="codex ended with exit code 3, so that its report does not count: oh",
            ),
            id="done, but badly",
        ),
        pytest.param(
            GOOD,
            Ended(signal=9),
            NoReport(trouble=Trouble.KILLED, reason="codex was ended by SIGKILL"),
            id="killed",
        ),
        pytest.param(
            BEGUN,
            Ended(exit_code=143),
            NoReport(trouble=Trouble.KILLED, reason="codex was ended by SIGTERM"),
            id="killed, as a shell says it",
        ),
        pytest.param(
            BEGUN,
            Ended(signal=99),
            NoReport(trouble=Trouble.KILLED, reason="codex was ended by signal 99"),
            id="killed by something unheard of",
        ),
        pytest.param(
            GOOD,
            Ended(timed_out=True, seconds=60.2),
            NoReport(
                trouble=Trouble.TIMED_OUT, reason="it was still at work after 1 min and was ended"
            ),
            id="late",
        ),
        pytest.param(
            (*BEGUN, error("Something odd")),
            Ended(timed_out=True, seconds=60.2),
            NoReport(
                trouble=Trouble.TIMED_OUT,
                reason="it was still at work after 1 min and was ended; the last thing it said "
                "was: Something odd",
            ),
            id="late, with a complaint",
        ),
        pytest.param(
            (*BEGUN, error("Reconnecting... waiting for network (Connection failed)")),
            Ended(timed_out=True, seconds=60.2),
            NoReport(
                trouble=Trouble.OFFLINE,
                reason="codex's service cannot be reached: Reconnecting... waiting for network "
                "(Connection failed)",
            ),
            id="late, for want of a network",
        ),
        pytest.param(
            (),
            Ended(error="codex: No such file or directory"),
            NoReport(trouble=Trouble.UNAVAILABLE, reason="codex: No such file or directory"),
            id="never started",
        ),
        pytest.param(
            GOOD,
            Ended(exit_code=0, error="some of its processes were killed but did not end"),
            NoReport(
                trouble=Trouble.FAILED, reason="some of its processes were killed but did not end"
            ),
            id="left somebody behind",
        ),
        pytest.param(
            (),
            Ended(exit_code=2, stderr=captured("error: unexpected argument '--ephemeral'\n")),
            NoReport(
                trouble=Trouble.UNAVAILABLE,
                reason="codex would not start (exit code 2): error: unexpected argument "
                "'--ephemeral'",
            ),
            id="another version's options",
        ),
        pytest.param(
            (),
            Ended(exit_code=1),
            NoReport(
                trouble=Trouble.UNAVAILABLE,
                reason="codex would not start (exit code 1): it said nothing",
            ),
            id="silent",
        ),
        pytest.param(
            (),
            Ended(exit_code=1, stderr=captured("Error: Not logged in\n")),
            NoReport(
                trouble=Trouble.NOT_LOGGED_IN,
                reason="codex would not start (exit code 1): Error: Not logged in",
            ),
            id="not logged in, on stderr",
        ),
        pytest.param(
            BEGUN,
            Ended(exit_code=1, stderr=captured("Error: not logged in\nbye\n")),
            NoReport(
                trouble=Trouble.FAILED,
                reason=f"codex ended with exit code 1 {NOT_DONE}: Error: not logged in\nbye",
            ),
            id="somebody's words on stderr",
        ),
    ],
)
def test_only_a_completed_turn_and_a_good_end_make_a_report(
    lines: tuple[bytes, ...], ended: Ended, wanted: NoReport, tmp_path: Path
) -> None:
    assert outcome(tmp_path, *lines, ended=ended) == wanted


def test_a_failed_turn_is_named_however_the_program_ended(tmp_path: Path) -> None:
    wanted = NoReport(
        trouble=Trouble.OUT_OF_CREDIT,
        reason="the account that codex uses has no credit left: Quota exceeded. Check.; add credit "
        "to it, or use another login",
    )
    for number, ended in enumerate((Ended(exit_code=1), WELL, Ended(signal=15))):
        lines = (*BEGUN, said(json.dumps(DONE)), failed("Quota exceeded. Check."))
        assert outcome(tmp_path / str(number), *lines, ended=ended) == wanted


def test_keys_are_blotted_out_and_long_complaints_are_cut(tmp_path: Path) -> None:
    long = f"Incorrect key {CANARY} {'x' * 5000}"
    found = outcome(tmp_path / "failed", *BEGUN, failed(long), ended=Ended(exit_code=1))
    assert isinstance(found, NoReport)
    assert found.reason.startswith("codex failed: Incorrect key [CODEX_API_KEY] xxx")
    assert len(found.reason) < 700
    died = Ended(exit_code=1, stderr=captured(f"panicked with {CANARY}"))
    found = outcome(tmp_path / "died", *BEGUN, ended=died)
    assert isinstance(found, NoReport)
    assert found.reason.endswith(": panicked with [CODEX_API_KEY]")
    lines = (*BEGUN, said(summed(f"it is {CANARY}")), completed())
    assert outcome(tmp_path / "told", *lines) == WorkerReport(
        success=True, summary="it is [CODEX_API_KEY]"
    )
