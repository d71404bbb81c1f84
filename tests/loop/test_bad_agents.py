"""Agents that misbehave: the attempt has failed, the Trail says why, and the run goes on.

Each story has one atom. Its first session is the bad one, its second does the work.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.adapters.sandbox.survivors import new_token, put_down, survivors
from tests.loop.story import RUN, Ending, Entry, Story, did, ran, slept, split
from tests.surfaces.command import GRAPH_FILE

from dwindle.runner.gate.pins import how_to_unpin

pytestmark = pytest.mark.slow


@pytest.fixture
def token() -> Iterator[str]:
    made = new_token()
    yield made
    put_down(made)


SUCCESS = {"success": True, "summary": "all done, honestly"}
NO_REPORT = "it wrote no report, and there is no JSON object in what it printed"
WORKS = did({"a.txt": "a\n"})


def one_bad_then_good(folder: Path, bad: Entry, **fields: Any) -> Story:
    return (
        Story(folder)
        .having({"check.sh": "test -f a.txt\n", "src/code.txt": "code\n"})
        .limits(max_atoms=40)
        .atom("A1", bad, WORKS, **fields)
        .done_when("sh check.sh")
    )


def good_in_the_end(reason: str) -> Ending:
    return Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved"},
        bindings={"A1": "made a.txt"},
        trail=(f"failure A1: {reason}",),
        commits=("A1",),
        kept=("A1/1",),
        files={"a.txt": "a\n"},
    )


def reported(text: str) -> Entry:
    return {"report_text": text}


def claims(*steps: Entry, **report: Any) -> Entry:
    return {"do": list(steps), "report": {**SUCCESS, **report}}


def malformed(reason: str) -> str:
    return f"the report is malformed: {reason}"


BAD: dict[str, tuple[Entry, str]] = {
    "says nothing at all": ({}, NO_REPORT),
    "ends badly": (
        {"do": [{"run": "echo went wrong >&2"}], "exit": 3},
        "it ended with exit code 3\nwent wrong",
    ),
    "claims success and ends badly": (
        {**claims(ran("echo x > x.txt")), "exit": 1},
        "it ended with exit code 1, so that its report of success does not count",
    ),
    "claims success with no change": (
        claims(),
        (
            "success was reported, but no file changed and none is new\n"
            "The report said: all done, honestly"
        ),
    ),
    "names artifacts that do not exist": (
        claims(ran("echo x > x.txt"), artifacts=["x.txt", "dist/app", "y.txt"]),
        "reported artifacts that do not exist: dist/app, y.txt",
    ),
    "names artifacts outside": (
        claims(ran("echo x > x.txt"), artifacts=["/etc/passwd"]),
        "reported artifacts outside of its tree: /etc/passwd",
    ),
    "reports for another atom": (
        claims(ran("echo x > x.txt"), atom="A2"),
        malformed("it is for atom 'A2', and this session has 'A1'"),
    ),
    "reports for another run": (
        claims(ran("echo x > x.txt"), run="other"),
        malformed(f"it is for run 'other', and this session has '{RUN}'"),
    ),
    "binds another atom": (
        claims(bindings_delta={"A9": {"summary": "mine", "artifacts": []}}),
        malformed("bindings_delta is for 'A9', and this session is on A1"),
    ),
    "decomposes into nothing": (
        split("no idea how"),
        malformed("decomposition.children proposes nothing"),
    ),
    "edits a pinned file": (
        claims(ran("echo true > check.sh")),
        f"changed protected files: check.sh\n{how_to_unpin(['check.sh'])}",
    ),
    "deletes a pinned file": (
        claims(ran("rm check.sh")),
        f"changed protected files: check.sh\n{how_to_unpin(['check.sh'])}",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_attempt_fails_and_the_next_one_works(tmp_path: Path, name: str) -> None:
    bad, reason = BAD[name]

    assert one_bad_then_good(tmp_path, bad).run() == good_in_the_end(reason)


# --- reports that cannot be read -----------------------------------------------------------------


def last_reason(story: Story) -> str:
    assert len(story.plan.trail) == 1
    return story.plan.trail[0].reason


def assert_good_in_the_end(story: Story) -> str:
    """The whole ending; returns the one reason on the Trail."""
    ending = story.run()
    assert ending == good_in_the_end(last_reason(story))
    return last_reason(story)


@pytest.mark.parametrize(
    "text",
    [
        "{ this is not JSON",
        "[]",
        '"done"',
        "{}",
        '{"success": true, "success": false, "summary": "x"}',
        '{"success": true, "summary": "x", "sucess": 1}',
        '{"success": "yes", "summary": "x"}',
        '{"success": true, "summary": 3, "artifacts": {}}',
        '{"success": true, "summary": NaN}',
        '{"success": true, "summary": "\\ud800"}',
        "[" * 100_000,
        '{"success": true, "summary": "x", "decomposition": {"children": 3}}',
    ],
    ids=range(12),
)
def test_a_malformed_report(tmp_path: Path, text: str) -> None:
    story = one_bad_then_good(tmp_path, {"do": [ran("echo x > x.txt")], **reported(text)})

    assert assert_good_in_the_end(story).startswith("the report is malformed: ")


def test_a_huge_report_is_neither_read_nor_kept_whole(tmp_path: Path) -> None:
    """Sparse: reading it would take for ever, copying it would fill the disk."""
    line = 'truncate -s 15G "$DWINDLE_REPORT"'
    story = one_bad_then_good(tmp_path, {"do": [ran(line)]})

    assert assert_good_in_the_end(story).startswith("the report is malformed: ")
    assert size_of(story.folder / ".runner/iterations") < 10 << 20


def size_of(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize(
    "line",
    [
        'mkfifo "$DWINDLE_REPORT"',
        'ln -s /etc/passwd "$DWINDLE_REPORT"',
        'mkdir "$DWINDLE_REPORT"',
        'ln -s "$DWINDLE_REPORT" "$DWINDLE_REPORT"',
        'rm -rf "$(dirname "$DWINDLE_REPORT")"/*; echo "{" > "$DWINDLE_REPORT"',
    ],
    ids=["pipe", "link", "folder", "circle", "emptied"],
)
def test_what_stands_in_place_of_the_report(tmp_path: Path, line: str) -> None:
    story = one_bad_then_good(tmp_path, {"do": [ran("echo x > x.txt"), ran(line)]})

    assert "report" in assert_good_in_the_end(story)


def test_ten_thousand_children(tmp_path: Path) -> None:
    children = [{"description": f"part {n}"} for n in range(10_000)]
    story = one_bad_then_good(tmp_path, split("many hands", *children))

    reason = assert_good_in_the_end(story)
    assert reason.startswith("the report is malformed: ")
    assert len(reason) < 3000


def test_more_children_than_there_is_fuel(tmp_path: Path) -> None:
    """Well-formed, and refused by the kernel: the plan stays as it was."""
    children = [{"description": f"part {n}"} for n in range(100)]
    story = one_bad_then_good(tmp_path, split("many hands", *children))

    assert "fuel" in assert_good_in_the_end(story)


@pytest.mark.parametrize(
    "children",
    [
        [{"description": "x", "depends_on": ["#2"]}, {"description": "y", "depends_on": ["#1"]}],
        [{"description": "x", "depends_on": ["#1"]}],
        [{"description": "x", "depends_on": ["A1"]}],
        [{"description": "x", "depends_on": ["A77"]}],
    ],
    ids=["each other", "itself", "the parent", "nobody"],
)
def test_children_that_wait_in_a_circle(tmp_path: Path, children: list[Entry]) -> None:
    story = one_bad_then_good(tmp_path, split("round and round", *children))

    assert_good_in_the_end(story)
    assert set(story.plan.atoms) == {"A1"}


# --- time and output -----------------------------------------------------------------------------


def test_one_that_hangs(tmp_path: Path) -> None:
    story = one_bad_then_good(tmp_path, claims(ran("echo x > x.txt"), slept(600)))
    story.limits(session_timeout_seconds=2)

    assert story.run() == good_in_the_end("it was still at work after 2 s and was ended")
    assert story.kept_files("A1/1") == {"x.txt": "x\n"}


@pytest.mark.slow
def test_one_that_prints_200_megabytes(tmp_path: Path) -> None:
    line = f"{sys.executable} -c 'for _ in range(200): print(\"x\" * 1048575)'"
    story = one_bad_then_good(tmp_path, {"do": [ran(line)]})

    assert story.run() == good_in_the_end(NO_REPORT)
    assert size_of(story.folder / ".runner/iterations") < 10 << 20


# --- what is out of reach ------------------------------------------------------------------------


@pytest.fixture
def under_var_tmp() -> Iterator[Path]:
    """A folder that the sandbox shows, read-only; what is under /tmp it does not show at all."""
    with TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


def test_the_plan_and_the_journal_are_out_of_reach(under_var_tmp: Path) -> None:
    """It knows where they are, and can neither see nor change them."""
    story = one_bad_then_good(under_var_tmp, {})
    root, journal = story.folder, f".runner/journal/{RUN}.jsonl"
    tries = (
        f"cat '{root}/{GRAPH_FILE}'",
        f"cat '{root}/{journal}'",
        *(
            f"echo x >> '{root}/{name}'"
            for name in (
                GRAPH_FILE,
                journal,
                "README",
                ".git/HEAD",
                ".git/config",
                ".git/hooks/post-commit",
                ".runner/config.toml",
                ".runner/s.json",
                f".runner/worktrees/integration-{RUN}/x.txt",
                ".runner/iterations/x",
            )
        ),
    )
    line = "; ".join(
        f"({line}) >/dev/null 2>&1 && echo got to {n} >&2" for n, line in enumerate(tries)
    )
    story.worker("A1", {"do": [ran(f"{line}; exit 0")]}, WORKS)
    settings = story.prepared().folder / ".runner/config.toml"
    before = settings.read_bytes()

    assert story.run() == good_in_the_end(NO_REPORT)
    told = next((root / ".runner/iterations" / RUN).glob("*/A1.1.worker"))
    assert sorted(path.name for path in told.iterdir()) == ["order.json", "prompt.md"]  # no word
    assert settings.read_bytes() == before


def test_the_work_tree_is_emptied(tmp_path: Path) -> None:
    """Down to its link to the repository; the folder itself it cannot take away."""
    bad = claims(ran('rm -rf -- ./* ./.[!.]* 2>/dev/null; rm -rf "$PWD" 2>/dev/null; true'))
    story = one_bad_then_good(tmp_path, bad)

    reason = assert_good_in_the_end(story)
    assert reason == "the link between the work tree and the repository was broken"


def test_the_work_tree_is_moved_away(tmp_path: Path) -> None:
    """Only without a sandbox; the next session has another tree."""
    story = one_bad_then_good(tmp_path, claims(ran('mv "$PWD" "$PWD-moved"')))

    ending = story.run("--no-sandbox")
    assert ending == good_in_the_end("the work tree was removed or replaced")


def test_the_link_to_the_repository_is_removed(tmp_path: Path) -> None:
    story = one_bad_then_good(tmp_path, claims(ran("echo x > x.txt"), ran("rm .git")))

    reason = assert_good_in_the_end(story)
    assert reason == "the link between the work tree and the repository was broken"
    assert story.kept_files("A1/1") == {"x.txt": "x\n"}


def test_the_link_to_the_repository_is_replaced(tmp_path: Path) -> None:
    """By a repository of its own, with hooks and settings that would run if git used it."""
    line = (
        "rm .git && git init -q . && git config core.fsmonitor 'touch /tmp/pwned' && "
        "printf '#!/bin/sh\\necho pwned > pwned.txt' > .git/hooks/post-checkout && "
        "chmod +x .git/hooks/post-checkout && echo x > x.txt"
    )
    story = one_bad_then_good(tmp_path, claims(ran(line)))

    reason = assert_good_in_the_end(story)
    assert reason == "the link between the work tree and the repository was broken"


def test_background_processes_end_with_the_session(tmp_path: Path, token: str) -> None:
    loop = f"sh -c 'trap \"\" TERM HUP; while :; do echo x >> late.txt; sleep 0.05; done' {token}"
    line = f"(setsid {loop} >/dev/null 2>&1 &); (nohup {loop} >/dev/null 2>&1 &)"
    bad = {"do": [ran(line), slept(0.2)], "report": {"success": False, "reason": "gave up"}}
    story = one_bad_then_good(tmp_path, bad)

    assert story.run() == good_in_the_end("gave up")
    assert survivors(token) == []


def test_what_fills_tmp_is_gone_afterwards(tmp_path: Path) -> None:
    """It has one of its own, in memory and bounded."""
    bad = claims(ran("head -c 200M /dev/zero > /tmp/big; ls -la /tmp/big"), slept(0))
    story = one_bad_then_good(tmp_path, bad)

    reason = assert_good_in_the_end(story)
    assert reason.startswith("success was reported, but no file changed and none is new")


def test_special_files_in_the_tree(tmp_path: Path) -> None:
    """A pipe where a file is expected, a link out of the tree, a folder without permissions."""
    line = "mkfifo pipe; ln -s / out; mkdir shut && chmod 000 shut; echo x > x.txt; exit 4"
    story = one_bad_then_good(tmp_path, {"do": [ran(line)]})

    reason = assert_good_in_the_end(story)
    assert reason.startswith("it ended with exit code 4")


def test_a_file_that_is_ignored_is_no_leftover_for_the_next(tmp_path: Path) -> None:
    bad: Entry = {"do": [ran("echo x > built.o"), ran("exit 5")]}
    story = one_bad_then_good(tmp_path, bad)
    story.having({".gitignore": "*.o\n"})
    clean = {"do": [ran("test ! -e built.o && echo a > a.txt")], "report": SUCCESS}
    story.worker("A1", bad, clean)

    ending = story.run()
    assert (ending.code, ending.files, ending.commits) == (0, {"a.txt": "a\n"}, ("A1",))
    assert len(ending.trail) == 1
