"""Files that decide which tests a tool runs, and what it makes of their outcomes.

A worker that cannot make a test pass can tell the tool to skip it, to ignore its outcome, or to be
another program: by a conftest.py, a module with the name of the tool, a recipe in a Makefile. Some
files steer any run of a tool (`steers`). Others steer because the command leads to them:
`make test` does not say what is run, the Makefile does. `reach_of` follows a command to Makefile
and what it includes, justfile, the scripts of package.json, tox.ini, noxfile.py and shell scripts,
from one to the next.

The search is generous: each line of each file counts, whether or not the target is reached. A file
too many is one that an agent may not change, and the user can allow it; a file too few would let an
agent open the gate. So a file that does not exist is named as well, if a tool would read it instead
of one that does: a GNUmakefile beside a Makefile, a file with the name of a target, for which make
then has nothing to do, or a Makefile.sh, from which make would write the Makefile anew. Only
linters count where they run: many a Makefile has one in a recipe that the command does not reach.

A program that a recipe names does not steer, unless a shell reads it or it is a script without a
suffix: it is often the work itself. One that the command names does, but for tests. And where a
tool had no recipe file at all, the first one is what the worker has to write.
"""

from __future__ import annotations

import fnmatch
import functools
import posixpath
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from dwindle.toolchains.mixed_files import configures, may_configure_pytest
from dwindle.toolchains.recipes import (
    FILE_OPTIONS,
    FOLDER_OPTIONS,
    MOST_BYTES,
    MakeRules,
    folders_in,
    included_files,
    logical_lines,
    package_scripts,
    read_justfile,
    read_makefile,
)
from dwindle.toolchains.shell import SHELLS, is_operator, words
from dwindle.toolchains.test_files import is_configuration, is_package, is_test
from dwindle.toolchains.tools import (
    INTERPRETER,
    LINTERS,
    NAMES,
    PYTHON_TOOLS,
    RECIPE_FILES,
    Tool,
    tools_in,
)

Content = Callable[[str], Awaitable[bytes | None]]
"""The content of a file, by its path in the repository; None if it does not exist."""
Exists = Callable[[str], bool]
"""Does this file exist in the tree that is judged?"""

MOST_FILES: Final = 60
_CUSTOMIZE: Final = r"(?:site|user)customize\.py"
_NODE: Final = (
    r"\.npmrc|\.pnpmfile\.cjs|\.pnp\.[^/]+|\.yarnrc(?:\.yml)?|bunfig\.toml|node\.config\.json"
    r"|(?:jest|vitest|vite|babel|ava|nyc|c8|swc|playwright|cypress)\.config\.[^/]+"
    r"|vitest\.workspace\.[^/]+|\.(?:mocha|babel|nyc|c8|swc|tap)rc(?:\.[^/]+)?"
    r"|tsconfig[^/]*\.json|node_modules/.+"
)
_PATTERNS: Final[dict[Tool, str]] = {
    Tool.PYTEST: rf"conftest\.py|\.?pytest\.(?:ini|toml)|{_CUSTOMIZE}",
    Tool.UNITTEST: _CUSTOMIZE,
    Tool.NODE: _NODE,
    Tool.CARGO: r"\.cargo/config(?:\.toml)?|rust-toolchain(?:\.toml)?|\.config/nextest\.toml",
    Tool.COVERAGE: rf"\.coveragerc(?:\.toml)?|{_CUSTOMIZE}",
    Tool.MYPY: rf"\.?mypy\.ini|{_CUSTOMIZE}",
    Tool.RUFF: r"\.?ruff\.toml",
    **{tool: "|".join(map(re.escape, RECIPE_FILES[tool])) for tool in (Tool.TOX, Tool.NOX)},
}
"""In any folder. Which Makefile or justfile steers depends on the command."""
_MODULES: Final[dict[Tool, tuple[str, ...]]] = {
    Tool.PYTEST: ("pytest", "_pytest", "pluggy", "iniconfig"),
    Tool.UNITTEST: ("unittest",),
    Tool.COVERAGE: ("coverage", "pytest_cov"),
    Tool.MYPY: ("mypy",),
    Tool.RUFF: ("ruff",),
}
_CODE: Final = (".py", ".pyc", ".so", ".pyd")
_PATH_FILE: Final = re.compile(r"(?:(?:.*/)?(?:site|dist)-packages/)?[^/]+\.pth")
_BEFORE_MODULE: Final = re.compile(r"(.+?)(?:/__init__\.py|(?:\.[\w-]+)?\.(?:so|pyd))")
"""Python imports it rather than a module of the same name that lies beside it."""
_SHELL: Final = re.compile(rf"(?:.*/)?(?:{'|'.join(SHELLS)})")
_SOURCE: Final = (".", "source")
_PREFIXES: Final = ("exec", "env", "time", "command", "nice", "if", "then", "else", "do", "!")
_TEST_FILE: Final = re.compile(
    r"(?:.*/)?(?:tests?(?:[_.-].*)?\.[a-z]+|.*[_.-](?:tests?|spec)\.[a-z]+)"
)
_GOAL: Final = re.compile(r"[A-Za-z_.][\w./-]*")
_WILD: Final = re.compile(r"[*?\[]")
_MACRO: Final = re.compile(r"^\s*define\b", re.MULTILINE)
_TARGET: Final = re.compile(r"[\w.@+~,/-]+")
_JAVASCRIPT: Final = re.compile(r".*\.[cm]?[jt]sx?")


