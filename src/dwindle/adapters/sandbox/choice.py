"""Which containment works on this machine, found by trying and not by asking for versions.

A kernel may forbid user namespaces, a container may forbid mounting, and a program may be there
and too old. So each kind runs a shell once that prints its own process number: in a namespace of
its own, with a /proc of its own, that number is small.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dwindle.adapters.sandbox.bubblewrap import Bubblewrap
from dwindle.adapters.sandbox.process_group import ProcessGroup
from dwindle.adapters.sandbox.subreaper import Subreaper
from dwindle.adapters.sandbox.unshare import Unshare
from dwindle.ports.process import Command, Containment, Strength
from dwindle.text import amounts

TRIAL = 'read -r number rest < /proc/self/stat; echo "$number"'
TRIAL_SECONDS = 3.0
"""It takes a hundredth of a second; but a busy machine must not make us choose the weak one."""

SMALL = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismTrial:
    """Whether one kind of containment works here."""

    mechanism: str
    strength: Strength
    problem: str = ""
    """Why not; empty if it works."""


class NoContainment(Exception):
    """Nothing here is as strong as was asked for; carries what was tried."""

    def __init__(self, required: Strength, findings: tuple[MechanismTrial, ...]) -> None:
        super().__init__(required, findings)
        self.required = required
        self.findings = findings

    def __str__(self) -> str:
        tried = "; ".join(
            f"{finding.mechanism}: {finding.problem}"
            for finding in self.findings
            if finding.problem
        )
        return f"no {self.required} containment works here ({tried}); install bubblewrap"


def choose(required: Strength | None = None, *, mark: str = "") -> Containment:
    """The strongest that works. Programs carry `mark`, so that `sweep` can find leftovers.

    Raises NoContainment rather than return something weaker than `required`.
    """
    for found in _working(mark):  # a weaker one is not even tried
        if required is not Strength.STRONG or found.strength is Strength.STRONG:
            return found
    if required is not None:
        raise NoContainment(required, survey())
    return ProcessGroup(mark=mark)


def kinds(*, mark: str = "") -> tuple[Containment, ...]:
    """All that work here, strongest first; without `ProcessGroup`, which is none."""
    return tuple(_working(mark))


def _working(mark: str) -> Iterator[Containment]:
    return (make(mark) for make, trial in _KINDS if not trial())


def survey() -> tuple[MechanismTrial, ...]:
    """Every kind, strongest first, with the result of its trial."""
    return (
        MechanismTrial(
            mechanism=Bubblewrap.mechanism, strength=Bubblewrap.strength, problem=_try_bubblewrap()
        ),
        MechanismTrial(
            mechanism=Unshare.mechanism, strength=Unshare.strength, problem=_try_unshare()
        ),
        MechanismTrial(
            mechanism=Subreaper.mechanism, strength=Subreaper.strength, problem=_try_subreaper()
        ),
    )


def _bubblewrap(mark: str) -> Bubblewrap:
    return Bubblewrap(program=shutil.which("bwrap") or "bwrap", mark=mark)


def _unshare(mark: str) -> Unshare:
    return Unshare(
        program=shutil.which("unshare") or "unshare",
        setpriv=shutil.which("setpriv") or "setpriv",
        mark=mark,
    )


def _subreaper(mark: str) -> Subreaper:
    return Subreaper(mark=mark)


@cache
def _try_bubblewrap() -> str:
    if shutil.which("bwrap") is None:
        return "bwrap is not installed"
    kind = _bubblewrap("")
    return _trial(kind.argv(_TRIAL_COMMAND), kind.environment(_TRIAL_COMMAND))


@cache
def _try_unshare() -> str:
    for program in ("unshare", "setpriv"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    kind = _unshare("")
    return _trial(kind.argv(_TRIAL_COMMAND), kind.environment(_TRIAL_COMMAND))


@cache
def _try_subreaper() -> str:
    if not sys.platform.startswith("linux") or not Path("/proc/self/stat").exists():
        return "there is no /proc to find processes in"
    return ""


_TRIAL_COMMAND = Command(argv=("/bin/sh", "-c", TRIAL), cwd=Path("/"))

_KINDS: tuple[tuple[Callable[[str], Containment], Callable[[], str]], ...] = (
    (_bubblewrap, _try_bubblewrap),
    (_unshare, _try_unshare),
    (_subreaper, _try_subreaper),
)


def _trial(argv: list[str], variables: dict[str, str]) -> str:
    if not hasattr(os, "pidfd_open"):
        return "this system has no pidfds"
    try:
        done = subprocess.run(
            argv,
            env=variables,
            input=b"go\n",
            capture_output=True,
            timeout=TRIAL_SECONDS,
            check=False,
            cwd="/",
        )
    except subprocess.TimeoutExpired:
        return f"a trial did not end within {amounts.duration(TRIAL_SECONDS)}"
    except OSError as problem:
        return f"a trial could not be started: {problem}"
    said = done.stdout.strip()
    if done.returncode:
        return done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
    if not said.isdigit() or int(said) > SMALL:
        return "a trial was not in a PID namespace of its own"
    return ""
