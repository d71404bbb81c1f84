"""Adversaries, one after the other, each in a repository that is thrown away afterwards."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dwindle.surfaces.arena import Arena, Verdict
from dwindle.surfaces.refusal import Refused
from dwindle.testing.adversaries import BY_NAME, CATALOGUE, Adversary, Scene

SHOWN: Final = Path("/var/tmp")  # noqa: S108 - a folder of our own is made in it
"""A sandbox hides /tmp as a whole; here an adversary sees as much as it would in earnest."""
NO_PYTEST: Final = "not tried: pytest is not installed beside dwindle"
NO_MAKE: Final = "not tried: make is not installed"


def chosen(names: Sequence[str]) -> tuple[Adversary, ...]:
    """Those that are named, in the order of the catalogue; all if none is."""
    if unknown := [name for name in names if name not in BY_NAME]:
        hint = "`dwindle torture --list` names them all"
        raise Refused(f"no adversary is named {', '.join(map(repr, unknown))}", hint=hint)
    return tuple(one for one in CATALOGUE if not names or one.name in names)


def _missing(scene: Scene) -> str:
    if scene.needs_pytest and importlib.util.find_spec("pytest") is None:
        return NO_PYTEST
    return NO_MAKE if scene is Scene.MAKE and shutil.which("make") is None else ""


def verdicts(
    adversaries: Sequence[Adversary], begins: Callable[[Adversary], None]
) -> Iterator[Verdict]:
    """What became of each; `begins` is told before it takes a few seconds."""
    for adversary in adversaries:
        begins(adversary)
        if missing := _missing(adversary.scene):
            yield Verdict(
                name=adversary.name, tries=adversary.tries, happened=missing, broken=(missing,)
            )
            continue
        with place() as folder:
            yield _judged(adversary, folder)


def _judged(adversary: Adversary, folder: Path) -> Verdict:
    """One that could not be tried has not lost; the others are tried all the same."""
    try:
        return Arena(adversary=adversary, folder=folder).judged()
    except RuntimeError as error:
        said = f"not tried: {error}"
        return Verdict(name=adversary.name, tries=adversary.tries, happened=said, broken=(said,))


@contextmanager
def place() -> Iterator[Path]:
    """An empty folder, removed afterwards."""
    seen = SHOWN if os.access(SHOWN, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(
        prefix="dwindle-torture-", dir=seen, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)
