"""Logins that lie on this machine are secrets like those in the environment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dwindle.adapters.agents.claude import program as claude_program
from dwindle.adapters.agents.codex import home as codex_home


def stored_logins(ours: dict[str, str]) -> list[tuple[str, str]]:
    return [*claude_program.stored_logins(ours), *codex_home.stored_logins(ours)]


def put(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def test_they_are_found_where_the_programs_keep_them(tmp_path: Path) -> None:
    tokens = {"accessToken": "at-1", "refreshToken": "rt-1", "expiresAt": 7}
    put(tmp_path / ".claude/.credentials.json", {"claudeAiOauth": tokens})
    put(tmp_path / ".claude.json", {"primaryApiKey": "sk-1", "projects": {"a": {}}})
    put(tmp_path / ".codex/auth.json", {"OPENAI_API_KEY": "sk-2", "tokens": {"id_token": "it-2"}})
    assert stored_logins({"HOME": str(tmp_path)}) == [
        ("accessToken of .credentials.json", "at-1"),
        ("refreshToken of .credentials.json", "rt-1"),
        ("primaryApiKey of .claude.json", "sk-1"),
        ("id_token of auth.json", "it-2"),
        ("key of auth.json", "sk-2"),
    ]


def test_folders_may_have_other_names(tmp_path: Path) -> None:
    put(tmp_path / "c/.credentials.json", {"claudeAiOauth": {"accessToken": "at-1"}})
    put(tmp_path / "x/auth.json", {"OPENAI_API_KEY": "sk-2"})
    ours = {"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")}
    assert [value for _, value in stored_logins(ours)] == ["at-1", "sk-2"]


@pytest.mark.parametrize("content", ["", "[]", '{"accessToken": 3}', '{"accessToken"', "null"])
def test_rubbish_holds_none(tmp_path: Path, content: str) -> None:
    put(tmp_path / ".claude/.credentials.json", content)
    assert stored_logins({"HOME": str(tmp_path)}) == []


def test_without_a_home_there_is_none() -> None:
    assert stored_logins({}) == []
