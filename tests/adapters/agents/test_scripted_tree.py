"""The step `tree` of a script: edits of a task tree, allowed or not, made by the real program."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dwindle.adapters.agents.scripted import scripted_agent
from dwindle.adapters.formats.tree.file import decode
from dwindle.kernel.model import AtomId
from dwindle.ports.work import NoReport, Report, Trouble
from dwindle.runner.orders.work import order_json
from dwindle.scripted.script import ScriptRefused, load
from dwindle.testing.agents import ORDER, set_up
from dwindle.testing.bare_process import BareProcess

TREE = ".runner/tree.json"


def node(name: str, order: int, *children: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": name,
        "order": order,
        "title": name,
        "goal": f"{name} works",
        "acceptance": [],
        "passes": False,
        "attempts": 0,
        "max_attempts": 3,
        "children": list(children),
    } | fields


def tree(*children: dict[str, Any]) -> dict[str, Any]:
    return {"version": 1, "root": node("root", 0, *children)}


def session(folder: Path, step: str, content: str | None) -> tuple[Report, str | None]:
    """What is reported, and the tree after one session that does one step."""
    script = folder / "script.yaml"
    script.write_text(f"worker:\n  A1:\n    - do: [{{tree: {step}}}]\n", "utf-8")
    order = replace(ORDER, atom=AtomId("A1"))
    place = set_up(folder / "session", order)
    place.order.write_bytes(order_json(order))
    file = place.workspace / TREE
    if content is not None:
        file.parent.mkdir()
        file.write_text(content, "utf-8")
    agent = scripted_agent(script)
    ended = asyncio.run(BareProcess().run(agent.launch(order, place)))
    report = agent.conclude(order, place, ended).report
    return report, file.read_text("utf-8") if file.is_file() else None


def edited(folder: Path, step: str, *children: dict[str, Any]) -> dict[str, Any]:
    report, after = session(folder, step, json.dumps(tree(*children)))
    # A tree agent need not report; anything worse than that would be a failure of the step.
    assert isinstance(report, NoReport)
    assert report.trouble is Trouble.NO_REPORT, report
    assert after is not None
    found: dict[str, Any] = json.loads(after)
    return found


@pytest.mark.parametrize(
    ("step", "before", "after"),
    [
        (
            "{under: root, add: [{id: b, goal: b works}, {id: a, goal: a works}]}",
            [],
            [node("b", 0), node("a", 1)],
        ),
        (
            "{under: a, add: [{id: c, goal: c works}]}",
            [node("a", 0, node("b", 7, passes=True, attempts=1))],
            [node("a", 0, node("b", 7, passes=True, attempts=1), node("c", 8))],
        ),
        (
            (
                "{under: root, add: [{id: a, goal: Größe, title: A, acceptance: [x],"
                " max_attempts: 1, children: [{id: b, goal: b works, children: []}]}]}"
            ),
            [],
            [node("a", 0, node("b", 0), goal="Größe", title="A", acceptance=["x"], max_attempts=1)],
        ),
        (
            "{replace: b, by: [{id: c, goal: c works}]}",
            [node("a", 0), node("b", 1, attempts=3), node("d", 2)],
            [node("a", 0), node("d", 2), node("c", 1)],
        ),
        # Two in the place of one: what comes after makes way, what comes before stays.
        (
            "{replace: b, by: [{id: z, goal: z works}, {id: c, goal: c works}]}",
            [node("a", 1), node("b", 1), node("d", 2), node("e", 5)],
            [node("a", 1), node("d", 3), node("e", 6), node("z", 1), node("c", 2)],
        ),
        # Where there is room nobody has to.
        (
            "{replace: b, by: [{id: z, goal: z works}, {id: c, goal: c works}]}",
            [node("b", 1), node("d", 10)],
            [node("d", 10), node("z", 1), node("c", 2)],
        ),
        ("{change: a, to: {passes: true, attempts: 0, order: 4, goal: less}}",
         [node("a", 0, attempts=2)],
         [node("a", 4, passes=True, goal="less")]),
        ("{change: a, to: {id: b, children: [{id: c, goal: c works}]}}",
         [node("a", 0, node("x", 0))],
         [node("a", 0, node("c", 0), id="b")]),
        ("{change: a, to: {children: []}}", [node("a", 0, node("x", 0))], [node("a", 0)]),
    ],
)  # fmt: skip
def test_the_tree_is_edited_as_the_step_says(
    step: str, before: list[dict[str, Any]], after: list[dict[str, Any]], tmp_path: Path
) -> None:
    found = edited(tmp_path, step, *before)
    assert found == tree(*after)
    assert decode(json.dumps(found).encode()).tree is not None


def test_the_order_of_a_session_can_be_named(tmp_path: Path) -> None:
    found = edited(tmp_path, '{under: root, add: [{id: "${atom}", goal: "for ${role}"}]}')
    assert found == tree(node("A1", 0, goal="for worker"))


@pytest.mark.parametrize(
    ("step", "content", "says"),
    [
        ("{under: x, add: [{id: a, goal: g}]}", json.dumps(tree()), "there is no node 'x'"),
        (
            "{replace: root, by: [{id: a, goal: g}]}",
            json.dumps(tree()),
            "the root stands beside nothing, so it cannot be replaced",
        ),
        (
            "{change: root, to: {goal: g}}",
            "[]",
            f"{TREE} is no tree: list indices must be integers or slices, not str",
        ),
        (
            "{change: root, to: {goal: g}}",
            None,
            f"[Errno 2] No such file or directory: '{TREE}'",
        ),
    ],
)
def test_what_cannot_be_edited_is_left_and_told(
    step: str, content: str | None, says: str, tmp_path: Path
) -> None:
    report, after = session(tmp_path, step, content)
    assert report == NoReport(
        trouble=Trouble.FAILED,
        reason=f"it ended with exit code 1\ncould not edit the tree: {says}",
    )
    assert after == content


BAD = """\
worker:
  A1:
    - do:
        - tree: later
        - tree: {under: a, by: [{id: b, goal: c}]}
        - tree: {under: a, add: [{id: b, goal: c}], replace: d}
        - tree: {under: 1, add: []}
        - tree: {replace: a, by: [b, {id: c}, {goal: 1, passes: true}]}
        - tree: {under: a, add: [{id: b, goal: c, acceptance: d, children: [{id: 2, goal: e}]}]}
        - tree: {change: a, to: {}}
        - tree: {change: a, to: {passes: 1, order: true, title: [], colour: red, acceptance: [1]}}
