"""JSON with line numbers, read strictly and without recursion.

A library reader says that a text is wrong; people need to be told where, and all of it at once.
This reader runs only when the quick one has found something amiss, so it may be slow, but nothing
may surprise it: it keeps its own stack (a hundred thousand brackets are just a long file), it
stops at the first place where the text is no JSON at all, and it goes on past what can be
understood well enough to look further: a key given twice, NaN, half a surrogate pair.

A value that has been complained about is `BROKEN`, so that later rules do not complain again.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, cast

from dwindle.kernel.model import Problem

Where = tuple[str | int, ...]

MAX_NESTING: Final = 256
"""Brackets inside brackets. The deepest legal tree needs about half of it."""
MAX_VALUES: Final = 500_000
"""Values that are worth looking at one by one."""
MAX_DIGITS: Final = 19
MAX_PROBLEMS: Final = 500
"""A user does not read more, and a damaged file can hold millions."""

_BLANK = re.compile(r"[ \t\r\n]*")
# Not with possessive repeats, which some Pythons (3.11.2) let match what they should not.
_PLAIN = r'[^"\\\x00-\x1f]*'
_STRING = re.compile(rf'"{_PLAIN}(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}){_PLAIN})*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<rest>\.[0-9]+)?(?P<power>[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[-+]?[A-Za-z_][A-Za-z_0-9]*")
_WORDS: Final = {"true": True, "false": False, "null": None}
_NOT_NUMBERS: Final = ("NaN", "Infinity", "-Infinity", "+Infinity")
_FOREIGN: Final = {"True": "true", "False": "false", "None": "null", "undefined": "null"}


class Broken:
    """Stands for a value that has been complained about."""


BROKEN: Final = Broken()


@dataclass(slots=True)
class Located:
    """A value and where it stands; a member of an object stands where its key does."""

    value: object
    """str, int, float, bool, None, BROKEN, list[Located] or dict[str, Located]."""
    line: int


class Problems:
    """Collects what is wrong; from a certain number on it only counts."""

    def __init__(self) -> None:
        self.listed: list[Problem] = []
        self.unlisted = 0
        self.refused = False
        """There is one that is more than a warning."""

    @property
    def full(self) -> bool:
        return len(self.listed) >= MAX_PROBLEMS

    def add(self, where: Where, line: int, what: str, hint: str, *, warning: bool = False) -> None:
        self.refused = self.refused or not warning
        if self.full:
            self.unlisted += 1
            return
        problem = Problem(where=where, what=what, hint=hint, line=line, warning=warning)
        self.listed.append(problem)

    def by_line(self) -> tuple[Problem, ...]:
        listed = sorted(self.listed, key=lambda problem: problem.line or 0)
        if self.unlisted:
            what = f"{self.unlisted} more problems are not listed"
            listed.append(Problem(where=(), what=what, hint="fix these first"))
        return tuple(listed)


class _Unreadable(Exception):
    """The text goes on in a way that no JSON does."""

    def __init__(self, what: str, hint: str) -> None:
        self.what = what
        self.hint = hint


def read(text: str, problems: Problems) -> Located | None:
    """Read one JSON value that fills the whole text; None if the text is no JSON."""
    reader = _Reader(text, problems)
    try:
        return reader.document()
    except _Unreadable as stop:
        reader.complain(stop.what, stop.hint)
        return None


class _Reader:
    def __init__(self, text: str, problems: Problems) -> None:
        self.text = text
        self.problems = problems
        self.at = 0
        self.line = 1
        self.open: list[Located] = []
        """Objects and arrays that are not closed yet."""
        self.path: list[str | int] = []
        """The key or index that is being read, one for each of `open`."""
        self.values = 0

    def complain(self, what: str, hint: str, line: int | None = None) -> None:
        where = tuple(step for step in self.path if step != "")
        self.problems.add(where, line or self.line, what, hint)

    def next(self) -> str:
        """Skip what is blank and look at the next character; empty at the end."""
        match = _BLANK.match(self.text, self.at)
        end = match.end() if match else self.at
        self.line += self.text.count("\n", self.at, end)
        self.at = end
        return self.text[end : end + 1]

    def document(self) -> Located:
        if not self.next():
            raise _Unreadable("the file is empty", "a tree begins with {")
        done = self.value(self.line)
        while self.open:
            done = self.go_on()
        if self.next():
            raise _Unreadable(
                "something follows the end of the document", "a file holds exactly one tree"
            )
        return done

    def go_on(self) -> Located:
        """Read one more item of the innermost open container, or close it."""
        inside = self.open[-1]
        items = inside.value
        if isinstance(items, list):
            fresh, close = not items, "]"
        else:
            fresh, close = self.path[-1] == "", "}"
        char = self.next()
        if char == close:
            self.at += 1
            self.open.pop()
            self.path.pop()
            return inside
        if not fresh:
            self.comma(char, close)
        if isinstance(items, list):
            self.path[-1] = len(items)
            self.next()
            items.append(self.value(self.line))
        else:
            self.member(cast("dict[str, Located]", items))
        return inside

    def comma(self, char: str, close: str) -> None:
        if char != ",":
            raise _Unreadable(f"{_shown(char)} where ',' or '{close}' belongs", "")
        self.at += 1
        if self.next() == close:
            raise _Unreadable(f"a comma before '{close}'", "take the comma out")

    def member(self, members: dict[str, Located]) -> None:
        if self.next() != '"':
            raise _Unreadable(
                f"{_shown(self.next())} where a key belongs", "keys stand in double quotes"
            )
        line = self.line
        key = self.string()
        name = key if isinstance(key, str) else "?"
        self.path[-1] = name or "?"
        if self.next() != ":":
            raise _Unreadable(f"{_shown(self.next())} where ':' belongs", "")
        self.at += 1
        self.next()
        if name in members:
            hint = f"the first is in line {members[name].line}"
            self.complain(f"the key {name!r} stands here twice", hint, line)
        value = self.value(line)
        members.setdefault(name, value)

    def value(self, line: int) -> Located:
        """Read one value; of an object or array, only how it begins."""
        self.values += 1
        if self.values > MAX_VALUES:
            raise _Unreadable(f"more than {MAX_VALUES} values", "no tree is that large")
        char = self.next()
        if char == "{":
            return self.begin(Located({}, line))
        if char == "[":
            return self.begin(Located([], line))
        if char == '"':
            return Located(self.string(), line)
        word = _WORD.match(self.text, self.at)
        if word:
            return Located(self.word(word.group()), line)
        number = _NUMBER.match(self.text, self.at)
        if number:
            return Located(self.number(number), line)
        raise _Unreadable(f"{_shown(char)} where a value belongs", "")

    def begin(self, container: Located) -> Located:
        if len(self.open) >= MAX_NESTING:
            raise _Unreadable(f"nested more than {MAX_NESTING} levels deep", "flatten the tree")
        self.at += 1
        self.open.append(container)
        self.path.append("")
        return container

    def string(self) -> str | Broken:
        match = _STRING.match(self.text, self.at)
        if match is None:
            raise _Unreadable(
                "a string that does not end, or holds a bare control character or a bad escape",
                r"write a line break as \n and a backslash as \\",
            )
        self.at = match.end()
        raw = match.group()
        if "\\" not in raw:
            return raw[1:-1]
        value = str(json.loads(raw))
        try:
            value.encode()
        except UnicodeEncodeError:
            self.complain("half of a surrogate pair", r"write the character itself, not \ud…")
            return BROKEN
        return value

    def word(self, word: str) -> object:
        if word in _WORDS:
            self.at += len(word)
            return _WORDS[word]
        if word in _NOT_NUMBERS:
            self.at += len(word)
            self.complain(f"{word} is no number", "a whole number is wanted")
            return BROKEN
        meant = _FOREIGN.get(word)
        raise _Unreadable(f"{word!r} is no JSON", f"write {meant}" if meant else "")

    def number(self, match: re.Match[str]) -> object:
        self.at = match.end()
        digits = match.group()
        if self.text[self.at : self.at + 1].isalnum():
            raise _Unreadable(
                f"a number that goes on with {_shown(self.text[self.at])}",
                "no leading zeros, no other base",
            )
        if match["rest"] or match["power"]:
            return float(digits)
        if len(digits) > MAX_DIGITS:
            self.complain(f"a number of {len(digits)} digits", f"at most {2**53 - 1}")
            return BROKEN
        return int(digits)


def _shown(char: str) -> str:
    return repr(char) if char else "the end of the file"
