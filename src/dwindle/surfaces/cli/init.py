"""dwindle init: the folder of a tree plan, ready for a goal."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from dwindle.app.ask_git import ask_git
from dwindle.app.console import as_json, complain, say
from dwindle.app.errors import Locked, StoreFailed
from dwindle.app.init.create import FOLDER, IGNORE, CreatedFiles, InTheWay, create_files
from dwindle.app.init.scaffold import FILES
from dwindle.app.plans.load import PLAN_FILES
from dwindle.app.plans.plan_files import repository
from dwindle.app.refusal import Refused
from dwindle.app.settings import SETTINGS_FILE
from dwindle.kernel.model import EXIT_CODES, PlanKind, StopCode
from dwindle.text import amounts
from dwindle.text.terminal import one_line

NEXT = "`dwindle` says where you stand, and what comes next"


def init(*, json: bool = False) -> int:
    """Make what a tree plan needs and is not there yet.

    Args:
        json: Print one JSON object.
    """
    here = Path.cwd()
    found = repository(str(here))
    if found is None:
        hint = "`git init` makes it one; a tree is remembered by its commits"
        raise Refused(f"{one_line(str(here))} is not in a git repository", hint=hint)
    root = Path(found)
    try:
        created = create_files(root)
    except InTheWay as error:
        listed = "".join(f"\n  {problem}" for problem in error.problems)
        hint = "move them away and run `dwindle init` again; nothing was changed"
        raise Refused(f"these paths are in the way:{listed}", where=str(root), hint=hint) from None
    except StoreFailed as error:
        code, hint = EXIT_CODES[StopCode.IO_ERROR], "nothing was made, and nothing was changed"
        raise Refused(f"{error}", hint=hint, code=code) from None
    except Locked as error:
        complain(f"dwindle: {error}\n  a run is going on; nothing was changed")
        return EXIT_CODES[StopCode.LOCKED]
    notes = _notes(root)
    return say(as_json(_data(root, created, notes)) if json else _text(root, created, notes))


def _text(root: Path, created: CreatedFiles, notes: Sequence[str]) -> str:
    lines = [f"made {name}" for name in created.made]
    if created.ignored:
        lines.append(f"added {amounts.count(len(created.ignored), 'pattern')} to {IGNORE}")
    if lines:
        lines += ["Next:", *(f"  {n}. {step}" for n, step in enumerate(_next(root), 1))]
    else:
        lines += ["everything is there already; nothing was changed", NEXT]
    return "\n".join([*lines, *(f"Note: {note}" for note in notes)])


def _data(root: Path, created: CreatedFiles, notes: Sequence[str]) -> dict[str, object]:
    """The documented object."""
    return {
        "root": str(root),
        "made": list(created.made),
        "kept": list(created.kept),
        "ignored": list(created.ignored),
        "next": list(_next(root)),
        "notes": list(notes),
    }


def _next(root: Path) -> tuple[str, ...]:
    which = " --plan tree" if _has_graph(root) else ""
    return (
        "write what you want into .runner/GOAL.md",
        f"name an agent in {SETTINGS_FILE}, under [agents]",
        "write the guard: a justfile with a recipe `ci`, or [guard] command",
        f"commit: git add {IGNORE} {FOLDER} && git commit -m 'A goal'",
        f"`dwindle doctor` says what is missing; `dwindle run{which}` begins",
    )


def _notes(root: Path) -> tuple[str, ...]:
    notes = []
    # Exit code 1 means that git ignores none of them. A missing git is reported later.
    try:
        ignored = ask_git(root, "check-ignore", "--", *FILES).stdout.decode(errors="replace")
    except (Refused, subprocess.SubprocessError):
        ignored = ""
    if ignored:
        names = ", ".join(ignored.split())
        notes.append(f"git ignores {names}; a run has to commit them")
    if _has_graph(root):
        file = PLAN_FILES[PlanKind.GRAPH]
        notes.append(f"there is a plan in {file} too; commands ask for --plan graph or tree")
    return tuple(notes)


def _has_graph(root: Path) -> bool:
    return (root / PLAN_FILES[PlanKind.GRAPH]).is_file()
