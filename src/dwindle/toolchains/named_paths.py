"""The paths that a command names: those that decide its answer, and those that it only looks at.

`pytest tests/test_a.py`, `sh check.sh` and `make test` are decided by what is in the test, the
script or the makefile. `test -f report.md` and `grep -q done src/a.py` are not: their answer is in
the command itself, and the file is what is asked about.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from dwindle.toolchains.recipes import folders_in
from dwindle.toolchains.shell import SHELLS, every_command, without_assignments
from dwindle.toolchains.tools import (
    INTERPRETER,
    NAMES,
    PACKAGE_MANAGERS,
    PYTEST,
    PYTHON,
    RECIPE_FILES,
    Tool,
)

_RUNNERS: Final = ("hatch", "pdm", "pipenv", "pixi", "poetry", "rye", "uv")
_BEFORE: Final = ("env", "exec", "nice", "time", "timeout", "command", "npx", "sudo", "xvfb-run")
"""Programs that start the one named after them."""
_TESTERS: Final = re.compile(r"(?:jest|vitest|mocha|ava|tap|phpunit|rspec|bats)(?:\.js)?")
_WITH_VALUE: Final = {
    "python": ("-W", "-X"),
    "unittest": ("-k", "-s", "-p", "-t"),
    "node": ("-r", "--require", "--import"),
    "sh": ("-o", "+o"),
    "pytest": ("-k", "-m", "-p", "-n", "-W", "-o", "-r", "--durations", "--maxfail", "--tb"),
}
"""Options whose value is a word of its own and no path."""
_NO_PATH: Final = re.compile(r"[\s*?\[\]{}$<>|&;\"'\\:,()`!@%^]|^[-~/+=]|^\.\.(?:/|$)|^\.?$")
_FILE_NAME: Final = re.compile(r".*[^/.]\.[A-Za-z][A-Za-z0-9]{0,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPath:
    path: str
    others: tuple[str, ...] = ()
    """Where else it may lie, or what may take its place."""
    decides: bool = False
    is_implied: bool = False
    """The command does not name it: `make` reads a makefile."""

    def is_in(self, files: Collection[str]) -> bool:
        """Is it, or something below it, one of these files?"""
        return any(True for _ in self.found_in(files))

    def found_in(self, files: Collection[str]) -> Iterator[str]:
        for place in (self.path, *self.others):
            if place in files:
                yield place
            yield from (file for file in files if file.startswith(f"{place}/"))


def named_paths(line: str) -> tuple[NamedPath, ...]:
    """In the order of the line; none twice."""
    found: dict[tuple[str, bool], NamedPath] = {}
    for command in every_command(line):
        folders = (*_folders_before(line, command), *filter(None, folders_in(command)))
        for named in _of_command(command):
            here = (named.path, *named.others)
            inside = (posixpath.join(folder, one) for folder in reversed(folders) for one in here)
            places = [path for place in inside if (path := _as_path(place))]
            first, *rest = dict.fromkeys((*places, *here))
            found.setdefault((first, named.decides), replace(named, path=first, others=tuple(rest)))
    return tuple(found.values())


def _folders_before(line: str, command: Sequence[str]) -> Iterator[str]:
    for earlier in every_command(line):
        if earlier == command:
            return
        if earlier[:1] == ("cd",) and len(earlier) > 1:
            yield earlier[1]


def _of_command(command: tuple[str, ...]) -> Iterator[NamedPath]:
    command = _started(command)
    if not command or command[0] == "cd":
        return
    program, rest = command[0], command[1:]
    name = posixpath.basename(program)
    if "/" in program and (path := _as_path(program)):
        yield NamedPath(path=path, decides=True)
    if name in (*SHELLS, ".", "source"):
        yield from _scripts(rest, _WITH_VALUE["sh"])
    elif PYTEST.fullmatch(name):
        yield from _tests(rest, bare=True)
    elif INTERPRETER.fullmatch(name):
        yield from _of_interpreter(name, rest)
    elif name == "coverage" and rest[:1] == ("run",):
        yield from _of_interpreter("python", rest[1:])
    elif _TESTERS.fullmatch(name):
        yield from _tests(rest)
    elif recipes := _recipes(name, rest):
        yield from recipes
    else:
        yield from (NamedPath(path=path) for word in rest if (path := _as_path(_value(word))))


def _started(command: tuple[str, ...]) -> tuple[str, ...]:
    """Without what only starts it."""
    while True:
        command = without_assignments(command)
        if command[:1] and posixpath.basename(command[0]) in (*_BEFORE, "!"):
            command = command[1:]
            while command and (command[0].startswith("-") or command[0].rstrip("smh").isdigit()):
                command = command[1:]
        elif command[1:2] == ("run",) and command[0] in _RUNNERS:
            command = command[2:]
            while command and command[0].startswith("-"):
                command = command[1:]
        else:
            return command


def _of_interpreter(name: str, words: Sequence[str]) -> Iterator[NamedPath]:
    is_python = PYTHON.fullmatch(name) is not None
    if is_python and "-m" in words:
        at = words.index("-m")
        module, rest = words[at + 1 : at + 2], words[at + 2 :]
        if module == ("pytest",):
            yield from _tests(rest, bare=True)
        elif module == ("unittest",):
            for before, word in pairwise(("", *rest)):
                if before not in _WITH_VALUE["unittest"] and (path := _module_path(word)):
                    yield NamedPath(path=path, decides=True)
        elif module == ("coverage",) and rest[:1] == ("run",):
            yield from _of_interpreter("python", rest[1:])
    elif "--test" in words:
        yield from _tests(words)
    elif not any(word in words for word in ("-c", "-e", "--eval", "-p")):
        yield from _scripts(words, _WITH_VALUE["python" if is_python else "node"])


def _scripts(words: Sequence[str], with_value: Sequence[str]) -> Iterator[NamedPath]:
    """The first word that is no option is run, the others are handed to it."""
    if "-c" in words:
        return
    given = [word for before, word in pairwise(("", *words)) if before not in with_value]
    given = [word for word in given if not word.startswith(("-", "+"))]
    for index, word in enumerate(given):
        if path := _as_path(word):
            yield NamedPath(path=path, decides=index == 0)


def _tests(words: Sequence[str], *, bare: bool = False) -> Iterator[NamedPath]:
    """`bare`: words without a slash or a suffix are paths as well."""
    for before, word in pairwise(("", *words)):
        path = _as_path(_value(word).partition("::")[0])
        is_value = before in _WITH_VALUE["pytest"] or ("--" in before and "=" not in before)
        is_file = "/" in path or _FILE_NAME.fullmatch(path)
        if path and (is_file or (bare and not is_value and not word.startswith("-"))):
            yield NamedPath(path=path, decides=not word.startswith("-"))


def _recipes(name: str, words: Sequence[str]) -> list[NamedPath]:
    tools = (Tool.MAKE, Tool.JUST, Tool.TOX, Tool.NOX)
    tool = next((tool for tool in tools if NAMES[tool].fullmatch(name)), None)
    if name in PACKAGE_MANAGERS:
        tool = Tool.NODE
    if tool is None:
        return []
    asked = ("-f", "--file", "--makefile", "--justfile", "-c", "--noxfile")
    chosen = [after for before, after in pairwise(words) if before in asked]
    chosen += [word.partition("=")[2] for word in words if word.partition("=")[0] in asked]
    if chosen:
        paths = filter(None, map(_as_path, chosen))
        return [NamedPath(path=path, decides=True) for path in paths]
    first, *others = reversed(RECIPE_FILES[tool])
    if tool is Tool.TOX:
        others += ["setup.cfg", "pyproject.toml"]
    handed = list(_tests(words[words.index("--") + 1 :])) if "--" in words else []
    read = NamedPath(path=first, others=tuple(others), decides=True, is_implied=True)
    return [read, *handed]


def _module_path(word: str) -> str:
    """`tests.test_a.TestSum` is in tests/test_a.py."""
    if "/" in word or word.endswith(".py"):
        return _as_path(word)
    if not re.fullmatch(r"[A-Za-z_]\w*(?:\.\w+)*", word) or word == "discover":
        return ""
    parts = word.split(".")
    kept = [
        part for n, part in enumerate(parts) if not any(p[:1].isupper() for p in parts[: n + 1])
    ]
    return f"{'/'.join(kept)}.py" if kept else ""


def _value(word: str) -> str:
    """`--config=a/b.ini` names a/b.ini."""
    return word.partition("=")[2] if word.startswith("-") else word


def _as_path(word: str) -> str:
    """A plain path inside of the checkout; empty if it is none."""
    path = posixpath.normpath(word) if word and not word.startswith("-") else ""
    return "" if _NO_PATH.search(path) else path
