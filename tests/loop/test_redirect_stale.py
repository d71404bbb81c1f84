"""An edit of a plan that has gone on: no work is undone that the user could not see."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.loop.story import PATIENCE, RUN, Entry, Story, did, slept, waited_for
from tests.surfaces.command import GRAPH_FILE, write
from tests.surfaces.on_a_terminal import OnATerminal

from dwindle.adapters.formats.graph import plan as graph_plan
from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.journal import JsonlJournal
from dwindle.app.journal.run_journal import read_run_journal
from dwindle.app.plans.load import load_graph
from dwindle.kernel.model import AtomId, Status
from dwindle.kernel.transitions import apply
from dwindle.runner.ledger import digest

pytestmark = pytest.mark.slow

MEANWHILE = "the plan has changed since it was shown"


def two(tmp_path: Path, *before: Entry) -> Story:
    return (
        Story(tmp_path)
        .limits(max_parallel_agents=1)
        .atom("A1", did({"a.txt": "a\n"}))
        .atom("A2", did({"b.txt": "b\n"}, *before), depends_on=["A1"])
        .done_when("test -f b.txt")
        .aligned()
    )


def editor(folder: Path, *before: str) -> str:
    """An editor that changes what A2 is, after something else has happened."""
    change = "s/do A2/do A2 better/"
    script = write(folder, "editor.sh", "\n".join([*before, f"sed -i '{change}' \"$1\""]) + "\n")
    return f"sh {script}"


def test_another_user_runs_the_plan_while_it_is_edited(tmp_path: Path) -> None:
    story = two(tmp_path)
    step = f"{sys.executable} -m dwindle step >/dev/null"
    with OnATerminal(story.folder, "redirect", "--edit", EDITOR=editor(tmp_path, step)) as person:
        person.answer("Go on? [y/N]", "y")
        person.expect(MEANWHILE)
        person.answer("[e]dit again", "")
        assert person.ended() == 2

    assert (story.ending(2).commits, story.plan.spent.redirects) == (("A1",), 0)


def test_another_user_redirects_a_run_that_is_held_up(tmp_path: Path) -> None:
    story = two(tmp_path, slept(60))
    runner = story.going()
    assert waited_for(lambda: "A2" in story.plan.sessions)
    more = f"{sys.executable} -m dwindle redirect --add-atom=more --yes >/dev/null 2>&1"
    other = editor(tmp_path, more, "sleep 1")  # the file has caught up by then
    with OnATerminal(story.folder, "redirect", "--edit", EDITOR=other) as person:
        person.answer("Go on? [y/N]", "y")
        person.expect(MEANWHILE)
        person.answer("[e]dit again", "")
        assert person.ended() == 2

    assert story.called("stop").code == 0
    assert runner.wait(PATIENCE) == 10
    assert [atom.description for atom in story.plan.atoms.values()] == ["do A1", "do A2", "more"]
    assert (story.ending(10).commits, story.plan.spent.redirects) == (("A1",), 1)


def test_the_file_trails_what_a_killed_runner_had_recorded(tmp_path: Path) -> None:
    """What is shown, and edited, is what was recorded."""
    story = two(tmp_path)
    assert story.called("step").code == 0
    start = load_graph((story.folder / f".runner/journal/{RUN}.start.md").read_bytes()).plan
    assert start is not None
    events = [event for _, event in read_run_journal(story.folder, RUN).events()]
    trailing = apply(start, events[0])
    path = story.folder / GRAPH_FILE
    path.write_bytes(graph_plan.writer_of(path.read_bytes()).encode(trailing))
    journal = JsonlJournal(RealDisk(), story.folder / ".runner/journal", RUN)
    journal.expect((digest(path.read_bytes()),))
    journal.close()

    with OnATerminal(story.folder, "redirect", "--edit", EDITOR=editor(tmp_path)) as person:
        person.answer("Go on? [y/N]", "y")
        person.expect("redirected")
        assert person.ended() == 0

    atoms = story.plan.atoms
    assert (atoms[AtomId("A1")].status, atoms[AtomId("A2")].description) == (
        Status.RESOLVED,
        "do A2 better",
    )
    assert story.ending(0).commits == ("A1",)
