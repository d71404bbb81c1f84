"""`dwindle replay` on a tree: the commits of a run decided again, and forged ones found out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.bad_plans import GRAPH
from tests.surfaces.command import TREE_FILE, Ended, dwindle, git, write
from tests.surfaces.tree_branches import (
    BRANCH,
    DONE,
    GREEN,
    JOURNAL,
    RED,
    RUN,
    SPLIT,
    START,
    STORY,
    Node,
    begun,
    half_way,
    iterated,
    journalled,
    node,
    written,
)

from dwindle.kernel.events import (
    AttemptFailed,
    Event,
    IterationCommitted,
    Replanned,
    RunStarted,
    SessionStarted,
)
from dwindle.kernel.model import AtomId, Role

pytestmark = pytest.mark.slow


def same(count: int, branch: str = BRANCH) -> Ended:
    again = f"{count} iteration{'' if count == 1 else 's'} decided again"
    return Ended(code=0, out=f"{RUN}: {again}, and every tree on {branch} has the same bytes\n")


def different(what: str) -> Ended:
    return Ended(code=1, err=f"dwindle: DIFFERENT: {what}\n")


def told(folder: Path, *story: tuple[str, Node], start: Node = START) -> Path:
    begun(folder, start)
    for line, root in story:
        iterated(folder, line, root)
    return folder


def test_a_run_is_decided_again_from_its_commits(tmp_path: Path) -> None:
    begun(tmp_path, START)
    nothing = Ended(code=0, out=f"{RUN}: no iteration is on {BRANCH} yet\n")
    assert dwindle(tmp_path, "replay") == nothing
    for count, (line, root) in enumerate(STORY, 1):
        iterated(tmp_path, line, root)
        assert dwindle(tmp_path, "replay") == same(count)
    git(tmp_path, "switch", "--quiet", "main")
    assert dwindle(tmp_path, "replay", RUN) == same(4)
    assert dwindle(tmp_path, "replay") == Ended(
        code=2,
        err="dwindle: .runner/journal: no run of this plan has begun\n  `dwindle run` begins one\n",
    )


def test_people_may_edit_the_tree_between_iterations(tmp_path: Path) -> None:
    half_way(tmp_path)
    changed = GREEN | {"children": [*GREEN["children"], node("first", order=0)]}
    write(tmp_path, TREE_FILE, written(changed))
    git(tmp_path, "commit", "--quiet", "--all", "--message=first things first")
    first = node("first", order=0, attempts=0, passes=True)
    after = GREEN | {"children": [*GREEN["children"], first]}
    iterated(tmp_path, "0004 first execute pass", after)
    assert dwindle(tmp_path, "replay") == same(4)


def test_a_run_that_stays_on_its_branch(tmp_path: Path) -> None:
    half_way(tmp_path)
    journalled(tmp_path)
    git(tmp_path, "branch", "--quiet", "--move", "feature")
    assert dwindle(tmp_path, "replay") == same(3, "feature")


def test_two_plans_of_which_one_has_begun(tmp_path: Path) -> None:
    half_way(tmp_path)
    write(tmp_path, ".claude/aot-loop-state.md", GRAPH)
    assert dwindle(tmp_path, "replay") == same(3)
    other = "01J00000000000000000000000"
    running = GRAPH.replace(
        "redirect_requested: false", f"redirect_requested: false\n  run_id: {other}"
    )
    write(tmp_path, ".claude/aot-loop-state.md", running)
    assert dwindle(tmp_path, "replay") == Ended(
        code=2,
        err=f"dwindle: there are two runs: {other} of the graph plan and {RUN} of the tree plan\n"
        "  say --plan graph or --plan tree, or name the run\n",
    )
    assert dwindle(tmp_path, "replay", "--plan", "tree") == same(3)


# --- commits that no runner made -----------------------------------------------------------------

PASSED_BY_HAND = node("root", node("parse", order=1, passes=True), node("store", order=2))
FORGED = {
    "another node": (
        (*STORY[:1], ("0002 store execute pass", PASSED_BY_HAND)),
        "iteration 0002 is store execute guard=pass, but work on parse was decided",
    ),
    "a repair that was not asked for": (
        (*STORY[:2], ("0003 root decompose skipped", RED)),
        "iteration 0003 is root decompose guard=skipped, but work on parse was decided",
    ),
    "more work when all is done": (
        (*STORY, ("0005 store execute pass", DONE)),
        (
            "iteration 0005 is store execute guard=pass, but nothing was to be done: "
            "every leaf of the tree passed"
        ),
    ),
    "a number left out": (
        (*STORY[:1], ("0003 parse execute fail", RED)),
        "iteration 0003 is on the branch where 0002 should be",
    ),
    "a pass on a red guard": (
        (*STORY[:1], ("0002 parse execute fail", PASSED_BY_HAND)),
        "iteration 0002 has a tree in which passes or attempts do not come of it",
    ),
    "no pass on a green guard": (
        (*STORY[:2], ("0003 parse execute pass", RED)),
        "iteration 0003 has a tree in which passes or attempts do not come of it",
    ),
    "an attempt that was not charged": (
        (*STORY[:1], ("0002 parse execute fail", SPLIT)),
        "iteration 0002 has a tree in which passes or attempts do not come of it",
    ),
    "a guard that ran after planning": (
        (("0001 root decompose pass", SPLIT),),
        "iteration 0001 has a tree in which passes or attempts do not come of it",
    ),
    "a passed node that was changed": (
        (
            *STORY[:3],
            (
                "0004 store execute fail",
                node(
                    "root",
                    node("parse", order=1, attempts=1, passes=True, goal="less"),
                    node("store", order=2, attempts=0),
                ),
            ),
        ),
        (
            "iteration 0004 has a tree that does not follow from the one before: "
            "parse has passed and its goal was changed"
        ),
    ),
    "an id that comes back": (
        (
            *STORY[:1],
            ("0002 parse decompose skipped", node("root", node("store", order=2))),
            ("0003 store decompose skipped", SPLIT),
        ),
        (
            "iteration 0003 has a tree that does not follow from the one before: "
            "parse was removed in an earlier iteration and is back"
        ),
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged(name: str, tmp_path: Path) -> None:
    story, what = FORGED[name]
    assert dwindle(told(tmp_path, *story), "replay") == different(what)


def test_work_on_a_root_that_is_only_planned(tmp_path: Path) -> None:
    write(tmp_path, ".runner/config.toml", "[limits]\nexecute_root = false\n")
    told(tmp_path, ("0001 root execute fail", START | {"attempts": 1}))
    assert dwindle(tmp_path, "replay") == different(
        "iteration 0001 is root execute guard=fail, but planning root was decided"
    )


def test_bytes_that_are_not_canonical(tmp_path: Path) -> None:
    begun(tmp_path, START)
    iterated(tmp_path, "0001 root decompose skipped", tree=written(SPLIT) + b"\n")
    assert dwindle(tmp_path, "replay") == different(
        "iteration 0001 has a tree that is not in its canonical form"
    )


def test_trees_that_are_none(tmp_path: Path) -> None:
    begun(tmp_path, START)
    iterated(tmp_path, "0001 root decompose skipped", tree=b"[]")
    said = dwindle(tmp_path, "replay")
    assert said.err.startswith(
        "dwindle: DIFFERENT: iteration 0001 has a tree in it that is not valid: "
    )
    git(tmp_path, "reset", "--quiet", "--hard", "HEAD~")
    git(tmp_path, "rm", "--quiet", TREE_FILE)
    iterated(tmp_path, "0001 root decompose skipped")
    assert dwindle(tmp_path, "replay", RUN) == different("iteration 0001 has no tree in it")


# --- what a commit does not say ------------------------------------------------------------------

CHARGED = node("root", node("parse", order=1, attempts=1), node("store", order=2))
REFUSED_OR_CRASHED = (*STORY[:1], ("0002 parse execute skipped", CHARGED))


def events(*, refused: bool) -> tuple[Event, ...]:
    return (
        RunStarted(run_id=RUN),
        SessionStarted(atom=AtomId("root"), role=Role.PROBE),
        Replanned(atom=AtomId("root"), nonce=2),
        IterationCommitted(number=1, commit="c", subject=""),
        SessionStarted(atom=AtomId("parse"), role=Role.WORKER),
        AttemptFailed(atom=AtomId("parse"), nonce=5, reason="no", refused=refused),
        IterationCommitted(number=2, commit="d", subject=""),
    )


@pytest.mark.parametrize("repaired", [True, False])
@pytest.mark.parametrize("refused", [None, True, False])
def test_whether_a_repair_was_due(repaired: bool, refused: bool | None, tmp_path: Path) -> None:
    after = (
        ("0003 root decompose skipped", CHARGED)
        if repaired
        else (
            "0003 parse execute fail",
            (node("root", node("parse", order=1, attempts=2), node("store", order=2))),
        )
    )
    told(tmp_path, *REFUSED_OR_CRASHED, after)
    if refused is not None:
        journalled(tmp_path, *events(refused=refused))
    expected = same(3)
    if refused is True and not repaired:
        expected = different("iteration 0003 is parse execute guard=fail, but a repair was decided")
    if refused is False and repaired:
        expected = different(
            "iteration 0003 is root decompose guard=skipped, but work on parse was decided"
        )
    assert dwindle(tmp_path, "replay") == expected


def test_a_root_that_may_be_worked_on(tmp_path: Path) -> None:
    begun(tmp_path, START, {".runner/config.toml": "[limits]\nexecute_root = true\n"})
    iterated(tmp_path, "0001 root execute pass", START | {"passes": True})
    write(tmp_path, ".runner/config.toml", "")  # What holds is what was set then.
    assert dwindle(tmp_path, "replay") == same(1)


def test_a_journal_that_was_changed(tmp_path: Path) -> None:
    half_way(tmp_path)
    journalled(tmp_path, *events(refused=False))
    path = tmp_path / JOURNAL
    path.write_bytes(path.read_bytes().replace(b'"no"', b'"yo"'))
    said = dwindle(tmp_path, "replay")
    assert (said.code, said.err[: len(f"dwindle: DIFFERENT: {path}, line ")]) == (
        1,
        f"dwindle: DIFFERENT: {path}, line ",
    )
