"""Counter-examples that cannot be planted, because nothing is left to plant them in.

Their names are those of the table in `docs/kernel.md`; the others are planted again, one by one,
in `test_planted_rules.py`.
"""

from __future__ import annotations

from tests.kernel.story import after, running, started, with_atoms
from tests.model.small_plans import drawn

from dwindle.kernel.decide import decide
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Backjumped,
    Event,
    Gap,
    Interruption,
    RunEnded,
    SessionInterrupted,
    SessionStarted,
    VerificationEnded,
)
from dwindle.kernel.model import (
    ROOT,
    AtomId,
    Binding,
    GroupId,
    Plan,
    Problem,
    Role,
    RunStatus,
    Status,
    StopCode,
)
from dwindle.kernel.problems import validate
from dwindle.kernel.transitions import apply

A1, A2, A3 = AtomId("A1"), AtomId("A2"), AtomId("A3")
VERIFIER = SessionStarted(atom=ROOT, role=Role.VERIFIER)


def nonce(plan: Plan, atom: str) -> int:
    return plan.sessions[AtomId(atom)].nonce


def test_h16_a_resolved_parent_with_an_open_child_is_refused() -> None:
    """A status that disagrees with what it follows from is a defect, not a second truth."""
    torn = with_atoms(
        running("A1[A2 A3]"), A1={"status": Status.RESOLVED}, A2={"status": Status.RESOLVED}
    )
    assert validate(torn) == (
        Problem(
            where=("atoms", 0, "status"),
            what="A1 is resolved and some of its children are not",
            hint="a parent is pending until all its children are resolved",
        ),
    )


def test_h17_a_plan_that_is_one_group_can_be_mended_and_completed() -> None:
    """The fix atom stands beside the group, under a root that is always there."""
    plan = after(
        running("G1{A1|A2}"),
        started("A1"),
        AtomResolved(atom=A1, nonce=1, summary="one way"),
        VERIFIER,
        VerificationEnded(nonce=3, passed=False, gaps=(Gap(item="tests", evidence="red"),)),
    )
    assert drawn(plan) == "G1{A1|A2} A3"
    plan = after(
        plan,
        started("A3"),
        AtomResolved(atom=A3, nonce=5, summary="fixed"),
        VERIFIER,
        VerificationEnded(nonce=7, passed=True),
        RunEnded(code=StopCode.COMPLETED, reason="every check of the base case passed"),
    )
    assert plan.control.status is RunStatus.COMPLETED
    assert plan.bindings == {A1: Binding(summary="one way"), A3: Binding(summary="fixed")}


def test_n15_the_number_of_combinations_is_given_and_not_called_all() -> None:
    """A3 was built upon two groups of two: of four combinations three are tried, in this order."""
    plan = running("A5<-G1,G2 G1{A1|A2} G2{A3|A4}", max_attempts=1, max_probes=0, max_winds=0)
    tried = []
    while (stop := decide(plan).stop) is None:
        plan = next_step(plan)
        if AtomId("A5") in plan.sessions:
            tried.append([a for a in ("A1", "A2", "A3", "A4") if AtomId(a) in plan.bindings])
    assert tried == [["A1", "A3"], ["A1", "A4"], ["A2", "A4"]]
    assert stop.code is StopCode.ATOM_EXHAUSTED
    assert stop.reason == (
        "A5 has nothing left to try (last: they do not fit); "
        "at least 3 combinations of choices tried"
    )


def next_step(plan: Plan) -> Plan:
    """Everything succeeds but A5."""
    if AtomId("A5") in plan.sessions:
        failure = AttemptFailed(
            atom=AtomId("A5"), nonce=nonce(plan, "A5"), reason="they do not fit"
        )
        return apply(plan, failure)
    if plan.sessions:
        atom, session = next(iter(plan.sessions.items()))
        return apply(plan, AtomResolved(atom=atom, nonce=session.nonce, summary=atom))
    action = decide(plan).actions[0]
    event: Event
    match type(action).__name__:
        case "Work":
            event = started(getattr(action, "atom", ""))
        case _:
            event = Backjumped(
                group=GroupId(getattr(action, "group", "")), atom=AtomId("A5"), reason="r"
            )
    return apply(plan, event)


def test_n16_numbers_and_nonces_never_repeat() -> None:
    """Attempts are given back and refilled; the session counter and the journal number are not."""
    plan = running("A3<-G1 G1{A1|A2}", max_attempts=1, max_probes=0, max_winds=0)
    seen = []
    story: tuple[tuple[str, type[Event]], ...] = (
        ("A1", SessionInterrupted),
        ("A1", AtomResolved),
        ("A3", SessionInterrupted),
        ("A3", AttemptFailed),
        ("", Backjumped),
        ("A2", SessionInterrupted),
        ("A2", AtomResolved),
        ("A3", AttemptFailed),
    )
    for atom, what in story:
        if what is Backjumped:
            plan = apply(plan, Backjumped(group=GroupId("G1"), atom=A3, reason="r"))
            continue
        plan = apply(plan, started(atom))
        session = plan.sessions[AtomId(atom)]
        seen.append((atom, plan.atoms[AtomId(atom)].attempts, session.number, session.nonce))
        plan = apply(plan, ending(what, AtomId(atom), session.nonce))
    assert seen == [
        ("A1", 1, 1, 1),
        ("A1", 1, 2, 3),
        ("A3", 1, 3, 5),
        ("A3", 1, 4, 7),
        ("A2", 1, 5, 10),
        ("A2", 1, 6, 12),
        ("A3", 1, 7, 14),
    ]


def ending(what: type[Event], atom: AtomId, number: int) -> Event:
    if what is AtomResolved:
        return AtomResolved(atom=atom, nonce=number, summary="s")
    if what is AttemptFailed:
        return AttemptFailed(atom=atom, nonce=number, reason="r")
    return SessionInterrupted(atom=atom, nonce=number, cause=Interruption.MERGE_CONFLICT)


def test_a_report_of_the_first_attempt_number_one_is_not_believed_in_the_second() -> None:
    """What N16 is about: both attempts are number 1, and only the nonce tells them apart."""
    plan = after(
        running("G1{A1|A2}"),
        started("A1"),
        SessionInterrupted(atom=A1, nonce=1, cause=Interruption.RUNNER_DIED),
        started("A1"),
    )
    late = apply(plan, AtomResolved(atom=A1, nonce=1, summary="from before"))
    assert late.atoms == plan.atoms
    assert late.sessions == plan.sessions
