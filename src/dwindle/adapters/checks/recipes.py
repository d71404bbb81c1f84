"""Reading what `make test`, `just test`, `npm test` or `sh test.sh` runs, as far as it is simple.

To count tests it has to be known for certain that there is exactly one tool behind a command. So
this is strict where the search for steering files is generous: a recipe that only make or a shell
could work out (functions, conditions, loops) comes back as None, and the exit code has to do.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dwindle.adapters.checks.shell_line import without_assignments

MOST_BYTES = 1 << 20
SHELLS = ("sh", "bash", "dash")
PACKAGE_MANAGERS = ("npm", "yarn", "pnpm")

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_JUSTFILES = ("justfile", "Justfile", ".justfile")
_SHEBANG = re.compile(r"#!\s*\S*/(?:env\s+)?(?:sh|bash|dash)(?:\s+-\w+)*")
_INCLUDES = re.compile(r"^\s*(?:-?include|sinclude|import\??|mod\??)\s", re.MULTILINE)
_COMMAND_OPTION = re.compile(r"-[a-z]*c")
_VARIABLE = re.compile(r"(?:export\s+)?([A-Za-z_][\w.-]*)\s*(\??|:{0,3}|\+)=\s*(.*)")
_RULE = re.compile(r"([^\s#:=][^#:=]*?)\s*::?(?!=)\s*([^;#]*)(?:;\s*(.*))?(?:#.*)?")
_REFERENCE = re.compile(r"\$[({]([A-Za-z_][\w.-]*)[)}]")
_BEYOND_MAKE = re.compile(r"\s*(?:define|\.ONESHELL|\.SHELLFLAGS|SHELL)\b")
_JUST_RULE = re.compile(r"@?([A-Za-z_][\w-]*)([^:]*):(?!=)\s*(.*)")
_JUST_VARIABLE = re.compile(
    r"(?:export\s+)?([A-Za-z_][\w-]*)\s*:=\s*(?:'([^']*)'|\"([^\"\\{]*)\")\s*"
)
_JUST_OTHER = re.compile(r"#|\[|set |alias |import|mod")
_JUST_REFERENCE = re.compile(r"\{\{\s*([A-Za-z_][\w-]*)\s*\}\}")
_SHELL_WORDS = re.compile(
    r"(?:if|for|while|until|case|function|trap|exec|return|exit|set \+e)\b|[\w-]+\s*\(\)|.*<<"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    lines: tuple[str, ...]
    """Each has to end well for the whole to."""
    text: str = ""
    """All of the files that it was found in: what else may matter stands there."""
    folder: str = ""
    says_no: int | None = None
    """The exit code of whoever runs it when a line said no; None: that of the line."""

    @property
    def is_whole(self) -> bool:
        """Nothing that was not read could have a say in how it is run."""
        return _INCLUDES.search(self.text) is None


def recipe_of(words: tuple[str, ...], tree: Path, folder: str) -> Recipe | None:
    """What a simple command leads to; None if to nothing that is simple."""
    words = without_assignments(words)
    if not words:
        return None
    program, rest = words[0].rpartition("/")[2], words[1:]
    if program in SHELLS:
        return _of_a_shell(rest, tree, folder)
    if program in ("make", "gmake"):
        return _of_make(rest, tree, folder)
    if program == "just":
        return _of_just(rest, tree, folder)
    if program in PACKAGE_MANAGERS:
        return _of_a_package(rest, tree, folder)
    if "/" in words[0] and not rest:
        return _script(words[0], tree, folder)
    return None


def _content(tree: Path, folder: str, names: Sequence[str]) -> str | None:
    """Of the first that is there."""
    for name in names:
        path = tree / posixpath.join(folder, name)
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_BYTES:
            continue
        return path.read_text("utf-8", "replace")
    return None


# --- shells --------------------------------------------------------------------------------------


def _of_a_shell(rest: tuple[str, ...], tree: Path, folder: str) -> Recipe | None:
    match rest:
        case (option, line) if _COMMAND_OPTION.fullmatch(option):
            return Recipe(lines=(line,), text=line, folder=folder)
        case (name,) | ("-e", name) | ("-eu", name):
            return _script(name, tree, folder)
    return None


def _script(name: str, tree: Path, folder: str) -> Recipe | None:
    text = _content(tree, folder, (name,))
    if text is None or "\0" in text:
        return None
    first, _, _ = text.partition("\n")
    if first.startswith("#!") and not _SHEBANG.fullmatch(first.rstrip()):
        return None
    lines = []
    for line in map(str.strip, text.replace("\\\n", " ").splitlines()):
        if _SHELL_WORDS.match(line):
            return None
        if line and not line.startswith(("#", "set ")):
            lines.append(line)
    return Recipe(lines=tuple(lines), text=text, folder=folder)


# --- make ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Rules:
    needs: dict[str, list[str]] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    unclear: dict[str, None] = field(default_factory=dict)
    """Variables that are set twice: which of them holds, only make knows."""
    at: list[str] = field(default_factory=list)
    """The targets whose lines are being read."""

    def begin(self, names: Sequence[str], needs: Sequence[str]) -> bool:
        """False if one of them has lines already."""
        self.at = list(names)
        for name in names:
            self.needs.setdefault(name, []).extend(needs)
            self.lines.setdefault(name, [])
        return not any(self.lines[name] for name in names)

    def add(self, line: str) -> None:
        for name in self.at:
            self.lines[name].append(line)

    def set(self, name: str, value: str, *, again: bool = False) -> None:
        if name in self.variables or again:
            self.unclear[name] = None
        self.variables[name] = value

    def expanded(self, line: str, reference: re.Pattern[str]) -> str:
        for _ in range(5):
            wider = reference.sub(self._value, line)
            if wider == line:
                break
            line = wider
        return line

    def _value(self, found: re.Match[str]) -> str:
        name, whole = found[1], found[0]
        return whole if name in self.unclear else self.variables.get(name, whole)

    def reached(self, goals: Sequence[str]) -> Iterator[str]:
        """Targets, what they need first."""
        seen: dict[str, None] = {}

        def visit(name: str) -> Iterator[str]:
            if name in seen or name not in self.lines:
                return
            seen[name] = None
            for other in self.needs[name]:
                yield from visit(other)
            yield name

        for goal in goals:
            yield from visit(goal)


def _of_make(rest: tuple[str, ...], tree: Path, folder: str) -> Recipe | None:
    goals: list[str] = []
    given: dict[str, str] = {}
    waiting = list(rest)
    names: Sequence[str] = _MAKEFILES
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
    text = _content(tree, folder, names)
    rules = None if text is None else _makefile(text)
    if text is None or rules is None:
        return None
    for name, value in given.items():
        rules.variables[name] = value
        rules.unclear.pop(name, None)
    goals = goals or [name for name in rules.lines if not name.startswith(".")][:1]
    if not goals or any(goal not in rules.lines for goal in goals):
        return None
    found = [line for name in rules.reached(goals) for line in rules.lines[name]]
    lines = [rules.expanded(line, _REFERENCE).replace("$$", "$") for line in found]
    return Recipe(lines=tuple(_without_marks(lines)), text=text, folder=folder, says_no=2)


def _makefile(text: str) -> _Rules | None:
    rules = _Rules()
    for line in text.replace("\\\n", " ").splitlines():
        if _BEYOND_MAKE.match(line):
            return None
        if line.startswith("\t"):
            rules.add(line.strip())
        elif match := _VARIABLE.fullmatch(line.strip()):
            rules.set(match[1], match[3].partition(" #")[0].strip(), again=match[2] == "+")
        elif match := _RULE.fullmatch(line.rstrip()):
            needs = [rules.expanded(name, _REFERENCE) for name in match[2].split()]
            if not rules.begin(match[1].split(), needs):
                return None
            if match[3]:
                rules.add(match[3])
    return rules


def _without_marks(lines: Sequence[str]) -> Iterator[str]:
    """A line whose failure does not matter cannot be read as one that has to end well."""
    for line in lines:
        bare = line.lstrip("@+- ")
        marks = line[: len(line) - len(bare)]
        if bare:
            yield f"{bare} || :" if "-" in marks else bare


# --- just ----------------------------------------------------------------------------------------


def _of_just(rest: tuple[str, ...], tree: Path, folder: str) -> Recipe | None:
    text = _content(tree, folder, _JUSTFILES)
    if text is None or any(word.startswith("-") or "=" in word for word in rest):
        return None
    rules = _justfile(text)
    goals = [] if rules is None else list(rest[:1] or tuple(rules.lines)[:1])
    if rules is None or not goals or goals[0] not in rules.lines:
        return None
    found = [line for name in rules.reached(goals) for line in rules.lines[name]]
    if any(line.startswith("#!") for line in found):
        return None
    plain = [line for line in found if not line.startswith("#")]
    lines = [rules.expanded(line, _JUST_REFERENCE) for line in plain]
    return Recipe(lines=tuple(_without_marks(lines)), text=text, folder=folder)


def _justfile(text: str) -> _Rules | None:
    rules = _Rules()
    for line in text.replace("\\\n", " ").splitlines():
        if line[:1] in (" ", "\t"):
            rules.add(line.strip())
        elif line.startswith(("set shell", "set windows")):
            return None
        elif match := _JUST_VARIABLE.fullmatch(line):
            rules.set(match[1], match[2] or match[3] or "")
        elif not _JUST_OTHER.match(line) and (match := _JUST_RULE.fullmatch(line)):
            needs = [word for word in match[3].partition("#")[0].split() if word != "&&"]
            if "(" in match[3] or not rules.begin((match[1],), needs):
                return None
    return rules


# --- scripts of a package ------------------------------------------------------------------------


def _of_a_package(rest: tuple[str, ...], tree: Path, folder: str) -> Recipe | None:
    words = [word for word in rest if word not in ("-s", "--silent")]
    if words[:1] and words[0] in ("run", "run-script"):
        words = words[1:]
    elif words[:1] and words[0] in ("t", "tst"):
        words = ["test"]
    if len(words) != 1 or words[0].startswith("-"):
        return None
    text = _content(tree, folder, ("package.json",))
    try:
        scripts = json.loads(text or "{}")["scripts"]
        found = [scripts.get(f"{when}{words[0]}") for when in ("pre", "", "post")]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(found[1], str):
        return None
    lines = tuple(line for line in found if isinstance(line, str))
    return Recipe(lines=lines, text="\n".join(lines), folder=folder)
