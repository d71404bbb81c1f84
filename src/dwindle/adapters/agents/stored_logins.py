"""The keys that claude and codex keep on this machine, so that nobody passes them on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from dwindle.adapters.agents.claude_program import config_folder, state_file
from dwindle.adapters.agents.codex_home import stored_secrets

CREDENTIALS: Final = ".credentials.json"
_OF_CLAUDE: Final = ("accessToken", "refreshToken", "primaryApiKey")


def stored_logins(ours: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What stands for each, and its value, as it is now: a login is renewed now and then."""
    yield from claude_logins(ours)
    home = ours.get("CODEX_HOME") or (f"{ours['HOME']}/.codex" if ours.get("HOME") else "")
    yield from stored_secrets(Path(home) if home else None).items()


def claude_logins(ours: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    folder = config_folder(ours)
    if folder is None:
        return
    for path in (folder / CREDENTIALS, state_file(ours, folder)):
        told = _content(path)
        for found in (told, *(one for one in told.values() if isinstance(one, dict))):
            for name in _OF_CLAUDE:
                if isinstance(value := found.get(name), str):
                    yield f"{name} of {path.name}", value


def _content(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
        # The other file has years of history in it, and nearly never a key.
        told = json.loads(data) if any(name.encode() in data for name in _OF_CLAUDE) else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
