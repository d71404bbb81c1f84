"""The library of docs/first-hour.md, and what installs without a network from then on.

`python -m tests.real.library` (`make real-library`, `.ci/run`) fetches it into a folder of this
project that git ignores, from the index that pip is set up for: the library's own archive, with its
tests, and the wheels that the commands of the page install. None of it is part of this project.
Tests never fetch anything.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from pathlib import Path

from tests.real.install import SECONDS, say
from tests.real.programs import ROOT, NotInstalled

NAME = "inflection"
VERSION = "0.5.1"
SHA256 = "1a29730d366e996aaacffb2f1f1cb9593dc38e2ddd30c91250c6dde09ea9b417"

FETCH = "make real-library"
BUILD_TOOLS = ("hatchling", "setuptools", "wheel")
"""What pip builds dwindle with, and the library."""
INSTALLED = ("msgspec", "PyYAML", "cyclopts", "starlette", "uvicorn", "pytest")
"""What the page installs: dwindle with its web extra, and pytest."""
COMPLETE = "complete.txt"
"""Names the pins that the folder was filled for."""


def shelf() -> Path:
    return ROOT / ".real-library"


def archive(folder: Path) -> Path:
    return folder / f"{NAME}-{VERSION}.tar.gz"


def found(folder: Path | None = None) -> Path:
    """The folder with everything in it. Raises NotInstalled."""
    place = folder or shelf()
    mark = place / COMPLETE
    if not mark.is_file() or mark.read_text(encoding="utf-8") != _pins():
        raise NotInstalled(f"{NAME} {VERSION} is not here; `{FETCH}` fetches it")
    _check(archive(place))
    return place


def main() -> int:
    place = shelf()
    began = time.monotonic()
    try:
        found(place)
    except NotInstalled:
        place.mkdir(exist_ok=True)
        try:
            _fetch(place)
        except (OSError, subprocess.SubprocessError, NotInstalled) as problem:
            say(f"not fetched: {problem}")
            return 1
    say(f"{NAME} {VERSION}: {archive(place)}")
    say(f"in {time.monotonic() - began:.1f} s")
    return 0


def _fetch(place: Path) -> None:
    _download(place, "-c", str(ROOT / "constraints.txt"), *INSTALLED, *BUILD_TOOLS)
    _download(place, "--no-deps", "--no-binary", NAME, f"{NAME}=={VERSION}")
    _check(archive(place))
    (place / COMPLETE).write_text(_pins(), encoding="utf-8")


def _download(place: Path, *words: str) -> None:
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check"),
            *("--dest", str(place), *words),
        ],
        check=True,
        timeout=SECONDS,
    )


def _check(path: Path) -> None:
    """Raises NotInstalled if this is another archive than the one that was looked at."""
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise NotInstalled(f"{path.name} is not the archive that is pinned; `{FETCH}` fetches it")


def _pins() -> str:
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    python = "{}.{}".format(*sys.version_info)
    return (
        f"python {python}\n{NAME}=={VERSION}\n{' '.join((*INSTALLED, *BUILD_TOOLS))}\n{constraints}"
    )


if __name__ == "__main__":
    sys.exit(main())
