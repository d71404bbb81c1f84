"""The tools that run tests, or that lead to whoever does, by the words that name them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from dwindle.runner.shell_words import words


class Tool(StrEnum):
    PYTEST = "pytest"
    UNITTEST = "unittest"
    NODE = "node"
    CARGO = "cargo"
    TOX = "tox"
    NOX = "nox"
    MAKE = "make"
    JUST = "just"


NAMES: dict[Tool, re.Pattern[str]] = {
    Tool.PYTEST: re.compile(r"(?:.*/)?(?:pytest(?:-?[0-9.]+)?|py\.test|tox|nox)"),
    Tool.UNITTEST: re.compile(r"unittest"),
    Tool.NODE: re.compile(
        r"(?:.*/)?(?:node|npm|npx|pnpm|yarn|bun|jest|vitest|mocha|ava|tap)(?:\.js)?"
    ),
    Tool.CARGO: re.compile(r"(?:.*/)?cargo(?:-nextest)?"),
    Tool.TOX: re.compile(r"(?:.*/)?tox"),
    Tool.NOX: re.compile(r"(?:.*/)?nox"),
    Tool.MAKE: re.compile(r"(?:.*/)?g?make|MAKE"),  # of $(MAKE), its name is what is left
    Tool.JUST: re.compile(r"(?:.*/)?just"),
}


def tools_in(lines: Iterable[str]) -> tuple[Tool, ...]:
    """Those that any word of the lines may stand for, in a fixed order."""
    found = {piece for line in lines for word in words(line) for piece in (word, _behind(word))}
    return tuple(
        tool for tool, name in NAMES.items() if any(name.fullmatch(word) for word in found)
    )


def _behind(word: str) -> str:
    """`PYTEST:=pytest` names pytest, and so does `["pytest", "-q"]` in a list."""
    return word.rpartition("=")[2].strip(",[]:")
