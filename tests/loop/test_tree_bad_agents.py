"""Agents that misbehave on a tree, but for what they do to its file and to git.

What counts is the difference that they leave and how they end. What they say counts for nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.adapters.sandbox.survivors import new_token, put_down, survivors
from tests.loop.story import RUN, Entry
from tests.loop.tree_story import (
    Ending,
    TreeStory,
    breaks,
    did,
    edit,
    fixes,
    ran,
    splits,
    works,
    wrote,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def token() -> Iterator[str]:
    made = new_token()
    yield made
    put_down(made)


def one(folder: Path, *sessions: Entry, most: int = 3) -> TreeStory:
    return TreeStory(folder).leaves("a", most=most).node("a", *sessions)


def ended(*iterations: str, attempts: str = "1/3", **files: str) -> Ending:
    return Ending(
        code=0,
        iterations=tuple(f"{n:04} node {line}" for n, line in enumerate(iterations, start=1)),
        tree=("root passes 0/3", f"  a passes {attempts}"),
        files={name.replace("_", "."): text for name, text in files.items()},
    )


PASSED = ("a execute guard=pass",)
A = {"a_txt": "a\n"}


def test_one_that_says_nothing_is_fine(tmp_path: Path) -> None:
    story = one(tmp_path, works("a"))

    assert story.run() == ended(*PASSED, attempts="0/3", **A)
    assert (story.logs(1) / "executor.log").read_bytes() == b""


def test_success_without_a_change_is_a_planning_session(tmp_path: Path) -> None:
    claim = {"report": {"success": True, "summary": "all done, honestly"}}
    story = one(tmp_path, claim, works("a"))

    assert story.run() == ended("a decompose guard=skipped", *PASSED, attempts="0/3", **A)
    assert story.git("diff", "--stat", "main", story.commits()[0]) == ""
    assert (story.logs(1) / "diff.patch").read_bytes() == b""
    assert json.loads((story.logs(1) / "report.json").read_bytes()) == claim["report"]


def test_one_that_never_does_anything_is_given_up(tmp_path: Path) -> None:
    """Three planning sessions, then attempts, and then there is nothing left to try."""
    story = one(tmp_path, did(), most=2)

    assert story.run() == Ending(
        code=31,
        iterations=tuple(f"{n:04} node a decompose guard=skipped" for n in range(1, 6)),
        tree=("root open 0/3", "  a open 2/2"),
    )
    assert [story.meta(n)["mode"] for n in range(1, 6)] == ["work"] * 5
    assert story.run() == story.ending(31)  # and running it again changes nothing


@pytest.mark.parametrize(
    ("bad", "kind", "why"),
    [
        (did(exit=3), "decompose", "it ended with exit code 3"),
        (did(wrote(x_txt="x\n"), exit=1), "execute", "it ended with exit code 1"),
        (did(wrote(x_txt="x\n"), ran("kill -9 $PPID")), "execute", "SIGKILL"),
    ],
    ids=["with nothing", "with work", "by a signal"],
)
def test_one_that_ends_badly(tmp_path: Path, bad: Entry, kind: str, why: str) -> None:
    """What it left is committed, no guard is asked, and the attempt is used."""
    story = one(tmp_path, bad, works("a"))
    left = {"x_txt": "x\n"} if kind == "execute" else {}

    assert story.run() == ended(f"a {kind} guard=skipped", *PASSED, **A, **left)
    assert why in story.meta(1)["failure"]


def test_an_edit_by_one_that_ends_badly_is_taken(tmp_path: Path) -> None:
    story = one(tmp_path, did(edit("split('a', 'b')"), exit=4)).node("b", works("b"))

    assert story.run() == Ending(
        code=0,
        iterations=("0001 node a decompose guard=skipped", "0002 node b execute guard=pass"),
        tree=("root passes 0/3", "  a passes 1/3", "    b passes 0/2"),
        files={"b.txt": "b\n"},
    )


@pytest.mark.parametrize(
    "text",
    ["{ this is not JSON", "[]", '{"success": "yes"}', "[" * 100_000, '{"success": false}'],
    ids=["no JSON", "a list", "wrong", "deep", "failure"],
)
def test_reports_are_only_logged(tmp_path: Path, text: str) -> None:
    story = one(tmp_path, {**works("a"), "report_text": text})

    assert story.run() == ended(*PASSED, attempts="0/3", **A)
    assert (story.logs(1) / "report.json").read_text("utf-8") == text


@pytest.mark.parametrize(
    "line",
    [
        'truncate -s 50G "$DWINDLE_REPORT"',
        'mkfifo "$DWINDLE_REPORT"',
        'ln -s /etc/passwd "$DWINDLE_REPORT"',
        'mkdir "$DWINDLE_REPORT"',
        'rm -rf "$(dirname "$DWINDLE_REPORT")"',
    ],
    ids=["huge", "pipe", "link", "folder", "no outbox"],
)
def test_what_stands_in_place_of_the_report(tmp_path: Path, line: str) -> None:
    story = one(tmp_path, did(ran(f"{line}; true"), wrote(a_txt="a\n")))

    assert story.run() == ended(*PASSED, attempts="0/3", **A)
    assert size_of(story.folder / ".runner") < 4 << 20


def size_of(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("who", ["agent", "guard"])
def test_a_flood_of_output_is_kept_by_its_head_and_tail(tmp_path: Path, who: str) -> None:
    """A gigabyte by day would take too long: 200 MiB, of which two ends are kept."""
    flood = "echo first; yes 'and so on' | head -c 200M; echo last"
    story = one(tmp_path, did(*([ran(flood)] if who == "agent" else ()), wrote(a_txt="a\n")))
    story.settings("limits", "output_bytes = 65536")
    if who == "guard":
        story.having({"check.sh": f"{flood}\n"})

    assert story.run() == ended(*PASSED, attempts="0/3", **A)
    name = "executor.log" if who == "agent" else "guard.log"
    log = (story.logs(1) / name).read_bytes()
    assert (log.startswith(b"first\n"), log.endswith(b"last\n")) == (True, True)
    assert len(log) < 3 * 65536


@pytest.mark.parametrize("who", ["agent", "guard"])
def test_a_timeout_ends_the_run_with_everything_committed(
    tmp_path: Path, token: str, who: str
) -> None:
    hang = f"sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' {token}"
    agent = [ran(hang)] if who == "agent" else []
    story = one(tmp_path, did(wrote(a_txt="a\n"), *agent), works("b"))
    story.having({"check.sh": f"test -e b.txt || {hang}\n"})
    story.settings("limits", "iteration_timeout_seconds = 1")
    verdict = "skipped" if who == "agent" else "fail"

    assert story.run() == Ending(
        code=25,
        iterations=(f"0001 node a execute guard={verdict}",),
        tree=("root open 0/3", "  a open 1/3"),
        files={"a.txt": "a\n"},
    )
    assert survivors(token) == []
    assert story.meta(1)["timed_out"] is True
    assert story.events()[-1]["code"] == "iteration_timeout"
    assert story.run() == ended(
        f"a execute guard={verdict}", *PASSED, **A, b_txt="b\n"
    )  # and it can be taken up again


def test_planning_that_fails_is_an_attempt_and_a_planning_session(tmp_path: Path) -> None:
    """On a root, and on a leaf that has used up its attempts."""
    crash, cheat = did(exit=3), did(edit("node('a')['attempts'] = 0"))
    story = TreeStory(tmp_path).node("root", crash, splits("root", "a", most=1), did())
    story.node("a", breaks("a"), crash, cheat, did(edit("replace('a', 'b')"), ran("rm -f broken")))
    story.node("b", fixes("b"))

    assert story.run(command="step").tree == ("root open 1/3",)
    assert story.run() == Ending(
        code=0,
        iterations=(
            "0001 node root decompose guard=skipped",
            "0002 node root decompose guard=skipped",
            "0003 node a execute guard=fail",
            "0004 node a decompose guard=skipped",
            "0005 node a decompose guard=skipped",
            "0006 node root decompose guard=skipped",
            "0007 node a decompose guard=skipped",
            "0008 node b execute guard=pass",
        ),
        tree=("root passes 1/3", "  b passes 0/2"),
        files={"a.txt": "a?\n", "b.txt": "b\n"},
        kept=("a/7",),
    )
    trees = [json.loads((story.logs(n) / "tree.after.json").read_bytes()) for n in range(3, 7)]
    assert [tree["root"]["children"][0]["attempts"] for tree in trees] == [1, 2, 3, 3]
    assert story.called("replay").code == 0


def test_planning_that_only_fails_ends_the_run(tmp_path: Path) -> None:
    story = TreeStory(tmp_path).node("root", did(exit=3))
    story.settings("limits", "execute_root = false")

    ending = story.run()

    assert (ending.code, ending.tree) == (31, ("root open 3/3",))
    assert len(ending.iterations) == 3


def test_an_agent_that_overruns_its_own_shorter_time_has_failed_once(tmp_path: Path) -> None:
    """Only the time of the whole iteration ends a run."""
    story = one(tmp_path, did(wrote(a_txt="a\n"), ran("sleep 60")), works("b"))
    story.settings("agents", f"{story.config['agents']}\ntimeout_seconds = 1")

    assert story.run() == ended("a execute guard=skipped", *PASSED, **A, b_txt="b\n")
    assert story.meta(1)["timed_out"] is False
    assert story.meta(1)["failure"] == "it was still at work after 1 s and was ended"


def test_background_processes_end_with_the_session(tmp_path: Path, token: str) -> None:
    loop = f"sh -c 'trap \"\" TERM HUP; while :; do echo x >> late.txt; sleep 0.05; done' {token}"
    line = f"(setsid {loop} >/dev/null 2>&1 &); (nohup {loop} >/dev/null 2>&1 &)"
    story = one(tmp_path, did(ran(line), {"sleep": 0.2}, wrote(a_txt="a\n")))

    done = story.run()

    assert survivors(token) == []
    late = done.files["late.txt"]
    assert done == ended(*PASSED, attempts="0/3", **A, late_txt=late)


def test_planning_sessions_change_nothing_else(tmp_path: Path) -> None:
    """Neither by new files, nor by changes, nor by removing; also an ignored file is no way in."""
    story = TreeStory(tmp_path).having({"keep.txt": "keep\n", ".gitignore": "*.o\n"})
    story.settings("limits", "execute_root = false")
    line = "rm keep.txt; echo more >> check.sh; mkdir -p deep/er; echo y > deep/er/y; echo > z.o"
    story.node("root", did(ran(line), edit("split('root', 'a')"))).node("a", works("a"))

    assert story.run() == Ending(
        code=0,
        iterations=("0001 node root decompose guard=skipped", "0002 node a execute guard=pass"),
        tree=("root passes 0/3", "  a passes 0/2"),
        files={"a.txt": "a\n"},
        kept=("root/1",),
    )
    kept = story.kept_files("root/1")
    assert (kept["deep/er/y"], kept["check.sh"].endswith("more\n")) == ("y\n", True)
    assert not (story.folder / "deep").exists()


# --- .runner itself ------------------------------------------------------------------------------


def test_in_the_sandbox_what_is_ours_survives(tmp_path: Path) -> None:
    """It removes all that it can reach: the tree comes back, the rest was never in danger."""
    story = one(tmp_path, did(wrote(x_txt="x\n"), ran("rm -rf .runner 2>/dev/null; true")))
    story.node("root", did()).node("a", *story.script["a"], works("a"))

    assert story.run() == ended(
        "a execute guard=skipped", "root decompose guard=skipped", *PASSED, **A, x_txt="x\n"
    )
    assert story.events()[0]["kind"] == "RunStarted"


TREE_GONE = ("a execute guard=skipped", "root decompose guard=skipped", *PASSED)
TREE_THERE = ("a execute guard=skipped", *PASSED)


@pytest.mark.parametrize(
    ("line", "iterations"),
    [
        ("rm -rf .runner", TREE_GONE),
        ("rm -rf .runner && echo > .runner", TREE_GONE),
        ("rm -rf .runner && ln -s /tmp .runner", TREE_GONE),
        ("mv .runner .git/elsewhere", TREE_GONE),
        ("rm -rf .runner/iterations .runner/journal", TREE_THERE),
        ("rm -rf .runner/iterations && ln -s /nowhere .runner/iterations", TREE_THERE),
    ],
)
def test_without_a_sandbox_what_is_ours_comes_back(
    tmp_path: Path, line: str, iterations: tuple[str, ...]
) -> None:
    story = one(tmp_path, did(wrote(x_txt="x\n"), ran(line)))
    story.node("root", did()).node("a", *story.script["a"], works("a")).prepared()
    config = (story.folder / ".runner/config.toml").read_bytes()

    assert story.run("--no-sandbox") == ended(*iterations, **A, x_txt="x\n")
    assert (story.folder / ".runner/config.toml").read_bytes() == config
    assert "files of the runner were removed: .runner" in story.meta(1)["failure"]
    assert story.events()[0]["kind"] == "RunStarted"
    assert len(story.events()) == 2 + 3 * len(iterations)
    assert story.run("--no-sandbox").code == 0  # what is left can be read again


# --- what is out of reach ------------------------------------------------------------------------


@pytest.fixture
def under_var_tmp() -> Iterator[Path]:
    with TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


CONNECT = "import socket; socket.socket(socket.AF_UNIX).connect('.runner/tree.sock')"


def test_what_is_out_of_reach_in_the_sandbox(under_var_tmp: Path) -> None:
    tries = (
        *(
            f"echo x >> {name}"
            for name in (
                ".git/HEAD",
                ".git/config",
                ".git/hooks/post-commit",
                ".git/refs/heads/mine",
                ".runner/config.toml",
                f".runner/journal/{RUN}.jsonl",
                f".runner/iterations/{RUN}/0001/meta.json",
                f".runner/iterations/{RUN}/0001/refusal.json",
                "../outside.txt",
                "../script.json",
            )
        ),
        "mv .git elsewhere",
        "rm -rf .git",
        "mv .runner elsewhere",
        "mv .runner/journal .runner/old",
        f'{sys.executable} -I -S -c "{CONNECT}"',
    )
    line = "; ".join(
        f"({line}) >/dev/null 2>&1 && echo got to {n} >&2" for n, line in enumerate(tries)
    )
    story = one(under_var_tmp, did(ran(f"{line}; exit 0"), wrote(a_txt="a\n")))

    assert story.run() == ended(*PASSED, attempts="0/3", **A)
    assert (story.logs(1) / "executor.log").read_bytes() == b""


def test_the_guard_cannot_change_what_is_ours(tmp_path: Path) -> None:
    line = "echo x >> .git/HEAD; echo x >> .runner/config.toml; echo x > built.txt; true\n"
    story = one(tmp_path, works("a")).having({"check.sh": line})

    assert story.run() == ended(*PASSED, attempts="0/3", **A, built_txt="x\n")
