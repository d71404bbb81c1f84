"""Finding claude, its version and its login, without asking anybody outside."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

import pytest

from dwindle.adapters.agents.claude.agent import ClaudeAgent
from dwindle.adapters.agents.claude.program import (
    PACKAGE,
    config_folder,
    login,
    warning_about,
)
from dwindle.adapters.agents.npm_program import Program
from dwindle.ports.backend import AgentFacts

SCRIPT = "#!/bin/sh\necho '{said}'\n"
MACHINE = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x64")
SYSTEM = "darwin" if sys.platform == "darwin" else "linux"


def made(path: Path, content: str | bytes = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(0o755)
    return path


# --- where ---------------------------------------------------------------------------------------


def test_a_name_is_looked_for_on_path_and_links_are_followed(tmp_path: Path) -> None:
    native = made(tmp_path / "versions/2.1.197", b"\x7fELF...")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/claude").symlink_to(native)
    ours = {"PATH": str(tmp_path / "bin")}
    expected = Program(argv=(str(native),), needs=(native,), is_native=True)
    assert PACKAGE.find("claude", ours) == expected
    assert PACKAGE.find(str(tmp_path / "bin/claude"), {"PATH": ""}) == expected


@pytest.mark.parametrize("kind", ["", "-musl"])
@pytest.mark.parametrize("nested", [False, True])
def test_behind_the_script_of_npm_the_native_program_is_found(
    tmp_path: Path, kind: str, nested: bool
) -> None:
    package = tmp_path / "node_modules/@anthropic-ai/claude-code"
    scope = package / "node_modules/@anthropic-ai" if nested else package.parent
    native = made(scope / f"claude-code-{SYSTEM}-{MACHINE}{kind}/claude", b"\x7fELF...")
    script = made(package / "cli.js", "#!/usr/bin/env node\n")
    (tmp_path / "claude").symlink_to(script)
    assert PACKAGE.find("claude", {"PATH": str(tmp_path)}) == Program(
        argv=(str(native),), needs=(native,), is_native=True
    )


def test_a_script_without_one_is_started_itself_with_all_that_is_around_it(
    tmp_path: Path,
) -> None:
    package = tmp_path / "node_modules/@anthropic-ai/claude-code"
    script = made(package / "bin/claude.js", "#!/usr/bin/env node\n")
    alone = made(tmp_path / "bin/claude", SCRIPT)
    assert PACKAGE.find(str(script)) == Program(argv=(str(script),), needs=(package,))
    assert PACKAGE.find(str(alone)) == Program(argv=(str(alone),), needs=(alone,))


def test_what_is_not_there_or_not_executable_is_told(tmp_path: Path) -> None:
    made(tmp_path / "claude").chmod(0o644)
    what = (
        "claude is not found, or not executable; install Claude Code, or name the path of the "
        "program in the settings"
    )
    assert PACKAGE.find("claude", {"PATH": str(tmp_path)}) == Program(
        argv=("claude",), problem=what
    )


# --- version -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("says", "expected"),
    [("2.1.197 (Claude Code)", "2.1.197"), ("hello", ""), ("", ""), ("v2", "")],
)
def test_the_version_is_what_it_says(tmp_path: Path, says: str, expected: str) -> None:
    program = made(tmp_path / "claude", SCRIPT.format(said=says))
    assert PACKAGE.version(PACKAGE.find(str(program))) == expected


def test_one_that_cannot_be_run_has_no_version(tmp_path: Path) -> None:
    broken = made(tmp_path / "claude", b"\x7fELF")
    assert PACKAGE.version(PACKAGE.find(str(broken))) == ""
    assert PACKAGE.version(PACKAGE.find("no-such-claude")) == ""


def test_versions_between_those_that_were_tried_are_not_warned_about() -> None:
    assert [warning_about(one) for one in ("2.1.197", "2.1.260", "2.1.325 (Claude Code)")] == [
        ""
    ] * 3
    assert [warning_about(one) for one in ("2.1.196", "2.2.0", "x")] == [
        "claude 2.1.196 was not tried with this, 2.1.197 to 2.1.325 were; going on",
        "claude 2.2.0 was not tried with this, 2.1.197 to 2.1.325 were; going on",
        "claude does not say its version; 2.1.197 to 2.1.325 were tried",
    ]


# --- login ---------------------------------------------------------------------------------------


def test_a_key_in_the_environment_is_a_login_and_is_not_told() -> None:
    names = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
    assert [login({name: "canary"}) for name in names] == [f"{name} is set" for name in names]


def test_a_login_is_in_the_config_directory(tmp_path: Path) -> None:
    ours = {"HOME": str(tmp_path)}
    assert login(ours) == ""
    state = made(tmp_path / ".claude.json", "{")
    assert login(ours) == ""
    state.write_text('{"numStartups": 3}', "utf-8")
    assert login(ours) == ""
    state.write_text(json.dumps({"oauthAccount": {"emailAddress": "a@b"}}), "utf-8")
    assert login(ours) == f"{state} names an account"
    credentials = made(tmp_path / ".claude/.credentials.json", "{}")
    assert login(ours) == f"{credentials} is there"


def test_a_config_directory_of_another_name_holds_its_state_inside(tmp_path: Path) -> None:
    ours = {"HOME": "/nowhere", "CLAUDE_CONFIG_DIR": str(tmp_path)}
    state = made(tmp_path / ".claude.json", json.dumps({"primaryApiKey": "canary"}))
    assert (config_folder(ours), login(ours)) == (tmp_path, f"{state} names an account")
    assert (config_folder({}), login({})) == (None, "")


# --- both ----------------------------------------------------------------------------------------


def test_all_that_is_told_about_it(tmp_path: Path) -> None:
    program = made(tmp_path / "claude", SCRIPT.format(said="9.9.9 (Claude Code)"))
    ours = {"PATH": str(tmp_path), "ANTHROPIC_API_KEY": "canary"}
    assert ClaudeAgent(model="opus", ours=ours).facts() == AgentFacts(
        what=f"claude 9.9.9, model opus; ANTHROPIC_API_KEY is set ({program})",
        warnings=("claude 9.9.9 was not tried with this, 2.1.197 to 2.1.325 were; going on",),
    )


@pytest.mark.skipif(sys.platform == "darwin", reason="there the keychain might have one")
def test_that_nobody_is_logged_in_is_a_problem(tmp_path: Path) -> None:
    program = made(tmp_path / "claude", SCRIPT.format(said="2.1.197"))
    ours = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    assert ClaudeAgent(ours=ours).facts() == AgentFacts(
        what=f"claude 2.1.197;  ({program})",
        problem="no login was found; start `claude` and use /login, or set ANTHROPIC_API_KEY",
    )


def test_one_that_is_not_there_has_nothing_to_tell() -> None:
    nothing = ClaudeAgent(ours={"PATH": "/nowhere"}).facts()
    assert (nothing.what, nothing.warnings) == ("", ())
    assert nothing.problem.startswith("claude is not found, or not executable; ")
