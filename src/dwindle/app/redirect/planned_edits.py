"""Edits proposed by a planner, or sent by the page: decoded, ordered, tried and described."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from dwindle.adapters.store.event_codec import EventUnfit, decode
from dwindle.app.refusal import Refused
from dwindle.kernel.base_case import checks, items
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AddAtom,
    ChangeObjective,
    Edit,
    ForceChoice,
    OverrideBinding,
    Redirected,
    RemoveAtom,
    Retry,
    SetLimit,
)
from dwindle.kernel.growth import next_ids
from dwindle.kernel.model import CorrectionType, Plan
from dwindle.kernel.redirects import SCOPES
from dwindle.runner.redirect import preview
from dwindle.text.escape import excerpt
from dwindle.text.terminal import one_line

ORDER = (
    CorrectionType.OBJECTIVE_CHANGE,
    CorrectionType.CONSTRAINT_CHANGE,
    CorrectionType.DAG_ADJUSTMENT,
    CorrectionType.BINDINGS_OVERRIDE,
)
"""Limits before the graph, so that there is room for what is added."""
EARLIER = re.compile(r"#([0-9]+)")


def with_ids(plan: Plan, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Additions first, and `#1` replaced by the id that the first of them will get."""
    added = [edit for edit in edits if isinstance(edit, AddAtom)]
    rest = [edit for edit in edits if not isinstance(edit, AddAtom)]
    before, _ = _preview_edits(plan, rest, ORDER[: ORDER.index(CorrectionType.DAG_ADJUSTMENT)])
    ids = next_ids(before, len(added))

    def named(target: str) -> str:
        found = EARLIER.fullmatch(target)
        return str(ids[int(found[1]) - 1]) if found else target

    return (
        *(
            replace(edit, new=replace(edit.new, depends_on=tuple(map(named, edit.new.depends_on))))
            for edit in added
        ),
        *rest,
    )


def refusals(plan: Plan, edits: Sequence[Edit]) -> tuple[str, ...]:
    """Why the kernel refuses the edits; empty if it accepts them."""
    return _preview_edits(plan, edits, ORDER)[1]


def _preview_edits(
    plan: Plan, edits: Sequence[Edit], scopes: Sequence[CorrectionType]
) -> tuple[Plan, tuple[str, ...]]:
    """The plan after the edits that the kernel accepts, and every refusal, scope by scope."""
    found: list[str] = []
    for scope in scopes:
        mine = tuple(edit for edit in edits if isinstance(edit, SCOPES[scope]))
        if not mine:
            continue
        try:
            plan = preview(plan, Redirected(type=scope, edits=mine, description="a proposal"))
        except IllegalEvent as refusal:
            found.append("; ".join([refusal.reason, *(p.what for p in refusal.problems)]))
    return plan, tuple(found)


def edit_lines(edits: Sequence[Edit]) -> Iterator[str]:
    """A line for each, in the imperative."""
    for edit in edits:
        match edit:
            case ChangeObjective():
                yield from _objective(edit)
            case AddAtom(new=new, parent=parent, group=group):
                where = f" as a part of {parent}" if parent else ""
                where = f" as a choice of {group}" if group else where
                after = f", after {', '.join(new.depends_on)}" if new.depends_on else ""
                judged = f", checked by: {new.check.value or new.check.type}" if new.check else ""
                yield one_line(f"add an atom{where}{after}: {new.description}{judged}")
            case RemoveAtom(atom=atom):
                yield one_line(f"remove {atom}")
            case ForceChoice(group=group, choice=choice):
                yield one_line(f"take {choice} in {group}")
            case Retry(node=node):
                yield one_line(f"try {node or 'the base case'} again")
            case SetLimit(name=name, value=value):
                yield one_line(f"set {name} to {value}")
            case OverrideBinding(atom=atom, summary=summary):
                yield one_line(f"say that {atom} came to: {summary}")
            case _:
                yield one_line(str(edit))


def _objective(edit: ChangeObjective) -> Iterator[str]:
    texts: Mapping[str, str | None] = {
        "goal": edit.goal,
        "background": edit.background_intent,
        "deliverables": edit.deliverables,
        "definition of done": edit.definition_of_done,
    }
    for label, text in texts.items():
        if text is not None:
            yield one_line(f"change the {label} to: {text}")
    if edit.base_case is not None:
        for _, item, check in checks(items(edit.base_case)):
            yield one_line(f"check in the end ({check.type}): {item}: {check.value or ''}")
    if edit.protected_paths is not None:
        yield one_line(f"protect {', '.join(edit.protected_paths) or 'no paths'}")
    if edit.work_paths is not None:
        yield one_line(f"let workers change {', '.join(edit.work_paths) or 'any file'}")
    if edit.reopen:
        yield one_line(f"do again: {', '.join(edit.reopen)}")


# --- edits sent by the page ----------------------------------------------------------------------


LONGEST: Final = 4000
"""Characters of the decoder's complaint."""


def edits_from(values: object) -> tuple[Edit, ...]:
    """Decode edits in the form of the journal; Refused if they are not valid."""
    text = msgspec.json.encode(
        {"kind": "Redirected", "type": "dag_adjustment", "edits": values, "description": ""}
    )
    try:
        found = decode(text)
    except EventUnfit as fault:
        raise Refused(f"these are no edits: {excerpt(str(fault), LONGEST)}") from None
    return found.edits if isinstance(found, Redirected) else ()
