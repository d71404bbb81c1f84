"""Edits made to the plan file by hand: taken over as redirects, or refused with every reason."""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path

import pytest
from tests.loop.story import RUN, Ending, Story, did, failed
from tests.surfaces.command import GRAPH_FILE, Ended

from dwindle.adapters.formats.graph import plan as graph_plan
from dwindle.app.journal.run_journal import read_run_journal
from dwindle.app.plans.load import load_graph
from dwindle.app.redirect.adopt import INSTEAD
from dwindle.kernel.model import AtomId
from dwindle.kernel.transitions import apply

pytestmark = pytest.mark.slow

A2_IN_FILE = '  - id: A2\n    description: "do A2"\n    status: {}\n'
A4_IN_FILE = "  - id: A4\n    description: do A4\n    status: pending\n    depends_on: [A3]\n"


def three(tmp_path: Path) -> Story:
    """A1 and A2 are done when the run rests; A3 cannot be done."""
    return (
        Story(tmp_path)
        .limits(max_parallel_agents=1, max_attempts=1, max_probes=0)
        .atom("A1", did({"a.txt": "a\n"}))
        .atom("A2", did({"b.txt": "b\n"}), depends_on=["A1"])
        .atom("A3", failed("no way"), depends_on=["A2"])
        .worker("A4", did({"d.txt": "d\n"}))
        .done_when("test -f c.txt")
    )


def rested(tmp_path: Path) -> Story:
    story = three(tmp_path)
    ended = story.run()
    assert (ended.code, ended.stop, ended.commits) == (31, "atom_exhausted", ("A1", "A2"))
    return story


def edit(story: Story, *changes: tuple[str, str]) -> bytes:
    path = story.folder / GRAPH_FILE
    text = path.read_text("utf-8")
    for old, new in changes:
        assert old in text, (old, text)
        text = text.replace(old, new, 1)
    path.write_text(text, "utf-8")
    return path.read_bytes()


def spoken(said: Ended) -> list[str]:
    """Without the name of the file and the numbers of lines, which say little to a reader."""
    return [re.sub(rf"^{GRAPH_FILE}(:\d+)?: ", "", line) for line in said.err.splitlines()]


def test_an_edit_is_adopted_and_the_run_goes_on(tmp_path: Path) -> None:
    story = rested(tmp_path)
    edit(
        story,
        ('description: "do A3"', 'description: "do A3 in another way"'),
        ("\ndecompositions:", f"{A4_IN_FILE}\ndecompositions:"),
        ("max_iterations: 20", "max_iterations: 30"),
        ("See it through", "See it all through"),
    )
    refused = story.called("run")
    assert (refused.code, refused.err.splitlines()) == (
        2,
        [
            f"dwindle: {GRAPH_FILE}: the plan file was edited since it was last written",
            "  `dwindle redirect --adopt` takes the edit over; or put the file back as it was",
        ],
    )

    said = story.called("redirect", "--adopt", "--yes")

    assert (said.code, said.out) == (0, "adopted; `dwindle run` continues from here\n")
    assert said.err.splitlines() == [
        "goal: See it through",
        said.err.splitlines()[1],
        "  A3 (parked): do A3",
        "  A3 failed: no way",
        "objective_change: the Trail is cleared and every budget but the redirects is refilled",
        "constraint_change: the Trail is kept",
        "dag_adjustment: the Trail is kept and a correction is added to it",
        "  new: A4",
        "  running the base case once, in a fresh checkout...",
        "  pins: none",
        "  base case: red, as it should be before the work",
        "    failed: test -f c.txt",
    ]
    assert said.err.splitlines()[1].startswith("open: 1 of 3 atoms; iteration 3; gauge ")
    plan = story.plan
    assert [c.type for c in plan.corrections] == [
        "objective_change",
        "constraint_change",
        "dag_adjustment",
    ]
    assert (plan.spent.redirects, plan.spent.created, plan.limits.max_iterations) == (3, 4, 30)
    script = story.folder / ".runner/s.json"
    told = json.loads(script.read_text("utf-8"))
    told["worker"]["A3"] = [did({"c.txt": "c\n"})]
    script.write_text(json.dumps(told), "utf-8")
    ended = story.run()
    assert (ended.code, ended.stop, ended.commits) == (0, "completed", ("A1", "A2", "A3", "A4"))
    assert story.called("replay").code == 0


def test_what_is_set_back_to_pending_comes_off_the_branch(tmp_path: Path) -> None:
    story = rested(tmp_path)
    resolved = A2_IN_FILE.format("resolved")
    edit(story, (resolved, A2_IN_FILE.format("pending")))

    said = story.called("redirect", "--adopt", "--yes", "--why", "b was wrong")

    assert said.code == 0, said
    assert "  done again, and taken off the branch: A2" in said.err.splitlines()
    assert story.ending(0) == Ending(
        code=0,
        stop="running",
        atoms={"A1": "resolved", "A2": "pending", "A3": "pending"},
        bindings={"A1": "made a.txt"},
        trail=("failure A3: no way", "user_correction A2: b was wrong"),
        commits=("A1",),
        kept=("branch/1", "A3/3"),
        files={"a.txt": "a\n"},
    )


