"""A read-only project: said in a sentence, and the session goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.surfaces.command import GRAPH_FILE, PLAIN
from tests.surfaces.host.guest import COORDINATOR, aligned, entered

pytestmark = pytest.mark.slow


Find = Callable[[str], Path]


def frozen(
    bubblewrap: Path, folder: Path, *words: str, said: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """The command in a world that cannot be written to."""
    world = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--chdir", str(folder))
    here = {**PLAIN, "CLAUDE_CODE_SESSION_ID": "the-session", "CLAUDE_PROJECT_DIR": str(folder)}
    return subprocess.run(
        [bubblewrap, *world, sys.executable, "-m", "dwindle", *words],
        cwd=folder,
        env=here,
        input=said,
        capture_output=True,
        check=False,
        timeout=60,
    )


def test_every_verb_says_so(tmp_path: Path, require_tool: Find) -> None:
    guest = aligned(tmp_path)
    before = (tmp_path / GRAPH_FILE).read_bytes()
    ended = frozen(require_tool("bwrap"), tmp_path, "state", "enter")
    said = json.loads(ended.stdout)
    assert (ended.returncode != 0, said["success"]) == (True, False)
    assert "ead-only" in said["error"]
    assert (tmp_path / GRAPH_FILE).read_bytes() == before
    assert guest.state("enter").code == 0


def test_the_hook_leaves_the_session_working(tmp_path: Path, require_tool: Find) -> None:
    entered(tmp_path)
    given = {
        "session_id": "the-session",
        "hook_event_name": "SubagentStop",
        "agent_type": COORDINATOR,
        "agent_id": "c1",
    }
    ended = frozen(require_tool("bwrap"), tmp_path, "hook", said=json.dumps(given).encode())
    assert (ended.returncode, list(json.loads(ended.stdout))) == (0, ["systemMessage"])
