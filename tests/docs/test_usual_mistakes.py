"""Every row of docs/usual-mistakes.md: the mistake is made, and the printed advice is followed.

A story below makes the mistake of one row. It types the row's command, finds the row's message in
what is printed, takes the next command from what is printed too, and ends where the user wanted to
be. So a test fails if the page shows another message, or if the advice no longer helps.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.docs.page import IDENTITY, ROOT
from tests.surfaces.command import GRAPH_FILE, Ended, write
from tests.surfaces.small_runs import DRAFT

PAGE = ROOT / "docs" / "usual-mistakes.md"
ROW = re.compile(r"^\| ([\w ]+) \| `([^`]+)` \| `([^`]+)` \| (.+) \|$", re.MULTILINE)
SETTINGS = '[agents]\nbackend = "scripted"\nscript = ".runner/script.yaml"\n'
WRITES_DONE = """\
worker:
  "*":
    - do: [{write: {done.md: "yes"}}]
      report: {success: true, summary: done is written, artifacts: [done.md]}
"""
AGENT = """\
echo yes > done.md
echo '{"success": true, "summary": "done", "artifacts": ["done.md"]}' > "$DWINDLE_REPORT"
"""
TEST = """\
import unittest


class Done(unittest.TestCase):
    def test_done(self):
        open("done.md").close()
