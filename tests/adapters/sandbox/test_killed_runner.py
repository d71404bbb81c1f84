"""What is left of a program when its runner is killed with a signal that nobody can catch."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.adapters.sandbox.survivors import ADVERSARIES, survivors, survivors_after

from dwindle.ports.process import Containment, Strength

pytestmark = pytest.mark.slow

CHILD = Path(__file__).with_name("runner_child.py")
KINDS = 12
SYSTEM_PYTHON = Path("/usr/bin/python3")
"""The one that runs the tests may lie in a folder that nobody else may enter."""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Where anybody may look: pytest's own folders are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        script = Path(shutil.copy(ADVERSARIES / "escaper.py", name))
        script.chmod(0o644)
        yield Path(name)


def start(kind: str, who: str, folder: Path, token: str) -> subprocess.Popen[bytes]:
    python = str(SYSTEM_PYTHON) if SYSTEM_PYTHON.exists() else sys.executable
    program = (python, "-S", str(folder / "escaper.py"), token, "stay")
    return subprocess.Popen(
        (sys.executable, str(CHILD), kind, who, str(folder), *program),
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONPATH": "src"},
    )


@pytest.mark.parametrize(
    ("kind", "who"),
    [
        ("bubblewrap", "self"),
        ("bubblewrap", "nobody"),
        ("unshare", "self"),
        ("unshare", "nobody"),
        ("subreaper", "self"),
    ],
)
def test_nothing_outlives_a_killed_runner(
    kind: str,
    who: str,
    named: Callable[[str], Containment],
    open_folder: Path,
    token: str,
) -> None:
    """Only root can become nobody; whoever runs the tests without being root is nobody enough."""
    limit = 1.0 if named(kind).strength is Strength.STRONG else 4.0
    who = who if os.geteuid() == 0 else "self"
    with start(kind, who, open_folder, token) as runner:
        assert runner.stdout is not None
        try:
            assert runner.stdout.readline() == b"starting\n"
            assert runner.stdout.readline() == b"ready\n"
            seen = len(survivors(token))
        finally:
            began = time.monotonic()
            runner.send_signal(signal.SIGKILL)
        left = survivors_after(token, limit)
        seconds = time.monotonic() - began
    assert left == []
    assert seconds < limit
    assert seen >= KINDS


@pytest.mark.parametrize("kind", ["bubblewrap", "unshare", "subreaper"])
def test_nothing_outlives_a_runner_that_is_killed_while_it_starts_a_program(
    kind: str, named: Callable[[str], Containment], open_folder: Path, token: str
) -> None:
    """The links of the chain are tied one after the other; the program must not begin before."""
    limit = 1.0 if named(kind).strength is Strength.STRONG else 4.0
    began = 0
    for step in range(15):
        with start(kind, "self", open_folder, token) as runner:
            assert runner.stdout is not None
            assert runner.stdout.readline() == b"starting\n"
            time.sleep(step / 1000)
            began += bool(survivors(token))
            runner.send_signal(signal.SIGKILL)
        assert survivors_after(token, limit) == []
    assert began > 0
