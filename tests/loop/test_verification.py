"""When nothing is open the base case decides, in rounds that are counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.loop.story import RUN, Ending, Story, did, failed

from dwindle.runner.gate.pins import how_to_unpin

pytestmark = pytest.mark.slow


def test_a_red_check_becomes_an_atom_and_turns_green(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .atom("A1", did({"a.txt": "a\n"}))
        .worker("A2", did({"b.txt": "b\n"}))
        .done_when("test -f a.txt", "test -f b.txt")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved", "A2": "resolved"},
        bindings={"A1": "made a.txt", "A2": "made b.txt"},
        commits=("A1", "A2"),
        files={"a.txt": "a\n", "b.txt": "b\n"},
    )
    plan = story.plan
    fixed = next(atom for atom in plan.atoms.values() if atom.id == "A2")
    assert fixed.check is not None
    assert (plan.spent.verifications, fixed.check.value) == (2, "test -f b.txt")
    certificate = story.folder / ".runner/iterations" / str(plan.control.run_id)
    assert (certificate / "certificate.json").is_file()
    assert "test -f b.txt" in (certificate / "certificate.txt").read_text("utf-8")


def test_the_last_round_fails(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(max_verifications=1)
        .atom("A1", did({"a.txt": "a\n"}))
        .done_when("test -f b.txt")
    )

    assert story.run() == Ending(
        code=32,
        stop="verification_exhausted",
        atoms={"A1": "resolved"},
        bindings={"A1": "made a.txt"},
        commits=("A1",),
        files={"a.txt": "a\n"},
    )
    again = story.called("run")
    assert (again.code, story.plan.spent.verifications) == (32, 1)


def test_what_could_not_run_is_tried_again(tmp_path: Path) -> None:
    """A tool that is not there is no evidence of anything: no atom is made, the round is over."""
    story = (
        Story(tmp_path)
        .limits(max_verifications=2)
        .atom("A1", did({"a.txt": "a\n"}))
        .done_when("no-such-program-anywhere")
    )

    assert story.run() == Ending(
        code=32,
        stop="verification_exhausted",
        atoms={"A1": "resolved"},
        bindings={"A1": "made a.txt"},
        commits=("A1",),
        files={"a.txt": "a\n"},
    )
    plan = story.plan
    assert (plan.spent.verifications, plan.verification.rounds_without_gaps) == (2, 2)
    assert plan.spent.seconds >= 1  # it waited before the second round


def test_the_base_case_is_judged_with_the_pinned_files_as_they_were(tmp_path: Path) -> None:
    """What a check names is the person's: work that changes it has failed."""
    cheat = did({"check.sh": "true\n", "a.txt": "a\n"})
    story = (
        Story(tmp_path)
        .having({"check.sh": "test -f b.txt\n"})
        .limits(max_attempts=2)
        .atom("A1", cheat, did({"b.txt": "b\n"}))
        .done_when("sh check.sh")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved"},
        bindings={"A1": "made b.txt"},
        trail=(f"failure A1: changed protected files: check.sh\n{how_to_unpin(['check.sh'])}",),
        commits=("A1",),
        kept=("A1/1",),
        files={"b.txt": "b\n"},
    )
    assert story.kept_files("A1/1") == {"a.txt": "a\n", "check.sh": "true\n"}


def test_an_assertion_waits_for_a_person(tmp_path: Path) -> None:
    claim = "The manual is complete"
    story = (
        Story(tmp_path)
        .atom("A1", did({"manual.md": "all of it\n"}))
        .verifier("*", {"report": {"passed": True, "evidence": "manual.md", "failures": []}})
        .done_when("test -f manual.md")
        .done_when_all({"type": "assertion", "value": claim})
    )

    assert story.run() == Ending(
        code=11,
        stop="awaiting_confirmation",
        atoms={"A1": "resolved"},
        bindings={"A1": "made manual.md"},
        commits=("A1",),
        files={"manual.md": "all of it\n"},
    )
    assert claim in (story.plan.control.stop_reason or "")
    again = story.called("run")
    assert (again.code, story.plan.spent.verifications) == (11, 1)


