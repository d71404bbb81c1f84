"""A script: for each role and atom, what each session on it does and reports.

    worker:
      A1:
        - do: [{write: {src/a.py: "x = 1"}}, {run: "python src/a.py"}]
          report: {success: true, summary: a is there, artifacts: [src/a.py]}

The n-th session of a role on an atom follows the n-th entry; the last entry is repeated. The number
is in the order, so the agent keeps no state, and a run that was killed continues as before. For a
planner, `align` and `redirect` stand in the place of atoms, and the sessions are those of one
conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from dwindle.adapters.agents.reports.strict_json import JsonRefused, strict_object
from dwindle.adapters.formats.strict_yaml import line_map, parse
from dwindle.kernel.model import Problem, Role
from dwindle.ports.work import PLANNER, Occasion
from dwindle.scripted import tree_step

ROLES: Final = (*Role, PLANNER)
ANY: Final = "*"
"""Stands for every atom that is not named."""
VERBS: Final = ("write", "append", "delete", "run", "sleep", "print", "tree")
ENTRY: Final = ("do", "report", "report_text", "report_on", "exit")
LONGEST_SLEEP: Final = 86_400
MAX_BYTES: Final = 64 << 20

Where = tuple[str | int, ...]


class ScriptRefused(Exception):
    """A script that cannot be followed, with all that is wrong with it."""

    def __init__(self, path: Path, problems: tuple[Problem, ...]) -> None:
        super().__init__(path, problems)
        self.path = path
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(_sentence(self.path, problem) for problem in self.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What one session does, and what it reports."""

    steps: tuple[tuple[str, Any], ...] = ()
    """Verb and what it is about, in the order written."""
    report: str | None = None
    """Verbatim; None: nothing is reported."""
    on_stdout: bool = False
    exit: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    entries: Mapping[tuple[str, str], tuple[Entry, ...]]
    """By role and name: an atom or ANY, what a verifier judges, the purpose of a planner."""

    def entry(self, role: str, names: tuple[str, ...], session: int) -> Entry | None:
        """The entry of the n-th session, under the first of the names that the script has."""
        for name in (*names, ANY):
            found = self.entries.get((role, name))
            if found is not None:
                return found[min(max(session, 1), len(found)) - 1]
        return None


def load(path: Path) -> Script:
    try:
        data = path.read_bytes()
    except OSError as error:
        what = f"the script could not be read: {error.strerror}"
        raise ScriptRefused(path, (Problem(where=(), what=what),)) from None
    read = _json if path.suffix == ".json" else _yaml
    return _script(read(path, data))


def _json(path: Path, data: bytes) -> object:
    try:
        found = strict_object(data, MAX_BYTES)
    except JsonRefused as error:
        raise ScriptRefused(path, (Problem(where=(), what=str(error)),)) from None
    problems = tuple(_problems(found))
    if problems:
        raise ScriptRefused(path, problems)
    return found


def _yaml(path: Path, data: bytes) -> object:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ScriptRefused(path, (Problem(where=(), what="it is not UTF-8"),)) from None
    parsed = parse(text)
    problems = parsed.problems or tuple(_problems(parsed.data))
    if problems:
        lines = line_map(text, [problem.where for problem in problems if problem.line is None])
        raise ScriptRefused(
            path, tuple(replace(p, line=p.line or lines.get(p.where)) for p in problems)
        )
    return parsed.data


# --- judging -------------------------------------------------------------------------------------


def _problems(data: object) -> Iterator[Problem]:
    roles = ", ".join(ROLES)
    if not isinstance(data, dict):
        yield Problem(where=(), what="a script is a mapping", hint=f"with some of {roles}")
        return
    for role, atoms in data.items():
        if role not in ROLES:
            yield Problem(where=(role,), what=f"{role!r} is no role", hint=f"use {roles}")
        elif not isinstance(atoms, dict):
            hint = f"from atoms, or {ANY!r}, to lists of entries"
            yield Problem(where=(role,), what="is not a mapping", hint=hint)
        else:
            for atom, entries in atoms.items():
                if role == PLANNER and atom not in (*Occasion, ANY):
                    hint = f"use {', '.join(Occasion)}"
                    what = f"there is no planning for {atom!r}"
                    yield Problem(where=(role, atom), what=what, hint=hint)
                yield from _entries_problems(entries, (role, atom))


