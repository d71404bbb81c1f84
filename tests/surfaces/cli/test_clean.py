"""`dwindle clean`: what landed goes, what did not stays, and nothing goes while a run goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.docs.test_commands_page import keys, table
from tests.surfaces.command import GRAPH_FILE, Ended, dwindle, git
from tests.surfaces.small_runs import (
    BRANCH,
    CERTIFICATE,
    HOPELESS,
    JOURNAL,
    NEVER,
    RUN,
    asked_git,
    completed,
    project,
    ran,
)

from dwindle.adapters.store.disk import DirectoryLock

pytestmark = pytest.mark.slow

OLD = 10 * 86_400


def refs(folder: Path) -> list[str]:
    return asked_git(folder, "for-each-ref", "--format=%(refname)").split()


def grow_old(folder: Path) -> None:
    for path in (*(folder / ".runner").rglob("*"),):
        facts = path.lstat()
        os.utime(path, (facts.st_atime - OLD, facts.st_mtime - OLD), follow_symlinks=False)


def test_the_logs_of_a_planner_are_no_run(tmp_path: Path) -> None:
    completed(tmp_path)
    (tmp_path / ".runner/iterations/planning/0001").mkdir(parents=True)
    kept = json.loads(dwindle(tmp_path, "clean", "--json").out)["kept"]
    assert [one["run"] for one in kept] == [RUN]


def test_after_a_squash(tmp_path: Path) -> None:
    completed(tmp_path)
    before = refs(tmp_path)
    assert dwindle(tmp_path, "clean").out.splitlines()[:2] == [
        f"{RUN}: kept",
        "    not landed: `dwindle land` brings it to your branch; --unlanded removes it",
    ]
    assert refs(tmp_path) == before
    assert dwindle(tmp_path, "land", "--squash").code == 0
    landed = refs(tmp_path)
    grow_old(tmp_path)
    tried = json.loads(dwindle(tmp_path, "clean", "--days", "7", "--dry-run", "--json").out)
    assert refs(tmp_path) == landed
    done = json.loads(dwindle(tmp_path, "clean", "--days", "7", "--json").out)
    assert done == tried | {"is_done": True}
    (run,) = done["runs"]
    assert run == run | {"run": RUN, "why": "landed on main", "attempts": 1, "trees": 1}
    assert run["logs"] > 0
    documented = table("`clean --json`")
    assert sorted({*keys(done)} | {"kept[].run", "kept[].why"}) == sorted([*documented, "kept[]"])
    assert refs(tmp_path) == [f"refs/dwindle/landed/{RUN}", "refs/heads/main"]
    assert asked_git(tmp_path, "worktree", "list").count("\n") == 0
    logs = {path.name for path in (tmp_path / CERTIFICATE).parent.iterdir()}
    assert logs == {"certificate.json", "certificate.txt"}
    assert (tmp_path / JOURNAL).is_file()
    assert dwindle(tmp_path, "clean") == Ended(code=0, out="there is nothing to remove\n")
    assert "A1 Write done  1 file, +1 -0" in dwindle(tmp_path, "diff", "--stat").out
    assert dwindle(tmp_path, "verify").code == 0
    assert dwindle(tmp_path, "land").out.startswith(f"main has all of {BRANCH} already\n")


def test_what_is_no_longer_on_a_branch_is_not_landed(tmp_path: Path) -> None:
    completed(tmp_path)
    dwindle(tmp_path, "land", "--squash")
    git(tmp_path, "reset", "--quiet", "--hard", "HEAD^")
    assert "not landed" in dwindle(tmp_path, "clean").out
    git(tmp_path, "switch", "--quiet", "--detach", BRANCH)
    git(tmp_path, "branch", "--force", "main", BRANCH)  # by hand, without `land`
    assert dwindle(tmp_path, "clean").out.startswith(f"{RUN}: landed on main\n")


def test_a_run_that_can_go_on_and_one_at_work(tmp_path: Path) -> None:
    ran(project(tmp_path, HOPELESS, NEVER), 31)
    before = refs(tmp_path)
    said = dwindle(tmp_path, "clean", "--days", "0").out
    assert said.startswith(f"{RUN}: kept\n    not completed: `dwindle run` goes on; --unlanded")
    with DirectoryLock((tmp_path / GRAPH_FILE).parent):
        said_of_lock = dwindle(tmp_path, "clean", RUN, "--unlanded")
    assert (said_of_lock.code, refs(tmp_path)) == (42, before)
    tip = asked_git(tmp_path, "rev-parse", "--short=12", BRANCH)
    done = dwindle(tmp_path, "clean", RUN, "--unlanded")
    assert f"    `git branch {BRANCH} {tip}` brings it back, until git's next gc\n" in done.out
    assert refs(tmp_path) == ["refs/heads/main"]
    assert dwindle(tmp_path, "clean", "01NEVER") == Ended(
        code=2, err="dwindle: there is no run 01NEVER\n  `dwindle clean --dry-run`\n"
    )
