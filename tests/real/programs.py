"""The programs that are tested: which versions, and where they lie once they are installed.

Tests never install anything. `make real-agents` does, into a folder of this project that git
ignores (or into DWINDLE_REAL_CACHE), and `.ci/run` calls it. The native programs are taken from
inside the packages: what npm puts on PATH is a wrapper that its install scripts complete, and
those do not run everywhere. A kill has to reach the program itself anyway.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

CLAUDE = "2.1.197"
CODEX = "0.166.0"
AGENT_SDK = "0.2.182"
"""A Python package that brings along a claude which npm has for newer versions of node only."""
NEWER_CLAUDE = "2.1.325"

INSTALL = "make real-agents"
UNAVAILABLE = "unavailable.txt"
"""Why the newer claude could not be had, in its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that is installed."""

    name: str
    version: str
    path: Path
    folder: Path
    """What has to be readable for it to run."""

    @property
    def id(self) -> str:
        return f"{self.name}-{self.version}"


class NotInstalled(Exception):
    """Says which program is missing, and what to do."""


def cache(variables: Mapping[str, str] = os.environ) -> Path:
    return Path(variables.get("DWINDLE_REAL_CACHE") or ROOT / ".real-agents").absolute()


def target() -> str:
    """This machine as npm packages name it."""
    system = {"Darwin": "darwin", "Windows": "win32"}.get(platform.system(), "linux")
    machine = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x64")
    return f"{system}-{machine}"


def claude(folder: Path | None = None) -> Program:
    """Raises NotInstalled."""
    scope = (folder or cache()) / "node_modules" / "@anthropic-ai"
    native = scope / f"claude-code-{target()}"
    return _found("claude", CLAUDE, native / "claude", native, native / "package.json")


def codex(folder: Path | None = None) -> Program:
    """Raises NotInstalled."""
    scope = (folder or cache()) / "node_modules" / "@openai"
    native = scope / f"codex-{target()}"
    found = sorted(native.glob("vendor/*/bin/codex"))
    path = found[0] if found else native / "vendor" / "bin" / "codex"
    return _found("codex", CODEX, path, native, scope / "codex" / "package.json")


def codex_wrapper(folder: Path | None = None) -> Path:
    """The script that node runs, and which starts the native program."""
    return (folder or cache()) / "node_modules" / "@openai" / "codex" / "bin" / "codex.js"


def newer_claude_folder(folder: Path | None = None) -> Path:
    return (folder or cache()) / f"claude-agent-sdk-{AGENT_SDK}"


def newer_claude(folder: Path | None = None) -> Program:
    """Raises NotInstalled."""
    place = newer_claude_folder(folder)
    reason = place / UNAVAILABLE
    if reason.is_file():
        why = reason.read_text(encoding="utf-8").strip()
        raise NotInstalled(f"claude {NEWER_CLAUDE} was not run: it cannot be had here ({why})")
    return _found("claude", NEWER_CLAUDE, place / "claude", place, place / "version.json")


def _found(name: str, wanted: str, path: Path, folder: Path, manifest: Path) -> Program:
    if not path.is_file():
        raise NotInstalled(f"{name} {wanted} is not installed; `{INSTALL}` installs it")
    version = json.loads(manifest.read_text(encoding="utf-8"))["version"]
    if version != wanted:
        raise NotInstalled(
            f"{name} {wanted} is not installed, but {version} is; `{INSTALL}` replaces it"
        )
    return Program(name=name, version=wanted, path=path, folder=folder)