@dataclass(frozen=True, slots=True)
class Ground:
    """The files of the commit of alignment, and the folders that they are in."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    run_in: frozenset[str] = frozenset()
    """Folders that commands run in: Python looks for modules there."""

    @staticmethod
    def of(files: Iterable[str]) -> Ground:
        known = frozenset(files)
        return Ground(known, frozenset(above for path in known for above in _above(path)))

    def __contains__(self, path: str) -> bool:
        return path in self.files or path in self.folders


_NO_GROUND: Final = Ground()


def _above(path: str) -> Iterator[str]:
    """The folders that a file is in."""
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def steers(
    path: str,
    tools: tuple[Tool, ...],
    ground: Ground = _NO_GROUND,
    exists: Exists = lambda _: True,
) -> bool:
    """Does this file steer any run of one of the tools?"""
    if _pattern(tools).search(path):
        return True
    if not any(tool in tools for tool in PYTHON_TOOLS):
        return False
    if _PATH_FILE.fullmatch(path) or _shadows_tool(path, tools, ground):
        return True
    if Tool.PYTEST not in tools and Tool.UNITTEST not in tools:
        return False
    if is_package(path) and is_test(path) and posixpath.dirname(path) in ground.folders:
        return True
    module = _BEFORE_MODULE.fullmatch(path)
    if module is None or path in ground.files:
        return False
    return f"{module[1]}.py" in ground.files and exists(f"{module[1]}.py")


def is_steering_name(path: str) -> bool:
    """Could this file steer some tool?"""
    return steers(path, tuple(Tool)) or is_configuration(path)


@functools.lru_cache(64)
def _pattern(tools: tuple[Tool, ...]) -> re.Pattern[str]:
    known = "|".join(_PATTERNS[tool] for tool in tools if tool in _PATTERNS)
    return re.compile(rf"(?:\A|/)(?:{known})\Z" if known else r"(?!)")


def _shadows_tool(path: str, tools: tuple[Tool, ...], ground: Ground) -> bool:
    """Would Python take it for a module of the tool, or for a part of one?

    A module in a package has another name, and a folder without `__init__.py` stands behind a
    package that is installed.
    """
    if not path.endswith(_CODE) or _TEST_FILE.fullmatch(path):
        return False
    names = [name for tool in tools for name in _MODULES.get(tool, ())]
    *folders, file = path.split("/")
    stem = file.partition(".")[0]
    at = [*folders, stem]
    for depth in (depth for depth, name in enumerate(at) if name in names):
        above = "/".join(at[:depth])
        is_inner = above not in ground.run_in and f"{above}/__init__.py" in ground.files
        package = posixpath.join(above, at[depth], "__init__.py")
        is_imported = depth == len(folders) or stem in ("__init__", "__main__")
        if not (above and is_inner) and (is_imported or package in ground.files):
            return True
    return False


# --- files that a command leads to ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What lines lead to: tools, and the recipe files and scripts that steer them."""

    tools: tuple[Tool, ...] = ()
    files: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()
    """Files that recipes include, whatever there is."""
    targets: frozenset[str] = frozenset()
    """Of make; none of them existed."""
    made_anew: frozenset[str] = frozenset()
    """Files that make writes anew if there is something to write them from."""
    unwritten: frozenset[Tool] = frozenset()
    """Tools without a recipe file: the first one is work."""
    may_configure_pytest: bool = False
    """There are no settings for pytest anywhere: harmless ones are work."""
    ground: Ground = _NO_GROUND

    def steers(self, path: str, *, products: bool = True) -> bool:
        """Without `products`, of the targets only those that a command names."""
        if path in self.files or any(_matches(path, pattern) for pattern in self.patterns):
            return True
        targets = self.targets if products else self.targets & self.files
        if any(name in targets for name in (path, *_above(path))):
            return True
        return path not in self.ground.files and any(
            name in self.made_anew for name in _made_from(path)
        )


