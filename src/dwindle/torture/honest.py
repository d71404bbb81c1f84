"""Honest agents: their work is right, so the run has to complete and nothing of it may be lost.

`honest.toml` has the variations: a small project, a check by a real tool, and a script that does
the work. A variation is tried in several forms, because a gate may refuse in one what it lets
through in another: a graph with work paths (strict) and without (weaker), and a tree likewise.

It has passed if the run ended as completed, if the branch has exactly the files that the agent
left, and if each file that was meant to be set aside is named in the journal and kept in git.
"""

from __future__ import annotations

import fnmatch
import importlib.util
import json
import shutil
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

from dwindle.app.plans.load import PLAN_FILES, load
from dwindle.app.refusal import Refused
from dwindle.kernel.model import PlanKind, StopCode
from dwindle.torture.commands import ORDINARY, SURROUNDINGS, called, git_output
from dwindle.torture.damage import RUN
from dwindle.torture.honest_agent import LEFT, blob_id
from dwindle.torture.run import place

AGENT: Final = Path(__file__).with_name("honest_agent.py")
CATALOGUE: Final = Path(__file__).with_name("honest.toml")
SECONDS: Final = 120.0
"""For one command; a slow machine must not turn honest work into a refusal."""
AT_A_TIME: Final = 2
TOO_EARLY: Final = "it completed before the person had agreed"
SHOWN: Final = 1000
"""Characters of what the last command said."""
WORDS: Final = {
    "PYTEST": f"env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q",
    "PYTHON": sys.executable,
    "DWINDLE": " ".join(ORDINARY),
}
"""What the words between @ stand for."""
NODE: Final = {
    "acceptance": [],
    "attempts": 0,
    "goal": "make the guard green",
    "order": 0,
    "passes": False,
}


class Form(StrEnum):
    STRICT = "strict"
    WEAKER = "weaker"
    TREE = "tree"
    TREE_WEAKER = "tree-weaker"

    @property
    def kind(self) -> PlanKind:
        return PlanKind.TREE if self in (Form.TREE, Form.TREE_WEAKER) else PlanKind.GRAPH

    @property
    def has_work_paths(self) -> bool:
        return self in (Form.STRICT, Form.TREE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """One kind of honest work; every field is one of `honest.toml`."""

    name: str
    does: str
    agent: str
    """A shell script that does the work."""
    check: str
    """Check of the atom, base case, and guard of the tree."""
    files: Mapping[str, str]
    """The project, as the person committed it."""
    person: str = ""
    """A shell script of the person, in the project, before the first commit."""
    uncommitted: Mapping[str, str] = field(default_factory=dict)
    """Files of the person's checkout that no commit has."""
    work_paths: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    """Patterns of files that the agent leaves and that may not reach the branch."""
    aside_weaker: tuple[str, ...] | None = None
    """The same, where there are no work paths."""
    report: Mapping[str, Any] | None = field(default_factory=dict)
    reports: bool = True
    """False: the script reports by itself."""
    then: tuple[str, ...] = ()
    """What the person does if the run did not complete, before it is run again."""
    attempts: int = 1
    settings: str = ""
    settings_tree: str = ""
    needs: tuple[str, ...] = ()
    """Programs without which it cannot be tried."""
    encoded: Mapping[str, str] = field(default_factory=dict)
    """What a filter makes of files that the agent leaves."""
    forms: tuple[Form, ...] = tuple(Form)


@dataclass(frozen=True, slots=True, kw_only=True)
class HonestResult:
    variation: Variation
    form: Form
    happened: str
    wrong: tuple[str, ...] = ()
    was_tried: bool = True
    seconds: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.variation.name}/{self.form}"

    @property
    def passed(self) -> bool:
        return self.was_tried and not self.wrong


# --- the catalogue -------------------------------------------------------------------------------


@cache
def variations() -> tuple[Variation, ...]:
    found = tomllib.loads(CATALOGUE.read_text("utf-8"))
    return tuple(_variation(table, found["projects"]) for table in found["variation"])


def _variation(table: Mapping[str, Any], projects: Mapping[str, Any]) -> Variation:
    project = projects[table["project"]]
    fields = {**project, **table, "files": {**project["files"], **table.get("files", {})}}
    del fields["project"]
    lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    if "forms" in lists:
        lists["forms"] = tuple(map(Form, lists["forms"]))
    return Variation(**{**fields, **lists})


def variations_named(names: Sequence[str]) -> tuple[Variation, ...]:
    """The named ones, in the order of the catalogue; all if none is named."""
    known = variations()
    if unknown := [name for name in names if name not in {one.name for one in known}]:
        hint = "`dwindle torture --honest --list` names them all"
        raise Refused(f"no variation is named {', '.join(map(repr, unknown))}", hint=hint)
    return tuple(one for one in known if not names or one.name in names)


