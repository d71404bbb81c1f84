"""Paths and patterns of a repository, as `protected_paths` has them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence


class Places:
    """Paths and patterns, each standing for itself and all below it."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._patterns = tuple(re.compile(_regex(entry)) for entry in entries)

    def covers(self, path: str) -> bool:
        return any(pattern.match(path) for pattern in self._patterns)


def split(protected_paths: Sequence[str]) -> tuple[Places, Places]:
    """What is protected, and what `!path` takes out again."""
    taken_out = (entry[1:] for entry in protected_paths if entry.startswith("!"))
    return Places(e for e in protected_paths if not e.startswith("!")), Places(taken_out)


def _regex(entry: str) -> str:
    path = posixpath.normpath(entry.strip().lstrip("/") or ".")
    if path == ".":
        return ""
    parts = []
    for part in path.split("/"):
        if part == "**":
            parts.append("(?:[^/]+/)*")
        else:
            pieces = re.split(r"(\*|\?)", part)
            parts.append("".join({"*": "[^/]*", "?": "[^/]"}.get(p, re.escape(p)) for p in pieces))
            parts.append("/")
    if parts[-1] == "/":
        parts.pop()
    return "".join(parts) + ("" if path.endswith("**") else r"(?:/|\Z)")
