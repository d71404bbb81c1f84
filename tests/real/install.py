"""Installs the programs that tests/real is about: `python -m tests.real.install`.

Only ever run by a person who asked for it (`make real-agents`) or by `.ci/run`. What exists in
the right version stays. Registries are those that npm and pip are set up for.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.real.programs import (
    AGENT_SDK,
    CLAUDE,
    CODEX,
    NEWER_CLAUDE,
    UNAVAILABLE,
    NotInstalled,
    Program,
    cache,
    claude,
    codex,
    newer_claude,
    newer_claude_folder,
)

SECONDS = 300.0
"""For one download; more, and the checks that need it would come too late."""


def main() -> int:
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        if not all(_is_there(find, folder) for find in (claude, codex)):
            _from_npm(folder)
        if not _is_there(newer_claude, folder):
            _from_wheel(folder)
    except (OSError, subprocess.SubprocessError) as problem:
        say(f"not installed: {problem}")
        return 1
    for find in (claude, codex, newer_claude):
        try:
            say(f"{find(folder).id}: {find(folder).path}")
        except NotInstalled as problem:
            say(str(problem))
    say(f"in {time.monotonic() - began:.1f} s")
    return 0


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a command talks to a person


def _is_there(find: Callable[[Path], Program], folder: Path) -> bool:
    try:
        find(folder)
    except NotInstalled:
        return False
    return True


def _from_npm(folder: Path) -> None:
    """Without install scripts: the native programs are packages of their own."""
    subprocess.run(
        [
            *("npm", "install", "--prefix", str(folder), "--no-save", "--no-package-lock"),
            *("--ignore-scripts", "--no-audit", "--no-fund"),
            f"@anthropic-ai/claude-code@{CLAUDE}",
            f"@openai/codex@{CODEX}",
        ],
        check=True,
        timeout=SECONDS,
    )


def _from_wheel(folder: Path) -> None:
    """It may be missing for this machine, or from the index: then that is what is kept."""
    place = newer_claude_folder(folder)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=folder) as download:
        wanted = f"claude-agent-sdk=={AGENT_SDK}"
        why = _download(wanted, download)
        wheels = sorted(Path(download).glob("*.whl"))
        if why or not wheels:
            why = why or "pip downloaded no wheel"
            (place / UNAVAILABLE).write_text(f"{wanted}: {why}\n", encoding="utf-8")
            return
        with zipfile.ZipFile(wheels[0]) as wheel:
            inside = "claude_agent_sdk/_bundled"
            with wheel.open(f"{inside}/claude") as source, (place / "claude").open("wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
            version = wheel.read(f"{inside}/claude.version").decode().split()[0]
    os.chmod(place / "claude", 0o755)  # noqa: PTH101, S103 - a program
    (place / "version.json").write_text(json.dumps({"version": version}), encoding="utf-8")
    if version != NEWER_CLAUDE:
        raise subprocess.SubprocessError(
            f"the wheel of {wanted} brings claude {version}, expected {NEWER_CLAUDE}"
        )


def _download(wanted: str, folder: str) -> str:
    """Why not; empty if it worked."""
    try:
        ended = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"),
                *("--quiet", "--disable-pip-version-check", "--dest", folder, wanted),
            ],
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"pip was not done after {SECONDS:g} s"
    return f"pip has none for {sys.platform}" if ended.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