def honest_results(chosen: Sequence[Variation]) -> Iterator[HonestResult]:
    """Each variation in each of its forms, in order; two are tried at a time."""
    trials = [(one, form) for one in chosen for form in one.forms]
    executor = ThreadPoolExecutor(AT_A_TIME)
    try:
        yield from executor.map(_result, trials)
    finally:
        executor.shutdown(cancel_futures=True)


def _result(trial: tuple[Variation, Form]) -> HonestResult:
    variation, form = trial
    with place() as folder:
        return HonestTrial(variation=variation, form=form, folder=folder).result()


@dataclass(slots=True, kw_only=True)
class HonestTrial:
    """`folder` is empty; `command` calls `dwindle`."""

    variation: Variation
    form: Form
    folder: Path
    command: Sequence[str] = ORDINARY

    @property
    def root(self) -> Path:
        return self.folder / "project"

    def result(self) -> HonestResult:
        if missing := [tool for tool in self.variation.needs if not _is_installed(tool)]:
            return self._result(f"not tried: {', '.join(missing)} is not installed")
        began = time.monotonic()
        self._make()
        if self._align() != 0:
            return self._result(f"not tried: the plan could not be made: {self._last_words()}")
        code = self._run()
        too_early = code == 0 and self.variation.then and self.form.kind is PlanKind.GRAPH
        for line in self.variation.then if code else ():
            self._call("sh", "-euc", line)
            code = self._run()
        found = self._result("completed" if code == 0 else self._last_words())
        wrong = (*((TOO_EARLY,) if too_early else ()), *self._faults(code))
        seconds = round(time.monotonic() - began, 1)
        return replace(found, wrong=wrong, was_tried=True, seconds=seconds)

    def _result(self, happened: str) -> HonestResult:
        return HonestResult(
            variation=self.variation, form=self.form, happened=happened, was_tried=False
        )

    # --- the repository --------------------------------------------------------------------------

    def _make(self) -> None:
        self.root.mkdir(parents=True)
        files = dict(self.variation.files)
        files[".runner/config.toml"] = self._settings()
        if self.form.kind is PlanKind.TREE:
            node = {**NODE, "max_attempts": self.variation.attempts}
            leaf = {**node, "id": "leaf", "title": "leaf", "children": []}
            root = {**node, "id": "root", "title": "root", "children": [leaf]}
            files[".runner/tree.json"] = json.dumps({"root": root, "version": 1}, indent=2)
        self._write(files)
        self.git("init", "--quiet", "--initial-branch=main")
        self._call("sh", "-euc", self.variation.person)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=first")
        self._write(self.variation.uncommitted)

    def _write(self, files: Mapping[str, str]) -> None:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_filled(content).encode())
            if content.startswith("#!"):
                path.chmod(0o755)

    def _settings(self) -> str:
        one = self.variation
        report = json.dumps(one.report if one.reports else None)
        words = (sys.executable, "-P", str(AGENT), _filled(one.agent), report)
        text = f'[agents]\nbackend = "command"\ncommand = {json.dumps(words)}\n\n{one.settings}\n'
        if self.form.kind is PlanKind.TREE:
            text += f"[guard]\ncommand = {json.dumps(_filled(one.check))}\n{one.settings_tree}\n"
            if self.form.has_work_paths:
                text += f"work_paths = {json.dumps(one.work_paths)}\n"
        return text

    def _align(self) -> int | None:
        if self.form.kind is PlanKind.TREE:
            return 0
        draft = self.folder / "draft.yaml"
        draft.write_text(json.dumps(self._draft()), "utf-8")
        words = ("align", f"--from={draft}", "--yes", "--cannot-run-yet-ok", "--run-id", RUN)
        return self._dwindle(*words)

    def _draft(self) -> dict[str, Any]:
        check = {"type": "command", "value": _filled(self.variation.check)}
        return {
            "objective": {
                "goal": "the check holds",
                "background_intent": "to see that honest work gets through",
                "deliverables": "the work",
                "definition_of_done": "the check holds",
                "base_case": {"checklist": [{"item": "the check holds", "check": check}]},
                "constraints": {
                    "max_iterations": 8,
                    "max_attempts": self.variation.attempts,
                    "max_probes": 0,
                    "max_winds": 0,
                    "max_verifications": 1,
                },
                "work_paths": self.variation.work_paths if self.form.has_work_paths else [],
            },
            "atoms": [{"id": "A1", "description": self.variation.does, "check": check}],
        }

    # --- the run ---------------------------------------------------------------------------------

    def _run(self) -> int | None:
        again = (self.root / ".runner/journal").exists()
        is_new_tree = self.form.kind is PlanKind.TREE and not again
        return self._dwindle("run", *(("--run-id", RUN) if is_new_tree else ()))

    def _dwindle(self, *words: str) -> int | None:
        return self._call(*self.command, *words)

    def _call(self, *words: str) -> int | None:
        """None if it had to be killed; what it prints is kept."""
        number = len(list(self.folder.glob("*.log")))
        log = self.folder / f"{number}.log"
        said = called([_filled(word) for word in words], self.root, log, SECONDS)
        return None if said is None else said.returncode

    def git(self, *words: str) -> str:
        return git_output(self.root, *words)

    # --- looking ---------------------------------------------------------------------------------

    def _faults(self, code: int | None) -> Iterator[str]:
        if code:
            yield f"honest work did not complete: exit code {code}"
        elif code is None:
            yield "the run had not ended in time"
        if self._stop() is not StopCode.COMPLETED and self.form.kind is PlanKind.GRAPH:
            yield "the plan does not say that it is completed"
        if changed := self.git("status", "--porcelain", "--", ":!.claude"):
            yield f"the checkout is not clean: {' '.join(changed.split())}"
        sessions = self._sessions()
        if not sessions:
            yield "the agent did not come to the end of its work"
            return
        yield from self._losses(sessions)

    def _losses(self, sessions: Sequence[Mapping[str, str]]) -> Iterator[str]:
        one = self.variation
        aside = one.aside
        if not self.form.has_work_paths and one.aside_weaker is not None:
            aside = one.aside_weaker
        branch = self._branch()
        records = self._records()
        last = sessions[-1]
        lost = [path for path, entry in last.items() if branch.get(path) != entry]
        back = [path for path in branch if path not in last]
        for path in (*lost, *back):
            if not any(fnmatch.fnmatch(path, pattern) for pattern in aside):
                yield f"is not on the branch as the agent left it: {path}"
        for pattern in aside:
            paths = {p for one in sessions for p in fnmatch.filter(one, pattern)}
            if not paths or paths.intersection(branch):
                yield f"was not set aside: {pattern}"
            for path in paths:
                if path not in records and json.dumps(path)[1:-1] not in records:
                    yield f"was set aside and is not named: {path}"
        reachable = set(self.git("rev-list", "--objects", "--no-object-names", "--all").split())
        for path, entry in (item for session in sessions for item in session.items()):
            if entry.split()[1] not in reachable:
                yield f"is kept nowhere: {path}"

    def _sessions(self) -> list[dict[str, str]]:
        """The files that each session left, apart from those of the runner."""
        found = []
        for log in sorted((self.root / ".runner/iterations").rglob("*.log")):
            for line in log.read_text("utf-8", "replace").splitlines():
                if line.startswith(LEFT):
                    files = json.loads(line.removeprefix(LEFT))
                    for path, text in self.variation.encoded.items():
                        files[path] = f"{files[path].split()[0]} {blob_id(text.encode())}"
                    found.append({p: e for p, e in files.items() if not p.startswith(".runner/")})
        return found

    def _branch(self) -> dict[str, str]:
        listed = self.git("ls-tree", "-r", "-z", f"runner/{RUN}").split("\0")
        entries = (entry.partition("\t") for entry in listed if "\t" in entry)
        return {
            path: f"{what.split()[0]} {what.split()[2]}"
            for what, _, path in entries
            if not path.startswith(".runner/") and " blob " in what
        }

    def _records(self) -> str:
        """The journal, and the notes about each iteration of a tree."""
        paths = (self.root / ".runner").glob("journal/*.jsonl")
        notes = (self.root / ".runner/iterations").rglob("meta.json")
        return "\n".join(path.read_text("utf-8") for path in (*paths, *notes))

    def _stop(self) -> StopCode | None:
        kind = self.form.kind
        try:
            plan = load(kind, (self.root / PLAN_FILES[kind]).read_bytes()).plan
        except OSError:
            return None
        return plan.control.stop_code if plan else None

    def _last_words(self) -> str:
        logs = sorted(self.folder.glob("*.log"), key=lambda path: int(path.stem))
        return " ".join(logs[-1].read_text("utf-8", "replace").split())[-SHOWN:]


def _is_installed(tool: str) -> bool:
    if tool == "pytest":
        return importlib.util.find_spec(tool) is not None
    return shutil.which(tool, path=SURROUNDINGS["PATH"]) is not None


def _filled(text: str) -> str:
    for word, meaning in WORDS.items():
        text = text.replace(f"@{word}@", meaning)
    return text
