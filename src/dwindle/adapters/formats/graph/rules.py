"""What the types of the file cannot say: which fields belong together, and what must not be blank.

Only what concerns a record by itself is judged here. Whether the ids mean anything, whether the
graph has a cycle and whether limits make sense is the kernel's to say (`kernel.problems`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dwindle.adapters.formats.graph import wire
from dwindle.adapters.formats.yaml_place import Path, clipped
from dwindle.kernel.model import CheckType, Problem

ALIGNMENT: Final = ("goal", "background_intent", "deliverables", "definition_of_done")
LEGACY_TYPES: Final = (CheckType.COMMAND, CheckType.FILE, CheckType.ASSERTION)
MAX_NESTING: Final = 16
"""Groups within groups of a checklist; a reader could not follow more."""
LOWEST, HIGHEST = 1, 5
"""The scale that quality is judged on."""

TRAIL_FIELDS: Final[dict[str | None, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    None: (("or_group", "selected"), ("atom", "attempt")),
    "backtrack": (("or_group",), ("atom", "attempt")),
    "failure": (("atom",), ("or_group", "selected")),
    "user_correction": (("atom",), ("or_group", "selected")),
    "wind": (("attempt",), ("atom", "or_group", "selected")),
}
"""By the type of a trail entry: what it must have, and what would mean nothing in it."""


def unaligned(where: Path, what: str) -> Problem:
    """A gap that alignment fills; the plan is unfinished rather than wrong."""
    return Problem(where=where, what=what, hint="align the plan first", unaligned=True)


def is_blank(value: object) -> bool:
    """Nothing there, or nothing but white space."""
    return value is None or value in ({}, []) or (isinstance(value, str) and not value.strip())


def base_case_problems(case: wire.BaseCase, where: Path) -> Iterator[Problem]:
    """Judge the base case, of either form."""
    if case.checklist is not None:
        extra = [n for n in ("type", "value", "control", "timeout_seconds") if getattr(case, n)]
        if extra:
            what = f"a checklist stands beside {', '.join(extra)}"
            yield Problem(where=where, what=what, hint="make the single check an item of the list")
        if not case.checklist:
            yield unaligned((*where, "checklist"), "the checklist is empty, so nothing could pass")
        yield from _items_problems(case.checklist, (*where, "checklist"), 1)
        return
    if case.type is None:
        yield unaligned(where, "the base case has neither a type nor a checklist")
    elif case.type not in LEGACY_TYPES:
        what = f"{case.type} is only for the items of a checklist"
        hint = f"use one of {', '.join(LEGACY_TYPES)}, or write a checklist"
        yield Problem(where=(*where, "type"), what=what, hint=hint)
    if is_blank(case.value):
        yield unaligned((*where, "value"), "the base case does not say what to check")


def _items_problems(
    items: Sequence[wire.ChecklistItem], where: Path, depth: int
) -> Iterator[Problem]:
    if depth > MAX_NESTING:
        yield Problem(where=where, what=f"groups are nested more than {MAX_NESTING} deep")
        return
    for index, item in enumerate(items):
        here = (*where, index)
        given = [n for n in ("check", "group", "any_of") if getattr(item, n) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            what = f"{clipped(item.item)} needs one of check, group and any_of, but has {found}"
            yield Problem(where=here, what=what, hint="give it exactly one")
        if item.check is not None:
            yield from check_problems(item.check, (*here, "check"))
        for name, members in (("group", item.group), ("any_of", item.any_of)):
            if members is None:
                continue
            if not members:
                what = f"{clipped(item.item)} has an empty {name}, which proves nothing"
                yield Problem(where=(*here, name), what=what, hint="add an item or remove it")
            yield from _items_problems(members, (*here, name), depth + 1)


def check_problems(check: wire.Check, where: Path) -> Iterator[Problem]:
    """Judge one check object, of the base case or of an atom."""
    if check.type is CheckType.QUALITY:
        yield from _quality_problems(check, where)
        return
    if is_blank(check.value):
        what = f"a {check.type} check needs a value"
        yield Problem(where=(*where, "value"), what=what, hint="say what is to be checked")
    for name in ("rubric", "criteria", "pass_threshold", "scope"):
        if getattr(check, name) is not None:
            what = f"{name} means nothing in a {check.type} check"
            yield Problem(where=(*where, name), what=what, hint="it belongs to type quality")


def _quality_problems(check: wire.Check, where: Path) -> Iterator[Problem]:
    if check.value is not None:
        hint = "use criteria for a sentence, or a rubric"
        yield Problem(where=(*where, "value"), what="a quality check has no value", hint=hint)
    if check.pass_threshold is None:
        what = "a quality check without a threshold could never be judged"
        hint = f"a number from {LOWEST} to {HIGHEST}"
        yield Problem(where=(*where, "pass_threshold"), what=what, hint=hint)
    elif not LOWEST <= check.pass_threshold <= HIGHEST:
        what = f"{check.pass_threshold} is not on the scale from {LOWEST} to {HIGHEST}"
        yield Problem(where=(*where, "pass_threshold"), what=what)
    if (check.rubric is None) == (check.criteria is None):
        what = "a quality check needs either a rubric or criteria"
        yield Problem(where=where, what=what, hint="give it exactly one of the two")
    if check.criteria is not None and is_blank(check.criteria):
        yield Problem(where=(*where, "criteria"), what="the criteria are blank")
    if check.rubric is not None:
        yield from _rubric_problems(check.rubric, (*where, "rubric"))


def _rubric_problems(rubric: Sequence[wire.Criterion], where: Path) -> Iterator[Problem]:
    for index, line in enumerate(rubric):
        if line.weight < 0:
            what = f"a weight of {line.weight} would turn the score round"
            yield Problem(where=(*where, index, "weight"), what=what, hint="use 0 or more")
    if sum(line.weight for line in rubric) <= 0:
        what = "the weights of the rubric add up to nothing"
        yield Problem(where=where, what=what, hint="give at least one criterion a weight")


def trail_problems(entries: Iterable[wire.TrailEntry | None]) -> Iterator[Problem]:
    """Each kind of entry has its fields; a backtrack may have found nothing left to select."""
    for index, entry in enumerate(entries):
        if entry is None:
            continue
        wanted, unwanted = TRAIL_FIELDS[entry.type]
        kind = entry.type or "choice"
        for name in wanted:
            if getattr(entry, name) is None:
                what = f"a {kind} needs {name}"
                yield Problem(where=("trail", index, name), what=what, hint="add it")
        for name in unwanted:
            if getattr(entry, name) is not None:
                what = f"a {kind} has no {name}"
                yield Problem(where=("trail", index, name), what=what, hint="remove it")


def atoms_problems(atoms: Iterable[wire.Atom | None]) -> Iterator[Problem]:
    """Ids that are taken already, and checks that cannot be run."""
    first: dict[str, int] = {}
    for index, atom in enumerate(atoms):
        if atom is None:
            continue
        if first.setdefault(atom.id, index) != index:
            what = f"the id {clipped(atom.id)} is taken by atom number {first[atom.id] + 1}"
            yield Problem(where=("atoms", index, "id"), what=what, hint="give it an id of its own")
        if atom.check is not None:
            yield from check_problems(atom.check, ("atoms", index, "check"))


def in_flight_problems(sessions: Sequence[wire.InFlight]) -> Iterator[Problem]:
    """One session per atom, and one verification."""
    seen: set[str | None] = set()
    for index, session in enumerate(sessions):
        if session.atom in seen:
            what = f"{session.atom or 'the verification'} is in flight twice"
            yield Problem(where=("control", "in_flight", index), what=what, hint="keep one")
        seen.add(session.atom)
