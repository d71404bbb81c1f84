"""dwindle demo --plan tree: what it says has to have happened, by the branch and by the logs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.command import PLAIN, TREE_FILE, Ended, dwindle
from tests.surfaces.on_a_terminal import OnATerminal

from dwindle.demo.tree import MEANINGS, RUN
from dwindle.surfaces.cli.app import COMMANDS

pytestmark = pytest.mark.slow

STORY = [
    "iter 0001 node root decompose guard=skipped",
    "iter 0002 node read decompose guard=skipped",
    "iter 0003 node units execute guard=fail",
    "iter 0004 node units execute guard=pass",
    "iter 0005 node mixed execute guard=pass",
    "iter 0006 node write execute guard=fail",
    "iter 0007 node write decompose guard=skipped",
    "iter 0008 node count execute guard=pass",
    "iter 0009 node total execute guard=skipped",
    "iter 0010 node root decompose guard=skipped",
    "iter 0011 node total execute guard=pass",
    "iter 0012 node manual execute guard=pass",
]
FOLDER = "söme where/span"


def asked(folder: Path, *words: str) -> str:
    git = subprocess.run(
        ["git", *words], cwd=folder, env=PLAIN, check=True, capture_output=True, text=True
    )
    return git.stdout.strip()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended]:
    """One demo for all tests, in a folder that is no easy name."""
    above = tmp_path_factory.mktemp("demo")
    said = dwindle(above, "demo", "--plan", "tree", "--dir", FOLDER)
    assert said.code == 0, said.out + said.err
    return above / FOLDER, said


def log(root: Path, number: int, name: str) -> Any:
    return json.loads((root / ".runner" / "iterations" / RUN / f"{number:04}" / name).read_bytes())


def subtree(node: dict[str, Any]) -> Any:
    """Each node with what is below it; a leaf with whether it passes, and its attempts."""
    if not node["children"]:
        return node["passes"], node["attempts"]
    return {child["id"]: subtree(child) for child in node["children"]}


def after(root: Path, number: int) -> Any:
    return subtree(log(root, number, "tree.after.json")["root"])


def open_leaves(node: dict[str, Any]) -> list[str]:
    if not node["children"]:
        return [] if node["passes"] else [node["id"]]
    return [name for child in node["children"] for name in open_leaves(child)]


def test_every_iteration_is_a_commit_on_the_branch(shown: tuple[Path, Ended]) -> None:
    root, said = shown
    subjects = asked(root, "log", "--reverse", "--format=%s", "main..HEAD").splitlines()
    assert subjects == [f"chore(loop): run {RUN} {told}" for told in STORY]
    assert asked(root, "rev-parse", "--abbrev-ref", "HEAD") == f"runner/{RUN}"
    assert asked(root, "status", "--porcelain", "--untracked-files=all") == ""
    assert said.err == f"dwindle: on the new branch runner/{RUN}\n"


def test_what_is_explained_is_what_happened(shown: tuple[Path, Ended]) -> None:
    explained = [
        f"iter {number:04} node {node} {kind} guard={guard}"
        for number, node, kind, guard in MEANINGS
    ]
    assert explained == [told for told in STORY if told in explained]
    words = " ".join(shown[1].out.replace("\n# ", " ").split())
    assert [meaning for meaning in MEANINGS.values() if meaning not in words] == []


def test_the_root_and_then_a_leaf_of_it_are_decomposed(shown: tuple[Path, Ended]) -> None:
    root, _ = shown
    fresh = (False, 0)
    assert after(root, 1) == {"read": fresh, "write": fresh, "total": fresh}
    nested = {"units": fresh, "mixed": fresh}
    assert after(root, 2) == {"read": nested, "write": fresh, "total": fresh}


def test_a_red_guard_turns_green(shown: tuple[Path, Ended]) -> None:
    root, _ = shown
    assert after(root, 3)["read"]["units"] == (False, 1)
    assert after(root, 4)["read"]["units"] == (True, 1)
    red, green = (log(root, n, "meta.json")["guard"]["exit_status"] for n in (3, 4))
    assert (red != 0, green) == (True, 0)


def test_a_leaf_without_attempts_is_replaced(shown: tuple[Path, Ended]) -> None:
    root, _ = shown
    before, then = after(root, 6), after(root, 7)
    assert (before["write"], list(before)) == ((False, 1), ["read", "write", "total"])
    assert (then["count"], list(then)) == ((False, 0), ["read", "count", "total"])
    assert log(root, 7, "meta.json")["mode"] == "plan"


def test_an_edit_is_refused_and_repaired(shown: tuple[Path, Ended]) -> None:
    root, _ = shown
    reasons = [problem["what"] for problem in log(root, 9, "refusal.json")["problems"]]
    assert reasons == ["total was marked as passed by the agent"]
    assert list(after(root, 9)) == ["read", "count", "total"]
    # The code of that session is not lost with it.
    assert "span/__main__.py" in asked(root, "show", "--stat", "--format=", "HEAD~3")
    assert log(root, 10, "meta.json")["mode"] == "repair"
    assert list(after(root, 10)) == ["read", "count", "total", "manual"]


def test_it_ends_with_everything_passed(shown: tuple[Path, Ended]) -> None:
    root, said = shown
    assert after(root, 12) == {
        "read": {"units": (True, 1), "mixed": (True, 0)},
        "count": (True, 0),
        "total": (True, 1),
        "manual": (True, 0),
    }
    tree = json.loads((root / TREE_FILE).read_bytes())
    assert tree == log(root, 12, "tree.after.json")
    assert tree["root"]["passes"] is True
    assert "# Exit code 0: every leaf passed, and so the root does.\n" in said.out
    tests = subprocess.run(
        ["python3", "-m", "unittest"], cwd=root, env=PLAIN, capture_output=True, check=False
    )
    assert tests.returncode == 0, tests.stderr


def test_the_open_leaves_are_those_of_the_trees(shown: tuple[Path, Ended]) -> None:
    root, said = shown
    left = [open_leaves(log(root, n, "tree.after.json")["root"]) for n in range(1, 13)]
    lines = [f"{len(names)} ({' '.join(names)})" if names else "0" for names in left]
    assert re.findall(r"^ +open leaves: (.+)$", said.out, re.MULTILINE) == lines
    counts = " ".join(str(len(names)) for names in left)
    assert f"# Leaves left open after each: {counts}\n" in said.out


def test_every_command_that_is_shown_works(shown: tuple[Path, Ended]) -> None:
    root, said = shown
    typed = re.findall(r"^(?:\$|  ) ?dwindle ([a-z]+.*)", said.out, re.MULTILINE)
    assert {line.split()[0] for line in typed} <= {name for name, *_ in COMMANDS}
    around = [line.split() for line in typed if not line.startswith("run")]
    assert around
    for words in around:
        assert dwindle(root, *words).code == 0, words
    (folder,) = re.findall(r"^  ls (.+)", said.out, re.MULTILINE)
    assert (root / folder / "guard.log").is_file()


def test_piped_it_has_no_colour_and_explains_in_80_columns(shown: tuple[Path, Ended]) -> None:
    _, said = shown
    notes = [line for line in said.out.splitlines() if line.startswith("# ")]
    assert [line for line in notes if len(line) > 80] == []
    assert "\x1b" not in said.out + said.err


def test_on_a_terminal_it_has_colour(tmp_path: Path) -> None:
    with OnATerminal(tmp_path, "demo", "--plan", "tree", TERM="xterm") as terminal:
        assert terminal.ended() == 0
    assert "\x1b[34m# A repair" in terminal.seen


def test_the_same_trees_prompts_and_messages_every_time(
    shown: tuple[Path, Ended], tmp_path: Path
) -> None:
    other = {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    assert dwindle(tmp_path, "demo", "--plan", "tree", "--dir", "span", **other).code == 0
    roots = (shown[0], tmp_path / "span")
    first, second = (asked(root, "log", "--format=%s %T") for root in roots)
    assert first == second
    for name in ("prompt.md", "tree.after.json", "diff.patch"):
        logs = [sorted((r / ".runner" / "iterations").glob(f"*/*/{name}")) for r in roots]
        once, again = ([path.read_bytes() for path in found] for found in logs)
        assert len(once) == len(STORY)
        assert once == again, name


def test_without_just_the_tests_are_the_guard(tmp_path: Path) -> None:
    # An environment with the same packages, and without the programs beside our Python.
    ours, theirs = Path(sys.prefix), tmp_path / "env"
    (theirs / "bin").mkdir(parents=True)
    (theirs / "pyvenv.cfg").write_bytes((ours / "pyvenv.cfg").read_bytes())
    (theirs / "lib").symlink_to(ours / "lib")
    python = theirs / "bin" / "python3"
    python.symlink_to(Path(sys.executable).resolve())
    folders = PLAIN["PATH"].split(os.pathsep)
    path = os.pathsep.join(f for f in folders if not (Path(f) / "just").exists())
    ended = subprocess.run(
        [str(python), "-m", "dwindle", "demo", "--plan", "tree", "--dir", "span"],
        cwd=tmp_path,
        env=PLAIN | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 0, ended
    assert "# The guard is `python3 -m unittest`: just, for the default" in ended.stdout
    guard = log(tmp_path / "span", 3, "meta.json")["guard"]
    assert (guard["command"], guard["verdict"]) == (["python3", "-m", "unittest"], "fail")
