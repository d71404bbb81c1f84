"""On which line of a TOML file something stands.

The parser of the standard library tells values but no places. So the text is cut into statements:
the shortest run of lines that the parser accepts by itself is one, be it a header, a pair, or a
list over twenty lines. Each is parsed alone, and what it defines gets the line it begins on. Only
done when something is wrong, on a text that is known to be sound.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

Place = tuple[str | int, ...]

AT_LINE = re.compile(r" ?\(at line (\d+), column \d+\)$")
AT_END = re.compile(r" ?\(at end of document\)$")


def lines_of(text: str) -> dict[Place, int]:
    """The first line of every table and every key."""
    lines: dict[Place, int] = {}
    table: Place = ()
    for number, statement in _statements(text):
        values = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            table = max(_places(values), key=len)
            found: Iterator[Place] = iter((table,))
        else:
            found = (table + place for place in _places(values))
        for place in found:
            for length in range(1, len(place) + 1):
                lines.setdefault(place[:length], number)
    return lines


def line_of(lines: dict[Place, int], place: Place) -> int:
    """The line of a place, or of the nearest one around it."""
    around = (place[:length] for length in range(len(place), 0, -1))
    return next((lines[outer] for outer in around if outer in lines), 1)


def fault_of(error: tomllib.TOMLDecodeError, text: str) -> tuple[str, int]:
    """What a refusal of the parser says, and the line it means."""
    said = str(error)
    if found := AT_LINE.search(said):
        return said[: found.start()], int(found[1])
    return AT_END.sub("", said), text.rstrip("\n").count("\n") + 1


def _statements(text: str) -> Iterator[tuple[int, str]]:
    waiting, begins = "", 0
    for number, line in enumerate(text.split("\n"), start=1):
        begins = begins if waiting else number
        waiting += line + "\n"
        try:
            values = tomllib.loads(waiting)
        except tomllib.TOMLDecodeError:
            continue
        if values:
            yield begins, waiting
        waiting = ""


def _places(values: object, place: Place = ()) -> Iterator[Place]:
    """The places of all tables and values; those of `[[table]]` count as one table."""
    if isinstance(values, list) and values and all(isinstance(entry, dict) for entry in values):
        values = values[-1]
    if place:
        yield place
    if isinstance(values, dict):
        for name, value in values.items():
            yield from _places(value, (*place, name))
