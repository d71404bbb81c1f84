"""dwindle init: the folder of a tree plan, ready for a goal."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.disk import Locked, RealDisk
from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.model import PlanKind, StopCode
from dwindle.ports.store import StoreFailed
from dwindle.surfaces.cli.output import complain, say
from dwindle.surfaces.cli.text import as_json, counted, one_line
from dwindle.surfaces.committed import ask_git
from dwindle.surfaces.laying_out import FOLDER, IGNORE, InTheWay, LaidOut, lay_out
from dwindle.surfaces.plan_files import repository
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.scaffold import FILES

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
        laid = lay_out(root, RealDisk())
    except InTheWay as error:
        listed = "".join(f"\n  {problem}" for problem in error.problems)
        hint = "move it away, then `dwindle init` again; nothing was changed"
        raise Refused(f"something is in the way:{listed}", where=str(root), hint=hint) from None
    except StoreFailed as error:
        raise Refused(f"{error}", hint="nothing was made, and nothing was changed") from None
    except Locked as error:
        complain(f"dwindle: {error}\n  a run is going on; nothing was changed")
        return EXIT_CODES[StopCode.LOCKED]
    notes = _notes(root)
    return say(as_json(_data(root, laid, notes)) if json else _text(root, laid, notes))


def _text(root: Path, laid: LaidOut, notes: Sequence[str]) -> str:
    lines = [f"made {name}" for name in laid.made]
    if laid.ignored:
        lines.append(f"added {counted(len(laid.ignored), 'pattern')} to {IGNORE}")
    if lines:
        lines += ["Next:", *(f"  {n}. {step}" for n, step in enumerate(_next(root), 1))]
    else:
        lines += ["everything is there already; nothing was changed", NEXT]
    return "\n".join([*lines, *(f"Note: {note}" for note in notes)])


def _data(root: Path, laid: LaidOut, notes: Sequence[str]) -> dict[str, object]:
    """The documented object."""
    return {
        "root": str(root),
        "made": list(laid.made),
        "kept": list(laid.kept),
        "ignored": list(laid.ignored),
        "next": list(_next(root)),
        "notes": list(notes),
    }


def _next(root: Path) -> tuple[str, ...]:
    which = " --plan tree" if _has_graph(root) else ""
    return (
        "write what you want into .runner/GOAL.md",
        f"name an agent in {wiring.SETTINGS_FILE}, under [agents]",
        "write the guard: a justfile with a recipe `ci`, or [guard] command",
        f"commit: git add {IGNORE} {FOLDER} && git commit -m 'A goal'",
        f"`dwindle doctor` says what is missing; `dwindle run{which}` begins",
    )


def _notes(root: Path) -> tuple[str, ...]:
    notes = []
    # Exit code 1 means: none of them. Whoever has no git finds out soon enough.
    try:
        ignored = ask_git(root, "check-ignore", "--", *FILES).stdout.decode(errors="replace")
    except (Refused, subprocess.SubprocessError):
        ignored = ""
    if ignored:
        names = ", ".join(ignored.split())
        notes.append(f"git ignores {names}; a run has to commit them")
    if _has_graph(root):
        file = wiring.PLAN_FILES[PlanKind.GRAPH]
        notes.append(f"there is a plan in {file} too; commands ask for --plan graph or tree")
    return tuple(notes)


def _has_graph(root: Path) -> bool:
    return (root / wiring.PLAN_FILES[PlanKind.GRAPH]).is_file()
