"""Adversaries, one after the other, each in a temporary repository."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from dwindle.app.refusal import Refused
from dwindle.ports.removal import remove
from dwindle.testing.adversaries import BY_NAME, CATALOGUE, Adversary, Way
from dwindle.torture.scenes import SETTINGS
from dwindle.torture.trial import Trial, TrialResult

SHOWN: Final = Path("/var/tmp")  # noqa: S108 - a folder of our own is made in it
"""A sandbox hides /tmp as a whole; here an adversary sees what it would see in a real run."""


def adversaries_named(names: Sequence[str]) -> tuple[Adversary, ...]:
    """The named adversaries, in the order of the catalogue; all if none is named."""
    if unknown := [name for name in names if name not in BY_NAME]:
        hint = "`dwindle torture --list` names them all"
        raise Refused(f"no adversary is named {', '.join(map(repr, unknown))}", hint=hint)
    return tuple(one for one in CATALOGUE if not names or one.name in names)


def trials(adversaries: Sequence[Adversary]) -> tuple[tuple[Adversary, Way], ...]:
    """Each adversary in each of its ways."""
    return tuple((adversary, way) for adversary in adversaries for way in adversary.ways)


def results(
    adversaries: Sequence[Adversary], begins: Callable[[Adversary, Way], None]
) -> Iterator[TrialResult]:
    """The result of each; `begins` is called before each trial, which takes a few seconds."""
    for adversary, way in trials(adversaries):
        begins(adversary, way)
        if missing := SETTINGS[adversary.scene].missing:
            yield replace(_not_tried(adversary, way, missing), missing=missing)
            continue
        with place() as folder:
            yield _result(adversary, way, folder)


def _result(adversary: Adversary, way: Way, folder: Path) -> TrialResult:
    """A trial that cannot be set up is a result too: the others are still tried."""
    try:
        return Trial(adversary=adversary, way=way, folder=folder).result()
    except RuntimeError as error:
        return _not_tried(adversary, way, f"not tried: {error}")


def _not_tried(adversary: Adversary, way: Way, why: str) -> TrialResult:
    return TrialResult(
        name=adversary.name, tries=adversary.tries, way=way, happened=why, was_tried=False
    )


@contextmanager
def place() -> Iterator[Path]:
    """An empty folder, removed afterwards."""
    seen = SHOWN if os.access(SHOWN, os.W_OK | os.X_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="dwindle-torture-", dir=seen))
    try:
        yield folder
    finally:
        with suppress(OSError):
            remove(folder)
