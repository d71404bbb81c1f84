"""Where codex is and which version it is.

What npm puts on PATH is a script that starts the real program with node, and stays in between with
some versions of node: to kill it leaves the program running. The real one is a package beside it,
and is taken where it is found; node need not be there at all then.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dwindle.adapters.agents.codex_home import home

TRIED: Final = "0.166"
"""The version that this was tried with; its last number does not matter."""
VERSION_SECONDS: Final = 10.0
NATIVE: Final = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
PACKAGE: Final = "codex"
INSTALL: Final = "install Codex, or name the path of the program in the settings"
LOG_IN: Final = "no login was found; run `codex login`, or set CODEX_API_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    argv: tuple[str, ...]
    needs: tuple[Path, ...] = ()
    """What must be readable for it to start."""
    is_native: bool = False
    """A signal reaches it, and nobody in between."""
    problem: str = ""
    """Why it cannot be started; empty if it can, as far as one can tell."""


def located(program: str = PACKAGE, ours: Mapping[str, str] = os.environ) -> Program:
    """The program itself, wherever the name leads to."""
    there = shutil.which(program, path=ours.get("PATH", os.defpath))
    if there is None:
        what = f"{program} is not found, or not executable; {INSTALL}"
        return Program(argv=(program,), problem=what)
    path = Path(os.path.realpath(there))
    for native in (path, *_packaged(path)):
        if _is_native(native):
            return Program(argv=(str(native),), needs=_around(native), is_native=True)
    # A script: what it needs lies around it, or is on PATH, which the sandbox brings back.
    package = next((one for one in path.parents if one.name == PACKAGE), None)
    return Program(argv=(str(path),), needs=(path,) if package is None else (package.parent,))


def _packaged(path: Path) -> Iterator[Path]:
    """Where npm would have put the native program of the package that holds this file."""
    system = {"darwin": "darwin"}.get(sys.platform, "linux")
    machine = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x64")
    for package in (one for one in path.parents if one.name == PACKAGE):
        scopes = (package.parent, package / "node_modules" / package.parent.name)
        homes = [scope / f"{PACKAGE}-{system}-{machine}" for scope in scopes]
        for folder in (*homes, package):
            yield from sorted(folder.glob(f"vendor/*/bin/{PACKAGE}"))


def _around(native: Path) -> tuple[Path, ...]:
    """Beside its `bin` are the tools that it brings along, and its own sandbox."""
    whole = native.parent.parent
    is_bundle = native.parent.name == "bin" and (whole / "codex-package.json").is_file()
    return (whole if is_bundle else native,)


def _is_native(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) in NATIVE
    except OSError:
        return False


# --- what doctor tells ---------------------------------------------------------------------------


def version(program: Program) -> str:
    """What it says of itself, such as 0.166.0; empty if it says nothing that can be read."""
    if program.problem:
        return ""
    try:
        done = subprocess.run(
            (*program.argv, "--version"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_SECONDS,
            check=False,
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": os.devnull},
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    found = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return found[0] if found else ""


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
    found = _VERSION.search(said)
    if found is None:
        return f"codex does not say its version; {TRIED} was tried; going on"
    if found[0].rpartition(".")[0] == TRIED:
        return ""
    return f"codex {found[0]} was not tried with this, {TRIED} was; going on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    path: str
    version: str
    login: str
    problem: str
    warning: str


def found(program: str = PACKAGE, ours: Mapping[str, str] = os.environ) -> Found:
    """Look for it, ask for its version, look for a login; nothing leaves this machine."""
    there = located(program, ours)
    said = version(there)
    login = home(ours).login
    warnings = [] if there.problem else [warning_about(said)]
    if not there.problem and not there.is_native:
        warnings.append(f"{there.argv[0]} is a script; the program behind it was not found")
    return Found(
        path="" if there.problem else there.argv[0],
        version=said,
        login=login,
        problem=there.problem or ("" if login else LOG_IN),
        warning="; ".join(warning for warning in warnings if warning),
    )


_VERSION: Final = re.compile(r"\d{1,6}\.\d{1,6}\.\d{1,6}")
