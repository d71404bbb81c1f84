r"""A run told as a story: a repository, a plan, what its agents do, and how it all ended.

    story = Story(tmp_path).atom("A1", did({"a.txt": "a\n"})).done_when("test -f a.txt")
    assert story.run() == Ending(code=0, status="completed", ...)

Everything is real: git, the commands, the processes, the sandbox. Only the agents follow a script.
After every run the story also looks at what has to hold however it ended: the person's checkout is
as it was, the branch has a commit for each atom that was resolved by work and for no other, and no
attempt is both there and among those that were set aside.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.adapters.git.places import files_at, files_in
from tests.surfaces.command import GRAPH_FILE, PLAIN, Ended, dwindle, git, write

from dwindle.app.plans.load import load_graph
from dwindle.kernel.model import Plan

RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
BRANCH = f"runner/{RUN}"
ATTEMPTS = f"refs/dwindle/attempts/{RUN}/"
PATIENCE = 60.0
"""Seconds that a story may wait for something."""

Entry = dict[str, Any]
"""What one session of the scripted agent does (docs/agents.md)."""


# --- what agents do ------------------------------------------------------------------------------


def did(files: Mapping[str, str], *before: Entry, **report: Any) -> Entry:
    """Do some steps, write files, report success."""
    said = {"success": True, "summary": f"made {', '.join(files)}", "artifacts": list(files)}
    return {"do": [*before, {"write": dict(files)}], "report": {**said, **report}}


def failed(reason: str, files: Mapping[str, str] | None = None, **report: Any) -> Entry:
    said = {"success": False, "reason": reason, **report}
    return {"do": [{"write": dict(files)}] if files else [], "report": said}


def split(reason: str, *children: Entry) -> Entry:
    proposal = {"reason": reason, "children": list(children)}
    return {"report": {"success": False, "decomposition": proposal}}


def other_ways(reason: str, *descriptions: str) -> Entry:
    ways = [{"description": description} for description in descriptions]
    return {"report": {"success": False, "reason": reason, "alternatives": ways}}


def found(findings: str, *, feasible: bool = True) -> Entry:
    return {"report": {"feasible": feasible, "findings": findings}}


def slept(seconds: float) -> Entry:
    return {"sleep": seconds}


def ran(line: str) -> Entry:
    return {"run": line}


# --- how it ended --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What is left of a run, without what differs from one time to the next."""

    code: int
    """Of the command."""
    stop: str
    """The reason's name in the plan."""
    atoms: Mapping[str, str]
    """Status by atom."""
    bindings: Mapping[str, str] = field(default_factory=dict)
    """Summary by atom."""
    trail: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    """Atom by atom, the oldest first."""
    kept: tuple[str, ...] = ()
    """`atom/session` of every attempt that was set aside."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What the branch has beyond the commit of alignment."""


