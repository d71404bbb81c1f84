"""Where a run happens: odd places, odd settings of git, and a person who goes on working."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.loop.story import BRANCH, PATIENCE, Ending, Story, did, slept, waited_for
from tests.surfaces.command import GRAPH_FILE, dwindle, git, write

pytestmark = pytest.mark.slow

DONE = Ending(
    code=0,
    stop="completed",
    atoms={"A1": "resolved"},
    bindings={"A1": "made a.txt"},
    commits=("A1",),
    files={"a.txt": "a\n"},
)


def simple(folder: Path, *before: dict[str, object], name: str = "my pröject") -> Story:
    return (
        Story(folder, name=name)
        .atom("A1", did({"a.txt": "a\n"}, *before))
        .done_when("test -f a.txt")
    )


@pytest.mark.parametrize(
    "name", ["with  two blanks", "日本語 'quoted'", "-dash", "semi;colon$HOME"]
)
def test_odd_names_of_folders(tmp_path: Path, name: str) -> None:
    assert simple(tmp_path, name=name).run() == DONE


def test_from_a_folder_below(tmp_path: Path) -> None:
    story = simple(tmp_path).having({"src/deep/x.txt": "x\n"}).aligned()

    ended = dwindle(story.folder / "src/deep", "run")

    assert story.ending(ended.code) == DONE


def test_a_detached_head(tmp_path: Path) -> None:
    story = simple(tmp_path).prepared()
    git(story.folder, "checkout", "--quiet", "--detach")

    assert story.run() == DONE


def test_a_checkout_with_work_under_way(tmp_path: Path) -> None:
    """Staged, unstaged and untracked changes stay as they are, and agents do not see them."""
    story = simple(tmp_path, {"run": "test ! -e notes.txt && grep -q project README"}).prepared()
    write(story.folder, "README", "being rewritten\n")
    git(story.folder, "add", "README")
    write(story.folder, "README", "and again\n")
    write(story.folder, "notes.txt", "mine\n")

    assert story.run() == DONE
    assert (story.folder / "README").read_text("utf-8") == "and again\n"


def test_git_has_no_user_name(tmp_path: Path) -> None:
    story = simple(tmp_path).prepared()
    story.aligned()
    ended = story.called("run", GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null")

    assert story.ending(ended.code) == DONE
    assert story.git("log", "-1", "--format=%an <%ae>", BRANCH) != ""


def test_hooks_are_not_run(tmp_path: Path) -> None:
    """A person's hooks may refuse, rewrite or take for ever; our commits are none of theirs."""
    story = simple(tmp_path).prepared()
    for hook in (
        "pre-commit",
        "commit-msg",
        "post-checkout",
        "post-commit",
        "reference-transaction",
    ):
        script = write(
            story.folder, f"../hooks/{hook}", f"#!/bin/sh\ntouch '{tmp_path}/ran'\nexit 1\n"
        )
        script.chmod(0o755)
    git(story.folder, "config", "core.hooksPath", str(tmp_path / "hooks"))

    assert story.run() == DONE
    assert not (tmp_path / "ran").exists()


def test_signing_is_not_asked_for(tmp_path: Path) -> None:
    story = simple(tmp_path).prepared()
    git(story.folder, "config", "commit.gpgsign", "true")
    git(story.folder, "config", "user.signingkey", "nobody")
    git(story.folder, "config", "gpg.program", "false")

    assert story.run() == DONE


def test_the_person_commits_tags_and_branches_meanwhile(tmp_path: Path) -> None:
    """No other atom is charged for it, and nothing of it is lost."""
    story = simple(tmp_path, slept(2)).aligned()
    runner = story.going()
    assert waited_for(lambda: story.sessions() == ["A1"])

    write(story.folder, "mine.txt", "mine\n")
    git(story.folder, "add", "mine.txt")
    git(story.folder, "commit", "--quiet", "--message=mine")
    git(story.folder, "tag", "v1")
    git(story.folder, "branch", "idea")
    git(story.folder, "config", "alias.co", "checkout")
    theirs = story.checkout()

    assert runner.wait(PATIENCE) == 0
    assert story.checkout() == theirs
    plan = story.plan
    assert (str(plan.control.stop_code), plan.trail, plan.spent.sessions) == ("completed", (), 2)


# --- refusals ------------------------------------------------------------------------------------


def test_outside_of_git(tmp_path: Path) -> None:
    said = dwindle(tmp_path, "run", GIT_CEILING_DIRECTORIES=str(tmp_path.parent))

    assert (said.code, said.out) == (2, "")
    assert "git" in said.err
    assert list(tmp_path.iterdir()) == []


