"""`dwindle land`: what a run made comes to the person's branch, or nothing is changed at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.surfaces.command import GRAPH_FILE, Ended, dwindle, git, repository, write
from tests.surfaces.small_runs import (
    BRANCH,
    HOPELESS,
    NEVER,
    RUN,
    asked_git,
    completed,
    files_of,
    project,
    ran,
)

from dwindle.adapters.store.disk import DirectoryLock
from dwindle.app.open_run.graph import AGREE_FIRST

pytestmark = pytest.mark.slow
CLEAN = "  `dwindle clean` removes the branch and the work trees of the run\n"


def head(folder: Path, name: str = "HEAD") -> str:
    return asked_git(folder, "rev-parse", name)


def said_of(folder: Path, how: str, branch: str = "main") -> Ended:
    to = head(folder, branch)
    landed = f"landed 1 commit of {BRANCH} on {branch}: {how} to {to}\n"
    return Ended(code=0, out=landed + CLEAN)


def committed(folder: Path, name: str, content: str) -> None:
    write(folder, name, content)
    git(folder, "add", name)
    git(folder, "commit", "--quiet", f"--message={name}")


def test_forward_when_nothing_else_happened(tmp_path: Path) -> None:
    completed(tmp_path)
    assert not (tmp_path / "done").exists()
    assert dwindle(tmp_path, "land") == said_of(tmp_path, "fast-forward")
    assert (head(tmp_path), (tmp_path / "done").read_text()) == (head(tmp_path, BRANCH), "yes")
    again = Ended(code=0, out=f"main has all of {BRANCH} already\n{CLEAN}")
    assert dwindle(tmp_path, "land") == again


def test_a_merge_when_the_person_went_on(tmp_path: Path) -> None:
    completed(tmp_path)
    committed(tmp_path, "notes", "mine\n")
    before = head(tmp_path)
    assert dwindle(tmp_path, "land") == said_of(tmp_path, "merge")
    parents = asked_git(tmp_path, "log", "-1", "--format=%P").split()
    assert parents == [before, head(tmp_path, BRANCH)]
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == [
        "README",
        "check.sh",
        "done",
        "notes",
    ]


def test_onto_another_branch_the_checkout_stays(tmp_path: Path) -> None:
    completed(tmp_path)
    git(tmp_path, "branch", "release")
    before = head(tmp_path)
    assert dwindle(tmp_path, "land", "--onto", "release") == said_of(
        tmp_path, "fast-forward", "release"
    )
    assert (head(tmp_path), (tmp_path / "done").exists()) == (before, False)
    assert dwindle(tmp_path, "land", "--onto", "nope") == Ended(
        code=2,
        err="dwindle: there is no branch named nope\n  --onto says which branch to land on\n",
    )


def test_it_goes_to_the_branch_that_the_run_began_on(tmp_path: Path) -> None:
    completed(tmp_path)
    git(tmp_path, "switch", "--quiet", "--create", "elsewhere")
    before = files_of(tmp_path)
    tried = dwindle(tmp_path, "land", "--squash", "--dry-run", "--json")
    found = json.loads(tried.out)
    assert (found["onto"], found["how"], found["is_done"]) == ("main", "squash", False)
    assert found["next"] == ["nothing was changed; without --dry-run it is done"]
    assert dwindle(tmp_path, "land", "--squash") == said_of(tmp_path, "squash")
    assert files_of(tmp_path) == before
    assert asked_git(tmp_path, "log", "-1", "--format=%B", "main") == (
        f"Make the check pass\n\n- A1: done is written\n\nDwindle-Run: {RUN}"
    )
    assert dwindle(tmp_path).out.splitlines()[0].endswith(": completed, and landed on main")


def test_a_run_that_began_on_no_branch(tmp_path: Path) -> None:
    folder = write(tmp_path, "check.sh", "test -f done\n").parent
    repository(folder)
    git(folder, "checkout", "--quiet", "--detach")
    project(folder, is_made=True)
    ran(folder, 0)
    assert dwindle(folder, "land") == Ended(
        code=2,
        err="dwindle: HEAD is detached: say which branch to land on\n"
        "  for example: dwindle land --onto main\n",
    )
    assert dwindle(folder, "land", "--squash", "--merge") == Ended(
        code=2,
        err="dwindle: --squash makes one commit, --merge keeps them all\n  name one of them\n",
    )
    assert dwindle(folder, "land", "--onto", "main", "--merge") == said_of(folder, "merge")


def test_uncommitted_work_is_not_touched(tmp_path: Path) -> None:
    completed(tmp_path)
    write(tmp_path, "done", "my own\n")
    before = head(tmp_path)
    assert dwindle(tmp_path, "land") == Ended(
        code=2,
        err=f"dwindle: {tmp_path} has uncommitted changes that landing on main would overwrite\n"
        "  done\n"
        "  nothing was changed; commit them, or set them aside:\n"
        "  git stash push --include-untracked -- done\n"
        "  then `dwindle land` again\n",
    )
    assert (head(tmp_path), (tmp_path / "done").read_text()) == (before, "my own\n")


def test_a_conflict_names_its_paths(tmp_path: Path) -> None:
    completed(tmp_path)
    committed(tmp_path, "done", "no\n")
    before = head(tmp_path)
    assert dwindle(tmp_path, "land") == Ended(
        code=2,
        err=f"dwindle: {BRANCH} and main both changed the same lines\n"
        "  done\n"
        "  merge the branch by hand where they differ; nothing was changed\n",
    )
    assert (head(tmp_path), asked_git(tmp_path, "status", "--porcelain", "done")) == (before, "")


def test_a_run_that_is_not_completed(tmp_path: Path) -> None:
    two = HOPELESS + "  - {id: A2, description: Never, depends_on: [A1]}\n"
    script = NEVER.replace(
        "worker:\n",
        "worker:\n  A1:\n    - do: [{write: {done: 'yes'}}]\n"
        "      report: {success: true, summary: s, artifacts: [done]}\n",
    )
    ran(project(tmp_path, two, script), 31)
    refused = dwindle(tmp_path, "land")
    assert (refused.code, refused.out) == (2, "")
    lines = refused.err.splitlines()
    assert lines[0].startswith(f"dwindle: {GRAPH_FILE}: the run is stopped, not completed: A2 has")
    assert lines[1:] == ["  `dwindle run` goes on; --even-if-stopped lands what there is"]
    assert dwindle(tmp_path, "land", "--even-if-stopped") == said_of(tmp_path, "fast-forward")


def test_nothing_to_land(tmp_path: Path) -> None:
    nothing = Ended(
        code=2,
        err="dwindle: there is nothing to land: the run has put nothing on a branch\n"
        "  `dwindle run` does the work; `dwindle status` says how far it has come\n",
    )
    project(tmp_path, HOPELESS, NEVER)
    assert dwindle(tmp_path, "land", "--even-if-stopped") == nothing
    ran(tmp_path, 31)
    assert dwindle(tmp_path, "land", "--even-if-stopped") == nothing


def test_a_runner_has_it(tmp_path: Path) -> None:
    project(tmp_path)
    with DirectoryLock((tmp_path / GRAPH_FILE).parent):
        said = dwindle(tmp_path, "land", "--even-if-stopped")
    assert (said.code, said.out) == (42, "")
    assert said.err.endswith("  the run goes on; land when it has ended\n")


@pytest.mark.parametrize("in_git", [True, False])
def test_no_plan_and_no_repository(tmp_path: Path, in_git: bool) -> None:
    if in_git:
        repository(tmp_path)
        err = f"dwindle: {GRAPH_FILE}: there is no plan yet\n  {AGREE_FIRST}\n"
    else:
        err = (
            f"dwindle: {tmp_path} is not in a git repository; "
            "`git init && git add . && git commit --allow-empty -m 'First'` makes it one\n"
        )
    assert dwindle(tmp_path, "land") == Ended(code=2, err=err)