def _entries_problems(entries: object, where: Where) -> Iterator[Problem]:
    if not isinstance(entries, list) or not entries:
        hint = "begin each session's entry with a dash"
        yield Problem(where=where, what="is not a list with at least one entry", hint=hint)
        return
    for index, entry in enumerate(entries):
        here = (*where, index)
        if not isinstance(entry, dict):
            yield Problem(where=here, what="an entry is a mapping", hint=_some_of(ENTRY))
            continue
        for name in entry:
            if name not in ENTRY:
                yield Problem(
                    where=(*here, name), what=f"{name!r} is unknown", hint=_some_of(ENTRY)
                )
        if "report" in entry and "report_text" in entry:
            yield Problem(where=here, what="has report and report_text", hint="keep one of them")
        if not isinstance(entry.get("report_text", ""), str):
            yield Problem(where=(*here, "report_text"), what="is not a text", hint="quote it")
        if entry.get("report_on", "file") not in ("file", "stdout"):
            yield Problem(where=(*here, "report_on"), what="is neither file nor stdout")
        code = entry.get("exit", 0)
        if type(code) is not int or not 0 <= code <= 255:
            yield Problem(where=(*here, "exit"), what="is no exit code", hint="0 to 255")
        yield from _steps_problems(entry.get("do", []), (*here, "do"))


def _steps_problems(steps: object, where: Where) -> Iterator[Problem]:
    if not isinstance(steps, list):
        yield Problem(where=where, what="is not a list of steps", hint="- run: make")
        return
    for index, step in enumerate(steps):
        here = (*where, index)
        if not isinstance(step, dict) or not step:
            yield Problem(where=here, what="a step is a mapping", hint=_some_of(VERBS))
            continue
        for verb, what in step.items():
            if verb not in VERBS:
                yield Problem(
                    where=(*here, verb), what=f"{verb!r} is unknown", hint=_some_of(VERBS)
                )
            elif verb == "tree":
                yield from tree_step.problems(what, (*here, verb))
            elif not _fits(verb, what):
                yield Problem(where=(*here, verb), what=f"cannot {verb} that", hint=_WANTED[verb])


def _fits(verb: str, what: object) -> bool:
    match verb:
        case "write" | "append":
            return isinstance(what, dict) and all(
                isinstance(t, str) for kv in what.items() for t in kv
            )
        case "delete":
            return isinstance(what, list) and all(isinstance(path, str) for path in what)
        case "sleep":
            return type(what) in (int, float) and 0 <= what <= LONGEST_SLEEP  # type: ignore[operator]
        case "print":
            texts = what if isinstance(what, list) else [what]
            return all(isinstance(text, str) for text in texts)
        case _:
            return isinstance(what, str)


_WANTED: Final = {
    "write": "give a mapping from paths to texts",
    "append": "give a mapping from paths to texts",
    "delete": "give a list of paths",
    "run": "give one line for the shell",
    "sleep": f"give seconds, at most {LONGEST_SLEEP}",
    "print": "give a text or a list of them",
}


def _some_of(names: tuple[str, ...]) -> str:
    return f"use some of {', '.join(names)}"


def _sentence(path: Path, problem: Problem) -> str:
    place = f"{path.name}:{problem.line}" if problem.line else path.name
    where = ".".join(map(str, problem.where))
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"{place}: {where + ': ' if where else ''}{problem.what}{hint}"


# --- making --------------------------------------------------------------------------------------


def _script(data: Any) -> Script:
    return Script(
        entries={
            (role, str(atom)): tuple(_entry(entry) for entry in entries)
            for role, atoms in data.items()
            for atom, entries in atoms.items()
        }
    )


def _entry(found: Mapping[str, Any]) -> Entry:
    report = found.get("report_text")
    if "report" in found:
        report = json.dumps(found["report"], ensure_ascii=False)
    return Entry(
        steps=tuple(pair for step in found.get("do", []) for pair in step.items()),
        report=report,
        on_stdout=found.get("report_on") == "stdout",
        exit=found.get("exit", 0),
    )