def _matches(path: str, pattern: str) -> bool:
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


_BUILT_IN: Final = frozenset(
    {
        *(".o", ".c", ".cc", ".C", ".cpp", ".p", ".f", ".F", ".m", ".r", ".s", ".S", ".mod"),
        *(".sh", ".y", ".l", ".ym", ".w", ".web"),
    }
)


def _made_from(path: str) -> Iterator[str]:
    """What the built-in rules of make make from this file: X from X.sh, X,v or SCCS/s.X."""
    folder, name = posixpath.split(path)
    above, store = posixpath.split(folder)
    stored = name.removesuffix(",v").removeprefix("s.")
    for place in (folder, above) if store in ("RCS", "SCCS") else (folder,):
        for one in dict.fromkeys((name, name.removesuffix(",v"), stored)):
            stem, suffix = posixpath.splitext(one)
            yield posixpath.join(place, one)
            if suffix in _BUILT_IN:
                yield posixpath.join(place, stem)


async def reach_of(lines: Sequence[str], content: Content, files: Iterable[str]) -> Reach:
    """`content` and `files` are those of the commit of alignment."""
    search = _Search(content, Ground.of(files))
    await search.follow(lines, "", is_command=True)
    return await search.reach()


@dataclass(slots=True)
class _Search:
    content: Content
    ground: Ground
    tools: dict[Tool, None] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    read: dict[str, None] = field(default_factory=dict)
    patterns: dict[str, None] = field(default_factory=dict)
    targets: dict[str, None] = field(default_factory=dict)
    made_anew: dict[str, None] = field(default_factory=dict)
    run_in: dict[str, None] = field(default_factory=dict)
    recipe_files: dict[Tool, dict[str, bool]] = field(default_factory=dict)
    """Where a tool looks for its recipes, and whether there are any."""
    rules: dict[tuple[Tool, str], MakeRules] = field(default_factory=dict)
    """Those that make or just reads in a folder."""
    firsts: dict[tuple[Tool, str], list[str]] = field(default_factory=dict)
    asked: list[tuple[Tool, str, tuple[str, ...]]] = field(default_factory=list)
    """Goals that make or just was asked for in a folder."""

    async def follow(
        self, lines: Sequence[str], folder: str, *, is_command: bool, are_rules: bool = False
    ) -> None:
        """Of rules, `_follow_rules` finds out which goals and linters are reached."""
        for line in lines:
            if line.lstrip().startswith("#"):
                continue
            found, tools = words(line), tools_in((line,))
            kept = [tool for tool in tools if not are_rules or tool not in LINTERS]
            self.tools.update(dict.fromkeys(kept))
            for place in self._places(found, folder):
                await self._follow_tools(tools, found, place)
                if not are_rules:
                    self._ask(tools, found, place)
                for path, is_program in _scripts(found, place, is_command=is_command):
                    await self._follow_file(path, must_exist=True, is_program=is_program)

    def _places(self, found: Sequence[str], folder: str) -> tuple[str, ...]:
        inner = (_inside(folder, name) for name in folders_in(found))
        places = dict.fromkeys((folder, *filter(None, inner)))
        self.run_in.update(places)
        return tuple(places)

    def _ask(self, tools: Sequence[Tool], found: Sequence[str], folder: str) -> None:
        for tool in (Tool.MAKE, Tool.JUST):
            if tool in tools:
                self.asked.append((tool, folder, tuple(_goals(found, tool))))

    async def _follow_tools(self, tools: Sequence[Tool], found: Sequence[str], folder: str) -> None:
        for tool in tools:
            named = _named_recipe_files(found) if tool in (Tool.MAKE, Tool.JUST) else ()
            for name in (*named, *RECIPE_FILES.get(tool, ())):
                path = _inside(folder, name)
                known = self.recipe_files.setdefault(tool, {})
                if path and path not in known:
                    known[path] = await self.content(path) is not None
                    await self._follow_file(path, tool=tool, folder=folder)

    async def _follow_file(
        self,
        path: str,
        *,
        tool: Tool | None = None,
        folder: str = "",
        must_exist: bool = False,
        is_program: bool = False,
    ) -> None:
        """`tool` reads it as its recipe, in the folder; of a program, only scripts count."""
        if not path or path in self.read or len(self.read) == MOST_FILES:
            return
        content = await self.content(path)
        if content is None and must_exist:
            return
        if is_program and (path not in self.ground.files or not (content or b"").startswith(b"#!")):
            return
        self.read[path] = None
        if tool is not Tool.NODE:  # of a package.json only a part steers: see mixed_files.py
            self.files[path] = None
        if tool is Tool.MAKE:
            self.made_anew[path] = None
        if content is None or len(content) > MOST_BYTES or b"\0" in content:
            return
        await self._follow_text(path, content.decode("utf-8", "replace"), tool, folder)

    async def _follow_text(self, path: str, text: str, tool: Tool | None, place: str) -> None:
        folder = posixpath.dirname(path)
        lines = list(package_scripts(text).values()) if tool is Tool.NODE else logical_lines(text)
        are_rules = tool in (Tool.MAKE, Tool.JUST) and _MACRO.search(text) is None
        if tool is Tool.MAKE or tool is Tool.JUST:
            rules = self._read_rules(text, tool, place)
            lines = [rules.expand(line) for line in lines]
        for other in included_files(lines):
            for base in dict.fromkeys((folder, place)):
                await self._follow_included(_inside(base, other), tool, place)
        if "dotenv" in text:
            self.files[_inside(folder, ".env")] = None
        # A script runs in the folder of its caller, a recipe in its own: try both.
        for at in dict.fromkeys((folder, "")):
            await self.follow(lines, at, is_command=False, are_rules=are_rules)

    def _read_rules(self, text: str, tool: Tool, place: str) -> MakeRules:
        known = self.rules.get((tool, place))
        before = frozenset(known.lines if known else ())
        rules = (read_makefile if tool is Tool.MAKE else read_justfile)(text, known)
        self.rules[tool, place] = rules
        new = (name for name in rules.lines if name not in before and not name.startswith("."))
        self.firsts.setdefault((tool, place), []).extend(list(new)[:1])
        return rules

    async def _follow_included(self, path: str, tool: Tool | None, place: str) -> None:
        if not _WILD.search(path):
            await self._follow_file(path, tool=tool, folder=place)
            return
        self.patterns[path] = None
        for match in sorted(known for known in self.ground.files if _matches(known, path)):
            await self._follow_file(match, tool=tool, folder=place)

    # --- when all is read

    async def reach(self) -> Reach:
        self._follow_rules()
        unwritten = {tool for tool in self.recipe_files if self._is_unwritten(tool)}
        is_configured = Tool.PYTEST not in self.tools
        settings = sorted(filter(may_configure_pytest, self.ground.files))
        for path in settings[:MOST_FILES] if Tool.PYTEST in self.tools else ():
            name, text = posixpath.basename(path), await self.content(path) or b""
            is_configured |= "pytest" in name or configures(name, text, Tool.PYTEST)
            if configures(name, text, Tool.TOX):
                unwritten.discard(Tool.TOX)
            if b"--cov" in text:
                self.tools[Tool.COVERAGE] = None
        first = {path for tool in unwritten for path in self.recipe_files[tool]}
        return Reach(
            tools=tuple(self.tools),
            files=frozenset(path for path in self.files if path not in first),
            patterns=tuple(self.patterns),
            targets=frozenset(self.targets),
            made_anew=frozenset(path for path in self.made_anew if path not in first),
            unwritten=frozenset(unwritten),
            may_configure_pytest=not is_configured and len(settings) <= MOST_FILES,
            ground=replace(self.ground, run_in=frozenset(self.run_in)),
        )

    def _is_unwritten(self, tool: Tool) -> bool:
        if any(self.recipe_files[tool].values()):
            return False
        if tool in (Tool.MAKE, Tool.JUST):
            return True
        names = RECIPE_FILES[tool]
        return not any(
            posixpath.basename(path) in names
            or (tool is Tool.NODE and _JAVASCRIPT.fullmatch(path) and is_test(path))
            for path in self.ground.files
        )

    def _follow_rules(self) -> None:
        """To the targets and linters that the goals reach, and on to what these ask make for."""
        seen: dict[tuple[Tool, str, tuple[str, ...]], None] = {}
        while self.asked:
            tool, place, asked = one = self.asked.pop()
            rules = self.rules.get((tool, place))
            if rules is None or one in seen:
                continue
            seen[one] = None
            chosen = rules.variables.get(".DEFAULT_GOAL")
            goals = asked or ((chosen,) if chosen else tuple(self.firsts[tool, place]))
            reached = rules.reached(goals)
            for maker in dict.fromkeys(filter(None, reached.values())):
                for line in map(rules.expand, rules.lines[maker]):
                    found, tools = words(line), tools_in((line,))
                    self.tools.update(dict.fromkeys(t for t in tools if t in LINTERS))
                    for inner in self._places(found, place):
                        self._ask(tools, found, inner)
            if tool is Tool.MAKE:
                self._note_targets(rules, place, reached, goals)
            named = (_inside(place, goal) for goal in asked)
            self.files.update((path, None) for path in named if path in self.targets)

    def _note_targets(
        self, rules: MakeRules, place: str, reached: Mapping[str, str | None], goals: Sequence[str]
    ) -> None:
        """Files that would keep make from running a recipe, or that it would write anew."""
        phony = rules.needs.get(".PHONY", ())
        for name, maker in reached.items():
            path = _inside(place, name)
            if name in phony or not path or not _TARGET.fullmatch(name):
                continue
            if path not in self.ground:
                if maker is not None or name in goals:
                    self.targets[path] = None
            elif path in self.ground.files and not rules.lines.get(maker or "", ()):
                self.made_anew[path] = None


