"""Is it pytest, or unittest, that a command runs? And how pytest is asked for a report."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from dwindle.adapters.checks.shell_line import without_assignments

ADDOPTS = "PYTEST_ADDOPTS"
SOME_FAILED = 1

_PYTEST = re.compile(r"(?:.*/)?(?:pytest(?:-?[0-9.]+)?|py\.test)")
_PYTHON = re.compile(r"(?:.*/)?(?:python[0-9.]*|pypy[0-9.]*)")
_PREFIXES = (
    *(("env",), ("exec",), ("nice",), ("time",)),
    *((tool, "run") for tool in ("hatch", "pdm", "pipenv", "pixi", "poetry", "rye", "uv")),
)
_WITH_VALUE = frozenset(("-W", "-X"))


def runs_module(words: tuple[str, ...], name: str) -> bool:
    """As `pytest`, `python -m NAME`, `coverage run -m NAME`, or any of these behind `uv run`."""
    words = without_assignments(words)
    for prefix in _PREFIXES:
        if words[: len(prefix)] == prefix:
            rest = words[len(prefix) :]
            if prefix == ("env",) and rest[:1] and rest[0].startswith("-"):
                return False  # env -i and its like may drop the request
            while rest and rest[0].startswith("-"):
                rest = rest[1:]
            return runs_module(rest, name)
    if not words:
        return False
    if _PYTEST.fullmatch(words[0]):
        return name == "pytest"
    if words[:2] == ("coverage", "run"):
        return _module(words[2:]) == (name,)
    if not _PYTHON.fullmatch(words[0]):
        return False
    module = _module(words[1:])
    return module == (name,) or (
        module == ("coverage",) and runs_module(words[words.index("coverage") :], name)
    )


def _module(words: tuple[str, ...]) -> tuple[str, ...]:
    """What `-m` names, if only options stand before it."""
    index = 0
    while index < len(words) and words[index].startswith("-"):
        if words[index] == "-m":
            return words[index + 1 : index + 2]
        index += 2 if words[index] in _WITH_VALUE else 1
    return ()


def addopts(before: str, report: Path) -> str:
    return f"{before} {shlex.quote(f'--junitxml={report}')}".strip()
