"""Files of which only a part steers a test tool: pyproject.toml, package.json and others.

`merge` takes the steering part from the old file and all the rest from the new one. It cuts the
text at the headings of its tables and parses the result: if that does not say exactly what was
meant (a table spelt in some rare way), it returns the old file, or None if there was none.
"""

from __future__ import annotations

import configparser
import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from dwindle.toolchains.tools import Tool

Values = Mapping[str, Any]


def is_mixed(name: str, tools: Collection[Tool]) -> bool:
    return any(tool in tools for tool in _STEERED.get(name, ()))


def configures(name: str, text: bytes, tool: Tool) -> bool:
    """Does the file have a part that steers this tool? Yes if it cannot be told."""
    table = _TABLES.get(name, {}).get(tool)
    if table is None:
        return False
    try:
        return bool(_split(name, table)(text.decode())[0])
    except (ValueError, RecursionError):
        return True


def merge(
    name: str, old: bytes | None, new: bytes, tools: Collection[Tool], *, may_begin: bool = False
) -> bytes | None:
    """Only what steers these tools is from the old file.

    `may_begin`: pytest was not configured at all, so a first table of harmless settings is work.
    """
    if old == new:
        return new
    try:
        before, after = "" if old is None else old.decode(), new.decode()
        if name in _OTHERS:
            return _OTHERS[name][1](before, after).encode()
        held = [tool for tool in _TABLES[name] if tool in tools]
        if may_begin and Tool.PYTEST in held and begins_harmlessly(name, before, after):
            held.remove(Tool.PYTEST)
        table = "|".join(_TABLES[name][tool] for tool in held) or "(?!)"
        return _splice(before, after, _heading(name, table), _split(name, table)).encode()
    except (ValueError, RecursionError):  # not UTF-8, no such format, or not cut as it was meant
        return old


# --- tables --------------------------------------------------------------------------------------

_COVERAGE: Final = r"coverage:[^]]*"
_TABLES: Final[dict[str, dict[Tool, str]]] = {
    "pyproject.toml": {
        tool: str(tool) for tool in (Tool.PYTEST, Tool.TOX, Tool.COVERAGE, Tool.MYPY, Tool.RUFF)
    },
    "setup.cfg": {
        Tool.PYTEST: "tool:pytest",
        Tool.TOX: r"tox:tox|testenv(?::[^]]*)?",
        Tool.COVERAGE: _COVERAGE,
        Tool.MYPY: r"mypy(?:-[^]]*)?",
    },
    "tox.ini": {Tool.PYTEST: "pytest", Tool.COVERAGE: _COVERAGE},
    **{name: {Tool.PYTEST: "pytest"} for name in ("pytest.ini", ".pytest.ini")},
}
"""Patterns for the names of the tables (below `tool`) or sections that steer each tool."""
_HARMLESS: Final = re.compile(
    r"pythonpath|markers|minversion|xfail_strict|asyncio_mode"
    r"|asyncio_default_(?:fixture|test)_loop_scope|log_(?!file).*"
)
"""A log file would be written over whatever has its name."""
_CONFIGURATION: Final = (
    *("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"),
    *("pyproject.toml", "tox.ini", "setup.cfg"),
)
"""Of those in one folder, pytest takes the first that has settings for it."""


def may_configure_pytest(path: str) -> bool:
    return posixpath.basename(path) in _CONFIGURATION


def may_hide_settings(path: str, files: Iterable[str]) -> bool:
    """Could pytest take settings from this file in place of those that another has?"""
    folder, name = posixpath.split(path)
    first = _CONFIGURATION[: _CONFIGURATION.index(name) + 1] if name in _CONFIGURATION else ()
    others = (other for other in files if may_configure_pytest(other))
    return any(
        posixpath.dirname(other) != folder or posixpath.basename(other) not in first
        for other in others
    )


def begins_harmlessly(name: str, old: str, new: str) -> bool:
    """Is the table of pytest a first one, with settings that do not choose or excuse tests?"""
    split = _split(name, _TABLES[name][Tool.PYTEST])
    (before, _), (after, _) = split(old), split(new)
    tables = [one for table in after.values() for one in (table, table.get("ini_options", {}))]
    return not before and all(
        key == "ini_options" or _HARMLESS.fullmatch(key) for table in tables for key in table
    )


