"""Files as checks: what is in the tree, and nothing beyond it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.adapters.checks.plain_containment import PlainContainment

from dwindle.adapters.checks.mechanical import MechanicalChecks
from dwindle.adapters.checks.tree_paths import Look, _entries, look
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Check, CheckType
from dwindle.ports.checks import CheckResult

PASSED, FAILED, COULD_NOT_RUN, NOT_JUDGED = Verdict


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("s", encoding="utf-8")
    tree = tmp_path / "tree"
    for name in (
        "README.md",
        "src/app/main.py",
        "src/app/.hidden.py",
        "src/a file é.txt",
        "odd/[x].txt",
        ".git/config",
        "ignored/out.bin",
    ):
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    (tree / ".gitignore").write_text("ignored/\n", encoding="utf-8")
    (tree / "empty").mkdir()
    (tree / "inner").symlink_to("README.md")
    (tree / "out").symlink_to(outside)
    (tree / "dangling").symlink_to("nowhere")
    (tree / "loop").symlink_to("loop")
    return tree


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("README.md", "README.md"),
        ("./README.md", "README.md"),
        ("src/app", "src/app"),
        ("src/app/", "src/app"),
        ("README.md/", ""),
        ("src/a file é.txt", "src/a file é.txt"),
        ("odd/[x].txt", "odd/[x].txt"),
        ("ignored/*.bin", "ignored/out.bin"),
        ("*.md", "README.md"),
        ("*.py", ""),
        ("**/*.py", "src/app/.hidden.py"),
        ("**/main.py", "src/app/main.py"),
        ("**/README.md", "README.md"),
        ("src/**", "src/a file é.txt"),
        ("src/**/app/**/main.py", "src/app/main.py"),
        ("**/**/main.py", "src/app/main.py"),
        ("src/*/main.??", "src/app/main.py"),
        ("src/[ab]pp/m*", "src/app/main.py"),
        ("empty/**", ""),
        ("empty", "empty"),
        ("**/config", ""),
        ("inner", "inner"),
        ("SRC/app", ""),
        ("missing", ""),
    ],
)
def test_a_path_or_a_pattern_is_looked_up_in_the_tree(pattern: str, found: str, tree: Path) -> None:
    assert look(tree, pattern) == Look(found=found)


@pytest.mark.parametrize("pattern", ["out", "out/secret.txt", "dangling"])
def test_a_link_out_of_the_tree_is_not_followed(pattern: str, tree: Path) -> None:
    assert look(tree, pattern) == Look(leads_out=pattern)
    assert judged(CheckType.FILE, pattern, tree).verdict is FAILED
    assert judged(CheckType.NOT_FILE, pattern, tree).verdict is COULD_NOT_RUN


def test_a_pattern_does_not_look_behind_links(tree: Path) -> None:
    assert look(tree, "**/secret.txt") == Look()
    assert look(tree, "o?t") == Look(leads_out="out")


@pytest.mark.parametrize(
    "pattern", ["/etc/passwd", "../outside/secret.txt", "src/../../outside", "", "."]
)
def test_outside_of_the_tree_nothing_can_be_said(pattern: str, tree: Path) -> None:
    assert look(tree, pattern).trouble == f"{pattern!r} does not name a place inside of the tree"


@pytest.mark.parametrize("pattern", ["loop", "loop/x", "nul\0", "src/*.{py,txt}", "a{b,c}"])
def test_what_cannot_be_looked_up_neither_passes_nor_fails(pattern: str, tree: Path) -> None:
    assert judged(CheckType.FILE, pattern, tree).verdict is COULD_NOT_RUN
    assert judged(CheckType.NOT_FILE, pattern, tree).verdict is COULD_NOT_RUN


def test_a_folder_that_cannot_be_read_might_hold_it(tree: Path) -> None:
    seen = Look()

    assert _entries(tree / "README.md", "secrets", seen) == []
    assert seen == Look(unread=["secrets"])
    assert [seen.verdict("**/*.orig", wanted=wanted) for wanted in (True, False)] == [
        (COULD_NOT_RUN, "nothing was found, but secrets could not be read"),
    ] * 2


def test_a_tree_that_is_gone_holds_neither_something_nor_nothing(tmp_path: Path) -> None:
    assert look(tmp_path / "gone", "a.orig") == Look(trouble="the tree is gone")


def judged(kind: CheckType, value: str, tree: Path) -> CheckResult:
    checks = MechanicalChecks(PlainContainment())
    return asyncio.run(checks.run(Check(type=kind, value=value), tree))


def test_file_and_not_file_are_opposites(tree: Path) -> None:
    there = Check(type=CheckType.FILE, value="src/**/*.py")
    gone = Check(type=CheckType.NOT_FILE, value="**/*.orig")

    assert judged(CheckType.FILE, "src/**/*.py", tree) == CheckResult(
        check=there,
        verdict=PASSED,
        evidence="Passed (file src/**/*.py): src/app/.hidden.py is there.",
    )
    assert judged(CheckType.NOT_FILE, "src/**/*.py", tree).verdict is FAILED
    assert judged(CheckType.NOT_FILE, "**/*.orig", tree) == CheckResult(
        check=gone,
        verdict=PASSED,
        evidence="Passed (not_file **/*.orig): nothing of that name is there.",
    )
    assert judged(CheckType.FILE, "**/*.orig", tree).verdict is FAILED