class Story:
    """A repository with a plan in the making; `run` aligns it first."""

    def __init__(self, folder: Path, name: str = "my pröject") -> None:
        self.folder = folder / name
        self.files = {"README": "a project\n"}
        self.config: dict[str, str] = {"agents": 'backend = "scripted"\nscript = ".runner/s.json"'}
        self._script: dict[str, dict[str, list[Entry]]] = {}
        self._draft: dict[str, Any] = {
            "objective": {
                "goal": "See it through",
                "background_intent": "to see it",
                "deliverables": "files",
                "definition_of_done": "the checks hold",
                "base_case": {"checklist": []},
                # Few of everything, so that a story is soon told; `align` would propose more.
                "constraints": {
                    "max_iterations": 20,
                    "max_stall_count": 3,
                    "max_attempts": 3,
                    "max_winds": 0,
                },
            },
            "atoms": [],
            "or_groups": {},
            "decompositions": [],
        }
        self._before: object = None

    # --- telling ---------------------------------------------------------------------------------

    def atom(self, name: str, *sessions: Entry, **fields: Any) -> Self:
        """An atom of the plan, and what each session of a worker on it does."""
        self._draft["atoms"].append({"id": name, "description": f"do {name}", **fields})
        return self.worker(name, *sessions)

    def worker(self, name: str, *sessions: Entry) -> Self:
        return self._played("worker", name, sessions)

    def probe(self, name: str, *sessions: Entry) -> Self:
        return self._played("probe", name, sessions)

    def verifier(self, name: str, *sessions: Entry) -> Self:
        return self._played("verifier", name, sessions)

    def planner(self, *sessions: Entry) -> Self:
        return self._played("planner", "redirect", sessions)

    def choices(self, group: str, *names: str, **fields: Any) -> Self:
        self._draft["or_groups"][group] = {"choices": list(names), "failed": [], **fields}
        for atom in self._draft["atoms"]:
            if atom["id"] in names:
                atom["or_group"] = group
        return self

    def parts(self, parent: str, *children: str) -> Self:
        known = {"parent": parent, "children": list(children), "reason": "it has parts"}
        self._draft["decompositions"].append(known)
        return self

    def done_when(self, *lines: str) -> Self:
        return self.done_when_all(*({"type": "command", "value": line} for line in lines))

    def done_when_all(self, *checks: Entry) -> Self:
        listed = self._draft["objective"]["base_case"]["checklist"]
        listed += [{"item": check.get("value", "judged"), "check": check} for check in checks]
        return self

    def as_proposed(self) -> Self:
        """With the limits that `align` proposes."""
        self._draft["objective"]["constraints"].clear()
        return self

    def limits(self, **limits: Any) -> Self:
        self._draft["objective"]["constraints"].update(limits)
        return self

    def protected(self, *paths: str) -> Self:
        self._draft["objective"]["protected_paths"] = list(paths)
        return self

    def delivers(self, words: str) -> Self:
        self._draft["objective"]["deliverables"] = words
        return self

    def work_paths(self, *paths: str) -> Self:
        self._draft["objective"]["work_paths"] = list(paths)
        return self

    def having(self, files: Mapping[str, str]) -> Self:
        """Files of the person's, committed before the plan is made."""
        self.files.update(files)
        return self

    def settings(self, table: str, lines: str) -> Self:
        self.config[table] = lines
        return self

    def agent(self, *command: str) -> Self:
        """A program of our own instead of the scripted agent."""
        return self.settings("agents", f'backend = "command"\ncommand = {json.dumps(command)}')

    def _played(self, role: str, name: str, sessions: tuple[Entry, ...]) -> Self:
        if sessions:
            self._script.setdefault(role, {})[name] = list(sessions)
        return self

    # --- making it real --------------------------------------------------------------------------

    def prepared(self) -> Self:
        """The repository, the settings and the script; nothing is aligned."""
        self.folder.mkdir(parents=True)
        git(self.folder, "init", "--quiet", "--initial-branch=main")
        for name, content in self.files.items():
            write(self.folder, name, content)
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "--quiet", "--message=first")
        tables = (f"[{table}]\n{lines}\n" for table, lines in self.config.items())
        write(self.folder, ".runner/config.toml", "\n".join(tables))
        write(self.folder, ".runner/s.json", json.dumps(self._script))
        return self

    def aligned(self, *words: str) -> Self:
        if not self.folder.exists():
            self.prepared()
        draft = self.folder.parent / "draft.yaml"
        draft.write_text(json.dumps(self._draft), "utf-8")
        said = dwindle(
            self.folder,
            "align",
            f"--from={draft}",
            "--yes",
            "--run-id",
            RUN,
            "--cannot-run-yet-ok",
            *words,
        )
        assert said.code == 0, said
        self._before = self.checkout()
        return self

    def run(self, *words: str, command: str = "run") -> Ending:
        """Align if need be, run to the end, and look at what is left."""
        return self.ending(self.called(command, *words).code)

    def called(self, *words: str, **surroundings: str) -> Ended:
        if self._before is None:
            self.aligned()
        return dwindle(self.folder, *words, **surroundings)

    def going(self, *words: str) -> subprocess.Popen[bytes]:
        """A runner at work; the caller ends it."""
        if self._before is None:
            self.aligned()
        coverage = {k: v for k, v in os.environ.items() if k.startswith("COVERAGE_")}
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dwindle", "run", *words],
                cwd=self.folder,
                env=PLAIN | coverage,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def log(self) -> Path:
        """What runners started by `going` have said."""
        return self.folder.parent / "runner.log"

    # --- looking ---------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        loaded = load_graph((self.folder / GRAPH_FILE).read_bytes())
        assert loaded.plan is not None, loaded.problems
        return loaded.plan

    def git(self, *words: str) -> str:
        said = subprocess.run(
            ["git", "-c", "core.quotePath=false", *words],
            cwd=self.folder,
            env=PLAIN,
            check=True,
            capture_output=True,
            text=True,
        )
        return said.stdout.strip()

    def events(self) -> list[dict[str, Any]]:
        """The journal, event by event; a line that a kill cut short is left out."""
        journal = self.folder / ".runner/journal" / f"{RUN}.jsonl"
        found = []
        for line in journal.read_bytes().splitlines() if journal.is_file() else ():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if "event" in record:
                found.append(record["event"])
        return found

    def sessions(self, *, role: str = "worker") -> list[str]:
        """Whom sessions were started for, in order."""
        started = (e for e in self.events() if e["kind"] == "SessionStarted")
        return [event["atom"] for event in started if event["role"] == role]

    def most_at_once(self) -> int:
        """How many workers and probes were in flight together."""
        flying: set[str] = set()
        most = 0
        for event in self.events():
            if event["kind"] == "SessionStarted" and event["atom"]:
                flying.add(event["atom"])
            elif "nonce" in event:
                flying.discard(event.get("atom", ""))
            most = max(most, len(flying))
        return most

    def checkout(self) -> object:
        """The person's side of the repository: where they are, what is staged, every file."""
        files = {
            name: content
            for name, content in files_in(self.folder).items()
            if not name.startswith(".claude/")
        }
        return {
            "head": (self.folder / ".git/HEAD").read_bytes(),
            "at": self.git("rev-parse", "HEAD"),
            "staged": self.git("ls-files", "--stage"),
            "status": self.git("status", "--porcelain"),
            "branches": [b for b in self._branches() if not b.endswith(BRANCH)],
            "files": files,
            "config": (self.folder / ".git/config").read_bytes(),
        }

    def _branches(self) -> list[str]:
        shown = "--format=%(objectname) %(refname)"
        return self.git("for-each-ref", shown, "refs/heads", "refs/tags").splitlines()

    def commits(self) -> list[tuple[str, str]]:
        """Atom and session of each commit of the branch, the oldest first."""
        shown = "%s%x09%(trailers:key=Dwindle-Run,valueonly,separator=%x2C)%x09"
        shown += "%(trailers:key=Dwindle-Atom,valueonly,separator=%x2C)%x09"
        shown += "%(trailers:key=Dwindle-Attempt,valueonly,separator=%x2C)"
        found = []
        for line in self.git(
            "log", "--reverse", f"--format={shown}", f"main..{BRANCH}"
        ).splitlines():
            subject, run, atom, attempt = line.split("\t")
            assert run == RUN, line
            assert subject.startswith(f"{atom}: "), line
            found.append((atom, attempt))
        return found

    def kept(self) -> dict[str, str]:
        """Commit by `atom/session` of what was set aside."""
        listed = self.git("for-each-ref", "--format=%(refname) %(objectname)", ATTEMPTS)
        pairs = (line.split(" ") for line in listed.splitlines())
        return {ref.removeprefix(ATTEMPTS): commit for ref, commit in pairs}

    def kept_files(self, attempt: str) -> dict[str, str]:
        """What an attempt that was set aside had made."""
        return self._beyond_the_first(self.kept()[attempt])

    def _beyond_the_first(self, commit: str) -> dict[str, str]:
        first = files_at(self.folder, "main")
        return {
            name: text
            for name, text in files_at(self.folder, commit).items()
            if first.get(name) != text
        }

    def ending(self, code: int) -> Ending:
        plan = self.plan
        commits = [atom for atom, _ in self.commits()]
        parents = {split.parent for split in plan.decompositions}
        worked = [a.id for a in plan.atoms.values() if a.status == "resolved"]
        assert sorted(commits) == sorted(a for a in worked if a not in parents)
        twice = [pair for pair in self.commits() if "/".join(pair) in self.kept()]
        assert twice == [], "integrated, and set aside as if it had failed"
        assert self.checkout() == self._before, "the person's checkout was touched"
        control = plan.control
        return Ending(
            code=code,
            stop=control.stop_code or control.status,
            atoms={str(name): str(atom.status) for name, atom in plan.atoms.items()},
            bindings={str(name): b.summary for name, b in plan.bindings.items()},
            trail=tuple(
                f"{e.type} {e.atom or f'{e.or_group} -> {e.selected}'}: {e.reason}"
                if e.type != "wind"
                else f"wind: {e.reason}"
                for e in plan.trail
            ),
            commits=tuple(commits),
            kept=tuple(sorted(self.kept(), key=_by_session)),
            files=self._beyond_the_first(BRANCH),
        )


def _by_session(attempt: str) -> tuple[int, str]:
    return int(attempt.rpartition("/")[2].partition(".")[0]), attempt


def waited_for(what: Any, seconds: float = 20.0) -> bool:
    """Until it holds, or for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.01)
    return False


def interrupted(runner: subprocess.Popen[bytes], number: int = signal.SIGKILL) -> int:
    """Send a signal and wait for the end."""
    runner.send_signal(number)
    return runner.wait(PATIENCE)
