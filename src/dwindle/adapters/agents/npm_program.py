"""A program that npm may have installed: where it really is, and which version.

What npm puts on PATH may be a script that starts the real program with node, and stays in between:
to kill the script then leaves the program running. The real one is a package beside it, and is
taken where it is found; a signal reaches it, and node need not be there at all.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

VERSION_SECONDS: Final = 10.0
NATIVE: Final = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
VERSION: Final = re.compile(r"\d{1,6}\.\d{1,6}\.\d{1,6}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    argv: tuple[str, ...]
    needs: tuple[Path, ...] = ()
    """What must be readable for it to start."""
    is_native: bool = False
    """No script stands in between, so that a signal reaches it."""
    problem: str = ""
    """Why it cannot be started; empty if it can, as far as one can tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NpmPackage:
    """How one vendor packs its program for npm."""

    name: str
    """Of the folder of the script."""
    product: str
    """What a person would install."""
    inside: Callable[[Path], Iterable[Path]]
    """Where the native program may be in a folder of the vendor's."""
    around: Callable[[Path], Path] = lambda native: native
    """What the native program needs to be able to read."""
    around_script: Callable[[Path], Path] = lambda package: package
    quiet: Mapping[str, str] = field(default_factory=dict)
    """Variables that keep it from calling others when it is asked for its version."""

    def find(self, program: str, ours: Mapping[str, str] = os.environ) -> Program:
        """The program itself, wherever the name leads to."""
        there = shutil.which(program, path=ours.get("PATH", os.defpath))
        if there is None:
            install = f"install {self.product}, or name the path of the program in the settings"
            what = f"{program} is not found, or not executable; {install}"
            return Program(argv=(program,), problem=what)
        path = Path(os.path.realpath(there))
        for native in (path, *self._native_paths(path)):
            if _is_native(native):
                return Program(argv=(str(native),), needs=(self.around(native),), is_native=True)
        # A script: what it needs lies around it, or is on PATH, which the sandbox brings back.
        package = next(self._packages(path), None)
        needs = path if package is None else self.around_script(package)
        return Program(argv=(str(path),), needs=(needs,))

    def version(self, program: Program) -> str:
        """What it says of itself, such as 2.1.197; empty if it says nothing that can be read."""
        if program.problem:
            return ""
        try:
            done = subprocess.run(
                (*program.argv, "--version"),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=VERSION_SECONDS,
                check=False,
                env={"PATH": os.environ.get("PATH", os.defpath), "HOME": os.devnull, **self.quiet},
            )
        except (OSError, subprocess.SubprocessError):
            return ""
        found = VERSION.search(done.stdout.decode("utf-8", "replace"))
        return found[0] if found else ""

    def _packages(self, path: Path) -> Iterator[Path]:
        return (one for one in path.parents if one.name == self.name)

    def _native_paths(self, path: Path) -> Iterator[Path]:
        """Where npm would have put the native program of the package that holds this file."""
        for package in self._packages(path):
            scopes = (package.parent, package / "node_modules" / package.parent.name)
            for folder in (*(scope / f"{self.name}-{machine()}" for scope in scopes), package):
                yield from self.inside(folder)


def machine() -> str:
    """This one, as packages of npm name it."""
    system = {"darwin": "darwin"}.get(sys.platform, "linux")
    processor = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x64")
    return f"{system}-{processor}"


def _is_native(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) in NATIVE
    except OSError:
        return False
