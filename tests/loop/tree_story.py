"""A whole run of a tree, told in a few lines: what agents do to the tree and to the files.

A story makes a repository with a justfile and a tree in a folder with an awkward name, scripts the
agents, runs the real command and looks at what is left. The script lies beside the repository, so
that it is no part of what is committed and can be changed while a run rests. Whatever else a test
asserts, every look at an ending also holds that the checkout is clean and on the run's branch, that
no other refs have moved, that iterations are numbered without a gap, and that the tree on disk
is the committed one, in canonical form.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.adapters.git.places import files_at
from tests.loop.story import ATTEMPTS, BRANCH, RUN, Entry
from tests.surfaces.command import PLAIN, TREE_FILE, Ended, dwindle, git, write

from dwindle.adapters.formats.tree.file import decode, encode

PATH = f"{Path(sys.executable).parent}{os.pathsep}{PLAIN['PATH']}"
"""Where `just` is: beside the Python that runs the tests."""
DATE = "2026-01-16T12:00:00+00:00"
PINNED = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"), ("DATE", DATE))
}
"""With these, a commit is told by what is in it alone."""

DYING = str(Path(__file__).with_name("dying_runner.py"))

EDIT = """\
# An agent's hand on the tree: `edit.py CODE`, where CODE sees `tree`, `node` and `new`.
import json
import sys

PATH = ".runner/tree.json"
with open(PATH, encoding="utf-8") as file:
    tree = json.load(file)


def nodes(at=None):
    at = at or tree["root"]
    return [at, *(found for child in at["children"] for found in nodes(child))]


def node(name):
    return next(one for one in nodes() if one["id"] == name)


def parent(name):
    return next(one for one in nodes() if name in [child["id"] for child in one["children"]])


def new(name, order=0, most=2, **fields):
    base = {"id": name, "order": order, "title": name, "goal": "do " + name, "acceptance": []}
    return {**base, "passes": False, "attempts": 0, "max_attempts": most, "children": [], **fields}


def split(name, *children, most=2):
    node(name)["children"] += [new(child, k, most) for k, child in enumerate(children)]


def take(name):
    above, found = parent(name), node(name)
    above["children"] = [child for child in above["children"] if child is not found]
    return found


def replace(name, *others, most=2):
    above = parent(name)
    take(name)
    above["children"] += [new(other, most=most) for other in others]


exec(sys.argv[1])
with open(PATH, "w", encoding="utf-8") as file:
    json.dump(tree, file)
"""
CHECK = "test ! -e broken || { echo it is broken; exit 1; }\n"
JUSTFILE = "ci:\n    @sh check.sh\n"


# --- what agents do ------------------------------------------------------------------------------


def edit(code: str) -> Entry:
    """Change the tree by a line of Python; see EDIT for what it may call."""
    return {"run": f"{shlex.quote(sys.executable)} -I -S tools/edit.py {shlex.quote(code)}"}


def ran(line: str) -> Entry:
    return {"run": line}


def wrote(**files: str) -> Entry:
    return {"write": {name.replace("_", "."): text for name, text in files.items()}}


def did(*steps: Entry, **more: Any) -> Entry:
    return {"do": list(steps), **more}


def splits(name: str, *children: str, most: int = 2) -> Entry:
    listed = ", ".join(repr(child) for child in children)
    return did(edit(f"split({name!r}, {listed}, most={most})"))


def works(name: str) -> Entry:
    """Make a file that is named after the node."""
    return did({"write": {f"{name}.txt": f"{name}\n"}})


def breaks(name: str) -> Entry:
    """As `works`, but the guard will be red."""
    return did({"write": {f"{name}.txt": f"{name}?\n", "broken": "yes\n"}})


def fixes(name: str) -> Entry:
    return did({"write": {f"{name}.txt": f"{name}\n"}}, ran("rm -f broken"))


# --- how it ended --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Ending:
    code: int
    """Of the command."""
    iterations: tuple[str, ...]
    """`0001 root decompose guard=skipped`, in their order."""
    tree: tuple[str, ...]
    """A node a line, indented: `a1 passes 1/2` has failed once of two times."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What the branch has beyond the first commit, apart from `.runner/`."""
    kept: tuple[str, ...] = ()
    """What was set aside, by name."""


