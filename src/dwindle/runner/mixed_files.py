"""Files of which a part steers a test tool: that part as it was, all the rest as it is.

The text is cut at the headings of its tables, and the result is read again: if it does not say
exactly what was meant (a table spelt in some rare way), the whole file of before is taken instead.
Of a file that was not there before, nothing is left in that case.
"""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Kind:
    tools: tuple[str, ...]
    mend: Callable[[str, str], str]
    """The text of before and that of now; ValueError if it cannot be read."""


def is_mixed(name: str, tools: Collection[str]) -> bool:
    return name in _KINDS and any(tool in tools for tool in _KINDS[name].tools)


def mended(name: str, then: bytes | None, now: bytes) -> bytes | None:
    if then == now:
        return now
    try:
        before = "" if then is None else then.decode()
        after = _KINDS[name].mend(before, now.decode())
    except (ValueError, RecursionError):  # decoding, parsing, or it does not come out right
        return then
    return after.encode()


# --- tables --------------------------------------------------------------------------------------


_TABLES = ("pytest", "tox")
_TABLE = re.compile(r"\[+\s*tool\s*\.\s*[\"']?(?:pytest|tox)[\"']?\s*[].]")


def _toml(then: str, now: str) -> str:
    def split(text: str) -> tuple[Any, Values]:
        whole = tomllib.loads(text)
        tools = whole.get("tool", {})
        steers = {name: tools.pop(name) for name in _TABLES if name in tools}
        if not tools:
            whole.pop("tool", None)
        return steers, whole

    return _spliced(then, now, _TABLE, split)


def _ini(sections: str) -> Callable[[str, str], str]:
    """`sections` is a pattern for the names of those that steer."""
    wanted = re.compile(sections)

    def split(text: str) -> tuple[Any, Values]:
        parser = configparser.RawConfigParser(delimiters=("=", ":"), strict=False)
        try:
            parser.read_string(text)
        except configparser.Error as error:
            raise ValueError(str(error)) from error
        whole = {name: dict(parser.items(name)) for name in parser.sections()}
        steers = {name: whole.pop(name) for name in list(whole) if wanted.fullmatch(name)}
        return steers, whole

    heading = re.compile(rf"\[\s*(?:{sections})\s*\]")
    return lambda then, now: _spliced(then, now, heading, split)


Split = Callable[[str], tuple[Any, Values]]


def _spliced(then: str, now: str, heading: re.Pattern[str], split: Split) -> str:
    (steers, others_then), (own, rest) = split(then), split(now)
    if steers == own:
        return now
    if then and rest == others_then:
        return then  # to the letter
    _, others = _cut(now, heading)
    ours, _ = _cut(then, heading)
    text = "\n".join(part for part in (others.rstrip("\n"), ours.rstrip("\n")) if part) + "\n"
    if split(text) != (steers, rest):
        raise ValueError("the tables are spelt in a way that cannot be cut")
    return text


def _cut(text: str, heading: re.Pattern[str]) -> tuple[str, str]:
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


def _entry_points(then: str, now: str) -> str:
    """Read as Python does it, which pays no heed to how far a line is moved in."""
    ours, _ = _plugins(then)
    own, others = _plugins(now)
    if ours == own:
        return now
    return "\n".join((*others, *((_PLUGINS, *ours) if ours else ()))) + "\n"


def _plugins(text: str) -> tuple[list[str], list[str]]:
    """The lines that make plugins of pytest known, and all others."""
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

_OF_TOOLS = ("jest", "vitest", "mocha", "ava", "tap", "nyc", "c8", "babel")


def _package(then: str, now: str) -> str:
    """Scripts that were there are as they were; of new ones, none that runs with those.

    Where there was no package, or no script for tests, somebody has to write it.
    """
    if not then:
        return now
    old, new = _object(then), _object(now)
    before, scripts = _scripts(old), dict(_scripts(new))
    for name in [name for name in scripts if name not in before]:
        if _runs_with(name, before):
            del scripts[name]
    scripts |= before
    wanted = {key: value for key, value in new.items() if key not in _OF_TOOLS}
    wanted |= {key: old[key] for key in _OF_TOOLS if key in old}
    if scripts or "scripts" in old:
        wanted["scripts"] = scripts
    else:
        wanted.pop("scripts", None)
    return now if wanted == new else json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"


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


_KINDS = {
    "pyproject.toml": _Kind(("pytest", "tox"), _toml),
    "setup.cfg": _Kind(("pytest", "tox"), _ini(r"tool:pytest|tox:tox|testenv(?::[^]]*)?")),
    "tox.ini": _Kind(("pytest",), _ini("pytest")),
    "entry_points.txt": _Kind(("pytest",), _entry_points),
    "package.json": _Kind(("node",), _package),
}
