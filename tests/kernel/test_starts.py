"""What is started, in which order, and what is said about it; and what is said when nothing is."""

from __future__ import annotations

from dataclasses import replace

from tests.kernel.story import after, running, started, with_atoms, with_groups

from dwindle.kernel.actions import Action, Decision, FailChoice, Probe, Stop, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.events import AtomResolved, AttemptFailed
from dwindle.kernel.model import (
    AtomId,
    BaseCase,
    GroupId,
    Plan,
    PlanKind,
    Status,
    StopCode,
    TrailEntry,
    TrailType,
)

A1, A2, A3 = AtomId("A1"), AtomId("A2"), AtomId("A3")
DONE = {"status": Status.RESOLVED, "attempts": 1}
USED_UP = {"attempts": 3}


def probed(atom: str) -> Probe:
    why = f"{atom} has used up its attempts; a probe may find another way"
    return Probe(atom=AtomId(atom), plan=True, because=why)


def fresh(atom: str) -> Work:
    return Work(atom=AtomId(atom), because=f"{atom} depends on nothing that is open")


def actions(plan: Plan) -> tuple[Action, ...]:
    return decide(plan).actions


def test_ready_and_exhausted_atoms_start_in_file_order() -> None:
    plan = with_atoms(running("A1 A2 A3"), A2=USED_UP)
    assert actions(plan) == (fresh("A1"), probed("A2"), fresh("A3"))
    backwards = replace(plan, atoms={name: plan.atoms[name] for name in (A3, A2, A1)})
    assert actions(backwards) == (fresh("A3"), probed("A2"), fresh("A1"))


def test_an_exhausted_atom_is_not_probed_before_what_it_needs_is_there() -> None:
    plan = with_atoms(running("A1 A2<-A1"), A2=USED_UP)
    first = Work(atom=A1, because="A1 depends on nothing that is open; chain of 1 behind it")
    assert actions(plan) == (first,)


def test_all_that_was_needed_is_named() -> None:
    plan = with_atoms(running("A3<-A1,A2 A1 A2"), A1=DONE, A2=DONE)
    assert actions(plan) == (Work(atom=A3, because="A3 needs A1, A2: resolved"),)


def test_a_probe_looks_once_and_only_if_one_is_left() -> None:
    plan = with_atoms(running("A1", max_probes=2), A1={"probe": True})
    assert actions(plan) == (Probe(atom=A1, because="A1 asks for a probe first"),)
    assert actions(with_atoms(plan, A1={"probe": True, "probes": 1})) == (fresh("A1"),)
    none = with_atoms(running("A1", max_probes=0), A1={"probe": True})
    assert actions(none) == (fresh("A1"),)


def test_what_starts_together_does_not_touch_the_same_files() -> None:
    plan = with_atoms(
        running("A1 A2 A3", max_parallel_agents=3),
        A1={"touches": ("src",)},
        A2={"touches": ("src/a.py",)},
        A3={"touches": ("docs",)},
    )
    assert actions(plan) == (fresh("A1"), fresh("A3"))


def test_the_rest_of_a_batch_is_waited_for() -> None:
    plan = after(
        running("A1 A2 A3", max_parallel_agents=2),
        *(started("A1"), started("A2"), AtomResolved(atom=A1, nonce=1, summary="s")),
    )
    assert decide(plan) == Decision(plan=plan, because="the batch under way is waited for")


def test_failing_a_choice_ends_what_runs_under_it_and_nothing_else() -> None:
    plan = after(
        with_atoms(running("G1{A1[A4 A5]|A2} A3", max_parallel_agents=3), A4=USED_UP),
        *(started("A5"), started("A3")),
    )
    assert actions(plan) == (
        FailChoice(
            group=GroupId("G1"),
            choice=A1,
            kills=(AtomId("A5"),),
            because="A4 has used up its attempts; G1 still has A2",
        ),
    )


# --- giving up -----------------------------------------------------------------------------------


def given_up(plan: Plan) -> str:
    stop = decide(plan).stop
    assert stop is not None
    assert stop.code in (StopCode.ATOM_EXHAUSTED, StopCode.OR_EXHAUSTED)
    return stop.reason


def test_the_last_of_several_failures_is_the_evidence() -> None:
    plan = running("A1", max_attempts=2, max_probes=0, max_parallel_agents=1, max_winds=0)
    for nonce, reason in ((1, "red"), (3, "still red")):
        plan = after(plan, started("A1"), AttemptFailed(atom=A1, nonce=nonce, reason=reason))
    assert given_up(plan) == "A1 has nothing left to try (last: still red)"


def test_only_a_failure_of_that_atom_is_evidence() -> None:
    corrected = TrailEntry(type=TrailType.USER_CORRECTION, atom=A1, reason="mine", timestamp="")
    elsewhere = TrailEntry(type=TrailType.FAILURE, atom=A2, reason="blue", timestamp="")
    plan = replace(
        with_atoms(running("A1 A2", max_probes=0, max_winds=0), A1=USED_UP, A2=DONE),
        trail=(corrected, elsewhere),
    )
    assert given_up(plan) == "A1 has nothing left to try (without a word on why)"


def test_every_combination_that_was_tried_is_counted() -> None:
    plan = with_groups(
        with_atoms(running("G1{A1|A2}", max_probes=0, max_winds=0), A2={"attempts": 1}),
        G1={"failed": (A1,), "selected": A2},
    )
    assert given_up(plan) == (
        "A2 has nothing left to try (without a word on why; G1 gave up A1); "
        "at least 2 combinations of choices tried"
    )


def test_a_tree_gives_up_with_a_word_on_where_to_look() -> None:
    plan = with_atoms(running("root[A1]", max_probes=0, max_winds=0), A1=USED_UP)
    tree = replace(
        plan, kind=PlanKind.TREE, objective=replace(plan.objective, base_case=BaseCase())
    )
    reason = (
        "A1 has nothing left to try (why is in the logs of its iterations); "
        "attempts and planning sessions are used up"
    )
    stop = Stop(code=StopCode.ATOM_EXHAUSTED, reason=reason)
    assert decide(tree) == Decision(plan=tree, stop=stop, because=reason)


def test_a_root_that_may_be_worked_on_is_planned_when_that_failed() -> None:
    plan = with_atoms(running("root", max_probes=1), root=USED_UP)
    why = "root has used up its attempts; it has to be split or replaced"
    assert actions(replace(plan, kind=PlanKind.TREE)) == (
        Probe(atom=AtomId("root"), plan=True, because=why),
    )
