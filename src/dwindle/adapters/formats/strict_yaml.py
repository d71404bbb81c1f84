"""YAML read without surprises: what a file says is what a person who reads it would think it says.

Plain YAML turns `NO` into false, `12:30` into 750, takes the second of two equal keys, and lets an
alias name the same node a billion times. None of that belongs in a file that decides when a
machine stops. Here only `null`, `true`, `false` and numbers in their usual spelling are anything
but text, and everything that could be read in two ways is refused with its line.

The text is read as a stream of parser events with a stack of our own. The parser in C composes
nodes by recursion, which a hundred thousand opening brackets turn into a crash; events do not
recurse, the depth is counted as it grows, and building the values ourselves is also about twice as
fast as the constructor it replaces.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from dwindle.adapters.formats.yaml_place import MAX_DIGITS, MAX_PROBLEMS, Path, clipped, step_of
from dwindle.kernel.model import Problem

MAX_DEPTH: Final = 64

LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

WORDS: Final[dict[str, bool | None]] = {
    "true": True,
    "false": False,
    "null": None,
    "~": None,
    "": None,
}
NUMBER_BEGINS: Final = frozenset("0123456789-+.")
INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
FLOAT: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
NOT_A_NUMBER: Final = re.compile(r"[-+]?\.(?:inf|nan)", re.IGNORECASE)

HINTS: Final = (
    ("mapping values are not allowed", "put text that contains ': ' in double quotes"),
    ("cannot start any token", "indent with spaces; quote text that begins with @, `, % or a tab"),
    ("did not find expected key", "check the indentation and the quotes just above"),
    ("could not find expected ':'", "a key needs a colon and a space after it"),
    ("unexpected end of stream", "a quote or a bracket is never closed"),
    ("Unicode", "half of a surrogate pair is no character"),
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """The values of a text, as far as they could be read."""

    data: object
    """None also when nothing could be read; then there is a problem."""
    problems: tuple[Problem, ...]
    complete: bool = True
    """False: reading ended at a problem, so that what is missing may well be there."""


class _EndOfReadingError(Exception):
    """A problem after which the rest of the text cannot be understood."""


def parse(text: str, *, first_line: int = 1) -> Parsed:
    """Read one YAML document, with every problem that does not hide the rest of it."""
    return _Reading(text, first_line, None).parsed()


def line_map(text: str, wanted: Collection[Path], *, first_line: int = 1) -> dict[Path, int]:
    """Say on which line each of some places stands: the line of its key, or of its list item.

    Only asked when something is wrong, so it reads the text again rather than slow every load.
    """
    lines = dict.fromkeys(wanted, 0)
    _Reading(text, first_line, lines).parsed()
    return {place: line for place, line in lines.items() if line}


class _Wanted:
    """Marks that a mapping is waiting for its next key."""


_KEY: Final = _Wanted()


class _Reading:
    """One trip through the events of a text."""

    def __init__(self, text: str, first_line: int, lines: dict[Path, int] | None) -> None:
        self.text = text
        self.first_line = first_line
        self.lines = lines
        self.problems: list[Problem] = []
        self.steps: list[str | int] = []
        """The way from the top to the collection that is being filled."""

    def parsed(self) -> Parsed:
        try:
            data = self._read(LOADER(self.text).get_event)
        except _EndOfReadingError:
            return Parsed(None, tuple(self.problems), complete=False)
        except yaml.YAMLError as error:
            self.problems.append(_syntax_problem(error, self.first_line))
            return Parsed(None, tuple(self.problems), complete=False)
        return Parsed(data, tuple(self.problems))

    def _read(self, next_event: Callable[[], Any]) -> object:  # noqa: C901, PLR0912, PLR0915
        # One long loop on purpose: it runs for every scalar of the file, and a call per event is
        # what would make this slower than the loader it stands in for.
        outer: list[Any] = []
        lines = self.lines
        root: object = None
        here: Any = None
        key: Any = _KEY
        keep = True
        documents = 0
        while True:
            event = next_event()
            kind = type(event)
            opened = False
            if kind is ScalarEvent:
                value = event.value
                if event.anchor is not None or event.tag is not None:
                    self._decorated(event, here, key)
                if event.implicit[0]:
                    if value in WORDS:
                        value = WORDS[value]
                    elif value[0] in NUMBER_BEGINS:
                        value = self._number(value, event, here, key)
                    elif value == "<<" and type(here) is dict and key is _KEY:
                        self._note(event, (*self.steps, "<<"), "merge keys are not used here")
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                if event.anchor is not None or event.tag is not None:
                    self._decorated(event, here, key)
                if len(outer) >= MAX_DEPTH:
                    self._give_up(
                        event,
                        self._at(here, key)[:4],
                        f"nested more than {MAX_DEPTH} levels deep",
                        "no plan needs that; is a bracket or a quote missing?",
                    )
                opened = True
                value = {} if kind is MappingStartEvent else []
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                here = outer.pop()
                if self.steps:
                    self.steps.pop()
                continue
            elif kind is AliasEvent:
                self._note(
                    event,
                    self._at(here, key),
                    f"{clipped('*' + event.anchor)} stands for another part of the file",
                    "write the value out",
                )
                value = None
            elif kind is StreamEndEvent:
                return root
            else:
                if kind is DocumentStartEvent:
                    documents += 1
                    if documents > 1:
                        self._give_up(
                            event, (), "a second YAML document begins here", "keep only one"
                        )
                continue

            if type(here) is dict and key is _KEY:
                if opened:
                    self._give_up(event, tuple(self.steps), "a key must be a single word")
                keep = value not in here
                if not keep:
                    self._note(
                        event,
                        (*self.steps, step_of(value)),
                        f"the key {clipped(value)} is there twice",
                        "keep one of them",
                    )
                elif lines is not None and (place := (*self.steps, step_of(value))) in lines:
                    lines[place] = self._line(event)
                key = value
                continue
            if here is None:
                root = value
            else:
                if type(here) is dict:
                    step = key
                    if keep:
                        here[key] = value
                    key = _KEY
                else:
                    step = len(here)
                    if lines is not None and (place := (*self.steps, step)) in lines:
                        lines[place] = self._line(event)
                    here.append(value)
                if opened:
                    self.steps.append(step_of(step))
            if opened:
                outer.append(here)
                here = value

    def _number(self, value: str, event: Any, here: Any, key: Any) -> object:
        """Read what begins like a number; what does not end like one is text."""
        if INTEGER.fullmatch(value):
            digits = len(value.lstrip("-"))
            if digits <= MAX_DIGITS:
                return int(value)
            self._note(
                event,
                self._at(here, key),
                f"a whole number of {digits} digits",
                f"at most {MAX_DIGITS} are read; put text in quotes",
            )
            return 0
        finite = True
        if FLOAT.fullmatch(value):
            number = float(value)
            finite = math.isfinite(number)
            if finite:
                return number
        if not finite or NOT_A_NUMBER.fullmatch(value):
            self._note(
                event,
                self._at(here, key),
                f"{clipped(value)} is no finite number",
                "put it in quotes if it is text",
            )
            return 0
        return value

    def _decorated(self, event: Any, here: Any, key: Any) -> None:
        if event.anchor is not None:
            what = f"{clipped('&' + event.anchor)} makes a name for other parts of the file"
        else:
            what = f"{clipped(event.tag)} is a tag that asks for a type"
        self._note(event, self._at(here, key), what, "write plain values only")

    def _at(self, here: Any, key: Any) -> Path:
        """Give the path of the value that is about to be put into `here`."""
        if type(here) is list:
            return (*self.steps, len(here))
        return tuple(self.steps) if key is _KEY else (*self.steps, step_of(key))

    def _line(self, event: Any) -> int:
        return int(event.start_mark.line) + self.first_line

    def _note(self, event: Any, where: Path, what: str, hint: str = "") -> None:
        self.problems.append(Problem(where=where, what=what, hint=hint, line=self._line(event)))
        if len(self.problems) == MAX_PROBLEMS:
            self._give_up(event, (), f"there are more than these {MAX_PROBLEMS} problems")

    def _give_up(self, event: Any, where: Path, what: str, hint: str = "") -> NoReturn:
        self.problems.append(Problem(where=where, what=what, hint=hint, line=self._line(event)))
        raise _EndOfReadingError


def _syntax_problem(error: yaml.YAMLError, first_line: int) -> Problem:
    """Put a complaint of the parser into the words of ours."""
    said = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    return Problem(
        where=(),
        what=f"this is not YAML: {said}",
        hint=next((hint for sign, hint in HINTS if sign in said), ""),
        line=None if mark is None else mark.line + first_line,
    )
