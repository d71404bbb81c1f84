"""No program inside of the sandbox can talk to the run as a user does: stop it, or redirect it.

The repositories are not under /tmp or HOME, of which a contained program sees nothing anyway.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.loop.story import Story, did, ran

pytestmark = pytest.mark.slow

ASKS = """
import glob, socket
for place in glob.glob(f"{ROOT}/.runner/*.sock"):
    there = socket.socket(socket.AF_UNIX)
    there.settimeout(2)
    try:
        there.connect(place)
        there.sendall(b'{"kind":"StopRequested","reason":"the agent wants it"}\\n')
        print(there.recv(1000))
    except OSError as problem:
        print(problem)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


def asking(folder: Path) -> Story:
    story = Story(folder, "project")
    program = ASKS.replace("{ROOT}", str(story.folder))
    return story.having({"asks.py": program}).done_when("test -f a.txt")


def test_a_worker_cannot(folder: Path) -> None:
    story = asking(folder).atom("A1", did({"a.txt": "a\n"}, ran("/usr/bin/python3 asks.py")))
    assert story.run().code == 0


def test_a_check_cannot(folder: Path) -> None:
    story = asking(folder).atom("A1", did({"a.txt": "a\n"})).done_when("/usr/bin/python3 asks.py")
    assert story.run().code == 0


def test_what_makes_a_tree_ready_cannot(folder: Path) -> None:
    story = asking(folder).atom("A1", did({"a.txt": "a\n"}))
    story.settings("workspace", 'setup = ["/usr/bin/python3", "asks.py"]')
    assert story.run().code == 0
