"""Redirecting a loop that runs: by options, in an editor, by a user who leaves or disappears."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.sandbox.survivors import new_token, put_down, survivors
from tests.loop.story import PATIENCE, Story, did, waited_for
from tests.surfaces.command import GRAPH_FILE, write
from tests.surfaces.on_a_terminal import OnATerminal

from dwindle.kernel.model import AtomId, RunStatus

pytestmark = pytest.mark.slow

DEAF = "sh -c 'trap \"\" TERM INT HUP; while :; do sleep 0.1; done'"
GONE = "the person who wanted to redirect is gone; `dwindle redirect` takes it up"


@pytest.fixture
def token() -> Iterator[str]:
    made = new_token()
    yield made
    put_down(made)


def one_that_hangs(tmp_path: Path, token: str) -> Story:
    """A1 is done, A2 hangs, whatever comes after it is done at once."""
    return (
        Story(tmp_path)
        .limits(max_parallel_agents=1, max_redirects=2)
        .atom("A1", did({"a.txt": "a\n"}))
        .atom("A2", did({"b.txt": "b\n"}, {"run": f"false || {DEAF} {token}"}), depends_on=["A1"])
        .worker("*", did({"c.txt": "c\n"}))
        .done_when("test -f b.txt")
    )


def hanging(story: Story, token: str) -> subprocess.Popen[bytes]:
    runner = story.going()
    if not waited_for(lambda: bool(survivors(token))):
        runner.kill()
        pytest.fail(f"the agent never got going: {story.log.read_text('utf-8')}")
    return runner


def let_go(story: Story) -> None:
    """From now on the agent does its work."""
    script = story.folder / ".runner/s.json"
    script.write_text(script.read_text("utf-8").replace("false ||", "true ||"), "utf-8")


def editor(folder: Path, old: str, new: str) -> str:
    """An editor that replaces one thing."""
    script = write(folder, "editor.sh", f"sed -i 's/{old}/{new}/' \"$1\"\n")
    return f"sh {script}"


def kinds(story: Story) -> list[str]:
    return [event["kind"] for event in story.events()]


def is_paused(story: Story) -> bool:
    plan = story.plan
    return plan.control.redirect_requested and not plan.sessions


# --- by options ----------------------------------------------------------------------------------


def test_typed_edits_end_what_runs_and_pay_for_it(tmp_path: Path, token: str) -> None:
    story = one_that_hangs(tmp_path, token)
    runner = hanging(story, token)
    let_go(story)

    said = story.called(
        "redirect", "--add-atom=do more", "--depends-on=A2", "--set=max_iterations=40", "--yes"
    )

    assert (said.code, said.out) == (0, "redirected; the run goes on\n")
    assert runner.wait(PATIENCE) == 0
    ended = story.ending(0)
    assert (ended.commits, ended.files) == (
        ("A1", "A2", "A3"),
        {"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n"},
    )
    plan = story.plan
    assert (plan.limits.max_iterations, plan.spent.redirects, plan.spent.forgiven) == (40, 2, 0)
    # The second scope followed before anything was begun: A2 was started twice in all.
    assert story.sessions() == ["A1", "A2", "A2", "A3"]
    assert survivors(token) == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--set=max_iterations=20",), "it would change nothing"),
        (("--remove-atom=A1",), "A1 is resolved and cannot be removed"),
        (("--set=max_redirects=3",), "max_redirects cannot be raised by a redirect"),
    ],
)
def test_a_refused_redirect_disturbs_no_session(
    tmp_path: Path, token: str, words: tuple[str, ...], reason: str
) -> None:
    story = one_that_hangs(tmp_path, token)
    runner = hanging(story, token)

    said = story.called("redirect", *words, "--yes")

    assert (said.code, said.err.splitlines()[-1]) == (2, f"dwindle: {reason}")
    assert (kinds(story)[-1], bool(survivors(token))) == ("SessionStarted", True)
    assert story.called("stop").code == 0
    assert runner.wait(PATIENCE) == 10


def test_nothing_is_adopted_while_a_run_has_the_plan(tmp_path: Path, token: str) -> None:
    story = one_that_hangs(tmp_path, token)
    runner = hanging(story, token)

    said = story.called("redirect", "--adopt", "--yes")

    assert (said.code, said.err.splitlines()[0]) == (2, "dwindle: a run is using this plan")
    assert bool(survivors(token))
    assert story.called("stop").code == 0
    assert runner.wait(PATIENCE) == 10


def test_when_no_redirect_is_left_the_run_goes_on(tmp_path: Path, token: str) -> None:
    """Also after a person was at it: the pause is given back."""
    story = one_that_hangs(tmp_path, token).limits(max_redirects=0)
    runner = hanging(story, token)
    let_go(story)

    typed = story.called("redirect", "--add-atom=do more", "--yes")
    with OnATerminal(
        story.folder, "redirect", "--edit", EDITOR=editor(tmp_path, "do A2", "do A2 better")
    ) as person:
        person.expect("no redirect is left (max_redirects)")
        person.answer("[e]dit again", "")
        assert person.ended() == 2

    said = "dwindle: no redirect is left (max_redirects)"
    assert (typed.code, typed.err.splitlines()[-1]) == (2, said)
    assert (runner.wait(PATIENCE), story.plan.spent.redirects) == (0, 0)
    assert story.ending(0).commits == ("A1", "A2")


# --- with a person -------------------------------------------------------------------------------


def test_a_person_pauses_edits_and_goes_on(tmp_path: Path, token: str) -> None:
    story = one_that_hangs(tmp_path, token)
    runner = hanging(story, token)
    let_go(story)
    with OnATerminal(
        story.folder, "redirect", EDITOR=editor(tmp_path, "do A2", "do A2 better")
    ) as person:
        person.expect("paused: running sessions are ended, and their work is set aside")
        assert (is_paused(story), survivors(token)) == (True, [])
        person.expect("goal: See it through")
        person.expect("A2 (ready): do A2")
        person.answer("What should change?", "edit")
        person.expect("dag_adjustment: the Trail is kept and a correction is added to it")
        person.answer("Go on? [y/N]", "y")
        person.expect("redirected; the run goes on")
        assert person.ended() == 0

    assert runner.wait(PATIENCE) == 0
    ended = story.ending(0)
    assert (ended.commits, ended.kept) == (("A1", "A2"), ("A2/2",))
    assert story.plan.atoms[AtomId("A2")].description == "do A2 better"
    assert [c.description for c in story.plan.corrections] == ["edited by hand"]


def test_a_bad_edit_is_shown_and_edited_again(tmp_path: Path, token: str) -> None:
    story = one_that_hangs(tmp_path, token)
    runner = hanging(story, token)
    let_go(story)
    worse = editor(tmp_path, "status: pending", "status: resolved")
    with OnATerminal(story.folder, "redirect", "--edit", EDITOR=worse) as person:
        person.expect("A2 cannot be set to resolved: nothing has shown that it holds")
        person.expect("This cannot be taken yet.")
        editor(tmp_path, "status: resolved", "status: pending")
        person.answer("[e]dit again", "e")
        person.expect("done again, and taken off the branch: A1")
        person.answer("Go on? [y/N]", "n")
        person.answer("[e]dit again", "")
        person.expect("nothing was changed")
        assert person.ended() == 2

    assert runner.wait(PATIENCE) == 0
    assert (story.ending(0).commits, story.plan.spent.redirects) == (("A1", "A2"), 0)


def test_a_user_who_leaves_ends_the_pause(tmp_path: Path, token: str) -> None:
    story = one_that_hangs(tmp_path, token)
    runner = hanging(story, token)
    let_go(story)
    with OnATerminal(story.folder, "redirect") as person:
        person.answer("What should change?", "")
        person.expect("nothing was changed")
        assert person.ended() == 2

    assert runner.wait(PATIENCE) == 0
    assert story.ending(0).commits == ("A1", "A2")
    assert kinds(story).count("RedirectRequested") == 2


# --- without a person ----------------------------------------------------------------------------


def disappeared(story: Story, token: str) -> None:
    """A client pauses the run and is killed."""
    with OnATerminal(story.folder, "redirect") as person:
        person.expect("What should change?")
        assert (is_paused(story), survivors(token)) == (True, [])
    # Leaving the block kills the process by its id.


def test_a_client_that_disappears_ends_the_run_and_run_goes_on(tmp_path: Path, token: str) -> None:
    story = one_that_hangs(tmp_path, token)
    runner = hanging(story, token)
    let_go(story)

    disappeared(story, token)

    assert runner.wait(PATIENCE) == 10
    control = story.plan.control
    assert (control.status, control.stop_reason, control.redirect_requested) == (
        RunStatus.STOPPED,
        GONE,
        True,
    )
    ended = story.run()
    assert (ended.code, ended.commits, story.plan.control.redirect_requested) == (
        0,
        ("A1", "A2"),
        False,
    )


def test_redirect_takes_up_what_was_left(tmp_path: Path, token: str) -> None:
    story = one_that_hangs(tmp_path, token)
    runner = hanging(story, token)
    let_go(story)
    disappeared(story, token)
    assert runner.wait(PATIENCE) == 10

    said = story.called("redirect", "--add-atom=do more", "--yes")

    assert (said.code, said.out) == (0, "redirected; `dwindle run` continues from here\n")
    assert said.err.splitlines()[0] == ("an earlier redirect was not finished; it continues here")
    assert not story.plan.control.redirect_requested
    assert story.run().commits == ("A1", "A2", "A3")


def test_another_client_takes_it_up_in_time(tmp_path: Path, token: str) -> None:
    """The run must not end ten seconds after the first has gone."""
    story = one_that_hangs(tmp_path, token)
    runner = hanging(story, token)
    disappeared(story, token)

    said = story.called("redirect", "--add-atom=do more", "--depends-on=A2", "--yes")

    assert (said.code, said.out) == (0, "redirected; the run goes on\n")
    assert not waited_for(lambda: runner.poll() is not None, 11.0)
    assert waited_for(lambda: bool(survivors(token)))
    assert story.called("stop").code == 0
    assert (runner.wait(PATIENCE), story.plan.spent.redirects) == (10, 1)


def test_a_flag_in_the_file_pauses_and_no_client_comes(tmp_path: Path, token: str) -> None:
    story = one_that_hangs(tmp_path, token)
    runner = hanging(story, token)
    assert waited_for(lambda: story.plan.spent.sessions == 2)  # the file has caught up
    plan = story.folder / GRAPH_FILE
    text = plan.read_text("utf-8")

    plan.write_text(text.replace("redirect_requested: false", "redirect_requested: true"), "utf-8")

    assert waited_for(lambda: is_paused(story))
    assert survivors(token) == []
    assert runner.wait(PATIENCE) == 10
    control = story.plan.control
    assert (control.stop_reason, control.redirect_requested) == (GONE, True)
