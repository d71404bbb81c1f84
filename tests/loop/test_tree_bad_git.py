"""What agents do with git on a tree, without a sandbox; with one they cannot.

Plain commits are fine: they are folded into ours. Anything else is put back, and the session has
failed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.loop.story import BRANCH
from tests.loop.tree_story import Ending, TreeStory, did, edit, ran, works, wrote

pytestmark = pytest.mark.slow

ME = "git -c user.name=Eve -c user.email=eve@example.org -c commit.gpgsign=false"


def one(folder: Path, *lines: str) -> TreeStory:
    bad = did(wrote(x_txt="x\n"), *map(ran, lines))
    return TreeStory(folder).leaves("a", most=3).node("a", bad, works("a"))


def good_in_the_end(first: str, attempts: int, **files: str) -> Ending:
    return Ending(
        code=0,
        iterations=(first, "0002 node a execute guard=pass")[: 1 if attempts == 1 else 2],
        tree=("root passes 0/3", f"  a passes {attempts - 1}/3"),
        files={name.replace("_", "."): text for name, text in files.items()},
    )


FAILED = "0001 node a execute guard=skipped"
FIXED = good_in_the_end(FAILED, 2, x_txt="x\n", a_txt="a\n")


@pytest.mark.parametrize(
    "line",
    [
        f"git add --all && {ME} commit -qm mine",
        "git update-ref refs/heads/main HEAD^{tree}",
        "git branch mine",
        "git symbolic-ref HEAD refs/heads/main",
        "git stash -u",
        "rm .git/index",
    ],
)
def test_in_the_sandbox_the_repository_cannot_be_written_to(tmp_path: Path, line: str) -> None:
    story = one(tmp_path, line)

    assert story.run() == FIXED
    assert "it ended with exit code " in story.meta(1)["failure"]


def test_without_a_sandbox_plain_commits_become_ours(tmp_path: Path) -> None:
    story = one(
        tmp_path,
        f"git add --all && {ME} commit -qm one",
        f"echo y > y.txt && git add y.txt && {ME} commit -qm two",
        "echo z > z.txt",
    )
    files = {"x_txt": "x\n", "y_txt": "y\n", "z_txt": "z\n"}

    passed = good_in_the_end("0001 node a execute guard=pass", 1, **files)
    assert story.run("--no-sandbox") == passed
    assert story.git("log", "--format=%an", "-1") == "Ada"


def test_a_commit_of_its_own_may_change_the_tree(tmp_path: Path) -> None:
    """It is judged like an edit that was not committed."""
    code = edit("node('a')['passes'] = True")
    commit = ran(f"git add --all && {ME} commit -qm cheat")
    story = TreeStory(tmp_path).leaves("a", most=3).node("root", did())
    story.node("a", did(wrote(x_txt="x\n"), code, commit), works("a"))

    assert story.run("--no-sandbox") == Ending(
        code=0,
        iterations=(
            FAILED,
            "0002 node root decompose guard=skipped",
            "0003 node a execute guard=pass",
        ),
        tree=("root passes 0/3", "  a passes 1/3"),
        files={"x.txt": "x\n", "a.txt": "a\n"},
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"{ME} commit -q --amend --allow-empty -m mine", "history was rewritten"),
        (
            f"git checkout -q --orphan fresh && {ME} commit -qam new",
            "HEAD was attached to refs/heads/fresh",
        ),
        ("git switch -q main", "HEAD was attached to refs/heads/main"),
        ("git switch -q --detach", "HEAD was detached at "),
        ("git symbolic-ref HEAD refs/heads/nowhere", "HEAD was attached to refs/heads/nowhere"),
        ("echo nonsense > .git/HEAD", "HEAD was "),
        (f"git update-ref -d refs/heads/{BRANCH}", "was removed, and was put back"),
        ("git branch mine", "refs/heads/mine"),
        ("git tag v9", "refs/tags/v9"),
        (f"git add x.txt && {ME} commit -qm x && git branch -f main", "refs/heads/main"),
        ("git config user.name Eve", ".git/config was changed"),
        ("printf '#!/bin/sh\\ntouch hooked' > .git/hooks/post-commit", "hook"),
    ],
)
def test_without_a_sandbox_it_is_put_back(tmp_path: Path, line: str, reason: str) -> None:
    """`ending` looks at the branches, the tags and HEAD."""
    story = one(tmp_path, line).prepared()
    before = (story.git("rev-parse", "main"), (story.folder / ".git/config").read_bytes())

    ended = story.run("--no-sandbox")

    assert Ending(**{**vars(ended), "kept": ()}) == FIXED, story.said
    assert reason in story.meta(1)["failure"]
    assert (story.git("rev-parse", "main"), (story.folder / ".git/config").read_bytes()) == before
    assert not (story.folder / "hooked").exists()


def test_hooks_of_the_person_are_not_run_by_us(tmp_path: Path) -> None:
    story = one(tmp_path).prepared()
    for name in ("pre-commit", "post-commit", "commit-msg", "reference-transaction"):
        hook = story.folder / ".git/hooks" / name
        hook.write_text("#!/bin/sh\ntouch hooked\nexit 1\n", "utf-8")
        hook.chmod(0o755)

    assert story.run() == good_in_the_end("0001 node a execute guard=pass", 1, x_txt="x\n")
    assert not (story.folder / "hooked").exists()


def test_special_files_are_taken_in_or_put_away(tmp_path: Path) -> None:
    """A pipe, a link out of the tree, an inner repository, names that are hard to write."""
    line = 'mkfifo pipe; ln -s /etc out; printf x > "$(printf \'a\\nb \\"c\')"; mkdir -p in/ner'
    story = one(tmp_path, line, "cd in/ner && git init -q . && echo i > i.txt")

    ended = story.run()

    told_first = ("0001 node a execute guard=pass", "0002 node a execute guard=pass")
    assert (ended.code, ended.iterations) == (0, told_first)
    assert (ended.files["x.txt"], ended.files["in/ner/i.txt"]) == ("x\n", "i\n")
    assert ended.files.keys().isdisjoint({"out", "pipe"})
