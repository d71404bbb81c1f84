"""What agents do with git. In the sandbox they cannot; without it they are found out.

Plain commits are fine where an agent can make them: they are folded into ours.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.loop.story import Ending, Entry, Story, did, ran

pytestmark = pytest.mark.slow

ME = "git -c user.name=Eve -c user.email=eve@example.org -c commit.gpgsign=false"
DONE = {"success": True, "summary": "all done, honestly"}


def story_with(folder: Path, *lines: str) -> Story:
    bad: Entry = {"do": [ran("echo x > x.txt"), *map(ran, lines)], "report": DONE}
    return (
        Story(folder)
        .having({"src/code.txt": "code\n"})
        .atom("A1", bad, did({"a.txt": "a\n"}))
        .done_when("test -f a.txt || test -f x.txt")
    )


def good_in_the_end(trail: str, kept: tuple[str, ...] = ("A1/1",)) -> Ending:
    return Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved"},
        bindings={"A1": "made a.txt"},
        trail=(trail,),
        commits=("A1",),
        kept=kept,
        files={"a.txt": "a\n"},
    )


@pytest.mark.parametrize(
    "line",
    [
        f"git checkout -q --orphan fresh && {ME} commit -qm new",
        f"git add --all && {ME} commit -qm mine",
        "git update-ref refs/heads/main HEAD",
        "git branch mine",
        "git tag v9",
        "git update-ref -d refs/heads/main",
        "git config user.name Eve",
        "git symbolic-ref HEAD refs/heads/main",
    ],
)
def test_in_the_sandbox_the_repository_cannot_be_written_to(tmp_path: Path, line: str) -> None:
    story = story_with(tmp_path, line)

    ending = story.run()

    assert ending == good_in_the_end(ending.trail[0])
    assert ending.trail[0].startswith("failure A1: it ended with exit code ")
    assert "ead-only file system" in ending.trail[0]
    assert story.kept_files("A1/1") == {"x.txt": "x\n"}


def test_without_a_sandbox_plain_commits_become_ours(tmp_path: Path) -> None:
    story = story_with(tmp_path, "git add --all", f"{ME} commit -qm one", "echo y > y.txt")

    assert story.run("--no-sandbox") == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved"},
        bindings={"A1": "all done, honestly"},
        commits=("A1",),
        files={"x.txt": "x\n", "y.txt": "y\n"},
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            f"git checkout -q --orphan fresh && {ME} commit -qam new",
            "HEAD was attached to refs/heads/fresh",
        ),
        (
            f"{ME} commit -q --amend --allow-empty -m mine",
            "history was rewritten: HEAD does not descend from ",
        ),
        ("git symbolic-ref HEAD refs/heads/elsewhere", "HEAD was attached to refs/heads/elsewhere"),
        ("git branch mine", "refs/heads/mine"),
        ("git tag v9", "refs/tags/v9"),
        ("git config user.name Eve", "the configuration of the repository was changed"),
    ],
)
def test_without_a_sandbox_it_is_found_out(tmp_path: Path, line: str, reason: str) -> None:
    story = story_with(tmp_path, line).aligned()
    ended = story.called("run", "--no-sandbox")

    plan = story.plan
    assert (ended.code, [str(a.status) for a in plan.atoms.values()]) == (0, ["resolved"])
    assert [entry.atom for entry in plan.trail] == ["A1"]
    assert reason in plan.trail[0].reason
    assert [atom for atom, _ in story.commits()] == ["A1"]
    assert "NO SANDBOX" in ended.err
