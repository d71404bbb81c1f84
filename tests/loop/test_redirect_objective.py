"""Another objective: new pins, one look at the new base case; and words that a planner turns."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import pytest
from tests.adapters.sandbox.survivors import new_token, put_down, survivors
from tests.loop.story import PATIENCE, Story, did, waited_for
from tests.surfaces.command import write
from tests.surfaces.on_a_terminal import OnATerminal

from dwindle.kernel.model import Aligned
from dwindle.runner.gate.pins import how_to_unpin

pytestmark = pytest.mark.slow

DEAF = "sh -c 'trap \"\" TERM INT HUP; while :; do sleep 0.1; done'"
CHECKS = {"first.sh": "test -f a.txt\n", "second.sh": "test -f b.txt\n"}
MORE = {"report": {"edits": [{"edit": "add_atom", "description": "do more"}], "note": "One more."}}


def one(tmp_path: Path) -> Story:
    return (
        Story(tmp_path)
        .having(CHECKS)
        .limits(max_parallel_agents=1)
        .atom("A1", did({"a.txt": "a\n"}))
        .done_when("sh first.sh")
    )


def test_at_rest_the_pins_are_taken_anew_and_the_base_case_is_looked_at(tmp_path: Path) -> None:
    story = one(tmp_path).worker("A2", did({"b.txt": "b\n"})).aligned()
    commit = story.git("rev-parse", "HEAD")
    assert story.plan.control.aligned == Aligned(commit=commit, pins=("first.sh",), branch="main")

    said = story.called("redirect", "--base-case=sh second.sh", "--yes")

    assert (said.code, said.out) == (0, "redirected; `dwindle run` continues from here\n")
    assert said.err.splitlines()[-5:] == [
        "objective_change: the Trail is cleared and every budget but the redirects is refilled",
        "  running the base case once, in a fresh checkout...",
        "  pins: second.sh",
        "  base case: red, as it should be before the work",
        "    failed: sh second.sh",
    ]
    assert story.plan.control.aligned == Aligned(commit=commit, pins=("second.sh",), branch="main")
    assert story.called("redirect", "--add-atom=do more", "--yes").code == 0
    ended = story.run()
    assert (ended.code, ended.commits) == (0, ("A1", "A2"))


def test_a_base_case_that_holds_already_is_said_loudly(tmp_path: Path) -> None:
    story = one(tmp_path).aligned()
    said = story.called("redirect", "--base-case=test -f README", "--yes")
    assert said.err.splitlines()[-2:] == [
        "  base case: GREEN ALREADY: passing it would prove nothing",
        "    passed: test -f README",
    ]


def test_a_running_loop_guards_the_new_pins_from_then_on(tmp_path: Path) -> None:
    token = new_token()
    story = one(tmp_path).atom(
        "A2",
        did({"b.txt": "b\n", "second.sh": "true\n"}, {"run": f"false || {DEAF} {token}"}),
        did({"b.txt": "b\n", "first.sh": "true\n"}),
        depends_on=["A1"],
    )
    runner = story.going()
    try:
        assert waited_for(lambda: bool(survivors(token))), story.log.read_text("utf-8")
        script = story.folder / ".runner/s.json"
        script.write_text(script.read_text("utf-8").replace("false ||", "true ||"), "utf-8")

        assert story.called("redirect", "--base-case=sh second.sh", "--yes").code == 0

        assert runner.wait(PATIENCE) == 0
    finally:
        runner.kill()
        put_down(token)
    ended = story.ending(0)
    assert ended.trail == (
        f"failure A2: changed protected files: second.sh\n{how_to_unpin(['second.sh'])}",
    )
    # first.sh judges nothing any more, so that it may be changed.
    assert ended.files == {"a.txt": "a\n", "b.txt": "b\n", "first.sh": "true\n"}


def test_words_become_edits(tmp_path: Path) -> None:
    story = one(tmp_path).planner(MORE).worker("A2", did({"b.txt": "b\n"})).aligned()

    said = story.called("redirect", "There", "should", "be", "more", "--yes")

    assert (said.code, said.out) == (0, "redirected; `dwindle run` continues from here\n")
    assert [(c.type, c.description) for c in story.plan.corrections] == [
        ("dag_adjustment", "There should be more")
    ]
    assert story.run().commits == ("A1", "A2")


def test_words_in_a_dialogue(tmp_path: Path) -> None:
    story = one(tmp_path).planner(MORE).worker("A2", did({"b.txt": "b\n"})).aligned()
    with OnATerminal(story.folder, "redirect") as person:
        person.answer("What should change?", "There should be more")
        person.expect("The planner proposes to")
        person.answer("Enter takes it", "")
        person.expect("  new: A2")
        person.answer("Go on? [y/N]", "y")
        person.expect("redirected; `dwindle run` continues from here")
        assert person.ended() == 0
    assert [str(name) for name in story.plan.atoms] == ["A1", "A2"]


def test_words_without_a_planner(tmp_path: Path) -> None:
    """The script has no answers for one; by options it goes on."""
    story = one(tmp_path).aligned()
    said = story.called("redirect", "more", "of", "it", "--yes")
    assert (said.code, said.err.splitlines()[-2:]) == (
        2,
        [
            '  add [agents.planner] with backend = "command" and a command, or use the typed',
            "  edits: `dwindle redirect --help`",
        ],
    )
    with OnATerminal(story.folder, "redirect") as person:
        person.answer("What should change?", "more of it")
        person.expect("planner")
        person.answer("What should change?", "q")
        assert person.ended() == 2
    assert story.plan.corrections == ()


def test_one_way_at_a_time(tmp_path: Path) -> None:
    story = one(tmp_path).aligned()
    said = story.called("redirect", "more", "--edit")
    assert (said.code, said.err.splitlines()[0]) == (2, "dwindle: use one way at a time")
    nothing = story.called("redirect")
    no_terminal = "dwindle: cannot ask: this is not a terminal"
    assert (nothing.code, nothing.err.splitlines()[0]) == (2, no_terminal)


def test_an_editor_without_questions(tmp_path: Path) -> None:
    story = one(tmp_path).aligned()
    editor = write(tmp_path, "editor.sh", "sed -i 's/do A1/do it all/' \"$1\"\n")
    with OnATerminal(story.folder, "redirect", "--edit", "--yes", EDITOR=f"sh {editor}") as person:
        person.expect("redirected; `dwindle run` continues from here")
        assert person.ended() == 0
    assert [atom.description for atom in story.plan.atoms.values()] == ["do it all"]


def test_a_run_of_another_plan_is_left_alone(tmp_path: Path) -> None:
    """A process listens that does not hold this plan: it is at rest, and is changed there."""
    story = one(tmp_path).aligned()
    with socket.socket(socket.AF_UNIX) as other, contextlib.chdir(story.folder / ".runner"):
        other.bind("tree.sock")
        other.listen()
        said = story.called("redirect", "--add-atom=do more", "--yes")
    assert (said.code, said.out) == (0, "redirected; `dwindle run` continues from here\n")
