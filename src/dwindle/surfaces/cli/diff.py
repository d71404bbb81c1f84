"""dwindle diff: what a run changed, for review."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from dwindle.app.console import as_json, complain, painted, say
from dwindle.app.errors import JournalDamaged
from dwindle.app.plans.plan_files import root_of_here
from dwindle.app.review import (
    AtomChange,
    Changes,
    FileChange,
    NamedTest,
    Patch,
    changes_of,
    patch_of,
)
from dwindle.kernel.model import EXIT_CODES, PlanKind, StopCode
from dwindle.text import amounts
from dwindle.text.terminal import WIDTH, columns, listed, one_line, shortened
from dwindle.views.read_model.runs import known_run

PAGER = "less"
LESS = "FRX"
"""As git has it: no pager for what fits on the screen, colours, and the text stays there."""


def diff(
    atom: str | None = None,
    /,
    *,
    run: str | None = None,
    stat: bool = False,
    json: bool = False,
    plan: PlanKind | None = None,
) -> int:
    """Show what a run changed.

    Args:
        atom: Only the work on this atom, or node, and on what it was split into.
        run: The id of a run; the run of the plan, if left out.
        stat: Only the summary, without the lines.
        json: Print the summary as one JSON object.
        plan: Which plan, where there are two.
    """
    root = root_of_here()
    named = known_run(root, run, plan)
    try:
        changes = changes_of(root, named, atom=atom)
        if json:
            return say(as_json(changes))
        lines = list(_summary(changes))
        if not stat:
            patch = patch_of(root, named, atom=atom)
            lines += ["", *_coloured(patch["text"]), *_cut_note(changes, patch)]
    except JournalDamaged as error:
        complain(f"dwindle: {error}\n  it was changed from outside, so nothing in it is trusted")
        return EXIT_CODES[StopCode.IO_ERROR]
    return _paged("\n".join(lines))


# --- summary -------------------------------------------------------------------------------------


def _summary(changes: Changes) -> Iterator[str]:
    files = amounts.count(len(changes["files"]), "file")
    yield painted(f"run {changes['run']}: {files}{_lines(changes)}", "bold")
    yield f"  git diff {changes['base'][:12]} {changes['tip'][:12]}"
    for one in changes["atoms"]:
        yield ""
        yield from _of_atom(one)
    for what, tests in (("added", changes["tests_added"]), ("removed", changes["tests_removed"])):
        if tests:
            yield ""
            yield painted(f"tests {what}: {len(tests)}", "green" if what == "added" else "red")
            yield from _tests(tests)
    if changes["held"]:
        yield ""
        yield painted("held fast or set aside by the gate", "yellow")
        for held in changes["held"]:
            paths = f": {listed(held['paths'])}" if held["paths"] else ""
            yield f"  {held['atom']}, session {held['session']}: {one_line(held['why'])}{paths}"
            if held["ref"]:
                yield f"    kept at {held['ref']}"


def _lines(counted: Changes | AtomChange | FileChange) -> str:
    added, removed = counted["added"], counted["removed"]
    if added is None or removed is None:
        return ", binary"
    return f", +{added:,} -{removed:,}"


def _of_atom(one: AtomChange) -> Iterator[str]:
    name = one["atom"] or "commits that no session made"
    title = f"  {one['title']}" if one["title"] else ""
    tail = amounts.count(len(one["files"]), "file") + _lines(one)
    head = shortened(f"{name}{title}", WIDTH - len(tail) - 2)
    yield painted(f"{head}  {tail}", "bold")
    width = max((columns(file["path"]) for file in one["files"]), default=0)
    for file in one["files"]:
        gap = " " * (min(width, 50) - columns(file["path"]))
        said = [_lines(file).removeprefix(", "), *_remarks(file)]
        yield f"  {file['path']}{gap}  {', '.join(said)}"


def _remarks(file: FileChange) -> Iterator[str]:
    if file["became"] != "changed":
        yield file["became"]
    if file["kind"] != "other":
        yield file["kind"]


def _tests(tests: Sequence[NamedTest]) -> Iterator[str]:
    for path, some in groupby(tests, key=lambda test: test["path"]):
        yield f"  {path}"
        yield from (f"    {one_line(test['name'])}" for test in some)


# --- lines ---------------------------------------------------------------------------------------


def _coloured(text: str) -> Iterator[str]:
    """The text is escaped already, so that these colours are the only ones."""
    is_head = False
    for line in text.removesuffix("\n").split("\n") if text else ():
        if line.startswith("diff --git "):
            is_head = True
        elif line.startswith("@@"):
            is_head = False
        if is_head:
            yield painted(line, "bold")
        elif line.startswith(("@@", "+", "-")):
            yield painted(line, {"@": "blue", "+": "green", "-": "red"}[line[0]])
        else:
            yield line


def _cut_note(changes: Changes, patch: Patch) -> Iterator[str]:
    if patch["is_cut"]:
        yield ""
        command = f"git diff {changes['base'][:12]} {changes['tip'][:12]}"
        yield f"[the rest is left out; `{command}` shows all of it]"


def _paged(text: str) -> int:
    """Through the user's pager on a terminal; else as it is."""
    words = shlex.split(os.environ.get("PAGER", PAGER))
    if not words or words == ["cat"] or not (sys.stdout.isatty() and sys.stdin.isatty()):
        return say(text)
    given = os.environ | {"LESS": os.environ.get("LESS", LESS)}
    try:
        with subprocess.Popen(words, stdin=subprocess.PIPE, env=given) as pager:
            pager.communicate(f"{text}\n".encode("utf-8", "replace"))
    except OSError:
        return say(text)
    return 0
