"""Where claude is, which version it is, and whether anybody is logged in: all without asking it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from dwindle.adapters.agents.claude_stream import Init
from dwindle.adapters.agents.installed import VERSION, Found, Package, Program

TRIED: Final = ((2, 1, 197), (2, 1, 325))
"""The oldest and the newest version that this was tried with."""


def _inside(folder: Path) -> Iterator[Path]:
    yield from (folder / "claude", folder.with_name(f"{folder.name}-musl") / "claude")


PACKAGE: Final = Package(
    name="claude-code",
    product="Claude Code",
    inside=_inside,
    quiet={"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
)


def located(program: str = "claude", ours: Mapping[str, str] = os.environ) -> Program:
    return PACKAGE.located(program, ours)


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
    if (folder / ".credentials.json").is_file():
        return f"{folder / '.credentials.json'} is there"
    state = state_file(ours, folder)
    try:
        told = json.loads(state.read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    if isinstance(told, dict) and (told.get("primaryApiKey") or told.get("oauthAccount")):
        return f"{state} names an account"
    return ""


def found(program: str = "claude", ours: Mapping[str, str] = os.environ) -> Found:
    """Look for it, ask for its version, look for a login; nothing leaves this machine."""
    there = located(program, ours)
    says = PACKAGE.version(there)
    how = login(ours)
    problem = there.problem
    if not problem and not how and sys.platform != "darwin":  # there the keychain has it
        problem = "no login was found; start `claude` and use /login, or set ANTHROPIC_API_KEY"
    return Found(
        path="" if there.problem else there.argv[0],
        version=says,
        login=how,
        problem=problem,
        warning="" if there.problem else warning_about(says),
    )
