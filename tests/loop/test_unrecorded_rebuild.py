"""A runner dies after it took work off the branch, and before it wrote down why."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.loop.story import RUN, Story, did

from dwindle.adapters.git.worktrees.workspace import GitWorkspace
from dwindle.kernel.model import AtomId

pytestmark = pytest.mark.slow


async def taken_off(story: Story, *atoms: str) -> None:
    """What a redirect does to the branch just before its event is durable."""
    aligned = story.plan.control.aligned
    assert aligned is not None
    workspace = await GitWorkspace.open(story.folder, run=RUN, aligned=aligned.commit)
    await workspace.rebuild([AtomId(atom) for atom in atoms])
    workspace.close()


def test_what_is_resolved_is_on_the_branch(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(max_parallel_agents=1)
        .atom("A1", did({"a.txt": "a\n"}))
        .atom("A2", did({"b.txt": "b\n"}), depends_on=["A1"])
        .done_when("test -f b.txt")
    )
    assert story.run(command="step").commits == ("A1",)
    asyncio.run(taken_off(story, "A1"))

    ended = story.run()

    assert (ended.code, ended.commits) == (0, ("A1", "A2"))
    assert ended.files == {"a.txt": "a\n", "b.txt": "b\n"}
    assert story.sessions() == ["A1", "A2"]
