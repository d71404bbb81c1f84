"""dwindle help: what messages point to can be read where only the package is."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.command import PLAIN, Ended, dwindle, write
from tests.surfaces.on_a_terminal import OnATerminal

from dwindle import __version__
from dwindle.surfaces.cli.app import COMMANDS, GROUPS
from dwindle.surfaces.cli.help import page_of, pages, topics

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "src" / "dwindle"
NAMES = [name for name, *_ in COMMANDS]


def test_every_command_is_in_one_group() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(NAMES)


def test_help_lists_groups_and_topics(tmp_path: Path) -> None:
    said = dwindle(tmp_path, "help")
    assert (said.code, said.err) == (0, "")
    assert [line for line in said.out.splitlines() if len(line) > 80] == []
    headings = re.findall(r"^(\w+)(?: \(.*\))?:$", said.out, re.MULTILINE)
    assert headings == [*GROUPS, "Topics"]
    assert all(f"\n  {name}: " in said.out for name in (*NAMES, "tutorial", "use-in-ci"))


def test_every_page_is_a_topic() -> None:
    folders = (ROOT / "docs", ROOT / "docs/how-to")
    found = {path.stem for folder in folders for path in folder.glob("*.md")}
    assert set(topics()) == found - {"README"}


@pytest.mark.parametrize("word", ["exit-codes", "docs/exit-codes.md", " exit-codes "])
def test_a_page_is_printed_as_it_is(word: str, tmp_path: Path) -> None:
    page = (ROOT / "docs/exit-codes.md").read_text(encoding="utf-8")
    assert dwindle(tmp_path, "help", word) == Ended(code=0, out=page)


def test_a_command_is_a_topic_too(tmp_path: Path) -> None:
    assert dwindle(tmp_path, "help", "land") == dwindle(tmp_path, "land", "--help")


@pytest.mark.parametrize("word", ["frob", "../README", "how-to/use-in-ci", ""])
def test_an_unknown_topic_is_refused(word: str, tmp_path: Path) -> None:
    said = dwindle(tmp_path, "help", word)
    assert said == Ended(
        code=2,
        err=f"dwindle: there is no topic {word!r}\n  `dwindle help` lists topics and commands\n",
    )


@pytest.mark.parametrize(
    ("pager", "seen"),
    [
        ("PAGER_FILE", "paged: # Exit codes"),
        ("no-such-pager", "# Exit codes"),
        ("", "# Exit codes"),
    ],
)
def test_a_terminal_has_a_pager(pager: str, seen: str, tmp_path: Path) -> None:
    program = write(tmp_path, "pager", "#!/bin/sh\nsed '1s/^/paged: /;1q'\n")
    program.chmod(0o700)
    chosen = pager.replace("PAGER_FILE", str(program))
    with OnATerminal(tmp_path, "help", "exit-codes", PAGER=chosen, TERM="xterm") as terminal:
        terminal.expect(seen)
        assert terminal.ended() == 0


def test_version_is_a_command(tmp_path: Path) -> None:
    assert dwindle(tmp_path, "version") == Ended(code=0, out=f"dwindle {__version__}\n")


def messages() -> Iterator[tuple[str, str]]:
    """Every string in the sources that is no docstring."""
    for path in sorted(SOURCES.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or id(node) in prose:
                continue
            if isinstance(node.value, str):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def test_messages_point_to_pages_that_the_package_has() -> None:
    said = list(messages())
    assert [place for place, text in said if re.search(r"docs/[\w/-]+\.md", text)] == []
    named = {
        topic: place
        for place, text in said
        for topic in re.findall(r"`dwindle help ([a-z-]+)", text)
    }
    assert "exit-codes" in named
    assert {topic: place for topic, place in named.items() if page_of(topic) is None} == {}


@pytest.mark.slow
def test_the_wheel_has_the_pages(tmp_path: Path) -> None:
    made = tmp_path / "dist"
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(made)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = made.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "installed")
    assert {f"dwindle/docs/{page_of(topic).relative_to(pages())}" for topic in topics()} <= {*names}  # type: ignore[union-attr]
    assert "dwindle/prompts/worker.md" in names
    assert [name for name in names if not name.startswith(("dwindle/", "dwindle-"))] == []
    # Not the editable install: the extracted package comes first on the path.
    program = (
        "import dwindle, sys; print(dwindle.__file__); from dwindle.__main__ import main; main()"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, "help", "glossary"],
        cwd=tmp_path,
        env={**PLAIN, "PYTHONPATH": os.fspath(tmp_path / "installed")},
        check=True,
        capture_output=True,
        text=True,
    )
    first, _, page = said.stdout.partition("\n")
    assert first == str(tmp_path / "installed/dwindle/__init__.py")
    assert page == (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
