"""Finding the programs: the right version, or a sentence that says what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import allowed_skips
from tests.real import programs
from tests.real.programs import AGENT_SDK, CLAUDE, CODEX, NEWER_CLAUDE, NotInstalled, Program

Find = Callable[[Path], Program]


def install(folder: Path, *, claude: str = CLAUDE, codex: str = CODEX) -> None:
    """What npm leaves behind, as far as it matters."""
    modules = folder / "node_modules"
    native = modules / "@anthropic-ai" / f"claude-code-{programs.target()}"
    vendor = modules / "@openai" / f"codex-{programs.target()}" / "vendor" / "some-triple" / "bin"
    for place in (native, vendor, modules / "@openai" / "codex"):
        place.mkdir(parents=True)
    (native / "claude").touch()
    (native / "package.json").write_text(json.dumps({"version": claude}))
    (vendor / "codex").touch()
    (modules / "@openai" / "codex" / "package.json").write_text(json.dumps({"version": codex}))


def missing(find: Find, folder: Path) -> str:
    with pytest.raises(NotInstalled) as raised:
        find(folder)
    return str(raised.value)


@pytest.mark.parametrize(
    ("find", "what"),
    [
        (programs.claude, f"claude {CLAUDE}"),
        (programs.codex, f"codex {CODEX}"),
        (programs.newer_claude, f"claude {NEWER_CLAUDE}"),
    ],
)
def test_what_is_missing_is_named_with_the_command_that_installs_it(
    tmp_path: Path, find: Find, what: str
) -> None:
    assert missing(find, tmp_path) == f"{what} is not installed; `make real-agents` installs it"


def test_the_native_programs_are_found_inside_their_packages(tmp_path: Path) -> None:
    install(tmp_path)
    claude, codex = programs.claude(tmp_path), programs.codex(tmp_path)
    assert (claude.id, codex.id) == (f"claude-{CLAUDE}", f"codex-{CODEX}")
    assert claude.path == claude.folder / "claude"
    assert codex.path == codex.folder / "vendor" / "some-triple" / "bin" / "codex"


def test_another_version_is_not_taken_for_the_right_one(tmp_path: Path) -> None:
    install(tmp_path, claude="1.0.0", codex="0.1.0")
    assert missing(programs.claude, tmp_path) == (
        f"claude {CLAUDE} is not installed, but 1.0.0 is; `make real-agents` replaces it"
    )
    assert missing(programs.codex, tmp_path) == (
        f"codex {CODEX} is not installed, but 0.1.0 is; `make real-agents` replaces it"
    )


def test_a_newer_claude_that_cannot_be_had_may_be_skipped_and_nothing_else(
    tmp_path: Path,
) -> None:
    place = programs.newer_claude_folder(tmp_path)
    place.mkdir()
    never_tried = missing(programs.newer_claude, tmp_path)
    (place / programs.UNAVAILABLE).write_text("pip has none\n")
    tried = missing(programs.newer_claude, tmp_path)
    assert tried == f"claude {NEWER_CLAUDE} was not run: it cannot be had here (pip has none)"
    assert [
        any(skip.covers("tests/real/test_x.py::test_y", reason) for skip in allowed_skips())
        for reason in (tried, never_tried, missing(programs.claude, tmp_path))
    ] == [True, False, False]
    assert place.name == f"claude-agent-sdk-{AGENT_SDK}"


def test_the_cache_is_a_folder_of_the_project_unless_another_is_named() -> None:
    assert programs.cache({}) == programs.ROOT / ".real-agents"
    assert programs.cache({"DWINDLE_REAL_CACHE": "/elsewhere"}) == Path("/elsewhere")
    ignored = (programs.ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "/.real-agents/" in ignored