def _split(name: str, table: str) -> Split:
    wanted = re.compile(table)

    def toml(text: str) -> tuple[Values, Values]:
        rest = tomllib.loads(text)
        tools = rest.get("tool", {})
        if not isinstance(tools, dict):
            raise ValueError("no table")  # noqa: TRY004 - of the file, not of ours
        steers = {name: tools.pop(name) for name in list(tools) if wanted.fullmatch(name)}
        if not tools:
            rest.pop("tool", None)
        if not all(isinstance(one, dict) for one in steers.values()):
            raise ValueError("no table")
        return steers, rest

    def ini(text: str) -> tuple[Values, Values]:
        rest = sections(text)
        # What follows the bracket is a comment to pytest, and part of the name to configparser.
        names = {name: name.partition("]")[0].strip() for name in rest}
        steers = {name: rest.pop(name) for name in names if wanted.fullmatch(names[name])}
        return steers, rest

    return toml if name.endswith(".toml") else ini


def sections(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(delimiters=("=", ":"), strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from error
    return {name: dict(parser.items(name)) for name in parser.sections()}


def _heading(name: str, table: str) -> re.Pattern[str]:
    if name.endswith(".toml"):
        return re.compile(rf"\[+\s*tool\s*\.\s*[\"']?(?:{table})[\"']?\s*[].]")
    return re.compile(rf"\[\s*(?:{table})\s*\]")


Split = Callable[[str], tuple[Values, Values]]
"""The parsed part that steers, and the rest."""


def _splice(old: str, new: str, heading: re.Pattern[str], split: Split) -> str:
    (old_steers, old_rest), (new_steers, new_rest) = split(old), split(new)
    if old_steers == new_steers:
        return new
    if old and old_rest == new_rest:
        return old  # to the letter
    _, others = cut(new, heading)
    kept, _ = cut(old, heading)
    text = "\n".join(part for part in (others.rstrip("\n"), kept.rstrip("\n")) if part) + "\n"
    if not text.strip() or split(text) != (old_steers, new_rest):
        raise ValueError("nothing is left, or the tables are spelt in a way that cannot be cut")
    return text


def cut(text: str, heading: re.Pattern[str]) -> tuple[str, str]:
    """The lines under a heading that matches, and all others."""
    matching: list[str] = []
    others: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("["):
            inside = heading.match(line) is not None
        (matching if inside else others).append(line)
    return "\n".join(matching), "\n".join(others)


# --- entry points --------------------------------------------------------------------------------

_PLUGINS = "[pytest11]"


def _entry_points(old: str, new: str) -> str:
    """Read as Python does it, which ignores indentation."""
    old_plugins, _ = _plugins(old)
    new_plugins, others = _plugins(new)
    if old_plugins == new_plugins:
        return new
    return "\n".join((*others, *((_PLUGINS, *old_plugins) if old_plugins else ()))) + "\n"


def _plugins(text: str) -> tuple[list[str], list[str]]:
    """The lines that name plugins of pytest, and all others."""
    plugins: list[str] = []
    others: list[str] = []
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            inside = line.strip("[]").strip() == _PLUGINS.strip("[]")
            if inside:
                continue
        if line:
            (plugins if inside else others).append(line)
    return plugins, others


# --- package.json --------------------------------------------------------------------------------

_TOOL_KEYS = ("jest", "vitest", "mocha", "ava", "tap", "nyc", "c8", "babel")


def _package(old: str, new: str) -> str:
    """Old scripts stay as they were; a new script stays unless it would run along with an old one.

    A worker may write the first package.json, and the first script for tests.
    """
    if not old:
        return new
    before, after = _object(old), _object(new)
    old_scripts, scripts = _scripts(before), _scripts(after)
    scripts = {
        name: line
        for name, line in scripts.items()
        if name in old_scripts or not _runs_with(name, old_scripts)
    } | old_scripts
    wanted = {key: value for key, value in after.items() if key not in _TOOL_KEYS}
    wanted |= {key: before[key] for key in _TOOL_KEYS if key in before}
    if scripts or "scripts" in before:
        wanted["scripts"] = scripts
    else:
        wanted.pop("scripts", None)
    return new if wanted == after else json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"


def _runs_with(name: str, scripts: Values) -> bool:
    return any(name == f"{when}{one}" for when in ("pre", "post") for one in scripts)


def _object(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("no object")  # noqa: TRY004 - of the file, not of ours
    return found


def _scripts(package: Values) -> dict[str, Any]:
    found = package.get("scripts", {})
    if not isinstance(found, dict):
        raise ValueError("no object")  # noqa: TRY004 - as above
    return found


_OTHERS: Final[dict[str, tuple[Tool, Callable[[str, str], str]]]] = {
    "entry_points.txt": (Tool.PYTEST, _entry_points),
    "package.json": (Tool.NODE, _package),
}
"""Which tool a part of the file steers, and how old and new text are merged; ValueError: not."""
_STEERED: Final[dict[str, tuple[Tool, ...]]] = {
    **{name: tuple(tables) for name, tables in _TABLES.items()},
    **{name: (tool,) for name, (tool, _) in _OTHERS.items()},
}