"""


def test_a_step_that_means_nothing_is_refused_with_all_that_is_wrong(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(BAD, "utf-8")
    with pytest.raises(ScriptRefused) as refused:
        load(script)
    forms = "is no edit of a tree (use one of {under, add}, {replace, by}, {change, to})"
    of_node = "(use some of id, goal, title, acceptance, max_attempts, children)"
    of_change = of_node.removesuffix(")") + ", order, passes, attempts)"
    at = "worker.A1.0.do"
    assert str(refused.value).splitlines() == [
        f"script.yaml:4: {at}.0.tree: {forms}",
        f"script.yaml:5: {at}.1.tree: {forms}",
        f"script.yaml:6: {at}.2.tree: {forms}",
        f"script.yaml:7: {at}.3.tree.under: is not the id of a node (quote it)",
        f"script.yaml:7: {at}.3.tree.add: is not a list of nodes (- {{id: a, goal: a works}})",
        f"script.yaml:8: {at}.4.tree.by.0: a node is a mapping {of_node}",
        f"script.yaml:8: {at}.4.tree.by.1: has no goal",
        f"script.yaml:8: {at}.4.tree.by.2.goal: is not a text",
        f"script.yaml:8: {at}.4.tree.by.2.passes: 'passes' is unknown {of_node}",
        f"script.yaml:8: {at}.4.tree.by.2: has no id",
        f"script.yaml:9: {at}.5.tree.add.0.acceptance: is not a list of texts",
        f"script.yaml:9: {at}.5.tree.add.0.children.0.id: is not a text",
        f"script.yaml:10: {at}.6.tree.to: is not a mapping {of_change}",
        f"script.yaml:11: {at}.7.tree.to.passes: is neither true nor false",
        f"script.yaml:11: {at}.7.tree.to.order: is not a whole number",
        f"script.yaml:11: {at}.7.tree.to.title: is not a text",
        f"script.yaml:11: {at}.7.tree.to.colour: 'colour' is unknown {of_change}",
        f"script.yaml:11: {at}.7.tree.to.acceptance: is not a list of texts",
    ]
