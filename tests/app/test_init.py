"""`dwindle init`: all that a tree plan needs, beside whatever is there, or nothing at all."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from tests.docs.test_commands_page import keys, table
from tests.surfaces.bad_plans import GRAPH
from tests.surfaces.command import (
    GRAPH_FILE,
    PLAIN,
    TREE_FILE,
    Ended,
    dwindle,
    git,
    repository,
    write,
)
from tests.surfaces.small_runs import asked_git, files_of

from dwindle.adapters.formats.config.file import read_settings
from dwindle.adapters.formats.config.settings import (
    AgentSettings,
    GitSettings,
    GuardSettings,
    LimitSettings,
    NotifySettings,
    SandboxSettings,
    Settings,
    WorkspaceSettings,
)
from dwindle.adapters.formats.tree.plan import decode, encode
from dwindle.adapters.store.disk import DirectoryLock, RealDisk
from dwindle.app.init.create import PATTERNS, CreatedFiles, create_files
from dwindle.app.init.scaffold import FILES, SETTINGS
from dwindle.ports.store import StoreFailed

CONFIG = ".runner/config.toml"
IGNORED = """\
# What dwindle makes for itself
.runner/worktrees/
.runner/journal/
.runner/iterations/
.runner/*.lock
.runner/*.sock
.runner/outbox/
"""
NEXT = """\
Next:
  1. write what you want into .runner/GOAL.md
  2. name an agent in .runner/config.toml, under [agents]
  3. write the guard: a justfile with a recipe `ci`, or [guard] command
  4. commit: git add .gitignore .runner && git commit -m 'A goal'
  5. `dwindle doctor` says what is missing; `dwindle run` begins
"""
MADE = """\
made .runner/GOAL.md
made .runner/HUMAN_QUESTIONS.md
made .runner/ASSUMPTIONS.md
made .runner/FEEDBACK_LOG.md
made .runner/IMPROVEMENTS.md
made .runner/config.toml
made .runner/tree.json
added 6 patterns to .gitignore
"""
NOTHING = Ended(
    code=0,
    out="everything is there already; nothing was changed\n"
    "`dwindle` says where you stand, and what comes next\n",
)


def scaffolded(**more: str) -> dict[str, bytes]:
    texts = {"README": "a project\n", ".gitignore": IGNORED} | more
    return dict(
        sorted((dict(FILES) | {name: text.encode() for name, text in texts.items()}).items())
    )


def test_an_empty_repository(tmp_path: Path) -> None:
    repository(tmp_path)
    assert dwindle(tmp_path, "init") == Ended(code=0, out=MADE + NEXT)
    assert files_of(tmp_path) == scaffolded()
    assert dwindle(tmp_path, "validate").code == 0


def test_work_paths_are_proposed_from_the_files_of_the_repository(tmp_path: Path) -> None:
    for name in ("src/a.py", "tests/test_a.py", "bücher/b.py", "bad\n/c.py", "pyproject.toml"):
        write(tmp_path, name, "")
    repository(tmp_path)
    assert dwindle(tmp_path, "init").code == 0
    text = (tmp_path / CONFIG).read_text()
    line = next(line for line in text.splitlines() if line.startswith("#work_paths"))
    read = read_settings(f"[guard]\n{line[1:]}\n".encode())
    assert read.settings is not None
    assert read.settings.guard.work_paths == (
        *("bücher/**", "src/**", "tests/**", "*.md", "*.rst", "docs/**", "pyproject.*"),
    )
    assert read_settings(text.encode()).settings == Settings()


def test_a_second_call_changes_nothing(tmp_path: Path) -> None:
    repository(tmp_path)
    dwindle(tmp_path, "init")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert dwindle(tmp_path, "init") == NOTHING
    now = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert now == before


def test_from_a_folder_inside_and_before_the_first_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    assert dwindle(inside, "init").code == 0
    assert (list(inside.iterdir()), (tmp_path / TREE_FILE).is_file()) == ([], True)


def test_only_what_is_missing_is_made(tmp_path: Path) -> None:
    repository(tmp_path)
    write(tmp_path, ".runner/GOAL.md", "Fly.\n")
    write(tmp_path, CONFIG, "[limits]\nmax_nodes = 7\n")
    write(tmp_path, ".gitignore", "*.pyc\n/.runner/journal\n.runner/outbox/  ")
    said = dwindle(tmp_path, "init", "--json")
    assert (said.code, said.err) == (0, "")
    told = json.loads(said.out)
    assert (told["kept"], told["ignored"]) == (
        [".runner/GOAL.md", CONFIG],
        [".runner/worktrees/", ".runner/iterations/", ".runner/*.lock", ".runner/*.sock"],
    )
    assert told["made"] == [name for name in FILES if name not in told["kept"]]
    assert (tmp_path / ".gitignore").read_text() == (
        "*.pyc\n/.runner/journal\n.runner/outbox/  \n\n# What dwindle makes for itself\n"
        ".runner/worktrees/\n.runner/iterations/\n.runner/*.lock\n.runner/*.sock\n"
    )
    assert files_of(tmp_path) == scaffolded(
        **{
            ".runner/GOAL.md": "Fly.\n",
            CONFIG: "[limits]\nmax_nodes = 7\n",
            ".gitignore": (tmp_path / ".gitignore").read_text(),
        }
    )
    assert dwindle(tmp_path, "init") == NOTHING


def test_line_ends_of_a_gitignore_are_kept(tmp_path: Path) -> None:
    repository(tmp_path)
    write(tmp_path, ".gitignore", "*.pyc\r\n")
    dwindle(tmp_path, "init")
    expected = "*.pyc\r\n\r\n" + IGNORED.replace("\n", "\r\n")
    assert (tmp_path / ".gitignore").read_bytes() == expected.encode()
    assert dwindle(tmp_path, "init") == NOTHING


def test_git_ignores_what_a_run_makes_and_nothing_else(tmp_path: Path) -> None:
    repository(tmp_path)
    dwindle(tmp_path, "init")
    for pattern in PATTERNS:
        write(tmp_path, pattern.replace("*", "x") + ("file" if pattern.endswith("/") else ""), "")
    listed = asked_git(tmp_path, "status", "--porcelain", "--untracked-files=all").splitlines()
    assert sorted(line[3:] for line in listed) == sorted([".gitignore", *FILES])


def test_the_root_may_fail_as_often_as_the_settings_say(tmp_path: Path) -> None:
    repository(tmp_path)
    write(tmp_path, CONFIG, "[limits]\nmax_attempts = 5\n")
    dwindle(tmp_path, "init")
    tree = decode((tmp_path / TREE_FILE).read_bytes()).tree
    assert tree is not None
    assert tree.root.max_attempts == 5


def test_for_programs(tmp_path: Path) -> None:
    repository(tmp_path)
    said = dwindle(tmp_path, "init", "--json")
    told = json.loads(said.out)
    steps = [line.split(". ", 1)[1] for line in NEXT.splitlines()[1:]]
    assert told == {
        "root": str(tmp_path),
        "made": [*FILES],
        "kept": [],
        "ignored": [*PATTERNS],
        "next": steps,
        "notes": [],
    }
    assert sorted(dict.fromkeys(keys(told))) == sorted(table("`init --json`"))


# --- what it says no to --------------------------------------------------------------------------


def test_outside_of_git(tmp_path: Path) -> None:
    assert dwindle(tmp_path, "init") == Ended(
        code=2,
        err=f"dwindle: {tmp_path} is not in a git repository\n"
        "  `git init` makes it one; a tree is remembered by its commits\n",
    )
    assert files_of(tmp_path) == {}


def in_the_way(folder: Path, *problems: str) -> Ended:
    listed = "".join(f"\n  {problem}" for problem in problems)
    return Ended(
        code=2,
        err=f"dwindle: {folder}: these paths are in the way:{listed}\n"
        "  move them away and run `dwindle init` again; nothing was changed\n",
    )


def test_a_file_in_the_way_of_the_folder(tmp_path: Path) -> None:
    repository(tmp_path)
    write(tmp_path, ".runner", "mine\n")
    before = files_of(tmp_path)
    said = in_the_way(tmp_path, ".runner is there, and is no folder")
    assert (dwindle(tmp_path, "init"), files_of(tmp_path)) == (said, before)


def test_everything_in_the_way_is_said_at_once(tmp_path: Path) -> None:
    repository(tmp_path)
    for name in (TREE_FILE, CONFIG, ".gitignore"):
        (tmp_path / name).mkdir(parents=True)
    before = files_of(tmp_path)
    said = in_the_way(
        tmp_path,
        f"{CONFIG} is there, and is no file",
        f"{TREE_FILE} is there, and is no file",
        ".gitignore is there, and is no file",
    )
    assert (dwindle(tmp_path, "init"), files_of(tmp_path)) == (said, before)


def test_no_link_is_followed_out_of_the_repository(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    repository(inside)
    (inside / ".runner").symlink_to(outside)
    (inside / ".gitignore").symlink_to(outside / "ignore")
    assert dwindle(inside, "init") == in_the_way(
        inside,
        ".runner is a symbolic link; a run needs a folder of this repository",
        ".gitignore is a symbolic link, which git does not follow",
    )
    assert files_of(outside) == {}


def test_a_link_in_the_folder_is_left_alone_and_nothing_is_written_through_it(
    tmp_path: Path,
) -> None:
    repository(tmp_path)
    (tmp_path / ".runner").mkdir()
    (tmp_path / ".runner/GOAL.md").symlink_to("../goal-elsewhere.md")
    told = json.loads(dwindle(tmp_path, "init", "--json").out)
    assert (told["kept"], (tmp_path / "goal-elsewhere.md").exists()) == ([".runner/GOAL.md"], False)
    assert (tmp_path / ".runner/GOAL.md").readlink() == Path("../goal-elsewhere.md")


def test_while_a_run_is_going_on(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / ".runner").mkdir()
    before = files_of(tmp_path)
    with DirectoryLock(tmp_path / ".runner"):
        said = dwindle(tmp_path, "init")
    assert (said.code, said.out, files_of(tmp_path)) == (42, "", before)
    assert said.err.endswith("\n  a run is going on; nothing was changed\n")


class FullDisk(RealDisk):
    """Has room for so many files and no more."""

    def __init__(self, room: int) -> None:
        self.room = room

    def rename(self, source: Path, target: Path) -> None:
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= 1
        super().rename(source, target)


@pytest.mark.parametrize("there", [False, True])
def test_all_of_it_or_nothing(tmp_path: Path, there: bool) -> None:
    if there:
        write(tmp_path, ".runner/GOAL.md", "Fly.\n")
        write(tmp_path, ".gitignore", "*.pyc\n")
    before = files_of(tmp_path)
    files = len(FILES) + 1 - there
    for room in range(files):
        with pytest.raises(StoreFailed):
            create_files(tmp_path, FullDisk(room))
        assert (files_of(tmp_path), (tmp_path / ".runner").exists()) == (before, there)
    kept = (".runner/GOAL.md",) if there else ()
    assert create_files(tmp_path, FullDisk(files)) == CreatedFiles(
        made=tuple(name for name in FILES if name not in kept), kept=kept, ignored=PATTERNS
    )


def test_a_failure_is_told(tmp_path: Path) -> None:
    repository(tmp_path)
    before = files_of(tmp_path)
    small = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500));"
        "sys.argv = ['dwindle', 'init']; sys.dont_write_bytecode = True;"
        "runpy.run_module('dwindle', run_name='__main__')"
    )
    said = subprocess.run(
        [sys.executable, "-c", small], cwd=tmp_path, env=PLAIN, capture_output=True, check=False
    )
    assert (said.returncode, said.stdout.decode(), said.stderr.decode()) == (
        43,
        "",
        (
            f"dwindle: {tmp_path / CONFIG}: could not replace: File too large\n"
            "  nothing was made, and nothing was changed\n"
        ),
    )
    assert (files_of(tmp_path), (tmp_path / ".runner").exists()) == (before, False)


# --- what it points out --------------------------------------------------------------------------


def test_what_is_ignored_cannot_be_committed(tmp_path: Path) -> None:
    repository(tmp_path)
    write(tmp_path, ".gitignore", "*.json\n")
    lines = dwindle(tmp_path, "init").out.splitlines()
    assert lines[-1] == f"Note: git ignores {TREE_FILE}; a run has to commit them"


def test_beside_a_graph_plan(tmp_path: Path) -> None:
    repository(tmp_path, graph=GRAPH)
    lines = dwindle(tmp_path, "init").out.splitlines()
    assert lines[-2:] == [
        "  5. `dwindle doctor` says what is missing; `dwindle run --plan tree` begins",
        f"Note: there is a plan in {GRAPH_FILE} too; commands ask for --plan graph or tree",
    ]


# --- what is in the files ------------------------------------------------------------------------


def test_the_tree_is_a_root_in_its_canonical_bytes() -> None:
    tree = decode(FILES[TREE_FILE]).tree
    assert tree is not None
    assert encode(tree) == FILES[TREE_FILE]
    assert (tree.root.id, tree.root.max_attempts, tree.root.children) == ("root", 3, ())
    assert ".runner/GOAL.md" in tree.root.goal


def test_the_pages_are_text_for_a_narrow_window() -> None:
    pages = {name: text.decode() for name, text in FILES.items() if name.endswith((".md", ".toml"))}
    wide = [line for text in pages.values() for line in text.splitlines() if len(line) > 100]
    assert (wide, [name for name, text in pages.items() if not text.endswith("\n")]) == ([], [])


def settings_shown() -> list[tuple[str, str, str]]:
    """Table, key and line of every setting in the comments."""
    found, header = [], ""
    for line in SETTINGS.splitlines():
        assert line.startswith("#")
        if line.startswith("#["):
            header = line[1:]
        elif line[1:2].strip():
            found.append((header, line[1:].split(" ", 1)[0], line[1:]))
    return found


def test_settings_that_are_all_comments_set_nothing() -> None:
    assert read_settings(SETTINGS.encode()).settings == Settings()


def test_every_table_is_shown_and_every_setting_once() -> None:
    tables: dict[str, type] = {
        "[agents]": AgentSettings,
        "[guard]": GuardSettings,
        "[workspace]": WorkspaceSettings,
        "[limits]": LimitSettings,
        "[sandbox]": SandboxSettings,
        "[git]": GitSettings,
        "[notify]": NotifySettings,
    }
    shown = [(header, key) for header, key, _ in settings_shown()]
    roles = [(f"[agents.{role}]", "backend") for role in ("probe", "verifier", "planner")]
    assert [one for one in shown if one in roles] == roles  # with the keys of [agents]
    assert [one for one in shown if one not in roles] == [
        (header, field.name) for header, shape in tables.items() for field in fields(shape)
    ]
    known = {field.name for field in fields(Settings)}
    assert known == {header.strip("[]") for header in tables}


@pytest.mark.parametrize(("header", "key", "line"), settings_shown())
def test_each_line_can_be_uncommented(header: str, key: str, line: str) -> None:
    # A backend needs its program, and a script or a model its backend.
    beside = {
        "backend": 'command = ["x"]\n',
        "model": 'backend = "claude"\n',
        "effort": 'backend = "claude"\n',
        "max_turns": 'backend = "claude"\n',
        "timeout_seconds": 'command = ["x"]\n',
    }
    read = read_settings(f"{header}\n{beside.get(key, '')}{line}\n".encode())
    assert (read.problems, read.settings is None) == ((), False)
    examples = ("max_tokens", "max_cost_usd", "memory_bytes", "work_paths", "setup", "build")
    shown = (*examples, "deliverables")
    if not header.startswith(("[agents", "[notify")) and key not in shown:
        assert read.settings == Settings()  # what is shown is the default


def test_all_lines_can_be_uncommented_but_for_the_other_backend() -> None:
    text = "".join(
        f"{line[1:]}\n"
        for line in SETTINGS.splitlines()
        if line[1:2].strip() and not line.startswith(("#script", "#webhook_env"))
    )
    read = read_settings(text.encode())
    assert (read.problems, read.settings is None) == ((), False)
