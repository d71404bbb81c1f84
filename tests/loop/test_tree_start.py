"""Where a run of a tree may begin and where not, and who else may be in the checkout."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.sandbox.survivors import new_token, put_down, survivors
from tests.loop.story import BRANCH, PATIENCE, RUN
from tests.loop.tree_story import (
    PATH,
    Ending,
    TreeStory,
    did,
    ran,
    splits,
    until,
    works,
    wrote,
)
from tests.surfaces.command import dwindle, write

from dwindle.app import run_tree as tree_running
from dwindle.app.run import RunRequest
from dwindle.kernel.events import Event, IterationCommitted
from dwindle.kernel.model import Plan
from dwindle.views.terminal.progress import Progress

pytestmark = pytest.mark.slow


@pytest.fixture
def token() -> Iterator[str]:
    made = new_token()
    yield made
    put_down(made)


def two(folder: Path, **more: Any) -> TreeStory:
    story = TreeStory(folder).leaves("a", "b")
    for name in ("a", "b"):
        story.node(name, {**works(name), **more})
    return story


ONE_DONE = Ending(
    code=0,
    iterations=("0001 node a execute guard=pass",),
    tree=("root open 0/3", "  a passes 0/2", "  b open 0/2"),
    files={"a.txt": "a\n"},
)
BOTH_DONE = Ending(
    code=0,
    iterations=("0001 node a execute guard=pass", "0002 node b execute guard=pass"),
    tree=("root passes 0/3", "  a passes 0/2", "  b passes 0/2"),
    files={"a.txt": "a\n", "b.txt": "b\n"},
)


# --- before anything starts ----------------------------------------------------------------------


def everything(story: TreeStory) -> object:
    """What a refusal must not have changed."""
    files = sorted(str(path) for path in story.folder.rglob("*"))
    ours = [f for f in files if "/.git/" not in f or f.endswith(("HEAD", "index", "config"))]
    refs = story.git("for-each-ref", "--format=%(refname) %(objectname)")
    head = story.git("symbolic-ref", "HEAD")
    return (ours, refs, head, story.git("status", "--porcelain"), story.tree)


def without_just(folder: Path) -> str:
    """A PATH with everything that is needed but `just`."""
    tools = folder / "tools"
    tools.mkdir()
    for place in reversed(PATH.split(":")):
        for found in Path(place).glob("*") if Path(place).is_dir() else ():
            if found.name != "just":
                link = tools / found.name
                link.unlink(missing_ok=True)
                link.symlink_to(found)
    return str(tools)


@pytest.mark.parametrize("lack", ["no just", "no justfile", "no recipe"])
def test_without_a_guard_no_agent_is_started(tmp_path: Path, lack: str) -> None:
    story = two(tmp_path)
    surroundings: dict[str, str] = {}
    if lack == "no just":
        surroundings["PATH"] = without_just(tmp_path)
    elif lack == "no justfile":
        del story.files["justfile"]
    else:
        story.having({"justfile": "test:\n    true\n"})
    before = everything(story.prepared())

    said = story.called("run", "--run-id", RUN, **surroundings)

    assert said.code == 40, said
    assert said.err.startswith("dwindle: the guard `just ci` cannot run: ")
    assert everything(story) == before


def test_an_agent_writes_the_guard_where_the_user_lets_it(tmp_path: Path) -> None:
    story = two(tmp_path).settings("guard", 'deliverables = ["justfile"]')
    recipe = story.files.pop("justfile")
    story.node("a", did(wrote(justfile=recipe, a_txt="a\n")))

    assert story.run() == replace(BOTH_DONE, files={**BOTH_DONE.files, "justfile": recipe})


def test_without_an_agent_program_nothing_is_charged(tmp_path: Path) -> None:
    story = two(tmp_path).agent("no-such-agent")

    said = story.run()

    assert (said.code, said.iterations) == (40, ())
    assert said.tree == ("root open 0/3", "  a open 0/2", "  b open 0/2")


def test_a_guard_of_ones_own(tmp_path: Path) -> None:
    story = two(tmp_path).settings("guard", 'command = "test -e a.txt"')
    del story.files["justfile"]

    assert story.run() == BOTH_DONE


def test_dirt_is_refused_and_nothing_is_changed(tmp_path: Path) -> None:
    story = two(tmp_path).prepared()
    (story.folder / "mine.txt").write_text("not yet committed\n", "utf-8")
    before = everything(story)

    said = story.called("run", "--run-id", RUN)

    assert (said.code, "mine.txt" in said.err, "not clean" in said.err) == (2, True, True), said
    assert everything(story) == before


def test_a_tree_that_is_not_valid_is_refused_and_nothing_is_changed(tmp_path: Path) -> None:
    story = two(tmp_path).prepared()
    (story.folder / ".runner/tree.json").write_text("{}\n", "utf-8")
    story.git("commit", "--quiet", "--all", "--message=broken")
    before = everything(story)

    said = story.called("run", "--run-id", RUN)

    assert said.code == 2, said
    assert everything(story) == before


def test_a_tree_that_is_done_is_no_beginning_of_a_run(tmp_path: Path) -> None:
    story = two(tmp_path)
    assert story.run() == BOTH_DONE
    story.git("switch", "--quiet", "main")
    story.git("merge", "--quiet", BRANCH)
    before = everything(story)

    said = story.called("run")

    assert (said.code, "every node of the tree has passed already" in said.err) == (2, True), said
    assert everything(story) == before


def test_a_tree_that_git_ignores_is_refused(tmp_path: Path) -> None:
    """Nothing of it would be on the branch, and a kill would lose it."""
    story = two(tmp_path).having({".gitignore": ".runner/\n"}).prepared()
    before = everything(story)

    said = story.called("run", "--run-id", RUN)

    assert (said.code, "git ignores the tree" in said.err) == (2, True), said
    assert everything(story) == before


def test_here_stays_on_a_branch_but_not_on_main(tmp_path: Path) -> None:
    story = two(tmp_path).prepared()
    before = everything(story)

    refused = story.called("run", "--here", "--run-id", RUN)

    assert (refused.code, "main" in refused.err) == (2, True)
    assert everything(story) == before
    story.git("switch", "--quiet", "--create", "feature/x")
    said = story.called("run", "--here", "--run-id", RUN)
    assert (said.code, "new branch" in said.err) == (0, False)
    assert story.ending(0, branch="feature/x") == BOTH_DONE


def test_a_new_branch_is_said(tmp_path: Path) -> None:
    story = two(tmp_path).prepared()

    said = story.called("run")

    branch = story.git("rev-parse", "--abbrev-ref", "HEAD")
    assert (said.code, said.err) == (0, f"dwindle: on the new branch {branch}\n")
    assert branch.startswith("runner/01")
    assert len(branch) == len(BRANCH)


def test_step_does_one_iteration(tmp_path: Path) -> None:
    story = two(tmp_path)

    assert story.run(command="step") == ONE_DONE
    assert story.run(command="step") == BOTH_DONE
    assert story.run(command="step") == BOTH_DONE  # nothing is left to do


def test_a_second_runner_is_turned_away(tmp_path: Path, token: str) -> None:
    story = two(tmp_path)
    story.node("a", did(ran(f"sh -c 'while :; do sleep 0.1; done' {token}")))
    runner = story.going()
    try:
        assert until(lambda: survivors(token)), story.log.read_text("utf-8")

        assert [story.called(word).code for word in ("run", "step")] == [42, 42]
        assert survivors(token), "the first was disturbed"
    finally:
        runner.terminate()
        runner.wait(PATIENCE)
    assert story.ending(10) == Ending(
        code=10, iterations=(), tree=("root open 0/3", "  a open 0/2", "  b open 0/2")
    )


def test_a_person_may_change_the_tree_between_runs(tmp_path: Path) -> None:
    """They commit it like anything else."""
    story = two(tmp_path)
    story.run(command="step")
    story.node("c", works("c")).played()
    subprocess.run(["python3", "tools/edit.py", "split('root', 'c')"], cwd=story.folder, check=True)
    assert story.called("run").code == 2  # not before it is committed
    story.git("commit", "--quiet", "--all", "--message=chore(loop): a person's own words")

    said = story.called("run")

    assert said.code == 0, said
    assert story.git("log", "-2", "--format=%s").splitlines() == [
        f"chore(loop): run {RUN} iter 0003 node b execute guard=pass",
        f"chore(loop): run {RUN} iter 0002 node c execute guard=pass",
    ]


def test_what_a_person_commits_after_a_run_that_ended_at_once_is_theirs(tmp_path: Path) -> None:
    """No agent was at work, so there is nothing to go back from."""
    story = two(tmp_path).settings("limits", "max_iterations = 1")
    assert (story.run().code, story.run().code) == (21, 21)
    justfile = story.folder / "justfile"
    justfile.rename(story.folder / "Justfile.off")
    story.git("add", "--all")
    story.git("commit", "--quiet", "--message=no guard")
    assert story.called("run").code == 40
    (story.folder / "Justfile.off").rename(justfile)
    assert story.called("run").code == 2  # not before it is committed
    config = story.folder / ".runner/config.toml"
    config.write_text(
        config.read_text("utf-8").replace("iterations = 1", "iterations = 2"), "utf-8"
    )
    story.git("add", "--all")
    story.git("commit", "--quiet", "--message=a guard, and one iteration more")

    said = story.called("run")

    assert (said.code, story.kept()) == (0, {}), said
    assert story.git("log", "--reverse", "--format=%s", "main..").splitlines() == [
        f"chore(loop): run {RUN} iter 0001 node a execute guard=pass",
        "no guard",
        "a guard, and one iteration more",
        f"chore(loop): run {RUN} iter 0002 node b execute guard=pass",
    ]


def test_a_clone_goes_on_from_the_branch(tmp_path: Path) -> None:
    story = TreeStory(tmp_path).leaves("a", "b", "c").settings("limits", "max_iterations = 3")
    story.run(command="step")
    clone = TreeStory(tmp_path / "clone", story.folder.name)
    clone.folder.parent.mkdir()
    shutil.copy(tmp_path / "script.json", clone.folder.parent)
    story.git("clone", "--quiet", "--branch", BRANCH, ".", str(clone.folder))
    clone.git("branch", "--quiet", "main", "origin/main")
    clone.git("remote", "remove", "origin")
    clone.files = story.files

    ended = clone.run()

    assert ended.iterations == tuple(
        f"{n:04} node {name} execute guard=pass" for n, name in enumerate("abc", start=1)
    )
    assert (ended.code, ended.tree[0]) == (0, "root passes 0/3")


def test_the_guard_is_not_asked_in_vain(tmp_path: Path) -> None:
    """A checkout that needs seconds for its guard is not guarded after planning."""
    story = TreeStory(tmp_path).having({"check.sh": "sleep 30\n"}).node("root", splits("root", "a"))

    began = time.monotonic()
    assert story.run(command="step").iterations == ("0001 node root decompose guard=skipped",)
    assert time.monotonic() - began < 20


# --- other people, meanwhile ---------------------------------------------------------------------


class Meddling(Progress):
    """A user who changes the checkout as soon as an iteration is on the branch."""

    def __init__(self, deed: Callable[[], object]) -> None:
        super().__init__()
        self.deed = deed

    def on_event(self, plan: Plan, event: Event) -> None:
        del plan
        if isinstance(event, IterationCommitted):
            self.deed()


def ended_by(story: TreeStory, deed: Callable[[], object]) -> tuple[str, str]:
    request = RunRequest(run_id=RUN, sandbox=False)
    halted = asyncio.run(tree_running.run(story.folder, request, Meddling(deed)))
    assert halted.stop is not None
    return str(halted.stop.code), halted.stop.reason


def test_what_a_user_writes_is_not_taken_for_an_agents_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", PATH)
    story = two(tmp_path).prepared()
    mine = story.folder / "mine.txt"

    code, reason = ended_by(story, lambda: mine.write_text("mine\n", "utf-8"))

    assert (code, "?? mine.txt" in reason) == ("tampered", True)
    assert mine.read_text("utf-8") == "mine\n"
    assert story.iterations() == ONE_DONE.iterations
    mine.unlink()
    assert story.run() == BOTH_DONE


def test_another_branch_is_checked_out_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", PATH)
    story = two(tmp_path).prepared()

    code, reason = ended_by(story, lambda: story.git("switch", "--quiet", "main"))

    assert (code, "not on" in reason) == ("io_error", True)
    assert story.iterations() == ONE_DONE.iterations
    story.git("switch", "--quiet", BRANCH)
    assert story.run() == BOTH_DONE


def test_what_an_agent_left_when_git_failed_is_set_aside_by_the_next_run(tmp_path: Path) -> None:
    """Git says no when the agent has ended, and before anything of it is judged."""
    story = two(tmp_path)
    fails = 'case " $* " in *" status "*) test ! -e a.txt || exit 128 ;; esac'
    write(tmp_path, "bin/git", f'#!/bin/sh\n{fails}\nPATH="{PATH}" exec git "$@"\n')
    (tmp_path / "bin/git").chmod(0o755)

    said = story.prepared().called("run", "--run-id", RUN, PATH=f"{tmp_path / 'bin'}:{PATH}")

    assert (said.code, story.git("status", "--porcelain")) == (43, "?? a.txt"), said
    assert story.run() == replace(BOTH_DONE, kept=("unfinished",))
    assert story.kept_files("unfinished") == {"a.txt": "a\n"}


def test_a_log_that_cannot_be_written_ends_the_run_and_costs_nothing(tmp_path: Path) -> None:
    story = two(tmp_path).prepared()
    in_the_way = write(story.folder, f".runner/iterations/{RUN}", "no folder")
    story.git("config", "core.excludesFile", str(write(tmp_path, "ignored", ".runner/iterations")))

    said = story.called("run", "--run-id", RUN)

    assert (said.code, f"{RUN}/0001: could not write: Not a directory" in said.err) == (43, True)
    in_the_way.unlink()
    assert story.run() == BOTH_DONE


def test_a_tree_that_was_removed_from_a_linked_work_tree_is_still_that_of_a_run(
    tmp_path: Path,
) -> None:
    story = two(tmp_path)
    story.run(command="step")
    story.git("switch", "--quiet", "main")
    linked = tmp_path / "linked"
    story.git("worktree", "add", "--quiet", str(linked), BRANCH)
    (linked / ".runner/tree.json").unlink()

    said = dwindle(linked, "run", **story.surroundings)

    assert (said.code, " D .runner/tree.json" in said.err) == (2, True), said
