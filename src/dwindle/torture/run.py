"""Adversaries, one after the other, each in a temporary repository."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dwindle.app.refusal import Refused
from dwindle.testing.adversaries import BY_NAME, CATALOGUE, Adversary, Scene
from dwindle.torture.trial import Trial, TrialResult

SHOWN: Final = Path("/var/tmp")  # noqa: S108 - a folder of our own is made in it
"""A sandbox hides /tmp as a whole; here an adversary sees what it would see in a real run."""
NO_PYTEST: Final = "not tried: pytest is not installed beside dwindle"
NO_MAKE: Final = "not tried: make is not installed"


def adversaries_named(names: Sequence[str]) -> tuple[Adversary, ...]:
    """The named adversaries, in the order of the catalogue; all if none is named."""
    if unknown := [name for name in names if name not in BY_NAME]:
        hint = "`dwindle torture --list` names them all"
        raise Refused(f"no adversary is named {', '.join(map(repr, unknown))}", hint=hint)
    return tuple(one for one in CATALOGUE if not names or one.name in names)


def _missing(scene: Scene) -> str:
    if scene.needs_pytest and importlib.util.find_spec("pytest") is None:
        return NO_PYTEST
    return NO_MAKE if scene is Scene.MAKE and shutil.which("make") is None else ""


def results(
    adversaries: Sequence[Adversary], begins: Callable[[Adversary], None]
) -> Iterator[TrialResult]:
    """The result of each; `begins` is called before each trial, which takes a few seconds."""
    for adversary in adversaries:
        begins(adversary)
        if missing := _missing(adversary.scene):
            yield _not_tried(adversary, missing)
            continue
        with place() as folder:
            yield _result(adversary, folder)


def _result(adversary: Adversary, folder: Path) -> TrialResult:
    """A trial that cannot be set up is a result too: the others are still tried."""
    try:
        return Trial(adversary=adversary, folder=folder).result()
    except RuntimeError as error:
        return _not_tried(adversary, f"not tried: {error}")


def _not_tried(adversary: Adversary, why: str) -> TrialResult:
    return TrialResult(name=adversary.name, tries=adversary.tries, happened=why, was_tried=False)


@contextmanager
def place() -> Iterator[Path]:
    """An empty folder, removed afterwards."""
    seen = SHOWN if os.access(SHOWN, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(
        prefix="dwindle-torture-", dir=seen, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)
