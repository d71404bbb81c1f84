"""dwindle graph: the plan as a picture, for Mermaid, for Graphviz, or as data."""

from __future__ import annotations

from typing import Literal

from dwindle.app.console import as_json, say
from dwindle.app.plans.plan_files import the_plan
from dwindle.app.tree.tree_run import current_plan
from dwindle.kernel.model import PlanKind
from dwindle.views.picture.picture import PlanPicture, picture
from dwindle.views.picture.text import dot, mermaid


def graph(
    *,
    format: Literal["mermaid", "dot", "json"] = "mermaid",  # noqa: A002 - the option's name
    plan: PlanKind | None = None,
) -> int:
    """Draw the plan.

    Args:
        format: mermaid, if left out.
        plan: Which plan, where there are two.
    """
    loaded = current_plan(the_plan(plan)).plan
    assert loaded is not None  # noqa: S101 - `sound` has seen to it
    drawn = picture(loaded)
    if format == "json":
        return say(as_json(data(drawn)))
    return say(dot(drawn) if format == "dot" else mermaid(drawn))


def data(drawn: PlanPicture) -> dict[str, object]:
    """The documented object."""
    return {
        "kind": drawn.kind,
        "atoms": [
            {
                "id": atom.id,
                "description": atom.description,
                "status": atom.status,
                "standing": atom.standing,
                "parent": atom.parent,
                "depends_on": list(atom.depends_on),
            }
            for atom in drawn.atoms
        ],
        "groups": [
            {
                "id": group.id,
                "parent": group.parent,
                "choices": list(group.choices),
                "selected": group.selected,
                "failed": list(group.failed),
                "unwritten": list(group.unwritten),
                "speculative": group.speculative,
            }
            for group in drawn.groups
        ],
        "decompositions": [
            {"parent": split.parent, "children": list(split.children), "reason": split.reason}
            for split in drawn.decompositions
        ],
    }
