"""What a session came to, by what it printed and how it ended."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.agents.claude_lines import (
    ended,
    init,
    result,
    said,
    session_in,
    watched,
)

from dwindle.kernel.events import Usage
from dwindle.ports.process import Captured, Ended
from dwindle.ports.work import NoReport, Report, Trouble
from dwindle.testing.agents import DONE


def concluded(folder: Path, *lines: bytes, end: Ended | None = None, **agent: Any) -> Report:
    session = session_in(folder, **agent)
    watched(session, *lines)
    return session.conclude(end or ended()).report


# --- reports -------------------------------------------------------------------------------------


def file_says(folder: Path, **changed: Any) -> None:
    (folder / "outbox").mkdir()
    (folder / "outbox/report.json").write_text(json.dumps({**DONE, **changed}), "utf-8")


def test_the_schema_comes_before_the_file_and_the_file_before_the_text(tmp_path: Path) -> None:
    file_says(tmp_path, summary="file")
    text = f"All done: {json.dumps({**DONE, 'summary': 'text'})}"
    given = {**DONE, "summary": "schema"}
    found = []
    for step in ("schema", "file", "text"):
        told = result(result=text, **({"structured_output": given} if step == "schema" else {}))
        report = concluded(tmp_path, init(), told)
        found.append(getattr(report, "summary", report))
        if step == "file":
            (tmp_path / "outbox/report.json").unlink()
    assert found == ["schema", "file", "text"]


def test_a_session_that_reports_nothing_has_failed_and_its_words_are_kept(tmp_path: Path) -> None:
    assert concluded(tmp_path, init(), said(), result(result="I did it, trust me.")) == NoReport(
        trouble=Trouble.NO_REPORT, reason="it ended without a report: I did it, trust me."
    )
    assert concluded(tmp_path, init(), said(), result(result="")) == NoReport(
        trouble=Trouble.NO_REPORT, reason="it ended without a report"
    )


def test_a_prompt_that_no_model_saw_is_no_success(tmp_path: Path) -> None:
    told = result(num_turns=0, result="Unknown command: /x")
    assert concluded(tmp_path, init(), told) == NoReport(
        trouble=Trouble.NO_REPORT,
        reason="claude ended without asking a model: Unknown command: /x",
    )


def test_what_the_schema_let_through_is_read_by_us_all_the_same(tmp_path: Path) -> None:
    found = concluded(tmp_path, init(), result(structured_output={"success": True}))
    assert found == NoReport(
        trouble=Trouble.MALFORMED, reason="the report is malformed: summary is missing"
    )
    found = concluded(tmp_path, init(), result(structured_output=["done"]))
    assert found == NoReport(
        trouble=Trouble.MALFORMED, reason="the report is malformed: it is a list, not an object"
    )


def test_a_refusal_that_calls_itself_no_error_is_one(tmp_path: Path) -> None:
    told = result(stop_reason="refusal", result="No.", structured_output=DONE)
    assert concluded(tmp_path, init(), told) == NoReport(
        trouble=Trouble.REFUSED, reason="the model refused: No."
    )


# --- endings that are not its own ----------------------------------------------------------------


def test_at_its_time_limit_nothing_that_it_says_counts(tmp_path: Path) -> None:
    late = ended(None, timed_out=True, seconds=60.2)
    assert concluded(tmp_path, init(), result(structured_output=DONE), end=late) == NoReport(
        trouble=Trouble.TIMED_OUT, reason="it was still at work after 1 min and was ended"
    )


@pytest.mark.parametrize(
    "end",
    [ended(None, signal=signal.SIGTERM), ended(143)],
    ids=["by a signal", "as a shell says it"],
)
def test_what_was_killed_has_not_done_it(tmp_path: Path, end: Ended) -> None:
    assert concluded(tmp_path, init(), result(structured_output=DONE), end=end) == NoReport(
        trouble=Trouble.KILLED, reason="claude was ended by SIGTERM"
    )


def test_a_signal_without_a_name_is_one_too(tmp_path: Path) -> None:
    found = concluded(tmp_path, init(), end=ended(None, signal=99))
    assert found == NoReport(trouble=Trouble.KILLED, reason="claude was ended by signal 99")


def test_one_that_dies_in_the_middle_has_failed(tmp_path: Path) -> None:
    end = ended(1, stderr=Captured(head=b"panic: out of memory\n", size=21))
    found = concluded(tmp_path, init(), said(), b'{"type":"resu', end=end)
    assert found == NoReport(
        trouble=Trouble.FAILED,
        reason="claude ended with exit code 1 and without a result: panic: out of memory",
    )


def test_one_that_refuses_its_command_line_is_of_no_use(tmp_path: Path) -> None:
    said_so = b"error: unknown option '--json-schema'\n"
    end = Ended(exit_code=1, stderr=Captured(head=said_so, size=len(said_so)))
    assert concluded(tmp_path, end=end) == NoReport(
        trouble=Trouble.UNAVAILABLE,
        reason=("claude would not start (exit code 1): error: unknown option '--json-schema'"),
    )
    assert concluded(tmp_path, end=Ended(exit_code=3)) == NoReport(
        trouble=Trouble.UNAVAILABLE,
        reason="claude would not start (exit code 3): it said nothing",
    )


def test_one_that_finds_the_prompt_too_large_says_so_before_it_starts(tmp_path: Path) -> None:
    said_so = b"Error: piped stdin input exceeds 10MB\n"
    end = Ended(exit_code=1, stderr=Captured(head=said_so, size=len(said_so)))
    assert concluded(tmp_path, end=end) == NoReport(
        trouble=Trouble.CONTEXT,
        reason="claude refused the prompt: Error: piped stdin input exceeds 10MB",
    )


def test_garbage_is_not_believed(tmp_path: Path) -> None:
    assert concluded(tmp_path, b"hello", b"{", b"42") == NoReport(
        trouble=Trouble.FAILED,
        reason=(
            "claude never said how it was set up, so that nothing of it is believed; "
            "3 of the lines that it printed are not JSON"
        ),
    )


def test_one_that_says_nothing_at_all_is_not_believed_either(tmp_path: Path) -> None:
    assert concluded(tmp_path, end=Ended(exit_code=0)) == NoReport(
        trouble=Trouble.FAILED,
        reason="claude never said how it was set up, so that nothing of it is believed",
    )


def test_what_could_not_be_started_is_unavailable(tmp_path: Path) -> None:
    assert concluded(tmp_path, end=Ended(error="claude is not found")) == NoReport(
        trouble=Trouble.UNAVAILABLE, reason="claude is not found"
    )
    assert concluded(tmp_path, init(), end=ended(None, error="the log is full")) == NoReport(
        trouble=Trouble.FAILED, reason="the log is full"
    )


# --- usage and secrets ---------------------------------------------------------------------------


def test_what_was_spent_is_told_however_it_ended(tmp_path: Path) -> None:
    models = {"claude-opus-4-8": {"inputTokens": 100, "outputTokens": 20}}
    session = session_in(tmp_path)
    watched(session, init(), result(is_error=True, modelUsage=models, total_cost_usd=0.001))
    assert session.conclude(ended(1)).usage == Usage(tokens=120, usd=0.001, read=100, written=20)
    session = session_in(tmp_path)
    watched(session, init(), said())
    usage = session.conclude(ended(None, signal=9)).usage
    assert (usage.read, usage.cached, usage.estimated) == (100, 50, True)


def test_no_key_gets_into_a_reason_not_even_half_of_one(tmp_path: Path) -> None:
    key = "sk-canary-" + "k" * 80
    ours = {"PATH": "/bin", "ANTHROPIC_API_KEY": key}
    text = "x" * 560 + f" the key {key} is wrong"
    told = result(is_error=True, result=text, api_error_status=401)
    found = concluded(tmp_path, init(), told, end=ended(1), ours=ours)
    assert isinstance(found, NoReport)
    assert "[ANTHROPIC_API_KEY]" in found.reason
    assert "canary" not in found.reason


def test_no_key_gets_into_a_report(tmp_path: Path) -> None:
    ours = {"PATH": "/bin", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-canary"}
    given = {**DONE, "summary": "I found sk-ant-oat01-canary in the environment"}
    report = concluded(tmp_path, init(), result(structured_output=given), ours=ours)
    assert getattr(report, "summary", "") == (
        "I found [CLAUDE_CODE_OAUTH_TOKEN] in the environment"
    )
