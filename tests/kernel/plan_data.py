"""A plan and its decision as plain data, complete but without what goes without saying.

Two plans that differ differ here too. A field at its default, and an empty section, is left out;
limits and the objective show only what is not as at the start of the story. What stands under
what and who waits for whom is one line, as `small_plans.drawn` draws it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any

from tests.model.small_plans import drawn

from dwindle.kernel.actions import Decision
from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.explain import waiting as waiting_of
from dwindle.kernel.measure import measure
from dwindle.kernel.model import Atom, Decomposition, GroupId, Plan


def picture(start: Plan, plan: Plan, refused: IllegalEvent | None = None) -> dict[str, Any]:
    """What a case expects under `then`."""
    decision = decide(plan)
    sections = {
        "refused": None if refused is None else str(refused),
        "actions": [{type(a).__name__: plain(a)} for a in decision.actions],
        "stop": None if decision.stop is None else plain(decision.stop),
        "because": said(decision),
        "waiting": {str(k): v for k, v in waiting_of(decision).items()},
        "measure": " ".join(
            f"{letter}{n}" for letter, n in zip("ELWVFJCAQIT", measure(plan), strict=True)
        ),
        "shape": drawn(plan),
        "atoms": {str(n): atom_shown(plan, a) for n, a in plan.atoms.items()},
        "groups": {
            str(n): plain(g, without=("id", "choices", "speculative"))
            for n, g in plan.groups.items()
        },
        "reasons": reasons(start, plan),
        "bindings": {str(n): plain(b) for n, b in plan.bindings.items()},
        "trail": [plain(t) for t in plan.trail],
        "corrections": [plain(c) for c in plan.corrections],
        "sessions": {str(n): plain(s) for n, s in plan.sessions.items()},
        "control": plain(plan.control),
        "spent": plain(plan.spent),
        "pace": plain(plan.pace),
        "verification": plain(plan.verification),
        "limits": difference(start.limits, plan.limits),
        "objective": difference(start.objective, plan.objective),
    }
    return {name: value for name, value in sections.items() if value not in (None, {}, [], "")}


def said(decision: Decision) -> str:
    """Why nothing is done; a stop has the same words as its reason, which are not shown twice."""
    if decision.stop is not None and decision.because == decision.stop.reason:
        return ""
    return decision.because


def atom_shown(plan: Plan, atom: Atom) -> dict[str, Any]:
    """Without what the shape shows, and without a description that is only the id."""
    hidden = ["id", "depends_on"]
    if atom.description == atom.id:
        hidden.append("description")
    home = next((GroupId(g.id) for g in plan.groups.values() if atom.id in g.choices), None)
    if atom.or_group == home:
        hidden.append("or_group")
    return {"status": str(atom.status), **plain(atom, without=(*hidden, "status"))}


def reasons(start: Plan, plan: Plan) -> dict[str, str]:
    """Of decompositions that were not there from the start."""
    old: tuple[Decomposition, ...] = start.decompositions
    return {
        str(d.parent): d.reason
        for d in plan.decompositions
        if not any((d.parent, d.reason) == (o.parent, o.reason) for o in old)
    }


def difference(before: Any, after: Any) -> dict[str, Any]:
    names = [f.name for f in fields(before)]
    return {n: plain(getattr(after, n)) for n in names if getattr(before, n) != getattr(after, n)}


def plain(value: Any, without: tuple[str, ...] = ()) -> Any:
    if is_dataclass(value):
        return {
            f.name: plain(getattr(value, f.name))
            for f in fields(value)
            if f.name not in without and getattr(value, f.name) != default_of(f)
        }
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    return str(value) if isinstance(value, str) else value


def default_of(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return MISSING if field.default_factory is MISSING else field.default_factory()