def test_a_verifier_that_says_no_makes_an_atom(tmp_path: Path) -> None:
    no = {"report": {"passed": False, "evidence": "it is empty", "failures": ["no text"]}}
    story = (
        Story(tmp_path)
        .limits(max_verifications=2, max_attempts=1, max_probes=0)
        .atom("A1", did({"manual.md": "\n"}))
        .worker("A2", failed("nothing to say"))
        .verifier("*", no)
        .done_when("test -f manual.md")
        .done_when_all({"type": "assertion", "value": "The manual is complete"})
    )

    ending = story.run()
    assert (ending.code, ending.atoms, ending.trail) == (
        31,
        {"A1": "resolved", "A2": "pending"},
        ("failure A2: nothing to say",),
    )


def test_early_verification_ends_a_run_that_is_done_already(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(early_verify=True, max_parallel_agents=1)
        .atom("A1", did({"a.txt": "a\n"}))
        .atom("A2", did({"b.txt": "b\n"}, {"sleep": 120}))
        .done_when("test -f a.txt")
    )

    ending = story.run()
    assert (ending.code, ending.stop, ending.commits, ending.files) == (
        0,
        "completed",
        ("A1",),
        {"a.txt": "a\n"},
    )


@pytest.mark.slow
def test_could_not_run_three_times_waits_longer_each_time(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(max_verifications=3)
        .atom("A1", did({"a.txt": "a\n"}))
        .done_when("no-such-program-anywhere")
    )

    assert story.run().code == 32
    assert 6 <= story.plan.spent.seconds < 15


def test_an_atom_that_only_a_reader_can_judge(tmp_path: Path) -> None:
    """A verifier is asked after the claim; its word decides over the attempt."""
    check = {"type": "assertion", "value": "a.txt is friendly"}
    unfriendly = {"passed": False, "evidence": "it says no", "failures": ["rude"]}
    friendly = {"passed": True, "evidence": "it says hello", "failures": []}
    story = (
        Story(tmp_path)
        .atom("A1", did({"a.txt": "no\n"}), did({"a.txt": "hello\n"}), check=check)
        .verifier("*", {"report": unfriendly}, {"report": friendly})
        .done_when("test -f a.txt")
    )

    ending = story.run()
    assert (ending.code, ending.files) == (0, {"a.txt": "hello\n"})
    assert "it says no" in story.plan.trail[0].reason


def test_an_ignored_file_that_is_new_is_something_to_show(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .having({".gitignore": "built/\n"})
        .atom("A1", did({"built/out": "1\n"}, artifacts=["built/out"]))
        .done_when("true")
        .aligned("--already-green-ok")
    )
    assert story.run().code == 0


def test_a_file_that_decides_and_that_an_agent_wrote_waits_for_a_person(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .atom("A1", did({"new.sh": "true\n"}))
        .limits(early_verify=True)
        .done_when("sh new.sh")
    )

    assert story.run() == Ending(
        code=11,
        stop="awaiting_confirmation",
        atoms={"A1": "resolved"},
        bindings={"A1": "made new.sh"},
        commits=("A1",),
        files={"new.sh": "true\n"},
    )
    text = story.folder / ".runner/iterations" / RUN / "certificate.txt"
    headline, second, *_ = text.read_text("utf-8").splitlines()
    assert headline == "CERTIFICATE: the base case holds if a person confirms it"
    assert second.startswith("DECIDED BY WHAT AGENTS WROTE: new.sh; no person has confirmed")
    assert story.called("verify").code == 1
    assert story.called("confirm", "yes").code == 0
    assert story.called("run").code == 0
    assert "new.sh; a person confirmed that" in text.read_text("utf-8")
    assert story.called("verify").code == 0


def test_a_file_that_decides_and_is_a_deliverable_was_asked_for(tmp_path: Path) -> None:
    story = Story(tmp_path).atom("A1", did({"new.sh": "true\n"})).done_when("sh new.sh")
    story._draft["objective"]["deliverables"] = "A script new.sh"
    assert story.run().code == 0
    text = story.folder / ".runner/iterations" / RUN / "certificate.txt"
    assert "DECIDED BY WHAT AGENTS WROTE: new.sh; the plan asks for that" in text.read_text("utf-8")
