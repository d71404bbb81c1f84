"""Edits of a plan as a planner proposes them: one object each, named after what it does.

    {"edit": "set_limit", "name": "max_iterations", "value": 40}

Whether the plan takes them (ids that exist, limits that are not overdrawn) is the kernel's to say;
here it is only whether they can be understood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from dwindle.adapters.agents.reports.fields import Faults, Fields, shown
from dwindle.adapters.agents.reports.proposals import (
    MAX_DESCRIPTION,
    depends_on,
    optional,
    read_check,
)
from dwindle.adapters.agents.reports.strict_json import kind_of
from dwindle.kernel.base_case import MECHANICAL, base_case_problems, checks, items
from dwindle.kernel.events import (
    AddAtom,
    ChangeObjective,
    Edit,
    ForceChoice,
    NewAtom,
    OverrideBinding,
    RemoveAtom,
    SetLimit,
)
from dwindle.kernel.model import AtomId, BaseCase, ChecklistItem, GroupId

MAX_EDITS: Final = 100
MAX_ITEMS: Final = 200
MAX_ID: Final = 64
ITEM: Final = ("item", "check", "group", "any_of")


def read_edits(given: Fields) -> Iterator[Edit]:
    found = given.items("edits", MAX_EDITS)
    if given.raw("edits") in (None, []):
        given.faults.add("edits proposes nothing, and no question is asked")
    added = 0
    for index, entry in enumerate(found):
        edit = _edit(entry, f"edits[{index}]", given.faults, added)
        if edit is not None:
            added += isinstance(edit, AddAtom)
            yield edit


def _edit(found: object, where: str, faults: Faults, added: int) -> Edit | None:
    if not isinstance(found, dict):
        faults.add(f"{where} is {kind_of(found)}, not an object")
        return None
    kind = found.get("edit")
    if not isinstance(kind, str) or kind not in _KINDS:
        said = shown(kind) if isinstance(kind, str) else kind_of(kind)
        faults.add(f"{where}.edit is {said}, not one of {', '.join(_KINDS)}")
        return None
    read, known = _KINDS[kind]
    fields = Fields(found, where, faults, ("edit", *known))
    return read(fields, added)


# --- one function a kind -------------------------------------------------------------------------


def _objective(given: Fields, _added: int) -> Edit:
    if not any(name in given for name in OBJECTIVE):
        given.faults.add(f"{given.where} changes nothing of {', '.join(OBJECTIVE)}")
    return ChangeObjective(
        goal=_text(given, "goal"),
        background_intent=_text(given, "background_intent"),
        deliverables=_text(given, "deliverables"),
        definition_of_done=_text(given, "definition_of_done"),
        base_case=_base_case(given) if "base_case" in given else None,
        protected_paths=_paths(given, "protected_paths"),
        work_paths=_paths(given, "work_paths"),
        reopen=tuple(AtomId(name) for name in given.texts("reopen", MAX_ITEMS, MAX_ID + 1)),
    )


def _add(given: Fields, added: int) -> Edit:
    check = given.raw("check")
    new = NewAtom(
        description=_text(given, "description", needed=True) or "",
        depends_on=depends_on(given, added),
        check=None if check is None else read_check(check, given.at("check"), given.faults),
    )
    parent, group = _text(given, "parent"), _text(given, "group")
    if parent is not None and group is not None:
        given.faults.add(f"{given.where} has parent and group, keep one of them")
    return AddAtom(
        new=new,
        parent=None if parent is None else AtomId(parent),
        group=None if group is None else GroupId(group),
    )


def _remove(given: Fields, _added: int) -> Edit:
    return RemoveAtom(atom=AtomId(_text(given, "atom", needed=True) or ""))


def _select(given: Fields, _added: int) -> Edit:
    return ForceChoice(
        group=GroupId(_text(given, "group", needed=True) or ""),
        choice=AtomId(_text(given, "choice", needed=True) or ""),
    )


def _limit(given: Fields, _added: int) -> Edit:
    value = given.raw("value")
    if value is None:
        given.faults.add(f"{given.at('value')} is missing")
        value = 0
    elif isinstance(value, (dict, list)):
        what = f"is {kind_of(value)}, not a number, a word, true or false"
        given.faults.add(f"{given.at('value')} {what}")
        value = 0
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        value = given.number("value") or 0
    return SetLimit(name=_text(given, "name", needed=True) or "", value=value)


def _bind(given: Fields, _added: int) -> Edit:
    return OverrideBinding(
        atom=AtomId(_text(given, "atom", needed=True) or ""),
        summary=_text(given, "summary", needed=True) or "",
        artifacts=given.paths("artifacts", MAX_ITEMS) if "artifacts" in given else None,
    )


# --- parts ---------------------------------------------------------------------------------------


def _text(given: Fields, name: str, *, needed: bool = False) -> str | None:
    """As it stands: what is agreed on is refused when it is too long, and never cut."""
    if not needed and name not in given:
        return None
    text = given.text(name, MAX_DESCRIPTION + 1, needed=True)
    if len(text) > MAX_DESCRIPTION:
        given.faults.add(f"{given.at(name)} is longer than {MAX_DESCRIPTION} characters")
    return text


def _paths(given: Fields, name: str) -> tuple[str, ...] | None:
    """Paths and patterns, or `!path` for one that is taken out; None if there is no such field."""
    if name not in given:
        return None
    found = tuple(given.texts(name, MAX_ITEMS, 4096))
    for path in found:
        if not path.lstrip("!").strip() or path.startswith("/") or ".." in path.split("/"):
            given.faults.add(f"{given.at(name)} has {shown(path)}, no path in here")
    return found


def _base_case(given: Fields) -> BaseCase:
    """One check, or a checklist; at least one of the checks must be for a machine."""
    raw, where, faults = given.raw("base_case"), given.at("base_case"), given.faults
    before = len(faults.found)
    if isinstance(raw, dict) and "checklist" in raw:
        form = Fields(raw, where, faults, ("checklist",))
        made = BaseCase(checklist=_checklist(form, "checklist"))
    else:
        made = BaseCase(check=read_check(raw, where, faults))
    if len(faults.found) > before:
        return made
    for problem in base_case_problems(made):
        below = ".".join(map(str, problem.where[2:]))
        faults.add(f"{where}{'.' if below else ''}{below}: {problem.what}")
    if not any(check.type in MECHANICAL for _, _, check in checks(items(made))):
        faults.add(f"{where}: nothing in it can be checked by a machine")
    return made


def _checklist(given: Fields, name: str) -> tuple[ChecklistItem, ...]:
    found: list[ChecklistItem] = []
    for index, entry in enumerate(given.items(name, MAX_ITEMS)):
        item = Fields(entry, f"{given.at(name)}[{index}]", given.faults, ITEM)
        check = item.raw("check")
        found.append(
            ChecklistItem(
                item=optional(item, "item") or "",
                check=None if check is None else read_check(check, item.at("check"), given.faults),
                group=_checklist(item, "group"),
                any_of=_checklist(item, "any_of"),
            )
        )
    return tuple(found)


OBJECTIVE: Final = (
    *("goal", "background_intent", "deliverables", "definition_of_done", "base_case"),
    *("protected_paths", "work_paths", "reopen"),
)

_KINDS: Final[Mapping[str, tuple[Callable[[Fields, int], Edit], tuple[str, ...]]]] = {
    "objective": (_objective, OBJECTIVE),
    "add_atom": (_add, ("description", "depends_on", "check", "parent", "group")),
    "remove_atom": (_remove, ("atom",)),
    "select": (_select, ("group", "choice")),
    "set_limit": (_limit, ("name", "value")),
    "bind": (_bind, ("atom", "summary", "artifacts")),
}
