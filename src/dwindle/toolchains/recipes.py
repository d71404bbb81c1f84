"""Reading Makefiles, justfiles, the scripts of package.json and shell scripts.

Two questions are answered from it. Which files may steer what a command runs (`steering_files.py`)
is asked generously: every line of every file counts, whether or not the target is reached. Which
one tool a command runs (`countable_run.py`) is asked strictly: `recipe_of` returns the lines that a
command runs, and None where only make or a shell could work them out (functions, conditions,
loops).
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from dwindle.toolchains.shell import SHELLS, without_assignments, words
from dwindle.toolchains.tools import NAMES, PACKAGE_MANAGERS, RECIPE_FILES, Tool

MOST_BYTES: Final = 1 << 20
"""A larger recipe file or script is not read."""
MOST_TARGETS: Final = 10_000
"""Patterns can need each other without end."""
FILE_OPTIONS: Final = ("-f", "--file", "--makefile", "--justfile")
FOLDER_OPTIONS: Final = ("cd", "-C", "--directory", "--prefix", "--cwd", "pushd", "-d")
"""The word after it is the folder that a command, or the rest of the line, runs in."""

_INCLUDE: Final = re.compile(r"\s*(?:-?include|sinclude)\s+(.+)|\s*import\??\s+(.+)")
_MODULE: Final = re.compile(r"\s*mod\??\s+([A-Za-z_][\w-]*)\s*(.*)")

Read = Callable[[str], str | None]
"""The text of a file, by its path in the checkout; None if it cannot be read as a plain file."""


# --- every line of a file ------------------------------------------------------------------------


def logical_lines(text: str) -> list[str]:
    return text.replace("\\\n", " ").splitlines()


def included_files(lines: Sequence[str]) -> Iterator[str]:
    """Files that make or just reads as part of this one, named as seen from its folder."""
    for line in lines:
        if match := _INCLUDE.fullmatch(line):
            yield from words(match[1] or match[2])
        elif match := _MODULE.fullmatch(line):
            name = match[1]
            yield from (*words(match[2]), f"{name}.just", f"{name}/mod.just", f"{name}/justfile")


def package_scripts(text: str) -> dict[str, str]:
    try:
        scripts = json.loads(text)["scripts"]
        return {name: line for name, line in scripts.items() if isinstance(line, str)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def folders_in(line_words: Sequence[str]) -> Iterator[str]:
    """Folders that a line changes to, or has a tool change to."""
    yield from (after for before, after in pairwise(line_words) if before in FOLDER_OPTIONS)
    options = (word.partition("=") for word in line_words)
    yield from (folder for option, _, folder in options if option in FOLDER_OPTIONS)


# --- the lines that a command runs ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    lines: tuple[str, ...]
    """The recipe succeeds if each of them does."""
    text: str = ""
    """The whole file that it is in: variables that are set there may matter."""
    folder: str = ""
    failure_code: int | None = None
    """The exit code of the tool when a line fails; None: that of the line."""

    @property
    def includes_others(self) -> bool:
        return any(True for _ in included_files(logical_lines(self.text)))


def recipe_of(command: tuple[str, ...], read: Read, folder: str) -> Recipe | None:
    """What a simple command runs; None if that is nothing simple."""
    command = without_assignments(command)
    if not command:
        return None
    program, rest = command[0].rpartition("/")[2], command[1:]
    if program in SHELLS:
        return _of_a_shell(rest, read, folder)
    if NAMES[Tool.MAKE].fullmatch(program):
        return _of_make(rest, read, folder)
    if NAMES[Tool.JUST].fullmatch(program):
        return _of_just(rest, read, folder)
    if program in PACKAGE_MANAGERS:
        return _of_a_package(rest, read, folder)
    if "/" in command[0] and not rest:
        return _of_a_script(command[0], read, folder)
    return None


def _first_of(names: Sequence[str], read: Read, folder: str) -> str | None:
    texts = (read(posixpath.normpath(posixpath.join(folder, name))) for name in names)
    return next((text for text in texts if text is not None), None)


# --- shells

_SHEBANG: Final = re.compile(rf"#!\s*\S*/(?:env\s+)?(?:{'|'.join(SHELLS)})(?:\s+-\w+)*")
_COMMAND_OPTION: Final = re.compile(r"-[a-z]*c")
_SHELL_SYNTAX: Final = re.compile(
    r"(?:if|for|while|until|case|function|trap|exec|return|exit|set \+e)\b|[\w-]+\s*\(\)|.*<<"
)


def _of_a_shell(rest: tuple[str, ...], read: Read, folder: str) -> Recipe | None:
    match rest:
        case (option, line) if _COMMAND_OPTION.fullmatch(option):
            return Recipe(lines=(line,), text=line, folder=folder)
        case (name,) | ("-e", name) | ("-eu", name):
            return _of_a_script(name, read, folder)
    return None


def _of_a_script(name: str, read: Read, folder: str) -> Recipe | None:
    text = _first_of((name,), read, folder)
    if text is None or "\0" in text:
        return None
    first, _, _ = text.partition("\n")
    if first.startswith("#!") and not _SHEBANG.fullmatch(first.rstrip()):
        return None
    lines = [line.strip() for line in logical_lines(text)]
    if any(_SHELL_SYNTAX.match(line) for line in lines):
        return None
    plain = (line for line in lines if line and not line.startswith(("#", "set ")))
    return Recipe(lines=tuple(plain), text=text, folder=folder)


# --- make and just


@dataclass(slots=True)
class MakeRules:
    """The rules of a Makefile or justfile and of what it includes."""

    reference: re.Pattern[str]
    """How a line refers to a variable."""
    needs: dict[str, list[str]] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    ambiguous: dict[str, None] = field(default_factory=dict)
    """Variables that are set twice: only make knows which value holds."""
    targets: Sequence[str] = ()
    """Those whose lines are being read."""
    is_simple: bool = True
    """False if only make or just can work out what a target runs."""

    def begin(self, targets: Sequence[str], needs: Sequence[str]) -> None:
        self.targets = targets
        for name in targets:
            self.needs.setdefault(name, []).extend(needs)
            if self.lines.setdefault(name, []):
                self.is_simple = False

    def add(self, line: str) -> None:
        for name in self.targets:
            self.lines[name].append(line)

    def set(self, name: str, value: str, *, again: bool = False) -> None:
        if name in self.variables or again:
            self.ambiguous[name] = None
        self.variables[name] = value

    def expand(self, line: str) -> str:
        for _ in range(5):
            wider = self.reference.sub(self._value, line)
            if wider == line:
                break
            line = wider
        return line

    def _value(self, found: re.Match[str]) -> str:
        name, reference = found[1], found[0]
        return reference if name in self.ambiguous else self.variables.get(name, reference)

    def lines_for(self, goals: Sequence[str]) -> list[str]:
        """The lines of these targets, after those of the targets that they need."""
        seen: dict[str, None] = {}

        def visit(name: str) -> Iterator[str]:
            if name in seen or name not in self.lines:
                return
            seen[name] = None
            for other in self.needs[name]:
                yield from visit(other)
            yield from self.lines[name]

        return [line for goal in goals for line in visit(goal)]

    @property
    def first_target(self) -> list[str]:
        chosen = self.variables.get(".DEFAULT_GOAL")
        names = (chosen,) if chosen else self.lines
        return [name for name in names if not name.startswith(".")][:1]

    def reached(self, goals: Sequence[str]) -> dict[str, str | None]:
        """The goals and all that they need, each with the target or pattern that makes it."""
        found: dict[str, str | None] = {}
        waiting = list(goals)
        while waiting and len(found) < MOST_TARGETS:
            name = waiting.pop(0)
            if name not in found:
                found[name], stem = self._maker(name)
                needs = self.needs.get(found[name] or "", ())
                waiting += (need.replace("%", stem) for need in needs)
        return found

    def _maker(self, name: str) -> tuple[str | None, str]:
        """The pattern `%` alone stands for any file, also for sources."""
        if name in self.lines:
            return name, ""
        for target in self.lines:
            before, wild, after = target.partition("%")
            middle = name.removeprefix(before).removesuffix(after)
            if wild and target != "%" and name == f"{before}{middle}{after}":
                return target, middle
        return None, ""


_VARIABLE: Final = re.compile(r"(?:export\s+)?(\.?[A-Za-z_][\w.-]*)\s*(\??|:{0,3}|\+)=\s*(.*)")
_RULE: Final = re.compile(r"([^\s#:=][^#:=]*?)\s*::?(?!=)\s*([^;#]*)(?:;\s*(.*))?(?:#.*)?")
_REFERENCE: Final = re.compile(r"\$[({]([A-Za-z_][\w.-]*)[)}]")
_BEYOND_US: Final = re.compile(r"\s*(?:define|\.ONESHELL|\.SHELLFLAGS|SHELL)\b")


def _of_make(rest: tuple[str, ...], read: Read, folder: str) -> Recipe | None:
    goals: list[str] = []
    given: dict[str, str] = {}
    waiting = list(rest)
    names: Sequence[str] = RECIPE_FILES[Tool.MAKE]
    while waiting:
        word = waiting.pop(0)
        if word in ("-C", "--directory") and waiting:
            folder = posixpath.join(folder, waiting.pop(0))
        elif word in ("-f", "--file", "--makefile") and waiting:
            names = (waiting.pop(0),)
        elif word in ("-s", "--silent", "--no-print-directory"):
            continue
        elif word.startswith("-"):
            return None
        elif "=" in word:
            name, _, value = word.partition("=")
            given[name] = value
        else:
            goals.append(word)
    text = _first_of(names, read, folder)
    rules = read_makefile(text or "")
    if text is None or not rules.is_simple:
        return None
    for name, value in given.items():
        rules.variables[name] = value
        rules.ambiguous.pop(name, None)
    goals = goals or rules.first_target
    if not goals or any(goal not in rules.lines for goal in goals):
        return None
    lines = (rules.expand(line).replace("$$", "$") for line in rules.lines_for(goals))
    return Recipe(lines=tuple(_without_marks(lines)), text=text, folder=folder, failure_code=2)


def read_makefile(text: str, rules: MakeRules | None = None) -> MakeRules:
    """With the rules of the files that were read before it."""
    rules = rules or MakeRules(_REFERENCE)
    for line in logical_lines(text):
        if _BEYOND_US.match(line):
            rules.is_simple = False
        if line.startswith("\t"):
            rules.add(line.strip())
        elif match := _VARIABLE.fullmatch(line.strip()):
            rules.set(match[1], match[3].partition(" #")[0].strip(), again=match[2] == "+")
        elif match := _RULE.fullmatch(line.strip()):
            rules.begin(rules.expand(match[1]).split(), rules.expand(match[2]).split())
            if match[3]:
                rules.add(match[3])
    return rules


def _without_marks(lines: Iterator[str]) -> Iterator[str]:
    """A line that may fail (`-`) is written so that no strict reading takes it for a test run."""
    for line in lines:
        bare = line.lstrip("@+- ")
        marks = line[: len(line) - len(bare)]
        if bare:
            yield f"{bare} || :" if "-" in marks else bare


_JUST_RULE: Final = re.compile(r"@?([A-Za-z_][\w-]*)([^:]*):(?!=)\s*(.*)")
_JUST_VARIABLE: Final = re.compile(
    r"(?:export\s+)?([A-Za-z_][\w-]*)\s*:=\s*(?:'([^']*)'|\"([^\"\\{]*)\")\s*"
)
_JUST_OTHER: Final = re.compile(r"#|\[|set |alias |import|mod")
_JUST_REFERENCE: Final = re.compile(r"\{\{\s*([A-Za-z_][\w-]*)\s*\}\}")


def _of_just(rest: tuple[str, ...], read: Read, folder: str) -> Recipe | None:
    text = _first_of(RECIPE_FILES[Tool.JUST], read, folder)
    if text is None or any(word.startswith("-") or "=" in word for word in rest):
        return None
    rules = read_justfile(text)
    goals = rest[:1] or tuple(rules.first_target)
    if not rules.is_simple or not goals or goals[0] not in rules.lines:
        return None
    found = rules.lines_for(goals)
    if any(line.startswith("#!") for line in found):
        return None
    lines = (rules.expand(line) for line in found if not line.startswith("#"))
    return Recipe(lines=tuple(_without_marks(lines)), text=text, folder=folder)


def read_justfile(text: str, rules: MakeRules | None = None) -> MakeRules:
    """With the rules of the files that were read before it."""
    rules = rules or MakeRules(_JUST_REFERENCE)
    for line in logical_lines(text):
        if line[:1] in (" ", "\t"):
            rules.add(line.strip())
        elif line.startswith(("set shell", "set windows")):
            rules.is_simple = False
        elif match := _JUST_VARIABLE.fullmatch(line):
            rules.set(match[1], match[2] or match[3] or "")
        elif not _JUST_OTHER.match(line) and (match := _JUST_RULE.fullmatch(line)):
            needs = [word.strip("()") for word in match[3].partition("#")[0].split()]
            rules.is_simple &= "(" not in match[3]
            rules.begin((match[1],), [word for word in needs if word != "&&"])
    return rules


# --- scripts of a package


def script_asked_for(rest: Sequence[str]) -> tuple[str, ...]:
    """Which script `npm ...` runs, and the words after its name."""
    found = [word for word in rest if word not in ("-s", "--silent")]
    if found[:1] and found[0] in ("run", "run-script"):
        return tuple(found[1:])
    if found[:1] and found[0] in ("t", "tst"):
        return ("test", *found[1:])
    return tuple(found)


def _of_a_package(rest: tuple[str, ...], read: Read, folder: str) -> Recipe | None:
    asked = script_asked_for(rest)
    if len(asked) != 1 or asked[0].startswith("-"):
        return None
    scripts = package_scripts(_first_of(RECIPE_FILES[Tool.NODE], read, folder) or "")
    if asked[0] not in scripts:
        return None
    found = (scripts.get(f"{when}{asked[0]}") for when in ("pre", "", "post"))
    lines = tuple(line for line in found if line is not None)
    return Recipe(lines=lines, text="\n".join(lines), folder=folder)
