"""The tests in a file, by name, as its text spells them: what a reader of a change looks for.

No file is run or parsed as a whole, since an agent wrote it. A test that a program makes up while
it runs (parameters, a table of cases) has the name of the function that holds it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from typing import Final

from dwindle.toolchains.test_files import is_test

LARGEST: Final = 1 << 20
"""Bytes of a file; a larger one was written by a program."""

_PYTHON: Final = re.compile(
    r"^(?P<indent>[ \t]*)(?:class[ \t]+(?P<group>\w+)|(?:async[ \t]+)?def[ \t]+(?P<name>\w+))"
)
_NODE: Final = re.compile(
    r"""(?<![\w.$])(?:it|test|specify)(?:\.\w+)*\s*\(\s*(?P<quote>['"`])(?P<name>.{1,200}?)(?P=quote)"""
)
_RUST: Final = re.compile(
    r"#\[(?:\w+::)*test(?:\([^]\n]{0,200}\))?\]\s{0,80}(?:#\[[^]\n]{0,200}\]\s{0,80}){0,8}"
    r"(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(?P<name>\w+)"
)
_GO: Final = re.compile(r"^func\s+(?P<name>(?:Test|Example|Benchmark|Fuzz)\w*)\s*\(", re.MULTILINE)


def test_names(path: str, content: bytes) -> tuple[str, ...]:
    """In the order of the file, each once; none for a file of which no tool would take a test."""
    read = _READERS.get(posixpath.splitext(path)[1])
    if read is None or len(content) > LARGEST:
        return ()
    if read is not _rust and not is_test(path):
        return ()
    return tuple(dict.fromkeys(read(content.decode("utf-8", "replace"))))


def _python(text: str) -> Iterator[str]:
    """With the classes around it, as pytest names it: `TestTill::test_sum`."""
    classes: list[tuple[int, str]] = []
    for line in text.splitlines():
        found = _PYTHON.match(line)
        if found is None:
            continue
        indent = len(found["indent"].expandtabs())
        while classes and classes[-1][0] >= indent:
            classes.pop()
        if found["group"]:
            classes.append((indent, found["group"]))
        elif found["name"].startswith("test") and (not indent or classes):
            yield "::".join((*(name for _, name in classes), found["name"]))


def _node(text: str) -> Iterator[str]:
    return (found["name"] for found in _NODE.finditer(text))


def _rust(text: str) -> Iterator[str]:
    return (found["name"] for found in _RUST.finditer(text))


def _go(text: str) -> Iterator[str]:
    return (found["name"] for found in _GO.finditer(text))


_READERS: Final[dict[str, Callable[[str], Iterator[str]]]] = {
    ".py": _python,
    **{f".{kind}": _node for kind in ("js", "cjs", "mjs", "ts", "cts", "mts", "jsx", "tsx")},
    ".rs": _rust,
    ".go": _go,
}
