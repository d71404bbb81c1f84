"""A run that cannot make its socket is reached by the flags of its plan file."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.loop.story import PATIENCE, Story, did, slept, waited_for

pytestmark = pytest.mark.slow


@contextmanager
def unheard(tmp_path: Path) -> Iterator[tuple[Story, subprocess.Popen[bytes]]]:
    """Its one agent hangs, and something is in the way of the socket."""
    story = Story(tmp_path).atom("A1", did({}, slept(60))).done_when("test -f A1.txt").aligned()
    (story.folder / ".runner/control.sock/full").mkdir(parents=True)
    runner = story.going()
    try:
        assert waited_for(lambda: story.sessions() == ["A1"]), story.log.read_text("utf-8")
        yield story, runner
    finally:
        runner.kill()
        runner.wait()


def test_it_says_so_and_is_stopped(tmp_path: Path) -> None:
    with unheard(tmp_path) as (story, runner):
        said = story.called("stop", "--reason", "enough")
        assert (said.code, said.out) == (0, "stopped; `dwindle run` goes on from here\n")
        assert runner.wait(PATIENCE) == 10
    assert story.plan.control.stop_reason == "enough"
    assert "no socket could be made" in story.log.read_text("utf-8")


def test_it_is_redirected_once_it_has_come_to_rest(tmp_path: Path) -> None:
    with unheard(tmp_path) as (story, runner):
        said = story.called("redirect", "--set=max_iterations=7", "--yes")
        assert (said.code, said.out.splitlines()[-1]) == (
            0,
            "redirected; `dwindle run` continues from here",
        )
        assert runner.wait(PATIENCE) == 10
    assert (story.plan.limits.max_iterations, story.plan.spent.redirects) == (7, 1)
