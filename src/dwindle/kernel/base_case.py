"""From verdicts on single checks to a verdict on the whole base case.

Four values on purpose. Only PASSED passes: a check that could not run, or was not judged, is
no evidence of anything, and neither is a checklist without checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum

from dwindle.kernel.model import BaseCase, Check, ChecklistItem, CheckType, Problem


class Needs(StrEnum):
    """What a check needs to be decided."""

    COMMAND = "command"
    """The harness runs it."""
    PATH = "path"
    """The harness looks for it."""
    CLAIM = "claim"
    """A verifier judges it; a person confirms it."""
    CRITERIA = "criteria"
    """A verifier scores them."""


CHECK_NEEDS: Mapping[CheckType, Needs] = {
    CheckType.COMMAND: Needs.COMMAND,
    CheckType.FILE: Needs.PATH,
    CheckType.NOT_COMMAND: Needs.COMMAND,
    CheckType.NOT_FILE: Needs.PATH,
    CheckType.ASSERTION: Needs.CLAIM,
    CheckType.QUALITY: Needs.CRITERIA,
}
"""The one table of check types."""
COMMANDS = tuple(kind for kind, needs in CHECK_NEEDS.items() if needs is Needs.COMMAND)
MECHANICAL = tuple(
    kind for kind, needs in CHECK_NEEDS.items() if needs in (Needs.COMMAND, Needs.PATH)
)
"""What the harness decides by itself; the rest needs a verifier, and perhaps a person."""


class Verdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    COULD_NOT_RUN = "could_not_run"
    NOT_JUDGED = "not_judged"


def items(base_case: BaseCase) -> tuple[ChecklistItem, ...]:
    """The legacy form is a checklist of one."""
    if base_case.check is not None:
        return (ChecklistItem(item=base_case.check.value or "base case", check=base_case.check),)
    return base_case.checklist


def checks(found: Sequence[ChecklistItem]) -> Iterator[tuple[tuple[int, ...], str, Check]]:
    """Every check in file order, with its path in the checklist and its item."""
    for index, entry in enumerate(found):
        if entry.check is not None:
            yield (index,), entry.item, entry.check
        for path, item, check in checks((*entry.group, *entry.any_of)):
            yield (index, *path), item, check


def is_mechanical(base_case: BaseCase) -> bool:
    return all(check.type in MECHANICAL for _, _, check in checks(items(base_case)))


def verdict(base_case: BaseCase, judge: Callable[[Check], Verdict]) -> Verdict:
    return all_of([_verdict(entry, judge) for entry in items(base_case)])


def _verdict(entry: ChecklistItem, judge: Callable[[Check], Verdict]) -> Verdict:
    if entry.check is not None:
        return judge(entry.check)
    if entry.any_of:
        return any_of([_verdict(below, judge) for below in entry.any_of])
    return all_of([_verdict(below, judge) for below in entry.group])


def all_of(verdicts: Sequence[Verdict]) -> Verdict:
    """Passed only if there is something to pass and all of it did."""
    if not verdicts:
        return Verdict.NOT_JUDGED
    for worst in (Verdict.FAILED, Verdict.COULD_NOT_RUN, Verdict.NOT_JUDGED):
        if worst in verdicts:
            return worst
    return Verdict.PASSED


def any_of(verdicts: Sequence[Verdict]) -> Verdict:
    """Failed only if every way was tried and said no."""
    for best in (Verdict.PASSED, Verdict.NOT_JUDGED, Verdict.COULD_NOT_RUN):
        if best in verdicts:
            return best
    return Verdict.FAILED if verdicts else Verdict.NOT_JUDGED


# --- what can be wrong with one ------------------------------------------------------------------

Where = tuple[str | int, ...]


def base_case_problems(base_case: BaseCase) -> tuple[Problem, ...]:
    where: Where = ("objective", "base_case")
    if base_case.check is not None:
        return tuple(check_problems(base_case.check, where))
    if not base_case.checklist:
        return (
            Problem(
                where=(*where, "checklist"),
                what="the checklist is empty",
                hint="name at least one check that a machine can run",
                unaligned=True,
            ),
        )
    return tuple(_item_problems(base_case.checklist, (*where, "checklist")))


def _item_problems(found: Sequence[ChecklistItem], where: Where) -> Iterator[Problem]:
    for index, entry in enumerate(found):
        here = (*where, index)
        if not entry.item.strip():
            yield Problem(where=(*here, "item"), what="the item has no name", hint="name it")
        forms = [
            name
            for name, there in (
                ("check", entry.check is not None),
                ("group", bool(entry.group)),
                ("any_of", bool(entry.any_of)),
            )
            if there
        ]
        if len(forms) != 1:
            yield Problem(
                where=here,
                what=f"{entry.item!r} has {' and '.join(forms) or 'nothing to check'}",
                hint="give it exactly one of check, group and any_of, and no empty list",
            )
        if entry.check is not None:
            yield from check_problems(entry.check, (*here, "check"))
        yield from _item_problems(entry.group, (*here, "group"))
        yield from _item_problems(entry.any_of, (*here, "any_of"))


def check_problems(check: Check, where: Where) -> Iterator[Problem]:
    if check.timeout_seconds is not None and check.timeout_seconds < 1:
        yield Problem(
            where=(*where, "timeout_seconds"),
            what=f"a timeout of {check.timeout_seconds} s can never be kept",
            hint="give at least 1, or leave it out",
        )
    if CHECK_NEEDS[check.type] is Needs.CRITERIA:
        yield from _quality_problems(check, where)
    elif not (check.value or "").strip():
        yield Problem(
            where=(*where, "value"),
            what=f"a {check.type} check needs a value",
            hint="the command, path or condition to check",
        )


def _quality_problems(check: Check, where: Where) -> Iterator[Problem]:
    if bool(check.rubric) == bool((check.criteria or "").strip()):
        yield Problem(
            where=where,
            what="a quality check needs either a rubric or criteria",
            hint="give exactly one of the two",
        )
    if check.pass_threshold is None or not 1 <= check.pass_threshold <= 5:
        yield Problem(
            where=(*where, "pass_threshold"),
            what="a quality check needs a pass_threshold from 1 to 5",
            hint="for example 3.5",
        )
    if any(c.weight < 0 for c in check.rubric) or (
        check.rubric and sum(c.weight for c in check.rubric) <= 0
    ):
        yield Problem(
            where=(*where, "rubric"),
            what="the weights of the rubric do not add up to more than 0",
            hint="give each criterion a weight above 0",
        )
