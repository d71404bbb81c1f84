"""A task tree as a plan of the kernel."""

from __future__ import annotations

from dataclasses import replace

from dwindle.adapters.formats.tree.plan import (
    TREE_LIMITS,
    TreeDocument,
    TreeNode,
    leftmost_open_leaf,
    to_plan,
)
from dwindle.kernel.graph import view
from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Control,
    Decomposition,
    Dispatch,
    Limits,
    Objective,
    Plan,
    PlanKind,
    Spent,
    Status,
)

A, B, C, TOP = AtomId("a"), AtomId("b"), AtomId("c"), AtomId("root")
DOCUMENT = TreeDocument(
    version=1,
    root=TreeNode(
        id="root",
        order=0,
        title="Everything",
        goal="All holds",
        acceptance=(),
        passes=False,
        attempts=0,
        max_attempts=1,
        children=(
            TreeNode(
                "b",
                1,
                "B",
                "b holds",
                ("x",),
                passes=False,
                attempts=2,
                max_attempts=5,
                children=(),
            ),
            TreeNode(
                *("a", 0, "First half", "a holds", ()),
                passes=False,  # to be derived
                attempts=0,
                max_attempts=3,
                children=(
                    TreeNode(
                        "c",
                        0,
                        "C",
                        "c holds",
                        (),
                        passes=True,
                        attempts=1,
                        max_attempts=3,
                        children=(),
                    ),
                ),
            ),
        ),
    ),
)


def atom(name: AtomId, max_attempts: int, attempts: int = 0) -> Atom:
    return Atom(id=name, description=f"{name} holds", max_attempts=max_attempts, attempts=attempts)


def test_a_tree_becomes_an_and_forest_in_depth_first_order() -> None:
    plan = to_plan(
        DOCUMENT,
        planned={AtomId("b"): 2, AtomId("gone"): 1},
        ids_seen=7,
    )
    assert plan == Plan(
        kind=PlanKind.TREE,
        objective=Objective(
            goal="All holds",
            base_case=BaseCase(),
            background_intent="",
            deliverables="",
            definition_of_done="",
        ),
        limits=TREE_LIMITS,
        spent=Spent(created=7),
        control=Control(),
        atoms={
            TOP: Atom(id=TOP, description="All holds", max_attempts=1),
            A: replace(atom(A, 3), status=Status.RESOLVED),
            C: replace(atom(C, 3, attempts=1), status=Status.RESOLVED),
            B: replace(atom(B, 5, attempts=2), probes=2),
        },
        decompositions=(
            Decomposition(parent=TOP, children=(A, B), reason="Everything"),
            Decomposition(parent=A, children=(C,), reason="First half"),
        ),
    )
    assert list(plan.atoms) == [TOP, A, C, B]


def test_the_defaults_of_a_tree() -> None:
    assert (
        Limits(
            max_iterations=50,
            max_parallel_agents=1,
            max_stall_count=3,
            max_atoms=200,
            max_depth=63,
            max_attempts=3,
            max_probes=3,
            max_verifications=0,
            max_redirects=0,
            max_forgiven=50,
            max_backjumps=0,
            max_winds=0,
            max_wall_seconds=86400,
            session_timeout_seconds=1800,
            dispatch=Dispatch.WAVE,
        )
        == TREE_LIMITS
    )


def test_goal_and_limits_may_come_from_elsewhere_and_ids_are_counted_at_least_once() -> None:
    limits = replace(TREE_LIMITS, max_atoms=10)
    plan = to_plan(DOCUMENT, limits=limits, goal="As in GOAL.md", ids_seen=1)
    assert (plan.limits, plan.objective.goal) == (limits, "As in GOAL.md")
    assert plan.spent == Spent(created=4)


def test_the_kernel_agrees_which_leaf_is_next() -> None:
    path = leftmost_open_leaf(DOCUMENT)
    assert path is not None
    assert view(to_plan(DOCUMENT)).ready == (AtomId(path[-1].id),)
    assert view(to_plan(DOCUMENT)).unsettled == ()
