"""Where claude is, which version it is, and whether anybody is logged in: all without asking it.

What npm puts on PATH may be a script that starts the real program with node. The real one is a
package beside it, and is taken where it is found: a signal then reaches it and nobody in between,
and node need not be there at all.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dwindle.adapters.agents.claude_stream import Init

TRIED: Final = ((2, 1, 197), (2, 1, 325))
"""The oldest and the newest version that this was tried with."""
VERSION_SECONDS: Final = 10.0
NATIVE: Final = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
PACKAGE: Final = "claude-code"
INSTALL: Final = "install Claude Code, or name the path of the program in the settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    argv: tuple[str, ...]
    needs: tuple[Path, ...] = ()
    """What must be readable for it to start."""
    problem: str = ""
    """Why it cannot be started; empty if it can, as far as one can tell."""


def located(program: str, ours: Mapping[str, str] = os.environ) -> Program:
    """The program itself, wherever the name leads to."""
    found = shutil.which(program, path=ours.get("PATH", os.defpath))
    if found is None:
        what = f"{program} is not found, or not executable; {INSTALL}"
        return Program(argv=(program,), problem=what)
    path = Path(os.path.realpath(found))
    if _is_native(path):
        return Program(argv=(str(path),), needs=(path,))
    for native in _packaged(path):
        if _is_native(native):
            return Program(argv=(str(native),), needs=(native,))
    # A script: what it needs lies around it, or is on PATH, which the sandbox brings back.
    around = next((one for one in path.parents if one.name == PACKAGE), None)
    return Program(argv=(str(path),), needs=(path,) if around is None else (around,))


def _packaged(path: Path) -> list[Path]:
    """Where npm would have put the native program of the package that holds this file."""
    system = {"darwin": "darwin"}.get(sys.platform, "linux")
    machine = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x64")
    names = [f"{PACKAGE}-{system}-{machine}", f"{PACKAGE}-{system}-{machine}-musl"]
    found = []
    for package in (one for one in path.parents if one.name == PACKAGE):
        scopes = (package.parent, package / "node_modules" / package.parent.name)
        found += [scope / name / "claude" for scope in scopes for name in names]
    return found


def _is_native(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) in NATIVE
    except OSError:
        return False


# --- version -------------------------------------------------------------------------------------


def version(program: Program) -> str:
    """What it says of itself, such as 2.1.197; empty if it says nothing that can be read."""
    if program.problem:
        return ""
    quiet = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    try:
        done = subprocess.run(
            (*program.argv, "--version"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_SECONDS,
            check=False,
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": os.devnull, **quiet},
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    found = _VERSION.match(done.stdout.decode("utf-8", "replace"))
    return found[0] if found else ""


def warning_about(said: str) -> str:
    """What a person should know about this version; empty for one that was tried."""
    found = _VERSION.match(said)
    oldest, newest = (".".join(map(str, one)) for one in TRIED)
    if found is None:
        return f"claude does not say its version; {oldest} to {newest} were tried"
    number = tuple(map(int, found[0].split(".")))
    if TRIED[0] <= number <= TRIED[1]:
        return ""
    return f"claude {found[0]} was not tried with this, {oldest} to {newest} were; going on"


def version_warning(init: Init | None) -> str:
    return warning_about(init.version if init and isinstance(init.version, str) else "")


_VERSION: Final = re.compile(r"\d{1,6}\.\d{1,6}\.\d{1,6}")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What `doctor` tells."""

    path: str
    version: str
    login: str
    problem: str
    warning: str


def found(program: str = "claude", ours: Mapping[str, str] = os.environ) -> Found:
    """Look for it, ask for its version, look for a login; nothing leaves this machine."""
    there = located(program, ours)
    says = version(there)
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
