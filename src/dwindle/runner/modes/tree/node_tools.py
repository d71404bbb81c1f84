"""`.runner/nodes/<id>/tools.json`: the tools that the sessions on a node may use, and no others.

A list can only take tools away, so ignoring an invalid one would allow everything: no session
starts on that node until the user has fixed the file. An agent must not be able to end a run that
way, so the runner judges a list that an agent wrote together with its edit of the tree.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dwindle.kernel.model import Problem
from dwindle.runner.modes.tree.owned_file import content_of

FOLDER: Final = ".runner/nodes"
NAME: Final = "tools.json"
MOST_BYTES: Final = 1 << 16
MOST_TOOLS: Final = 200
HINT: Final = 'name the tools that are allowed: {"allow": ["Read", "Edit"]}'
_PATH: Final = re.compile(rf"({re.escape(FOLDER)}/[^/]+/{re.escape(NAME)})(/.*)?", re.DOTALL)
_TOOL: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTools:
    names: tuple[str, ...] | None = None
    """None: there is no list, and the agent may use all its tools."""
    problems: tuple[Problem, ...] = ()


def path_of(node: str) -> str:
    return f"{FOLDER}/{node}/{NAME}"


def tools_of(checkout: Path, node: str) -> NodeTools:
    return tools_at(checkout, path_of(node))


def tools_at(checkout: Path, path: str) -> NodeTools:
    file = checkout / path
    content = content_of(file, MOST_BYTES)
    if content is not None:
        return decode_tools(content, path)
    if os.path.lexists(file) or file.parent.is_symlink():
        return _unfit(path, "it is not a readable file")
    return NodeTools()


def tool_lists_in(paths: Iterable[str]) -> tuple[str, ...]:
    """The lists of tools among the paths, or what stands in the place of one."""
    found = (match[1] for path in paths if (match := _PATH.fullmatch(path)))
    return tuple(dict.fromkeys(found))


def decode_tools(content: bytes, path: str) -> NodeTools:
    """`{"allow": [names]}`, or the list alone."""
    if len(content) > MOST_BYTES:
        return _unfit(path, f"it has more than {MOST_BYTES} bytes")
    try:
        value = json.loads(content.decode("utf-8"), object_pairs_hook=_pairs)
    except (ValueError, RecursionError) as error:
        return _unfit(path, f"it is no JSON: {error}")
    if isinstance(value, _Pairs):
        if [key for key, _ in value.pairs] != ["allow"]:
            return _unfit(path, "it should have one field, allow")
        value = value.pairs[0][1]
    if not isinstance(value, list):
        return _unfit(path, "it should be a list of names")
    problems = tuple(_problems(value, path))
    return NodeTools(problems=problems) if problems else NodeTools(names=tuple(value))


def _problems(names: list[Any], path: str) -> Iterator[Problem]:
    if not names:
        yield _problem(path, "it allows no tool, and a session without tools can do nothing")
    if len(names) > MOST_TOOLS:
        yield _problem(path, f"it has more than {MOST_TOOLS} names")
        return
    for number, name in enumerate(names, start=1):
        if not isinstance(name, str) or not _TOOL.fullmatch(name):
            yield _problem(path, f"entry {number} is no name of a tool")
        elif name in names[: number - 1]:
            yield _problem(path, f"{name} is named twice")


@dataclass(frozen=True, slots=True)
class _Pairs:
    """A JSON object that keeps duplicate keys."""

    pairs: list[tuple[str, Any]]


def _pairs(pairs: list[tuple[str, Any]]) -> _Pairs:
    return _Pairs(pairs)


def _unfit(path: str, what: str) -> NodeTools:
    return NodeTools(problems=(_problem(path, what),))


def _problem(path: str, what: str) -> Problem:
    return Problem(where=(path,), what=what, hint=HINT)
