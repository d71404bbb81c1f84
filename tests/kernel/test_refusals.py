"""What cannot have happened: each refusal, in its own words, and the plan as it was."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kernel.story import (
    after,
    redirect,
    refusal,
    running,
    started,
    with_atoms,
    with_groups,
)

from dwindle.kernel.events import (
    AddAtom,
    Backjumped,
    ChangeObjective,
    ChoiceFailed,
    Edit,
    Event,
    ForceChoice,
    NewAtom,
    OverrideBinding,
    Redirected,
    RemoveAtom,
    Retry,
    SessionStarted,
    SetLimit,
    VerificationEnded,
)
from dwindle.kernel.model import (
    ROOT,
    AtomId,
    CorrectionType,
    GroupId,
    Plan,
    Role,
    Spent,
    Status,
    Verification,
)

DONE = {"status": Status.RESOLVED, "attempts": 1}
A1, A2, A3 = AtomId("A1"), AtomId("A2"), AtomId("A3")
G1 = GroupId("G1")
VERIFIER = SessionStarted(atom=ROOT, role=Role.VERIFIER)
NEW = NewAtom(description="new")


@pytest.mark.parametrize(
    ("plan", "event", "reason"),
    [
        (running("A1[A2]"), started("A1"), "A1 is not a live leaf"),
        (running("A1"), started("A9"), "A9 is not a live leaf"),
        (running("G1{A1|A2}"), started("A2"), "A2 is not a live leaf"),
        (after(running("A1"), started("A1")), started("A1"), "A1 is in_progress"),
        (running("A1<-A2 A2"), started("A1"), "A1 has unmet dependencies"),
        (
            with_atoms(running("A1"), A1={"attempts": 3}),
            started("A1"),
            "A1 has no worker session left",
        ),
        (
            with_atoms(running("A1"), A1={"probes": 1}),
            started("A1", Role.PROBE),
            "A1 has no probe session left",
        ),
        (
            after(running("A1 A2", max_parallel_agents=1), started("A1")),
            started("A2"),
            "there is no free slot",
        ),
        (running("A1"), VERIFIER, "something is still open or running"),
        (
            after(with_atoms(running("A1"), A1=DONE), VERIFIER),
            VERIFIER,
            "a verification is under way",
        ),
        (
            replace(running("A1"), spent=Spent(created=1, verifications=3)),
            started("A1"),
            "no verification round is left, so nothing can be completed",
        ),
        (
            replace(running("A1"), verification=Verification(passed=True)),
            started("A1"),
            "the base case holds already",
        ),
    ],
)
def test_a_start_is_refused(plan: Plan, event: Event, reason: str) -> None:
    assert refusal(plan, event) == f"SessionStarted: {reason}"


def test_a_verification_stands_under_the_root_only() -> None:
    done = with_atoms(running("A1"), A1=DONE)
    event = SessionStarted(atom=A1, role=Role.VERIFIER)
    assert refusal(done, event) == "SessionStarted: something is still open or running"


def test_a_verifier_reports_on_verifications_only() -> None:
    busy = after(running("A1"), started("A1"))
    event = VerificationEnded(atom=A1, nonce=1, passed=True)
    assert refusal(busy, event) == "VerificationEnded: A1 is with a worker"


def test_a_choice_fails_only_when_the_ladder_says_so() -> None:
    fresh = running("A3<-G1 G1{A1|A2}")
    event = ChoiceFailed(group=G1, choice=A1, reason="I do not like it")
    assert refusal(fresh, event) == ("ChoiceFailed: no exhausted atom asks for A1 to be failed")
    stuck = with_atoms(running("A4 G1{A1|A2}"), A4={"attempts": 3}, A1={"attempts": 1})
    wrong = ChoiceFailed(group=G1, choice=A2, reason="the other one")
    assert refusal(stuck, wrong) == "ChoiceFailed: no exhausted atom asks for A2 to be failed"


def test_a_backjump_goes_only_where_the_ladder_says() -> None:
    fresh = running("A3<-G1 G1{A1|A2}")
    event = Backjumped(group=G1, atom=A3, reason="why not")
    assert refusal(fresh, event) == "Backjumped: A3 does not ask to turn back to G1"
    stuck = with_atoms(
        running("A3<-G1,G2 G1{A1|A4} G2{A2|A5}", max_probes=0),
        A1=DONE,
        A2=DONE,
        A3={"attempts": 3},
    )
    assert refusal(stuck, event) == "Backjumped: A3 does not ask to turn back to G1"


@pytest.mark.parametrize("lost", ["A4", "A9"])
def test_only_a_commit_that_is_there_can_be_lost(lost: str) -> None:
    stuck = with_atoms(running("A4 G1{A1|A2}"), A1={"attempts": 1})
    event = ChoiceFailed(group=G1, choice=A1, reason="red", unreplayed=(AtomId(lost),))
    assert refusal(stuck, event) == (f"ChoiceFailed: {lost} has no commit that could be lost")


# --- redirects -----------------------------------------------------------------------------------

PLAIN = running("A1 A2<-A1")
DONE_FIRST = with_atoms(PLAIN, A1=DONE)
GROUP = running("A3<-G1 G1{A1|A2?}")
NESTED = running("G1{A1[G2{A3|A4}]|A2}")


@pytest.mark.parametrize(
    ("plan", "edit", "reason"),
    [
        (PLAIN, ChangeObjective(reopen=(A1,)), "A1 is not resolved, so it cannot be reopened"),
        (
            PLAIN,
            ChangeObjective(reopen=(AtomId("A9"),)),
            "A9 is not resolved, so it cannot be reopened",
        ),
        (
            running("A1", max_atoms=0),
            AddAtom(new=NEW),
            "no fuel is left for a new atom; raise max_atoms first",
        ),
        (
            NESTED,
            AddAtom(new=NEW, parent=A1, group=G1),
            "an atom is added under a parent or to a group, not both",
        ),
        (PLAIN, AddAtom(new=NewAtom(description=" ")), "the new atom has no description"),
        (PLAIN, AddAtom(new=NEW, group=G1), "there is no group G1"),
        (PLAIN, AddAtom(new=NEW, parent=AtomId("A9")), "there is no atom A9"),
        (
            DONE_FIRST,
            AddAtom(new=NEW, parent=A1),
            "A1 is resolved; add the atom under the root instead",
        ),
        (
            running("A1[A2]", max_depth=1),
            AddAtom(new=NEW, parent=A2),
            "the atom cannot be added there; A2 stands at depth 1 and max_depth is 1",
        ),
        (
            PLAIN,
            AddAtom(new=NewAtom(description="n", depends_on=("a1",))),
            "the plan would not be sound; a1 does not exist",
        ),
        (PLAIN, RemoveAtom(atom=AtomId("A9")), "there is no atom A9"),
        (DONE_FIRST, RemoveAtom(atom=A1), "A1 is resolved and cannot be removed"),
        (PLAIN, RemoveAtom(atom=A1), "A2 depends on A1"),
        (running("A1[A2]"), RemoveAtom(atom=A1), "a plan keeps at least one atom"),
        (GROUP, RemoveAtom(atom=A1), "G1 keeps one written choice, and one that can be taken"),
        (GROUP, ForceChoice(group=G1, choice=A3), "A3 is no choice of G1"),
        (PLAIN, ForceChoice(group=G1, choice=A1), "A1 is no choice of G1"),
        (
            with_groups(NESTED, G1={"failed": (A1,), "selected": A2}),
            ForceChoice(group=GroupId("G2"), choice=AtomId("A4")),
            "G2 stands under a choice that is not in force",
        ),
        (GROUP, ForceChoice(group=G1, choice=A1), "it would change nothing"),
        (PLAIN, Retry(node="A9"), "there is no atom or group A9"),
        (DONE_FIRST, Retry(node="A1"), "A1 is resolved"),
        (PLAIN, Retry(node="A1"), "it would change nothing"),
        (PLAIN, Retry(node=ROOT), "it would change nothing"),
        (NESTED, Retry(node="A2"), "A2 stands under a choice that is not in force"),
        (
            with_groups(NESTED, G1={"failed": (A1,), "selected": A2}),
            Retry(node="G2"),
            "G1 gave A1 up: retry G1, or select A1",
        ),
        (PLAIN, SetLimit(name="max_hope", value=1), "max_hope is no limit"),
        (PLAIN, SetLimit(name="stated", value=1), "stated is no limit"),
        (PLAIN, SetLimit(name="dispatch", value="swarm"), "dispatch is wave or refill"),
        (PLAIN, SetLimit(name="early_verify", value=1), "early_verify is true or false"),
        (PLAIN, SetLimit(name="max_attempts", value=True), "max_attempts is a whole number"),
        (PLAIN, SetLimit(name="max_attempts", value="4"), "max_attempts is a whole number"),
        (PLAIN, SetLimit(name="max_attempts", value=3.5), "max_attempts is a whole number"),
        (PLAIN, SetLimit(name="max_attempts", value=3), "it would change nothing"),
        (
            PLAIN,
            SetLimit(name="max_attempts", value=0),
            "the plan would not be sound; max_attempts is 0, which would allow nothing",
        ),
        (
            PLAIN,
            SetLimit(name="max_atoms", value=1),
            "max_atoms cannot be 1: 2 is taken already",
        ),
        (
            GROUP,
            SetLimit(name="max_atoms", value=2),
            "max_atoms cannot be 2: 3 is taken already",
        ),
        (
            with_atoms(PLAIN, A1={"attempts": 2}),
            SetLimit(name="max_attempts", value=1),
            "max_attempts cannot be 1: 2 is taken already",
        ),
        (
            with_atoms(PLAIN, A1={"probes": 1}),
            SetLimit(name="max_probes", value=0),
            "max_probes cannot be 0: 1 is taken already",
        ),
        (
            replace(PLAIN, spent=Spent(created=2, seconds=61.5)),
            SetLimit(name="max_wall_seconds", value=60),
            "max_wall_seconds cannot be 60: 61.5 is taken already",
        ),
        (
            replace(PLAIN, spent=Spent(created=2, redirects=4)),
            SetLimit(name="max_redirects", value=4),
            "max_redirects cannot be 4: 5 is taken already",
        ),
        (PLAIN, OverrideBinding(atom=A1, summary="s"), "A1 is not a resolved atom"),
        (PLAIN, OverrideBinding(atom=AtomId("A9"), summary="s"), "A9 is not a resolved atom"),
        (
            with_atoms(running("G1{A1|A2}"), A2=DONE),
            OverrideBinding(atom=A2, summary="s"),
            "A2 is not a resolved atom",
        ),
        (DONE_FIRST, OverrideBinding(atom=A1, summary=""), "it would change nothing"),
        (
            replace(PLAIN, spent=Spent(created=2, forgiven=60)),
            AddAtom(new=NEW),
            "a limit would be below what is spent",
        ),
    ],
)
def test_a_redirect_is_refused(plan: Plan, edit: Edit, reason: str) -> None:
    assert refusal(plan, redirect(edit)) == f"Redirected: {reason}"


def test_a_redirect_without_edits_is_refused() -> None:
    event = Redirected(type=CorrectionType.DAG_ADJUSTMENT, edits=(), description="nothing")
    assert refusal(PLAIN, event) == "Redirected: not every edit is a dag_adjustment"


def test_a_limit_may_fall_to_what_is_used_where_it_matters() -> None:
    """Resolved, buried, composite, chosen or self-limited atoms do not hold `max_attempts` up."""
    plan = with_groups(
        with_atoms(
            running("A1 A2 A3[A4] G1{A5[A7]|A6} G2{A8|A9}"),
            A1={"status": Status.RESOLVED, "attempts": 3},
            A2={"attempts": 3, "max_attempts": 4},
            A3={"attempts": 3, "probes": 1},
            A4={"attempts": 1},
            A7={"attempts": 3},
            A8={"attempts": 2},
        ),
        G1={"failed": (AtomId("A5"),), "selected": AtomId("A6")},
    )
    lowered = after(plan, redirect(SetLimit(name="max_attempts", value=1)))
    assert lowered.limits.max_attempts == 1
    assert refusal(
        with_atoms(plan, A4={"attempts": 2}), redirect(SetLimit(name="max_attempts", value=1))
    ) == ("Redirected: max_attempts cannot be 1: 2 is taken already")