class TreeStory:
    def __init__(self, folder: Path, name: str = "my trée") -> None:
        self.folder = folder / name
        self.files = {"check.sh": CHECK, "justfile": JUSTFILE, "tools/edit.py": EDIT}
        self.config: dict[str, str] = {
            "agents": 'backend = "scripted"\nscript = "../script.json"',
        }
        self.root: dict[str, Any] = {
            "id": "root",
            "order": 0,
            "title": "Root",
            "goal": "All is done",
            "acceptance": [],
            "passes": False,
            "attempts": 0,
            "max_attempts": 3,
            "children": [],
        }
        self.script: dict[str, list[Entry]] = {}
        self.surroundings: dict[str, str] = {"PATH": PATH, **PINNED}
        self.said = Ended(code=-1)
        """What the last command came to."""

    # --- telling ---------------------------------------------------------------------------------

    def node(self, name: str, *sessions: Entry) -> Self:
        """What each session on a node does; the last one is repeated."""
        self.script[name] = list(sessions)
        return self

    def leaves(self, *names: str, most: int = 2) -> Self:
        """Nodes that are under the root from the beginning, and that work unless told otherwise."""
        for order, name in enumerate(names):
            fields = {"id": name, "order": order, "title": name, "goal": f"do {name}"}
            self.root["children"].append({**self.root, **fields, "max_attempts": most} | _LEAF)
            self.script.setdefault(name, [works(name)])
        return self

    def having(self, files: Mapping[str, str]) -> Self:
        self.files.update(files)
        return self

    def settings(self, table: str, lines: str) -> Self:
        self.config[table] = lines
        return self

    def agent(self, *command: str) -> Self:
        return self.settings("agents", f'backend = "command"\ncommand = {json.dumps(command)}')

    # --- making it real --------------------------------------------------------------------------

    def prepared(self) -> Self:
        self.folder.mkdir(parents=True)
        git(self.folder, "init", "--quiet", "--initial-branch=main")
        tables = (f"[{table}]\n{lines}\n" for table, lines in self.config.items())
        tree = decode(json.dumps({"version": 1, "root": self.root}).encode())
        assert tree.tree is not None, tree.problems
        self.files[".runner/config.toml"] = "\n".join(tables)
        self.files[TREE_FILE] = encode(tree.tree).decode()
        for name, content in self.files.items():
            write(self.folder, name, content)
        self.played()
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=first")
        return self

    def played(self) -> None:
        """Write the script anew."""
        text = json.dumps({"worker": self.script})
        (self.folder.parent / "script.json").write_text(text, "utf-8")

    def called(self, *words: str, **surroundings: str) -> Ended:
        if not self.folder.exists():
            self.prepared()
        return dwindle(self.folder, *words, **(self.surroundings | surroundings))

    def run(self, *words: str, command: str = "run", **surroundings: str) -> Ending:
        if not self.folder.exists():
            self.prepared()
        began = ("--run-id", RUN) if not self._begun() else ()
        ended = self.called(command, *began, *words, **surroundings)
        self.said = ended
        return self.ending(ended.code)

    def going(
        self, *words: str, command: str = "run", dies_before: int = 0
    ) -> subprocess.Popen[bytes]:
        """A runner at work; the caller ends it, unless it is to die by itself."""
        if not self.folder.exists():
            self.prepared()
        began = ("--run-id", RUN) if not self._begun() else ()
        coverage = {k: v for k, v in os.environ.items() if k.startswith("COVERAGE_")}
        program = [DYING, str(dies_before)] if dies_before else ["-m", "dwindle"]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *program, command, *began, *words],
                cwd=self.folder,
                env=PLAIN | coverage | self.surroundings,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _begun(self) -> bool:
        return self.git("rev-parse", "--abbrev-ref", "HEAD") == BRANCH

    @property
    def log(self) -> Path:
        """What runners started by `going` have said."""
        return self.folder.parent / "runner.log"

    # --- looking ---------------------------------------------------------------------------------

    def git(self, *words: str) -> str:
        said = subprocess.run(
            ["git", "-c", "core.quotePath=false", *words],
            cwd=self.folder,
            env=PLAIN | PINNED,
            check=True,
            capture_output=True,
        )
        return said.stdout.decode("utf-8", "replace").strip()

    @property
    def tree(self) -> bytes:
        return (self.folder / TREE_FILE).read_bytes()

    def iterations(self, branch: str = BRANCH) -> tuple[str, ...]:
        subjects = self.git("log", "--reverse", "--format=%s", f"main..{branch}").splitlines()
        head = f"chore(loop): run {RUN} iter "
        assert all(subject.startswith(head) for subject in subjects), subjects
        return tuple(subject.removeprefix(head) for subject in subjects)

    def commits(self) -> tuple[str, ...]:
        return tuple(self.git("rev-list", "--reverse", f"main..{BRANCH}").splitlines())

    def events(self) -> list[dict[str, Any]]:
        """The journal; a line that a kill cut short is left out."""
        found = []
        for line in (self.folder / ".runner/journal" / f"{RUN}.jsonl").read_bytes().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if "event" in record:
                found.append(record["event"])
        return found

    def logs(self, number: int) -> Path:
        return self.folder / ".runner/iterations" / RUN / f"{number:04}"

    def meta(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.logs(number) / "meta.json").read_bytes())
        return found

    def prompt(self, number: int) -> str:
        return (self.logs(number) / "prompt.md").read_text("utf-8")

    def kept(self) -> dict[str, str]:
        listed = self.git("for-each-ref", "--format=%(refname) %(objectname)", ATTEMPTS)
        pairs = (line.split(" ") for line in listed.splitlines())
        return {ref.removeprefix(ATTEMPTS): commit for ref, commit in pairs}

    def kept_ref(self, name: str) -> str:
        return f"{ATTEMPTS}{name}"

    def kept_files(self, name: str) -> dict[str, str]:
        """What was set aside, as far as it is not in the first commit, apart from `.runner/`."""
        return self._beyond_the_first(self.kept()[name])

    def _beyond_the_first(self, commit: str) -> dict[str, str]:
        return {
            name: text
            for name, text in files_at(self.folder, commit).items()
            if self.files.get(name) != text and not name.startswith(".runner/")
        }

    def ending(self, code: int, branch: str = BRANCH) -> Ending:
        dirt = self.git("status", "--porcelain", "--untracked-files=all")
        assert dirt == "", (code, dirt, self.said)
        assert self.git("symbolic-ref", "HEAD") == f"refs/heads/{branch}"
        refs = self.git("for-each-ref", "--format=%(refname)").splitlines()
        others = [ref for ref in refs if not ref.startswith(ATTEMPTS)]
        assert others == sorted({"refs/heads/main", f"refs/heads/{branch}"}), others
        decoded = decode(self.tree)
        assert decoded.tree is not None, decoded.problems
        assert encode(decoded.tree) == self.tree, "not canonical"
        iterations = self.iterations(branch)
        numbers = [f"{n:04}" for n in range(1, len(iterations) + 1)]
        assert [line.partition(" ")[0] for line in iterations] == numbers
        return Ending(
            code=code,
            iterations=iterations,
            tree=tuple(outline(json.loads(self.tree)["root"])),
            files=self._beyond_the_first("HEAD"),
            kept=tuple(self.kept()),
        )


_LEAF: dict[str, Any] = {"children": [], "passes": False, "attempts": 0}


def outline(node: Mapping[str, Any], depth: int = 0) -> list[str]:
    state = "passes" if node["passes"] else "open"
    line = f"{'  ' * depth}{node['id']} {state} {node['attempts']}/{node['max_attempts']}"
    return [line, *(more for child in node["children"] for more in outline(child, depth + 1))]


def until(what: Any, seconds: float = 20.0) -> bool:
    """Wait for something; False if it never came."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.01)
    return False