"""
GIVES_UP = "max_attempts: 1, max_winds: 0, max_probes: 0, max_parallel_agents: 1"


@dataclass(frozen=True, kw_only=True)
class Row:
    typed: str
    said: str


def rows() -> dict[str, Row]:
    found = ROW.findall(PAGE.read_text(encoding="utf-8"))
    return {name: Row(typed=typed, said=said) for name, typed, said, _ in found}


@dataclass(kw_only=True)
class Newcomer:
    """A user with a project, an empty home, and a row of the page to go through."""

    row: Row
    place: Path
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.place / "project"
        write(self.place, "home/.gitconfig", IDENTITY)
        self.program("dwindle", f'#!/bin/sh\nexec "{sys.executable}" -m dwindle "$@"\n')
        self.has("check.sh", "test -f done.md\n")

    # --- the project -----------------------------------------------------------------------------

    def program(self, name: str, text: str) -> None:
        write(self.place, f"bin/{name}", text).chmod(0o755)

    def has(self, name: str, text: str) -> None:
        write(self.folder, name, text)

    def commits(self) -> None:
        self.types("git init --quiet; git add . && git commit --quiet -m 'Some work'")

    def configures(self, script: str = WRITES_DONE) -> None:
        self.has(".runner/config.toml", SETTINGS)
        self.has(".runner/script.yaml", script)

    def agrees(self, limits: str, check: str = "sh check.sh") -> None:
        agreed = DRAFT.replace("  base_case:", f"  constraints: {{{limits}}}\n  base_case:")
        self.has(".runner/agreed.yaml", agreed.replace("sh check.sh", check))
        self.types("dwindle align --from .runner/agreed.yaml --yes")

    # --- the terminal ----------------------------------------------------------------------------

    def types(self, line: str, code: int = 0) -> str:
        ended = self._typed(line)
        assert ended.code == code, f"$ {line}\n{ended.out}"
        return ended.out

    def errs(self, code: int = 2) -> str:
        """Type the command of the row; its message is printed."""
        printed = self.types(self.row.typed, code)
        assert self.row.said in printed
        return printed

    def repeats(self, wrong: str = "", right: str = "") -> None:
        """Type the command of the row again, with a correction; now a run is completed."""
        assert wrong in self.row.typed
        printed = self.types(self.row.typed.replace(wrong, right) if wrong else self.row.typed)
        assert "the run ends, completed" in printed

    def completes(self, line: str) -> None:
        assert "the run ends, completed" in self.types(line)

    def _typed(self, line: str) -> Ended:
        covered = {name: it for name, it in os.environ.items() if name.startswith("COVERAGE_")}
        ended = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=covered
            | {
                "PATH": f"{self.place / 'bin'}:/usr/bin:/bin",
                "HOME": str(self.place / "home"),
                "LC_ALL": "C.UTF-8",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        return Ended(code=ended.returncode, out=ended.stdout.decode())


def advised(pattern: str, printed: str) -> str:
    """What the advice of this shape tells the user to type or to write."""
    found = re.search(pattern, printed, re.MULTILINE)
    assert found is not None, f"no advice like {pattern} in\n{printed}"
    return found[1]


def next_command(printed: str) -> str:
    return advised(r"^Next: .*?`(dwindle redirect [^`]+)`", printed)


def lines_to_add(printed: str) -> str:
    """A table of the settings, which is printed with four blanks before it."""
    return advised(r"((?:^    (?:\[\w+\]|\w+ = .*)\n)+)", printed).replace("    ", "")


Story = Callable[[Newcomer], None]
STORIES: dict[str, Story] = {}


def mistake(name: str) -> Callable[[Story], Story]:
    def told(story: Story) -> Story:
        STORIES[name] = story
        return story

    return told


# --- before the first run ------------------------------------------------------------------------


@mistake("no repository")
def _(me: Newcomer) -> None:
    me.configures()
    me.types(advised(r"; `(git init [^`]+)`", me.errs()))
    me.repeats()


@mistake("no commit")
def _(me: Newcomer) -> None:
    me.types("git init --quiet")
    me.configures()
    me.types(advised(r"; `(git add [^`]+)`", me.errs()))
    me.repeats()


@mistake("forgotten add")
def _(me: Newcomer) -> None:
    me.commits()
    me.configures()
    me.has("new.sh", "test -f done.md\n")
    me.types(advised(r"^    cure: (git .+)$", me.errs()))
    me.repeats()


@mistake("mistyped path")
def _(me: Newcomer) -> None:
    me.commits()
    me.configures()
    me.repeats("chekc.sh", advised(r"^    cure: did you mean (.+)\?$", me.errs()))


@mistake("mistyped program")
def _(me: Newcomer) -> None:
    me.commits()
    me.configures()
    assert "    cure: correct the command;" in me.errs()
    me.repeats("hs check.sh", "sh check.sh")


@mistake("ignored environment")
def _(me: Newcomer) -> None:
    me.has(".gitignore", ".venv/\n")
    me.commits()
    me.configures()
    me.has(".venv/bin/judge", "#!/bin/sh\ntest -f done.md\n")
    me.types("chmod +x .venv/bin/judge")
    me.has(".runner/config.toml", SETTINGS + lines_to_add(me.errs()))
    me.repeats()


@mistake("no test ran")
def _(me: Newcomer) -> None:
    me.has("test_it.py", TEST)
    me.commits()
    me.configures()
    assert "    cure: correct the command;" in me.errs()
    me.repeats("tset_done", "test_done")


@mistake("green already")
def _(me: Newcomer) -> None:
    me.commits()
    me.configures()
    option = advised(r"^  change the base case, or add (--[\w-]+)$", me.errs())
    me.repeats("--yes", f"--yes {option}")


@mistake("mistyped option")
def _(me: Newcomer) -> None:
    me.commits()
    me.configures()
    me.repeats("--chekc", advised(r"Did you mean (--\w+)\?", me.errs()))


@mistake("mistyped setting")
def _(me: Newcomer) -> None:
    me.commits()
    me.configures()
    me.agrees("max_attempts: 2")
    me.has(".runner/config.toml", SETTINGS.replace("backend", "bakend"))
    right = advised(r"did you mean (\w+)\?", me.errs())
    me.has(".runner/config.toml", SETTINGS.replace("backend", right))
    me.repeats()


@mistake("no agent")
def _(me: Newcomer) -> None:
    me.has("agent.sh", AGENT)
    me.commits()
    printed = me.errs()
    mine = lines_to_add(printed).replace('"my-agent"', '"sh", "agent.sh"')
    me.has(".runner/config.toml", mine)
    me.completes(advised(r"^  then `(dwindle run)`$", printed))


@mistake("no plan")
def _(me: Newcomer) -> None:
    me.commits()
    me.configures()
    line = advised(r"`(dwindle go [^`]+)`", me.errs())
    me.completes(line.replace("GOAL", "Write done").replace("COMMAND", "sh check.sh") + " --yes")


@mistake("another plan")
def _(me: Newcomer) -> None:
    me.commits()
    me.configures()
    me.agrees("max_attempts: 2")
    me.repeats("--yes", "--yes " + advised(r"^  (--\w+) puts another in its place", me.errs()))


# --- while it runs, and after --------------------------------------------------------------------


@mistake("no login")
def _(me: Newcomer) -> None:
    me.commits()
    me.configures("worker:\n  '*':\n    - {exit: 69}\n")
    me.agrees("max_attempts: 2")
    printed = me.errs(40)
    me.configures()  # with this script the agent is there, as claude is after a login
    me.types(advised(r"^Next: `(dwindle doctor)`", printed))
    me.completes(advised(r"; then `(dwindle run)`$", printed))


@mistake("pinned file")
def _(me: Newcomer) -> None:
    me.has("notes.txt", "old\n")
    me.commits()
    me.configures(WRITES_DONE.replace("done.md", "notes.txt"))
    me.agrees(GIVES_UP, "grep -q yes notes.txt")
    me.completes(next_command(me.errs(31)))


@mistake("file not committed")
def _(me: Newcomer) -> None:
    me.commits()
    me.configures(WRITES_DONE.replace("- do: [", "- do: [{run: cat data.txt}, "))
    me.has("data.txt", "data\n")
    me.agrees(GIVES_UP)
    printed = me.errs(31)
    assert "data.txt" in me.types(advised(r"; why: `(dwindle log [^`]+)`$", printed))
    me.types("git add data.txt && git commit --quiet -m 'What the work needs'")
    me.completes(next_command(printed))


@mistake("limit too low")
def _(me: Newcomer) -> None:
    me.commits()
    first = "    - report: {success: false, reason: no pen}\n    - do"
    me.configures(WRITES_DONE.replace("    - do", first))
    me.agrees("max_iterations: 1, max_parallel_agents: 1")
    me.completes(next_command(me.errs(21)))


@mistake("edited plan")
def _(me: Newcomer) -> None:
    me.commits()
    first = "    - report: {success: false, reason: no pen}\n    - do"
    me.configures(WRITES_DONE.replace("    - do", first))
    me.agrees("max_iterations: 1, max_parallel_agents: 1")
    me.types("dwindle run", 21)
    plan = (me.folder / GRAPH_FILE).read_text(encoding="utf-8")
    me.has(GRAPH_FILE, re.sub(r"max_iterations: .*1", "max_iterations: 5", plan))
    me.types(advised(r"`(dwindle redirect --adopt)`", me.errs()))
    me.repeats()


@mistake("unclean tree")
def _(me: Newcomer) -> None:
    me.configures()
    me.has(".runner/config.toml", SETTINGS + '[guard]\ncommand = "sh check.sh"\n')
    me.types("git init --quiet")
    me.types("dwindle init")
    me.has(".runner/GOAL.md", "Write done\n")
    me.commits()
    me.has("notes.txt", "from me\n")
    me.types(advised(r"commit it \(`(git add [^`]+)`\)", me.errs()))
    me.repeats()


@mistake("change in the way")
def _(me: Newcomer) -> None:
    me.commits()
    me.configures()
    me.agrees("max_attempts: 2")
    me.types("dwindle run")
    me.has("done.md", "not yet\n")
    printed = me.errs()
    me.types(advised(r"^  (git stash .+)$", printed))
    assert "landed 1 commit" in me.types(advised(r"^  then `(dwindle land)` again$", printed))
    me.types("sh check.sh")


# --- the page ------------------------------------------------------------------------------------


def test_every_row_has_a_story_and_every_story_a_row() -> None:
    assert list(rows()) == list(STORIES)
    assert len(STORIES) == 20
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    assert len(lines) == len(STORIES) + 2 * 2  # a row of another form would be overlooked


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_the_printed_advice_helps(name: str, tmp_path: Path) -> None:
    STORIES[name](Newcomer(row=rows()[name], place=tmp_path))
