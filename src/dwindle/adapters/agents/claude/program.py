"""Where claude is, which version it is, and whether it has a login: all without asking it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from dwindle.adapters.agents.claude.stream import Init
from dwindle.adapters.agents.npm_program import VERSION, NpmPackage

TRIED: Final = ((2, 1, 197), (2, 1, 325))
"""The oldest and the newest version that this was tried with."""
CREDENTIALS: Final = ".credentials.json"
_SECRET: Final = ("accessToken", "refreshToken", "primaryApiKey")
"""Keys of the files in which claude keeps its login."""


def _inside(folder: Path) -> Iterator[Path]:
    yield from (folder / "claude", folder.with_name(f"{folder.name}-musl") / "claude")


PACKAGE: Final = NpmPackage(
    name="claude-code",
    product="Claude Code",
    inside=_inside,
    quiet={"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
)


def warning_about(said: str) -> str:
    """What a person should know about this version; empty for one that was tried."""
    found = VERSION.search(said)
    oldest, newest = (".".join(map(str, one)) for one in TRIED)
    if found is None:
        return f"claude does not say its version; {oldest} to {newest} were tried"
    number = tuple(map(int, found[0].split(".")))
    if TRIED[0] <= number <= TRIED[1]:
        return ""
    return f"claude {found[0]} was not tried with this, {oldest} to {newest} were; going on"


def version_warning(init: Init | None) -> str:
    return warning_about(init.version if init and isinstance(init.version, str) else "")


# --- login ---------------------------------------------------------------------------------------


def config_folder(ours: Mapping[str, str]) -> Path | None:
    """Where it keeps its login; it need not exist. None if there is no HOME."""
    if named := ours.get("CLAUDE_CONFIG_DIR"):
        return Path(named).absolute()
    home = ours.get("HOME")
    return Path(home).absolute() / ".claude" if home else None


def state_file(ours: Mapping[str, str], folder: Path) -> Path:
    """Accounts and servers; beside the config directory where that has its usual name."""
    return (folder if ours.get("CLAUDE_CONFIG_DIR") else folder.parent) / ".claude.json"


def login(ours: Mapping[str, str]) -> str:
    """How it would log in, as far as that can be told offline; empty if in no way that shows."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        if ours.get(name):
            return f"{name} is set"
    folder = config_folder(ours)
    if folder is None:
        return ""
    if (folder / CREDENTIALS).is_file():
        return f"{folder / CREDENTIALS} is there"
    state = state_file(ours, folder)
    try:
        told = json.loads(state.read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    if isinstance(told, dict) and (told.get("primaryApiKey") or told.get("oauthAccount")):
        return f"{state} names an account"
    return ""


def stored_logins(ours: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Name and value of each secret in the files of claude; it renews its login now and then."""
    folder = config_folder(ours)
    if folder is None:
        return
    for path in (folder / CREDENTIALS, state_file(ours, folder)):
        stored = _stored(path)
        for table in (stored, *(one for one in stored.values() if isinstance(one, dict))):
            for name in _SECRET:
                if isinstance(value := table.get(name), str):
                    yield f"{name} of {path.name}", value


def _stored(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
        # The state file has years of history in it, and nearly never a key.
        stored = json.loads(data) if any(name.encode() in data for name in _SECRET) else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return stored if isinstance(stored, dict) else {}


def login_problem(ours: Mapping[str, str]) -> str:
    """Why its sessions would fail; on macOS the login may be in the keychain."""
    if login(ours) or sys.platform == "darwin":
        return ""
    return "no login was found; start `claude` and use /login, or set ANTHROPIC_API_KEY"