def _named_recipe_files(found: Sequence[str]) -> Iterator[str]:
    for before, word in pairwise(("", *found)):
        option, _, value = word.partition("=")
        if before in FILE_OPTIONS:
            yield word
        elif option in FILE_OPTIONS and value:
            yield value


def _goals(found: Sequence[str], tool: Tool) -> Iterator[str]:
    """The targets that make or just is asked for."""
    is_asked = False
    for before, word in pairwise(("", *found)):
        if before in (*FOLDER_OPTIONS, *FILE_OPTIONS) or word in (")", "}"):  # $(MAKE)
            continue
        if is_operator(word):
            is_asked = False
        elif NAMES[tool].fullmatch(word.lstrip("@+-")):
            is_asked = True
        elif is_asked and _GOAL.fullmatch(word):
            yield word


def _scripts(found: Sequence[str], folder: str, *, is_command: bool) -> Iterator[tuple[str, bool]]:
    """Files that a shell runs; if the line is the command itself, those that any program runs.

    True with programs of a recipe that may be scripts.
    """
    begins, reader = True, ""
    for raw in found:
        word = raw.lstrip("@+-") if begins and not is_command else raw  # what make and just mark
        if is_operator(word):
            begins, reader = True, ""
        elif _SHELL.fullmatch(word) or (begins and word in _SOURCE):
            begins, reader = False, "shell"
        elif INTERPRETER.fullmatch(word):
            begins, reader = False, "other"
        elif not begins or word not in _PREFIXES:
            is_script = reader == "shell" or word.endswith((".sh", ".bash"))
            is_program = begins and "/" in word
            is_run = is_program or reader == "other"
            if is_script or (is_command and is_run and not _TEST_FILE.fullmatch(word)):
                yield _inside(folder, word), False
            elif is_program and not is_command and not posixpath.splitext(word)[1]:
                yield _inside(folder, word), True
            if not raw.startswith("-"):
                begins, reader = "=" in word and begins, ""


