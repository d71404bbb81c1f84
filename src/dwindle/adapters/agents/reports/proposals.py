"""New atoms as agents propose them: the children of a decomposition, or alternatives.

Whether they fit into the plan (fuel, depth, circles, ids that exist) is the kernel's to say; here
it is only whether they can be understood. A check has the shape that it has in the plan file.
"""

from __future__ import annotations

import re
from typing import Any, Final

from dwindle.adapters.agents.reports.fields import Faults, Fields, shown
from dwindle.adapters.agents.reports.strict_json import kind_of
from dwindle.kernel.base_case import check_problems
from dwindle.kernel.events import NewAtom
from dwindle.kernel.model import Check, CheckType, Criterion
from dwindle.kernel.structure import is_valid_id
from dwindle.ports.work import Proposal

MAX_CHILDREN: Final = 500
"""Fuel allows fewer nearly always; this keeps absurd proposals from being read at all."""
MAX_DESCRIPTION: Final = 10_000
MAX_REASON: Final = 4000
MAX_DEPENDENCIES: Final = 500
MAX_CHECK: Final = 10_000

CHILD: Final = ("description", "depends_on", "check")
DECOMPOSITION: Final = ("children", "reason")
CRITERION: Final = ("criterion", "weight", "description", "levels")
QUALITY: Final = ("rubric", "criteria", "pass_threshold", "scope")
CHECK: Final = ("type", "value", "control", "timeout_seconds", *QUALITY)
EARLIER: Final = re.compile(r"#([1-9][0-9]{0,5})")


def decomposition(report: Fields) -> Proposal | None:
    if "decomposition" not in report:
        return None
    given = Fields(report.raw("decomposition"), "decomposition", report.faults, DECOMPOSITION)
    reason = given.text("reason", MAX_REASON, needed=True) if given.values else ""
    return Proposal(new=_children(given, "children"), reason=reason)


def alternatives(report: Fields, reason: str) -> Proposal | None:
    """None also for an empty list: a model that fills in a form leaves it so."""
    if report.raw("alternatives") in (None, []):
        return None
    return Proposal(new=_children(report, "alternatives"), reason=reason)


def _children(given: Fields, name: str) -> tuple[NewAtom, ...]:
    faults = given.faults
    found = given.items(name, MAX_CHILDREN)
    if given.raw(name) in (None, []):
        faults.add(f"{given.at(name)} proposes nothing")
    return tuple(_child(c, f"{given.at(name)}[{i}]", i, faults) for i, c in enumerate(found))


def _child(found: object, where: str, index: int, faults: Faults) -> NewAtom:
    child = Fields(found, where, faults, CHILD)
    if not child.values:
        if isinstance(found, dict):
            faults.add(f"{child.at('description')} is missing")
        return NewAtom(description="")
    said = child.raw("description")
    if isinstance(said, str) and len(said) > MAX_DESCRIPTION:
        faults.add(f"{child.at('description')} is longer than {MAX_DESCRIPTION} characters")
    return NewAtom(
        description=child.text("description", MAX_DESCRIPTION, needed=True),
        depends_on=depends_on(child, index),
        check=read_check(child.raw("check"), child.at("check"), faults)
        if "check" in child
        else None,
    )


def depends_on(child: Fields, index: int) -> tuple[str, ...]:
    targets = tuple(dict.fromkeys(child.texts("depends_on", MAX_DEPENDENCIES, 200)))
    for target in targets:
        earlier = EARLIER.fullmatch(target)
        if earlier:
            if int(earlier[1]) > index:
                what = f"names {target}, which is not an earlier one of the list"
                child.faults.add(f"{child.at('depends_on')} {what}")
        elif not is_valid_id(target):
            child.faults.add(f"{child.at('depends_on')} has {shown(target)}, which is no id")
    return targets


def read_check(found: object, where: str, faults: Faults) -> Check | None:
    check = Fields(found, where, faults, CHECK)
    if not isinstance(found, dict):
        return None
    kind = check.raw("type")
    if kind not in list(CheckType):
        said = shown(kind) if isinstance(kind, str) else kind_of(kind)
        faults.add(f"{check.at('type')} is {said}, not one of {', '.join(CheckType)}")
        return None
    if kind == CheckType.QUALITY:
        if "value" in check:
            faults.add(f"{check.at('value')} means nothing in a quality check")
    else:
        for name in QUALITY:
            if name in check:
                faults.add(f"{check.at(name)} means nothing in a {kind} check")
    before = len(faults.found)
    made = Check(
        type=CheckType(kind),
        value=optional(check, "value"),
        control=optional(check, "control"),
        timeout_seconds=check.whole("timeout_seconds"),
        rubric=_rubric(check),
        criteria=optional(check, "criteria"),
        pass_threshold=check.number("pass_threshold"),
        scope=optional(check, "scope"),
    )
    if len(faults.found) == before:
        for problem in check_problems(made, ()):
            faults.add(f"{'.'.join([where, *map(str, problem.where)])}: {problem.what}")
    return made


def optional(check: Fields, name: str) -> str | None:
    if name not in check:
        return None
    text = check.text(name, MAX_CHECK + 1)
    if len(text) > MAX_CHECK:
        check.faults.add(f"{check.at(name)} is longer than {MAX_CHECK} characters")
    return text


def _rubric(check: Fields) -> tuple[Criterion, ...]:
    found: list[Criterion] = []
    for index, entry in enumerate(check.items("rubric", 100)):
        line = Fields(entry, f"{check.at('rubric')}[{index}]", check.faults, CRITERION)
        if not line.values:
            continue
        weight = line.number("weight")
        if "weight" not in line:
            line.faults.add(f"{line.at('weight')} is missing")
        found.append(
            Criterion(
                criterion=line.text("criterion", MAX_CHECK, needed=True),
                weight=0.0 if weight is None else weight,
                description=optional(line, "description"),
                levels=_levels(line),
            )
        )
    return tuple(found)


def _levels(line: Fields) -> tuple[tuple[int, str], ...]:
    found: Any = line.raw("levels") or {}
    if not isinstance(found, dict):
        line.faults.add(f"{line.at('levels')} is {kind_of(found)}, not an object")
        return ()
    levels: list[tuple[int, str]] = []
    for name, text in found.items():
        if name in ("1", "2", "3", "4", "5") and isinstance(text, str):
            levels.append((int(name), text))
        else:
            line.faults.add(f"{line.at('levels')}: {shown(name)} is no level from 1 to 5 in words")
    return tuple(levels)