def test_on_an_unborn_branch(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    other = simple(tmp_path / "other").aligned()
    write(tmp_path, GRAPH_FILE, _never_aligned(other))
    write(tmp_path, ".runner/config.toml", '[agents]\ncommand = ["true"]\n')

    said = dwindle(tmp_path, "run")

    assert (said.code, "commit" in said.err) == (2, True)
    assert not (tmp_path / ".runner/worktrees").exists()


def _never_aligned(story: Story) -> str:
    """The plan of a story as a user would have written it by hand."""
    text = (story.folder / GRAPH_FILE).read_text("utf-8")
    head, _, rest = text.partition("control:\n")
    return head + "control:\n  status: pending\n" + rest[rest.index("\natoms:") :]


def test_a_plan_that_was_not_aligned_is_pinned_at_its_first_run(tmp_path: Path) -> None:
    other = simple(tmp_path / "other").aligned()
    story = simple(tmp_path).prepared()
    write(story.folder, GRAPH_FILE, _never_aligned(other))

    said = dwindle(story.folder, "run")

    assert (said.code, "pinned at" in said.err) == (0, True)
    plan = story.plan
    assert plan.control.aligned is not None
    assert plan.control.aligned.commit == story.git("rev-parse", "main")


def test_no_plan_at_all(tmp_path: Path) -> None:
    story = simple(tmp_path).prepared()

    said = dwindle(story.folder, "run")

    assert (said.code, "dwindle align" in said.err) == (2, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('goal: "See it through"', 'goal: ""'),
        ('background_intent: "to see it"', 'background_intent: " "'),
        ('definition_of_done: "the checks hold"', 'definition_of_done: ""'),
    ],
)
def test_what_has_not_been_agreed_on_stops_at_the_gate(tmp_path: Path, old: str, new: str) -> None:
    story = simple(tmp_path).aligned()
    plan = story.folder / GRAPH_FILE
    text = plan.read_text("utf-8")
    assert old in text
    plan.write_text(text.replace(old, new), "utf-8")

    said = story.called("run")

    assert said.code == 3
    assert plan.read_text("utf-8") == text.replace(old, new)


def test_a_plan_that_was_edited_is_refused(tmp_path: Path) -> None:
    story = (
        simple(tmp_path)
        .atom("A2", did({"b.txt": "b\n"}), depends_on=["A1"])
        .limits(max_parallel_agents=1)
    )
    assert story.run(command="step").code == 0
    plan = story.folder / GRAPH_FILE
    edited = plan.read_text("utf-8").replace("do A2", "do something else")
    plan.write_text(edited, "utf-8")

    said = story.called("run")

    assert (said.code, "dwindle redirect" in said.err) == (2, True)
    assert plan.read_text("utf-8") == edited
    assert story.sessions() == ["A1"]


def test_a_plan_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    story = simple(tmp_path).aligned()
    plan = story.folder / GRAPH_FILE
    plan.write_text(plan.read_text("utf-8").replace("depends_on: []", "depends_on: [A9]"), "utf-8")

    said = story.called("run")

    assert (said.code, "A9" in said.err) == (2, True)


def test_no_agent_is_configured(tmp_path: Path) -> None:
    story = simple(tmp_path)
    story.config.clear()

    said = story.called("run")

    assert (said.code, "no agent is configured" in said.err) == (2, True)
    assert str(story.plan.control.status) == "pending"


def test_the_settings_are_wrong(tmp_path: Path) -> None:
    story = simple(tmp_path).aligned()
    write(story.folder, ".runner/config.toml", "[agents]\nbackend = 3\nsurprise = true\n")

    said = story.called("run")

    assert (said.code, "surprise" in said.err, "backend" in said.err) == (2, True, True)


@pytest.mark.parametrize("program", ["no-such-agent-anywhere", "/no/such/agent"])
def test_the_agent_is_not_installed(tmp_path: Path, program: str) -> None:
    """No attempt would fare better: nothing begins."""
    story = simple(tmp_path).agent(program)

    said = story.called("run")

    assert (said.code, program in said.err) == (40, True)
    plan = story.plan
    assert (str(plan.control.status), [a.attempts for a in plan.atoms.values()]) == ("pending", [0])


def test_an_agent_of_one_shell_line(tmp_path: Path) -> None:
    """The smallest agent of the documentation."""
    line = 'echo a > a.txt; echo \'{"success": true, "summary": "made a.txt"}\' > "$DWINDLE_REPORT"'
    story = simple(tmp_path).agent("sh", "-c", line)

    assert story.run() == DONE


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    """Said, with the reason, and no traceback."""
    if os.geteuid() == 0:
        story = simple(tmp_path).aligned()
        (story.folder / ".runner/journal").write_text("a file where a folder should be")
    else:
        story = simple(tmp_path).aligned()
        (story.folder / ".runner").chmod(0o555)

    said = story.called("run")

    assert said.code in (2, 43)
    assert "bug" not in said.err
