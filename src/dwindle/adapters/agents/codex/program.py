"""Where codex is, which version it is, and whether its own sandbox works here."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from dwindle.adapters.agents.npm_program import VERSION, VERSION_SECONDS, NpmPackage, Program

TRIED: Final = "0.166"
"""The version that this was tried with; its last number does not matter."""
NAME: Final = "codex"
LOG_IN: Final = "no login was found; run `codex login`, or set CODEX_API_KEY"


def _inside(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob(f"vendor/*/bin/{NAME}"))


def _around(native: Path) -> Path:
    """Beside its `bin` are the tools that it brings along, and its own sandbox."""
    whole = native.parent.parent
    is_bundle = native.parent.name == "bin" and (whole / "codex-package.json").is_file()
    return whole if is_bundle else native


PACKAGE: Final = NpmPackage(
    name=NAME,
    product="Codex",
    inside=_inside,
    around=_around,
    around_script=lambda package: package.parent,
)


def sandbox_problem(program: Program) -> str:
    """Why its own sandbox cannot start here; empty if it can.

    It has to be tried: a session in which no command could be started tells nothing of it.
    """
    with tempfile.TemporaryDirectory(prefix="dwindle-codex-") as folder:
        places = {"CODEX_HOME": f"{folder}/home", "TMPDIR": f"{folder}/scratch", "HOME": folder}
        for place in (places["CODEX_HOME"], places["TMPDIR"]):
            Path(place).mkdir()
        try:
            done = subprocess.run(
                (*program.argv, "sandbox", "-c", 'sandbox_mode="read-only"', "--", "true"),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=VERSION_SECONDS,
                check=False,
                env={"PATH": os.environ.get("PATH", os.defpath), **places},
            )
        except (OSError, subprocess.SubprocessError) as problem:
            return f"codex's own sandbox could not be tried: {problem}"
    if not done.returncode:
        return ""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    said = lines[-1] if lines else f"exit code {done.returncode}"
    return f"codex's own sandbox cannot start here ({said}); install bubblewrap, and ours is used"


def warning_about(said: str) -> str:
    """What a person should know about this version; empty for the one that was tried."""
    found = VERSION.search(said)
    if found is None:
        return f"codex does not say its version; {TRIED} was tried; going on"
    if found[0].rpartition(".")[0] == TRIED:
        return ""
    return f"codex {found[0]} was not tried with this, {TRIED} was; going on"


@cache
def version_of(program: Program) -> str:
    """Asked once, however many roles it has."""
    return PACKAGE.version(program)
