"""What a user does when a run gave up, word for word as it was printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.surfaces.command import Ended, dwindle, git, write
from tests.surfaces.small_runs import BRANCH, DRAFT, asked_git, plan_of, project, ran

GIVES_UP = DRAFT.replace(
    "  base_case:",
    "  constraints: {max_attempts: 1, max_winds: 0, max_probes: 0, max_verifications: 1}\n"
    "  base_case:",
)
CHECK = "    check: {type: command, value: grep -q two data/two.txt}\n"
ATOM = f"""{GIVES_UP}  - id: A2
    description: Use the data
    depends_on: [A1]
{CHECK}"""
CHOICE = f"""{GIVES_UP}  - id: A2
    description: Use the data
    or_group: way
{CHECK}  - id: A3
    description: Use it otherwise
    or_group: way
{CHECK}or_groups:
  way:
    choices: [A2, A3]
    selected: A2
"""
SCRIPT = """\
worker:
  A1:
    - do: [{write: {done: "yes"}}]
      report: {success: true, summary: done is written, artifacts: [done]}
  "*":
    - do: [{append: {notes: "x"}}]
      report: {success: true, summary: the data is used, artifacts: [notes]}
"""
NEXT = re.compile(r"^Next: fix it, commit, `(.*)`; why: `dwindle (.*)`$")


def committed(folder: Path, path: str, subject: str) -> None:
    git(folder, "add", path)
    git(folder, "commit", "--quiet", "-m", subject)


def advised(ended: Ended) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """The commands of the last line: what goes on, and what says why."""
    found = NEXT.fullmatch(ended.out.splitlines()[-1])
    assert found is not None, ended.out
    goes_on = [tuple(shlex.split(one)[1:]) for one in found[1].split("&&")]
    return goes_on, tuple(shlex.split(found[2]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draft", "check", "code", "names"),
    [
        (ATOM, "test -f done\n", 31, "A2"),
        (CHOICE, "test -f done\n", 30, "A3"),
        (GIVES_UP, "test -f done && cat data/two.txt\n", 32, "It is done"),
    ],
)
def test_the_printed_advice_works_once_the_missing_file_is_committed(
    tmp_path: Path, draft: str, check: str, code: int, names: str
) -> None:
    folder = project(tmp_path / "here", draft, SCRIPT)
    if check != "test -f done\n":
        write(folder, "check.sh", check)
        committed(folder, "check.sh", "Another check")
        write(folder, "another.yaml", draft)
        words = ("--from", "another.yaml", "--yes", "--replace")
        assert dwindle(folder, "align", *words).code == 0
    ended = dwindle(folder, "run")
    assert ended.code == code, ended
    goes_on, why = advised(ended)
    told = dwindle(folder, *why)
    assert (told.code, names in told.out, "data/two.txt" in told.out) == (0, True, True), told
    write(folder, "data/two.txt", "two\n")
    committed(folder, "data", "Add what was forgotten")
    *redirect, last = [dwindle(folder, *words) for words in goes_on]
    assert [one.code for one in (*redirect, last)] == [0, 0], (redirect, last)
    assert "Add what was forgotten" in redirect[0].err
    plan = plan_of(folder)
    assert plan.control.aligned is not None
    assert plan.control.aligned.commit == asked_git(folder, "rev-parse", "HEAD")
    on_branch = asked_git(folder, "log", "--format=%s", f"runner/{plan.control.run_id}")
    assert on_branch.splitlines()[-2] in ("Add what was forgotten", "Another check")
    assert dwindle(folder, "replay").code == 0
    assert dwindle(folder, "verify").code == 0


@pytest.mark.slow
def test_a_setting_that_was_fixed_needs_no_commit(tmp_path: Path) -> None:
    folder = project(tmp_path / "here", GIVES_UP, SCRIPT.replace("success: true", "success: false"))
    ended = dwindle(folder, "run")
    assert ended.code == 31, ended
    write(folder, ".runner/script.yaml", SCRIPT)
    goes_on, _ = advised(ended)
    assert [dwindle(folder, *words).code for words in goes_on] == [0, 0]
    assert asked_git(folder, "log", "--format=%s", BRANCH).splitlines()[0].startswith("A1: ")


@pytest.mark.slow
def test_a_run_stays_where_it_began_if_head_is_elsewhere_or_has_its_work(tmp_path: Path) -> None:
    folder = project(tmp_path / "here", ATOM, SCRIPT)
    assert dwindle(folder, "run").code == 31
    began = plan_of(folder).control.aligned
    asked_git(folder, "switch", "-q", "--orphan", "other")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "Elsewhere")
    elsewhere = dwindle(folder, "redirect", "--retry", "A2")
    assert "your HEAD lacks the commit that the plan was aligned at" in elsewhere.err, elsewhere
    ran(folder, 31)
    asked_git(folder, "switch", "-q", "main")
    asked_git(folder, "merge", "-q", "--ff-only", BRANCH)
    merged = dwindle(folder, "redirect", "--retry", "A2")
    assert "your HEAD has work of agents" in merged.err, merged
    assert plan_of(folder).control.aligned == began


@pytest.mark.parametrize(
    ("name", "said"), [("", "there is no name"), ("A9", "there is no atom or group A9")]
)
def test_only_what_there_is_can_be_tried_again(tmp_path: Path, name: str, said: str) -> None:
    folder = project(tmp_path / "here")
    refused = dwindle(folder, "redirect", "--retry", name)
    assert (refused.code, said in refused.err) == (2, True), refused
