"""What in a checkout is the person's: files that git ignores, settings, refs, the guard itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.adapters.sandbox.survivors import new_token, put_down, survivors
from tests.loop.story import BRANCH, PATIENCE
from tests.loop.tree_story import CHECK, Ending, TreeStory, did, edit, ran, until, works, wrote
from tests.surfaces.command import write

pytestmark = pytest.mark.slow

PASSED = ("0001 node a execute guard=pass",)


def one(folder: Path, *steps: object) -> TreeStory:
    return TreeStory(folder).leaves("a", most=3).node("a", did(*steps))  # type: ignore[arg-type]


def done(*iterations: str, attempts: str = "0/3", **files: str) -> Ending:
    return Ending(
        code=0,
        iterations=iterations,
        tree=("root passes 0/3", f"  a passes {attempts}"),
        files={name.replace("_", "."): text for name, text in files.items()},
    )


# --- ignored files -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["echo > .gitignore", "rm .gitignore", "echo '!.env' >> .gitignore"]
)
def test_a_secret_that_an_agent_brings_to_light_is_not_committed(tmp_path: Path, line: str) -> None:
    story = one(tmp_path, ran(line), wrote(a_txt="a\n"))
    story.having({".gitignore": ".env\n"}).prepared()
    write(story.folder, ".env", "KEY=secret\n")

    ending = story.run()

    assert (ending.code, ending.iterations) == (0, PASSED)
    assert ending.files.keys() <= {"a.txt", ".gitignore"}
    note = "ignored by git when the iteration began, and therefore not committed: .env; "
    note += "the old rules in .gitignore hold again"
    assert story.meta(1)["notes"] == [note]
    assert story.events()[-2]["notes"] == [note]
    assert f"guard=pass is committed: {story.commits()[0][:12]}; note: {note}" in story.said.out
    assert (story.folder / ".env").read_text() == "KEY=secret\n"
    assert (story.folder / ".gitignore").read_text() in (".env\n", "!.env\n.env\n")


# --- the guard -----------------------------------------------------------------------------------


def test_what_the_guard_rests_on_and_does_not_steer_it_is_pointed_out(tmp_path: Path) -> None:
    story = one(tmp_path, ran("echo 'true' > test.py"), wrote(a_txt="a\n"))
    story.having({"justfile": "ci:\n    @grep -q true test.py\n", "test.py": "false\n"})

    ending = story.run()

    assert ending.iterations == PASSED
    note = "files of the guard were changed in this iteration: test.py"
    assert story.meta(1)["notes"] == [note]
    assert f"; note: {note}  [" in story.said.out


def test_a_guard_that_no_commit_has_is_pointed_out(tmp_path: Path) -> None:
    story = one(tmp_path, wrote(a_txt="a\n"))
    story.having({".gitignore": "local.sh\n", "check.sh": f"{CHECK}sh local.sh\n"})
    story.having({"justfile": "ci:\n    @sh local.sh && sh check.sh\n"})
    story.settings("workspace", 'share = ["local.sh"]').prepared()
    write(story.folder, "local.sh", "true\n")

    assert story.run() == done(*PASSED, a_txt="a\n")
    assert story.meta(1)["notes"] == [
        "the guard uses files that git ignores and no commit has: local.sh"
    ]


# --- tools ---------------------------------------------------------------------------------------


def test_a_list_of_tools_reaches_order_and_prompt(tmp_path: Path) -> None:
    story = one(tmp_path, wrote(a_txt="a\n"))
    story.having({".runner/nodes/a/tools.json": '{"allow": ["Read", "Write"]}\n'})

    assert story.run() == done(*PASSED, a_txt="a\n")
    assert json.loads((story.logs(1) / "order.json").read_bytes())["tools"] == ["Read", "Write"]
    assert "allows these tools; use no others:\n<<<\n- Read\n- Write\n>>>" in story.prompt(1)


def test_an_invalid_list_of_tools_ends_the_run_before_a_session(tmp_path: Path) -> None:
    story = one(tmp_path, wrote(a_txt="a\n"))
    story.having({".runner/nodes/a/tools.json": '{"allow": []}\n'})

    ending = story.run()

    assert (ending.code, ending.iterations) == (2, ())
    words = (
        ".runner/nodes/a/tools.json: it allows no tool, and a session without tools can do nothing"
    )
    assert words in story.said.out
    assert '{"allow": ["Read", "Edit"]}' in story.said.out
    assert words in " ".join(story.called("doctor").out.split())
    write(story.folder, ".runner/nodes/a/tools.json", '["Read"]')
    story.git("commit", "--quiet", "--all", "--message=fixed")
    assert story.called("run").code == 0


def test_an_agent_that_leaves_such_a_list_has_its_edit_refused(tmp_path: Path) -> None:
    """And cannot end the run with it."""
    spoil = ran("mkdir -p .runner/nodes/a && echo nonsense > .runner/nodes/a/tools.json")
    story = TreeStory(tmp_path).leaves("a", most=3).node("root", did())
    story.node("a", did(spoil, edit("split('root', 'b')"), wrote(x_txt="x\n")), works("a"))

    assert story.run() == done(
        "0001 node a execute guard=skipped",
        "0002 node root decompose guard=skipped",
        "0003 node a execute guard=pass",
        attempts="1/3",
        a_txt="a\n",
        x_txt="x\n",
    )
    assert not (story.folder / ".runner/nodes/a/tools.json").exists()
    assert (story.logs(1) / "tools.refused.1.json").read_text() == "nonsense\n"
    assert ".runner/nodes/a/tools.json: it is no JSON" in story.prompt(2)


# --- git's own files -----------------------------------------------------------------------------


def while_it_works(story: TreeStory, *words: str) -> int:
    """The person does things in the repository while an agent is at work; how the run ended."""
    token = new_token()
    story.node("a", did(ran(f"while ! test -e go; do sleep 0.05; done; : {token}"), *A_DONE))
    running = story.going(*words)
    try:
        assert until(lambda: survivors(token)), story.log.read_text("utf-8")
        story.git("tag", "mine")
        story.git("branch", "idea")
        story.git("config", "alias.st", "status")
        (story.folder / ".git/hooks/post-commit").write_text("#!/bin/sh\n")
        (story.folder / "go").touch()
        return running.wait(PATIENCE)
    finally:
        running.kill()
        running.wait()
        put_down(token)


A_DONE = (ran("rm go"), wrote(a_txt="a\n"))


def test_what_a_person_does_to_git_while_an_agent_is_in_a_sandbox_stays(tmp_path: Path) -> None:
    story = one(tmp_path)

    assert while_it_works(story) == 0, story.log.read_text("utf-8")
    assert story.iterations() == PASSED
    assert story.meta(1)["failure"] == ""
    assert story.git("tag") == "mine"
    assert "idea" in story.git("branch", "--format=%(refname:short)").splitlines()
    assert story.git("config", "alias.st") == "status"
    assert (story.folder / ".git/hooks/post-commit").exists()


def test_without_a_sandbox_it_is_put_back(tmp_path: Path) -> None:
    story = one(tmp_path)
    story.settings("limits", "max_iterations = 1")

    assert while_it_works(story, "--no-sandbox") == 21, story.log.read_text("utf-8")
    assert story.iterations() == ("0001 node a execute guard=skipped",)
    failure = story.meta(1)["failure"]
    assert "refs/tags/mine was created" in failure
    assert ".git/hooks/post-commit were changed, and put back" in failure
    branches = story.git("branch", "--format=%(refname:short)").splitlines()
    assert (story.git("tag"), branches) == ("", ["main", BRANCH])
    assert "alias" not in (story.folder / ".git/config").read_text()


# --- before anything is changed ------------------------------------------------------------------


def test_hidden_changes_are_refused_before_a_branch_is_made(tmp_path: Path) -> None:
    story = one(tmp_path, wrote(a_txt="a\n")).prepared()
    story.git("update-index", "--skip-worktree", "check.sh")
    write(story.folder, "check.sh", "true\n")

    said = story.called("run")

    assert said.code == 2, said
    assert "check.sh (git was told not to look at it; `git update-index " in said.err
    assert story.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert story.git("symbolic-ref", "HEAD") == "refs/heads/main"


def test_a_branch_in_the_way_is_refused_with_what_to_do(tmp_path: Path) -> None:
    story = one(tmp_path, wrote(a_txt="a\n")).prepared()
    story.git("branch", "runner")

    said = story.called("run")

    assert said.code in (2, 43), said
    assert "there is a branch named runner" in said.err
    assert "`git branch -m runner another-name`" in said.err
    assert story.git("symbolic-ref", "HEAD") == "refs/heads/main"
