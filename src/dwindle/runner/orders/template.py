"""Prompts are files: Markdown below `prompts/`, to be read as they stand, with a few gaps in them.

There are three kinds of gap, and nothing else is special:

- `{{name}}` is a text. A section (from one line that begins with `# ` to the next) with a text that
  is empty is left out.
- `{{if name}}` and `{{unless name}}`, at the end of a heading, leave a section out or in.

A file is parsed once and filled in one step, so a text that looks like a gap stays as it is. The
caller has to fill all gaps of a file and no others; anything else raises WrongTemplate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from dwindle.text.escape import escape_prompt

FOLDER: Final = "prompts"
_SECTION: Final = re.compile(r"^(?=# )", re.MULTILINE)
_CONDITION: Final = re.compile(r" \{\{(if|unless) ([a-z_]+)\}\}$")
_GAP: Final = re.compile(r"\{\{([a-z_]+)\}\}")
_LEFT: Final = "{{"


class WrongTemplate(ValueError):
    """A prompt file, or what is filled into it, is not as it should be."""


@dataclass(frozen=True, slots=True)
class _Section:
    pieces: tuple[str, ...]
    """Texts and names of gaps, in turns; the first and the last is a text."""
    condition: str = ""
    holds_if: bool = True

    @property
    def names(self) -> frozenset[str]:
        return frozenset((*self.pieces[1::2], *((self.condition,) if self.condition else ())))

    def fill(self, values: Mapping[str, str | bool]) -> str:
        """Empty if it is left out."""
        if self.condition and bool(values[self.condition]) is not self.holds_if:
            return ""
        if not all(values[name] for name in self.pieces[1::2]):
            return ""
        pieces = list(self.pieces)
        pieces[1::2] = [str(values[name]) for name in self.pieces[1::2]]
        return "".join(pieces)


class Template:
    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._sections = tuple(_section(name, part) for part in _SECTION.split(text) if part)
        self.names: Final = frozenset[str]().union(*(one.names for one in self._sections))

    def fill(self, values: Mapping[str, str | bool]) -> str:
        """Sections are a blank line apart, whichever are there. Raises WrongTemplate."""
        if values.keys() != self.names:
            missing = ", ".join(sorted(self.names - values.keys())) or "nothing"
            unused = ", ".join(sorted(values.keys() - self.names)) or "nothing"
            raise WrongTemplate(f"{self._name}: {missing} is missing, {unused} is not used")
        found = (section.fill(values) for section in self._sections)
        return escape_prompt("\n\n".join(text for text in found if text) + "\n")


@cache
def template(name: str) -> Template:
    """The one in `prompts/NAME.md`, also if the package is in an archive."""
    file = files("dwindle") / FOLDER / f"{name}.md"
    return Template(file.name, file.read_text(encoding="utf-8"))


def quoted(text: str) -> str:
    """A text by others as an indented block: no line of it begins at the margin."""
    return "\n".join(f"    {line}".rstrip() for line in text.strip().splitlines())


def _section(name: str, text: str) -> _Section:
    heading, line, rest = text.rstrip("\n").partition("\n")
    condition, holds_if = "", True
    if found := _CONDITION.search(heading):
        condition, holds_if = found[2], found[1] == "if"
        heading = heading[: found.start()]
    pieces = tuple(_GAP.split(heading + line + rest))
    if any(_LEFT in piece for piece in pieces[::2]):
        raise WrongTemplate(f"{name}: what stands in double braces below {heading!r} is no gap")
    return _Section(pieces, condition, holds_if)