def _inside(folder: str, name: str) -> str:
    """A path in the repository; empty if the name leads out of it."""
    path = posixpath.normpath(posixpath.join(folder, name))
    if not name or path.startswith(("/", "../")) or path in (".", "..") or "\0" in path:
        return ""
    return path


# --- files that a command names ------------------------------------------------------------------


def named_files(
    command: Sequence[str], content: Callable[[str], bytes | None]
) -> Iterator[tuple[str, bytes]]:
    """Files that a command or its recipe files name, whatever they are for, with their content."""
    named = [word for part in command for word in words(part)]
    yield from _files_among(named, content)
    for tool in (Tool.JUST, Tool.MAKE):
        if not any(NAMES[tool].fullmatch(word) for word in named):
            continue
        for name in RECIPE_FILES[tool]:
            text = content(name)
            if text is not None:
                yield name, text
                lines = text.decode("utf-8", "replace").splitlines()
                yield from _files_among([w for line in lines for w in words(line)], content)


def _files_among(
    named: Sequence[str], content: Callable[[str], bytes | None]
) -> Iterator[tuple[str, bytes]]:
    """`--file=a` names a, and so does `@a`."""
    names = (name for word in named for name in (word, word.partition("=")[2], word.lstrip("@-")))
    for path in dict.fromkeys(_inside("", name) for name in names):
        if path and (text := content(path)) is not None:
            yield path, text
