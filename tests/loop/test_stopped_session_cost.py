"""Sessions that are ended by a person have cost something, and it counts."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.surfaces.command import PLAIN, dwindle, write
from tests.surfaces.small_runs import journal_of, plan_of, project

pytestmark = pytest.mark.slow

AGENT = """\
echo '{"success": false, "reason": "busy", "usage": {"tokens": 70, "usd": 0.5}}' > "$DWINDLE_REPORT"
sleep 30
"""
USED = {"tokens": 70, "usd": 0.5}


def running(folder: Path) -> subprocess.Popen[bytes]:
    """A run whose agent has said what it used, and sits there."""
    write(folder, ".runner/agent.sh", AGENT)
    words = ("run", "--agent", f"command:sh {folder}/.runner/agent.sh")
    started = subprocess.Popen([sys.executable, "-m", "dwindle", *words], cwd=folder, env=PLAIN)
    until = time.monotonic() + 20
    while not list((folder / ".runner/outbox").glob("**/report.json")):
        assert time.monotonic() < until
        assert started.poll() is None
        time.sleep(0.05)
    return started


def events(folder: Path) -> list[tuple[str, object]]:
    found = [one["event"] for one in journal_of(folder)]
    return [(event["kind"], event.get("usage")) for event in found]


def test_by_a_stop(tmp_path: Path) -> None:
    folder = project(tmp_path / "here")
    started = running(folder)
    assert dwindle(folder, "stop").code == 0
    assert started.wait(20) == 10
    assert ("SessionInterrupted", USED) in events(folder)
    assert (plan_of(folder).spent.tokens, plan_of(folder).spent.usd) == (70, 0.5)
    assert dwindle(folder, "replay").code == 0


def test_by_a_redirect(tmp_path: Path) -> None:
    folder = project(tmp_path / "here")
    started = running(folder)
    assert dwindle(folder, "redirect", "--set", "max_iterations=40", "--yes").code == 0
    at = [kind for kind, _ in events(folder)].index("Redirected")
    assert events(folder)[at + 1] == ("SessionInterrupted", USED)
    assert dwindle(folder, "stop").code == 0
    assert started.wait(20) == 10
    assert plan_of(folder).spent.forgiven == 1  # by the stop alone
    assert plan_of(folder).spent.usd in (0.5, 1.0)
    assert dwindle(folder, "replay").code == 0
