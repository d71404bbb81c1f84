"""Set keys of one table in a settings file, and leave every other line as the user wrote it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

Values = Mapping[str, str | tuple[str, ...]]


def with_values(text: str, table: str, values: Values) -> str | None:
    """The text with these values; None if it is no TOML, or too unusual to be edited by a program.

    Every candidate is parsed: only one that says what it should, and nothing else, is returned.
    """
    try:
        wanted: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    plain = {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}
    wanted[table] = {**wanted.get(table, {}), **plain}
    for candidate in _candidates(text, table, values):
        try:
            if tomllib.loads(candidate) == wanted:
                return candidate
        except tomllib.TOMLDecodeError:
            continue
    return None


def _candidates(text: str, table: str, values: Values) -> Iterator[str]:
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    new = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items()]
    header = re.compile(rf"#?\s*\[{re.escape(table)}\]\s*(?:#.*)?\n")
    for index, line in enumerate(lines):
        if header.fullmatch(line):
            after = lines[index + 1 :]
            end = next((n for n, one in enumerate(after) if one.lstrip().startswith("[")), None)
            inside, rest = (after, []) if end is None else (after[:end], after[end:])
            keys = "|".join(map(re.escape, values))
            inside = [one for one in inside if not re.match(rf"\s*(?:{keys})\s*=", one)]
            yield "".join([*lines[:index], line.lstrip("# "), *new, *inside, *rest])
    yield "".join([*lines, *(["\n"] if lines else []), f"[{table}]\n", *new])
