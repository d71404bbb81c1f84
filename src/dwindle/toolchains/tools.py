"""The tools that judge code, or that run recipes which do: their names and their recipe files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from dwindle.toolchains.shell import words


class Tool(StrEnum):
    PYTEST = "pytest"
    UNITTEST = "unittest"
    NODE = "node"
    CARGO = "cargo"
    TOX = "tox"
    NOX = "nox"
    MAKE = "make"
    JUST = "just"
    COVERAGE = "coverage"
    MYPY = "mypy"
    RUFF = "ruff"


LINTERS: Final = (Tool.COVERAGE, Tool.MYPY, Tool.RUFF)
"""They judge where they run, and are often in a recipe that does not."""
PYTHON_TOOLS: Final = (Tool.PYTEST, Tool.UNITTEST, *LINTERS)

_PYTEST: Final = r"pytest(?:-?[0-9.]+)?|py\.test"
_PYTHON: Final = r"python[0-9.]*|pypy[0-9.]*"
PYTEST: Final = re.compile(rf"(?:.*/)?(?:{_PYTEST})")
PYTHON: Final = re.compile(rf"(?:.*/)?(?:{_PYTHON})")
INTERPRETER: Final = re.compile(rf"(?:.*/)?(?:{_PYTHON}|node|bun|deno|ruby|perl|php)")
PACKAGE_MANAGERS: Final = ("npm", "yarn", "pnpm")

NAMES: Final[dict[Tool, re.Pattern[str]]] = {
    Tool.PYTEST: re.compile(rf"(?:.*/)?(?:{_PYTEST}|tox|nox)"),
    Tool.UNITTEST: re.compile(r"unittest"),
    Tool.NODE: re.compile(
        rf"(?:.*/)?(?:node|{'|'.join(PACKAGE_MANAGERS)}|npx|bun|jest|vitest|mocha|ava|tap)(?:\.js)?"
    ),
    Tool.CARGO: re.compile(r"(?:.*/)?cargo(?:-nextest)?"),
    Tool.TOX: re.compile(r"(?:.*/)?tox"),
    Tool.NOX: re.compile(r"(?:.*/)?nox"),
    Tool.MAKE: re.compile(r"(?:.*/)?g?make|MAKE"),  # MAKE is what `words` leaves of $(MAKE)
    Tool.JUST: re.compile(r"(?:.*/)?just"),
    Tool.COVERAGE: re.compile(r"(?:.*/)?coverage(?:-?[0-9.]+)?|--cov(?:[-=].*)?"),
    Tool.MYPY: re.compile(r"(?:.*/)?d?mypy"),
    Tool.RUFF: re.compile(r"(?:.*/)?ruff"),
}
RECIPE_FILES: Final[dict[Tool, tuple[str, ...]]] = {
    Tool.MAKE: ("GNUmakefile", "makefile", "Makefile"),
    Tool.JUST: ("justfile", "Justfile", "JUSTFILE", ".justfile", ".Justfile"),
    Tool.NODE: ("package.json",),
    Tool.TOX: ("tox.ini", "tox.toml"),
    Tool.NOX: ("noxfile.py",),
}
"""What a tool reads from its folder unless the command names another; make takes the first."""


def tools_in(lines: Iterable[str]) -> tuple[Tool, ...]:
    """The tools that any word of the lines may stand for, in the order of `Tool`."""
    found = {piece for line in lines for word in words(line) for piece in (word, _value(word))}
    return tuple(
        tool for tool, name in NAMES.items() if any(name.fullmatch(word) for word in found)
    )


def _value(word: str) -> str:
    """`PYTEST:=pytest` names pytest, and so do `["pytest", "-q"]` and, in a recipe, `@pytest`."""
    value = word.rpartition("=")[2].strip(",[]:")
    return value if value.startswith("--") else value.lstrip("@+-")
