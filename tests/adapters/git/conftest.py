from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.git.places import repository


@pytest.fixture(autouse=True)
def nobody_is_known_to_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of whoever runs the tests, and no identity."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return repository(tmp_path / "a repository für uns")
