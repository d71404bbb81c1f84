"""A page of docs/ played as a reader would type it.

The convention is meant to read well on a forge:

    In `path`:            and then a fenced block: the file is written, as it stands there;
                          its folder has to be there, as for an editor
    ```console            lines after `$ ` are typed into bash; what is below them must be printed
    any other block       is shown, and neither written nor typed

In what is printed, a line `...` stands for any number of lines, and `...` in a line for anything
else in it. Times of day, run ids, commits and durations are told by their shape. A command must
end with 0; one that does not is typed with `; echo "exit code $?"` after it, so that readers see it
too. What a command exports stays exported. A page begins in an empty folder with an empty HOME;
nothing is installed but dwindle, unless a test says otherwise.

    python -m tests.docs.page docs/tutorial.md        shows what is printed now
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"In `([^`]+)`:\n+\Z")
SHAPES = (
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "<time>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "<day>"),
    (re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b"), "<run>"),
    (re.compile(r"\b[0-9a-f]{7,40}\b"), "<commit>"),
    (re.compile(r"\b\d+(\.\d+)? ?s\b"), "<duration>"),
)
IDENTITY = "[user]\nname = Ada\nemail = ada@example.org\n[init]\ndefaultBranch = main\n"
RESUME = """trap 'pwd >"$WHERE"; export -p >"$EXPORTED"' EXIT; . "$EXPORTED" """
LONGEST = 120


@dataclass(frozen=True, kw_only=True)
class Written:
    """A file of the reader's."""

    path: str
    content: str


@dataclass(frozen=True, kw_only=True)
class Typed:
    """A command, and what the page says that it prints."""

    command: str
    shown: str


Step = Written | Typed


@dataclass(frozen=True, kw_only=True)
class Played:
    """A command, what the page shows, and what came of it."""

    typed: Typed
    printed: str
    code: int

    @property
    def as_shown(self) -> bool:
        return self.code == 0 and matches(self.typed.shown, self.printed)

    def __str__(self) -> str:
        end = f"(exit code {self.code})\n" if self.code else ""
        return f"$ {self.typed.command}\n{self.printed}{end}"


def steps(page: str) -> Iterator[Step]:
    """What a reader would write and type, in order."""
    for block in FENCE.finditer(page):
        named = NAMED.search(page[: block.start()])
        if named:
            yield Written(path=named[1], content=block[2])
        elif block[1] == "console":
            yield from _typed(block[2])


def _typed(block: str) -> Iterator[Typed]:
    before, *commands = re.split(r"^\$ ", block, flags=re.MULTILINE)
    if before:
        raise ValueError(f"a console block begins with a command after `$ `, not with {before!r}")
    for command in commands:
        line, _, shown = command.partition("\n")
        yield Typed(command=line, shown=shown)


def matches(shown: str, printed: str) -> bool:
    """Whether that is what the page shows, `...` being anything."""
    pattern = ""
    for line in _plain(shown).splitlines():
        if line == "...":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += re.escape(line).replace(re.escape("..."), r"[^\n]*") + r"\n"
    return re.fullmatch(pattern, _plain(printed)) is not None


def _plain(text: str) -> str:
    """The lines without what differs from one day to the next, or stands at their ends."""
    for shape, name in SHAPES:
        text = shape.sub(name, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def played(page: str, folder: Path, more: Mapping[str, str] | None = None) -> Iterator[Played]:
    """The page, typed command by command; files are written on the way.

    `more` are variables that the page begins with; a PATH among them has to lead to `dwindle`.
    """
    surroundings = _surroundings(folder) | dict(more or {})
    here = folder / "work"
    here.mkdir()
    for step in steps(page):
        if isinstance(step, Written):
            path = here / step.path
            path.write_text(step.content, encoding="utf-8")
        else:
            yield _type(step, here, surroundings)
            here = Path((folder / "where").read_text(encoding="utf-8").removesuffix("\n"))


def _type(step: Typed, here: Path, surroundings: dict[str, str]) -> Played:
    ended = subprocess.run(
        ["bash", "-c", f"{RESUME}\n{step.command}"],
        cwd=here,
        env=surroundings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LONGEST,
        check=False,
    )
    return Played(typed=step, printed=ended.stdout.decode(), code=ended.returncode)


def _surroundings(folder: Path) -> dict[str, str]:
    """An empty home, a name for commits, and `dwindle` on PATH."""
    home, programs = folder / "home", folder / "bin"
    home.mkdir()
    programs.mkdir()
    (home / ".gitconfig").write_text(IDENTITY, encoding="utf-8")
    dwindle = programs / "dwindle"
    dwindle.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dwindle "$@"\n', encoding="utf-8")
    dwindle.chmod(0o755)
    exported = folder / "exported"
    exported.touch()
    covered = {name: it for name, it in os.environ.items() if name.startswith("COVERAGE_")}
    return covered | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "WHERE": str(folder / "where"),
        "EXPORTED": str(exported),
    }


def main(names: list[str]) -> int:
    wrong = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            for it in played(Path(name).read_text(encoding="utf-8"), Path(folder)):
                wrong += not it.as_shown
                but = "" if it.as_shown else f"--- but the page shows\n{it.typed.shown}---\n"
                sys.stdout.write(f"{it}{but}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
