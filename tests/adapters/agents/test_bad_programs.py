"""Programs that are called claude or codex and behave badly: the same story for both.

They are shell scripts, run by the containment that a run would use.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.adapters.agents import claude_lines, codex_lines
from tests.adapters.sandbox.survivors import new_token, put_down, survivors_after

from dwindle.adapters.agents.claude.agent import ClaudeAgent
from dwindle.adapters.agents.codex.agent import CodexAgent
from dwindle.adapters.sandbox import choose
from dwindle.kernel.events import NO_USAGE, Usage
from dwindle.ports.agent import Agent
from dwindle.ports.work import NoReport, Result, Trouble
from dwindle.testing.agents import DONE, DONE_REPORT, ORDER, set_up

pytestmark = pytest.mark.slow

KEY = "sk-canary-0123456789"


@dataclass(frozen=True, slots=True)
class Vendor:
    """How a program of one vendor talks."""

    name: str
    agent: Callable[..., Agent]
    begins: tuple[bytes, ...]
    ends: Callable[[str], tuple[bytes, ...]]
    """A success, with the last words of its model; the counts are 7 tokens read, 3 written."""


def _claude_ends(text: str) -> tuple[bytes, ...]:
    models = {"claude-opus-4-8": {"inputTokens": 7, "outputTokens": 3}}
    return (claude_lines.result(result=text, modelUsage=models, total_cost_usd=77),)


def _codex_ends(text: str) -> tuple[bytes, ...]:
    counts = {"input_tokens": 7, "output_tokens": 3}
    return (codex_lines.said(text), codex_lines.completed(**counts))


VENDORS = (
    Vendor("claude", ClaudeAgent, (claude_lines.init(),), _claude_ends),
    Vendor("codex", CodexAgent, codex_lines.BEGUN, _codex_ends),
)


@pytest.fixture(params=VENDORS, ids=lambda vendor: vendor.name)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    found: Vendor = request.param
    return found


@pytest.fixture
def token() -> Iterator[str]:
    made = new_token()
    yield made
    put_down(made)


def printing(*lines: bytes) -> str:
    """A shell that prints them."""
    return "\n".join(["cat <<'EOT'", *(line.decode() for line in lines), "EOT"])


def played(vendor: Vendor, folder: Path, script: str, seconds: float = 30.0) -> Result:
    program = folder / vendor.name
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o755)
    (folder / "home").mkdir()
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY"), KEY)
    ours = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), **keys}
    order = replace(ORDER, timeout_seconds=seconds)
    place = set_up(folder / "session", order)
    session = vendor.agent(program=str(program), ours=ours).session(order, place)
    ended = asyncio.run(choose().run(session.command, session.watch))
    assert ended.seconds < 15
    return session.conclude(ended)


def trouble(result: Result) -> tuple[Trouble, str]:
    assert isinstance(result.report, NoReport), result
    return result.report.trouble, result.report.reason


def test_one_that_behaves_is_believed(vendor: Vendor, tmp_path: Path) -> None:
    """Else the others would show nothing."""
    done = claude_lines.line(**DONE).decode()
    result = played(vendor, tmp_path, printing(*vendor.begins, *vendor.ends(done)))
    assert (result.report, result.usage.read, result.usage.written) == (DONE_REPORT, 7, 3)


GARBAGE = "head -c 300000 /dev/urandom; echo; echo '{\"success\": true}'"


def test_garbage_is_not_believed(vendor: Vendor, tmp_path: Path) -> None:
    result = played(vendor, tmp_path, GARBAGE)
    what, why = trouble(result)
    assert (what, result.usage) == (Trouble.FAILED, NO_USAGE)
    assert ("nothing of it is believed" in why, "are not JSON" in why) == (True, True)


def test_garbage_between_the_lines_is_stepped_over(vendor: Vendor, tmp_path: Path) -> None:
    done = claude_lines.line(**DONE).decode()
    script = "\n".join((printing(*vendor.begins), GARBAGE, printing(*vendor.ends(done))))
    assert played(vendor, tmp_path, script).report == DONE_REPORT


@pytest.mark.parametrize(
    ("end", "expected", "how"),
    [
        ("kill -9 $$", Trouble.KILLED, "was ended by SIGKILL"),
        ("exit 0", Trouble.FAILED, "ended with exit code 0 and without"),
        ("exit 3", Trouble.FAILED, "ended with exit code 3 and without"),
    ],
)
def test_one_that_dies_in_the_middle_of_a_line_has_failed(
    vendor: Vendor, tmp_path: Path, end: str, expected: Trouble, how: str
) -> None:
    half = vendor.ends(claude_lines.line(**DONE).decode())[-1][:40].decode()
    script = f"{printing(*vendor.begins)}\nprintf '%s' '{half}'\n{end}"
    what, why = trouble(played(vendor, tmp_path, script))
    assert (what, how in why) == (expected, True), why


def test_one_that_does_not_listen_to_sigterm_is_ended_all_the_same(
    vendor: Vendor, tmp_path: Path, token: str
) -> None:
    deaf = (
        f"trap '' TERM INT HUP\n{printing(*vendor.begins)}\n: {token}\nwhile :; do sleep 0.1; done"
    )
    assert trouble(played(vendor, tmp_path, deaf, seconds=1.0)) == (
        Trouble.TIMED_OUT,
        "it was still at work after 1 s and was ended",
    )


@pytest.mark.parametrize("seconds", [1.0, 30.0], ids=["at its time limit", "at its end"])
def test_what_it_leaves_in_sessions_of_their_own_is_ended_with_it(
    vendor: Vendor, tmp_path: Path, token: str, seconds: float
) -> None:
    """As claude runs every command, and so that a kill of its group does not reach them."""
    lasts = f"setsid sh -c 'trap \"\" TERM; sleep 300; : {token}' >/dev/null 2>&1 &"
    done = claude_lines.line(**DONE).decode()
    waits = "sleep 60\n" if seconds < 2 else ""
    script = f"{lasts}\n{printing(*vendor.begins)}\n{waits}{printing(*vendor.ends(done))}"
    result = played(vendor, tmp_path, script, seconds)
    assert (result.report == DONE_REPORT) is (seconds > 2)
    assert survivors_after(token, 2.0) == []


def test_success_without_a_report_is_none(vendor: Vendor, tmp_path: Path) -> None:
    script = printing(*vendor.begins, *vendor.ends("All is well."))
    assert trouble(played(vendor, tmp_path, script)) == (
        Trouble.NO_REPORT,
        "it ended without a report: All is well.",
    )


@pytest.mark.parametrize("number", ["NaN", "-1", "-0.5", "Infinity", "1e400", '"7"', "[]"])
def test_counts_and_prices_that_cannot_be_cost_nothing_but_themselves(
    vendor: Vendor, tmp_path: Path, number: str
) -> None:
    """Where the price is wrong, it is reckoned from what was counted, and marked."""
    done = claude_lines.line(**DONE).decode()
    ends = vendor.ends(done)
    odd = ends[-1].replace(b": 77", f": {number}".encode()).replace(b": 3", b": " + number.encode())
    result = played(vendor, tmp_path, printing(*vendor.begins, *ends[:-1], odd))
    assert result.report == DONE_REPORT
    usage = result.usage
    assert (usage.read, usage.written, usage.tokens) == (7, 0, 7)
    assert 0 <= usage.usd < 1
    assert usage == Usage(tokens=7, read=7, usd=usage.usd, estimated=vendor.name == "claude")


def test_a_key_that_it_knows_is_in_nothing_that_comes_of_it(vendor: Vendor, tmp_path: Path) -> None:
    loud = "\n".join(
        [
            printing(*vendor.begins),
            "echo $ANTHROPIC_API_KEY$CODEX_API_KEY; echo $ANTHROPIC_API_KEY$CODEX_API_KEY >&2",
            "env > $DWINDLE_REPORT",
            "exit 4",
        ]
    )
    result = played(vendor, tmp_path, loud)
    assert trouble(result)[0] is Trouble.FAILED
    assert KEY not in str(result)