def test_everything_that_may_not_be_changed_is_said_at_once(tmp_path: Path) -> None:
    story = rested(tmp_path)
    found = edit(
        story,
        (
            '    description: "do A3"\n    status: pending',
            '    description: "do A3"\n    status: resolved',
        ),
        ("    attempts: 1", "    attempts: 0"),
        ("\n  stall_count: ", "\n  stall_count: 1"),
        ("    seconds: ", "    seconds: 1"),
        ("depends_on: [A1]", "depends_on: [A9]"),
        ('reason: "no way"', 'reason: "I know better"'),
    )

    said = story.called("redirect", "--adopt", "--yes")

    machine = "belongs to the runner and was changed"
    assert (said.code, spoken(said)) == (
        2,
        [
            f"stall_count {machine} (control.stall_count)",
            "    hint: any redirect sets it to 0",
            f"seconds {machine} (control.spent.seconds)",
            "    hint: `dwindle redirect --set max_wall_seconds=N` allows more",
            f"attempts of A1 {machine} (atoms[0].attempts)",
            f"    hint: {INSTEAD['attempts']}",
            "A9 does not exist (atoms[1].depends_on)",
            "    hint: add it, or remove the mention",
            "A3 cannot be set to resolved: nothing has shown that it holds (atoms[2].status)",
            "    hint: leave it pending, or remove it if it is not needed",
            f"trail {machine} (trail)",
            "    hint: put it back as it was",
            "6 problems",
        ],
    )
    assert (story.folder / GRAPH_FILE).read_bytes() == found
    assert [e["kind"] for e in story.events()].count("Redirected") == 0


def test_broken_yaml_has_the_usual_problems(tmp_path: Path) -> None:
    story = rested(tmp_path)
    found = edit(story, ("    status: resolved", "    status: [resolved"))
    said = story.called("redirect", "--adopt", "--yes")
    assert (said.code, said.err.startswith(f"{GRAPH_FILE}:")) == (2, True)
    assert (story.folder / GRAPH_FILE).read_bytes() == found


def test_the_text_for_people_is_theirs_and_costs_nothing(tmp_path: Path) -> None:
    story = rested(tmp_path)
    found = edit(story, ("# Original Prompt", "# What I really want"))
    said = story.called("redirect", "--adopt", "--yes")
    assert (said.code, said.out) == (
        0,
        "the plan is unchanged; your text is kept in the plan file\n",
    )
    assert ((story.folder / GRAPH_FILE).read_bytes(), story.plan.spent.redirects) == (found, 0)
    assert story.run().stop == "atom_exhausted"
    assert story.called("replay").code == 0


def test_requests_in_a_plan_at_rest_are_dropped(tmp_path: Path) -> None:
    story = rested(tmp_path)
    edit(story, ("redirect_requested: false", "redirect_requested: true"))
    assert story.called("redirect", "--adopt", "--yes").code == 0
    assert not story.plan.control.redirect_requested


def test_there_is_nothing_to_adopt(tmp_path: Path) -> None:
    story = three(tmp_path).aligned()
    edit(story, ('description: "do A3"', 'description: "do A3 in another way"'))
    fresh = story.called("redirect", "--adopt", "--yes")
    nothing = f"dwindle: {GRAPH_FILE}: there is nothing to adopt: "
    assert (fresh.code, fresh.err.splitlines()) == (
        2,
        [
            f"{nothing}no run has begun, so the file is the plan",
            "  `dwindle validate` judges it, `dwindle run` starts it",
        ],
    )
    story.run()
    ours = story.called("redirect", "--adopt", "--yes")
    assert (ours.code, ours.err.splitlines()) == (
        2,
        [
            f"{nothing}the plan file is as we left it",
            "  edit it first, or use options: `dwindle redirect --help`",
        ],
    )


def test_an_edit_of_a_file_that_a_killed_runner_left_behind(tmp_path: Path) -> None:
    """The journal had gone on; what was not edited is as it is now, not as the file has it."""
    story = rested(tmp_path)
    path = story.folder / GRAPH_FILE
    start = (story.folder / f".runner/journal/{RUN}.start.md").read_bytes()
    plan = load_graph(start).plan
    assert plan is not None
    for _, event in islice(read_run_journal(story.folder, RUN).events(), 3):
        plan = apply(plan, event)
    path.write_bytes(graph_plan.writer_of(path.read_bytes()).encode(plan))
    left_behind = [str(atom.status) for atom in story.plan.atoms.values()]
    assert left_behind == ["resolved", "pending", "pending"]
    edit(story, ('description: "do A3"', 'description: "do A3 in another way"'))

    assert story.called("redirect", "--adopt", "--yes").code == 0

    adopted = story.ending(0)
    assert (adopted.atoms, adopted.commits) == (
        {"A1": "resolved", "A2": "resolved", "A3": "pending"},
        ("A1", "A2"),
    )
    assert story.plan.atoms[AtomId("A3")].description == "do A3 in another way"
