"""The example plans are valid, and written as Dwindle itself would write them."""

from __future__ import annotations

from pathlib import Path

from dwindle.adapters.formats.graph import plan as graph_plan
from dwindle.adapters.formats.tree import plan as tree_plan
from dwindle.kernel.problems import validate

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_graph_plan_is_valid_and_canonical() -> None:
    data = (EXAMPLES / "login" / ".claude" / "aot-loop-state.md").read_bytes()
    decoded = graph_plan.decode(data)
    assert decoded.problems == ()
    assert decoded.plan is not None
    assert validate(decoded.plan) == ()
    assert graph_plan.GraphWriter(decoded.body).encode(decoded.plan) == data


def test_the_tree_plan_is_valid_and_canonical() -> None:
    data = (EXAMPLES / "importer" / ".runner" / "tree.json").read_bytes()
    decoded = tree_plan.decode(data)
    assert decoded.problems == ()
    assert decoded.tree is not None
    assert tree_plan.encode(decoded.tree) == data
