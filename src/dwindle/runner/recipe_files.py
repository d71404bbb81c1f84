"""What a command leads to: recipes, scripts, and the tools that are named in them.

`make test` says nothing about what is run. Whoever may write the Makefile decides that, and so it
steers the tests as much as a conftest.py does. Here the files are found that such a command reads:
Makefile and what it includes, justfile, the scripts of package.json, tox.ini, noxfile.py, and shell
scripts, from one to the next.

It is looked for generously, and nothing is worked out: each line of each file counts, whether or
not the target is reached. What is too much here is a file that an agent may not change, which a
person can allow; what is too little would be a gate that an agent can open. So also what is not
there is named, if it would be read in the place of what is there: a GNUmakefile beside a Makefile,
or a file that has the name of a target, for which make then has nothing to do.

A program that is named in a recipe is not held, unless a shell reads it: it is often the very thing
that is worked on. One that the command itself names is, but for tests.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from dwindle.runner.judging_tools import NAMES, Tool, tools_in
from dwindle.runner.shell_words import words

Content = Callable[[str], Awaitable[bytes | None]]
"""What a file held, by its path in the repository; None if it was not there."""

MOST_FILES: Final = 60
MOST_BYTES: Final = 1 << 20
GOES_TO: Final = ("cd", "-C", "--directory", "--prefix", "--cwd", "pushd", "-d")
_READS: Final = ("-f", "--file", "--makefile", "--justfile")
_RECIPES: Final[dict[Tool, tuple[str, ...]]] = {
    Tool.MAKE: ("GNUmakefile", "makefile", "Makefile"),
    Tool.JUST: ("justfile", "Justfile", "JUSTFILE", ".justfile", ".Justfile"),
    Tool.TOX: ("tox.ini", "tox.toml"),
    Tool.NOX: ("noxfile.py",),
}
_SHELL: Final = re.compile(r"(?:.*/)?(?:sh|bash|dash|zsh|ksh)")
_TAKES_IN: Final = (".", "source")
_INTERPRETER: Final = re.compile(
    r"(?:.*/)?(?:python[0-9.]*|pypy[0-9.]*|node|bun|deno|ruby|perl|php)"
)
_TESTS: Final = re.compile(r"(?:.*/)?(?:tests?(?:[_.-].*)?\.[a-z]+|.*[_.-](?:tests?|spec)\.[a-z]+)")
_GOAL: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_OPERATOR: Final = re.compile(r"[;&|<>(){}`]+")
_INCLUDES: Final = re.compile(r"\s*(?:-?include|sinclude)\s+(.+)|\s*import\??\s+(.+)")
_MODULE: Final = re.compile(r"\s*mod\??\s+([A-Za-z_][\w-]*)\s*(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    tools: tuple[Tool, ...]
    files: frozenset[str]


@dataclass(slots=True)
class _Search:
    content: Content
    tools: dict[Tool, None] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    read: dict[str, None] = field(default_factory=dict)

    async def lines(self, lines: Sequence[str], folder: str, *, direct: bool) -> None:
        for line in lines:
            if line.lstrip().startswith("#"):
                continue
            found = words(line)
            tools = tools_in((line,))
            self.tools.update(dict.fromkeys(tools))
            for place in _folders(found, folder):
                await self._recipes(tools, found, place)
                for path in _scripts(found, place, direct=direct):
                    await self._file(path, _lines_of, is_there=True)

    async def _recipes(self, tools: Sequence[Tool], found: Sequence[str], folder: str) -> None:
        for tool in tools:
            named = _named(found) if tool in (Tool.MAKE, Tool.JUST) else ()
            for name in (*named, *_RECIPES.get(tool, ())):
                await self._file(_joined(folder, name), _lines_of)
        if Tool.NODE in tools:
            await self._file(_joined(folder, "package.json"), _package_scripts, steers=False)
        if Tool.MAKE in tools:
            for goal in _goals(found):
                path = _joined(folder, goal)
                if path and await self.content(path) is None:
                    self.files[path] = None

    async def _file(
        self,
        path: str,
        lines_of: Callable[[str], Sequence[str]],
        *,
        steers: bool = True,
        is_there: bool = False,
    ) -> None:
        """One that may be read; if it is a script, it has to be there to be one."""
        if not path or path in self.read or len(self.read) == MOST_FILES:
            return
        text = await self.content(path)
        if text is None and is_there:
            return
        self.read[path] = None
        if steers:
            self.files[path] = None
        if text is None or len(text) > MOST_BYTES or b"\0" in text:
            return
        folder = posixpath.dirname(path)
        lines = lines_of(text.decode("utf-8", "replace"))
        for other in _included(lines, folder):
            await self._file(other, _lines_of)
        if b"dotenv" in text:
            self.files[_joined(folder, ".env")] = None
        # A script is run where its caller is, a recipe where it lies: try both.
        for place in dict.fromkeys((folder, "")):
            await self.lines(lines, place, direct=False)


async def look_into(lines: Sequence[str], content: Content) -> Found:
    search = _Search(content)
    await search.lines(lines, "", direct=True)
    return Found(tools=tuple(search.tools), files=frozenset(search.files))


# --- what stands in a file -----------------------------------------------------------------------


def _lines_of(text: str) -> list[str]:
    return text.replace("\\\n", " ").splitlines()


def _package_scripts(text: str) -> list[str]:
    try:
        scripts = json.loads(text)["scripts"]
        return [line for line in scripts.values() if isinstance(line, str)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def _included(lines: Sequence[str], folder: str) -> Iterator[str]:
    """Files that are read as if they stood here."""
    for line in lines:
        if match := _INCLUDES.fullmatch(line):
            for word in words(match[1] or match[2]):
                yield _joined(folder, word)
        elif match := _MODULE.fullmatch(line):
            name = match[1]
            for path in (*words(match[2]), f"{name}.just", f"{name}/mod.just", f"{name}/justfile"):
                yield _joined(folder, path)


# --- what stands in a line -----------------------------------------------------------------------


def _folders(found: Sequence[str], folder: str) -> list[str]:
    """Where its commands may be run: where it is, and wherever it goes to."""
    gone = [b for a, b in pairwise(found) if a in GOES_TO]
    gone += [word.partition("=")[2] for word in found if word.partition("=")[0] in GOES_TO]
    places = (_joined(folder, place) for place in gone)
    return list(dict.fromkeys((folder, *(place for place in places if place))))


def _named(found: Sequence[str]) -> Iterator[str]:
    """Recipe files that are named."""
    for before, word in pairwise(("", *found)):
        option, _, value = word.partition("=")
        if before in _READS:
            yield word
        elif option in _READS and value:
            yield value


def _goals(found: Sequence[str]) -> Iterator[str]:
    """What make is asked for."""
    asked = False
    for before, word in pairwise(("", *found)):
        if before in (*GOES_TO, *_READS):
            continue
        if _OPERATOR.fullmatch(word):
            asked = False
        elif NAMES[Tool.MAKE].fullmatch(word):
            asked = True
        elif asked and _GOAL.fullmatch(word):
            yield word


def _scripts(found: Sequence[str], folder: str, *, direct: bool) -> Iterator[str]:
    """Files that the line has run by a shell; of the command itself, by anything."""
    begins, reader = True, ""
    for word in found:
        if _OPERATOR.fullmatch(word):
            begins, reader = True, ""
        elif _SHELL.fullmatch(word) or (begins and word in _TAKES_IN):
            begins, reader = False, "shell"
        elif _INTERPRETER.fullmatch(word):
            begins, reader = False, "other"
        else:
            is_script = reader == "shell" or word.endswith((".sh", ".bash"))
            is_run = (begins and "/" in word) or reader == "other"
            if is_script or (direct and is_run and not _TESTS.fullmatch(word)):
                yield _joined(folder, word)
            if not word.startswith("-"):
                begins, reader = "=" in word and begins, ""


def _joined(folder: str, name: str) -> str:
    """A path in the repository; empty if it is none."""
    path = posixpath.normpath(posixpath.join(folder, name))
    if not name or path.startswith(("/", "../")) or path in (".", "..") or "\0" in path:
        return ""
    return path
