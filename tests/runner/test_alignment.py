"""Alignment with everything around it played: what is asked, in which order, and what comes out."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import (
    Aligned,
    Atom,
    AtomId,
    BaseCase,
    Check,
    ChecklistItem,
    CheckType,
    Control,
    Decomposition,
    GroupId,
    Limits,
    Objective,
    OrGroup,
    Plan,
    Problem,
    Spent,
    Status,
)
from dwindle.ports.checks import CheckResult
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.alignment import (
    ALPHABET,
    RUN_ID,
    Alignment,
    Baseline,
    Surroundings,
    align,
    kept_name,
    new_run_id,
    record,
)

COMMIT = "c0ffee" * 6 + "c0ff"
RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
BASE_CASE = ("objective", "base_case")


@dataclass
class World:
    """A repository, its checkouts and its checks, and a diary of what was asked of them."""

    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    broken: str = ""
    diary: list[str] = field(default_factory=list)

    async def head(self) -> str:
        return COMMIT

    async def branch(self) -> str:
        return "main"

    async def tracked(self, commit: str) -> tuple[str, ...]:
        assert commit == COMMIT
        return ("README", "check.sh")

    async def is_ignored(self, path: str) -> bool:
        return path in self.ignored

    async def uncommitted(self) -> tuple[str, ...]:
        return self.changed

    async def untracked(self) -> tuple[str, ...]:
        return self.new

    async def make(self, commit: str) -> Path:
        self.diary.append(f"checkout {commit[:6]}")
        if self.broken:
            raise WorkspaceFailed(self.broken)
        return Path("/fresh")

    async def discard(self, place: Path) -> None:
        self.diary.append(f"discard {place}")

    async def run(
        self,
        check: Check,
        tree: Path,
        fixed: Sequence[str] = (),  # noqa: ARG002
    ) -> CheckResult:
        self.diary.append(f"{check.type} {check.value} in {tree}")
        assert check.value is not None
        if check.value == "crash":
            raise RuntimeError("a bug")
        verdict = self.verdicts.get(check.value, Verdict.FAILED)
        return CheckResult(check=check, verdict=verdict, evidence=f"{check.value} said so.\nlog")

    def pins_of(self, objective: Objective, tracked_files: Sequence[str]) -> tuple[str, ...]:
        return tuple(path for path in tracked_files if path in objective.protected_paths)

    def align(self, plan: Plan) -> Alignment:
        around = Surroundings(files=self, checkouts=self, runner=self, pins_of=self.pins_of)
        return asyncio.run(align(plan, RUN, around))


def check(value: str, kind: CheckType = CheckType.COMMAND) -> ChecklistItem:
    return ChecklistItem(item=f"item {value}", check=Check(type=kind, value=value))


def plan(*items: ChecklistItem, atoms: int = 1) -> Plan:
    names = [AtomId(f"A{n + 1}") for n in range(atoms)]
    return Plan(
        objective=Objective(
            goal="g",
            base_case=BaseCase(checklist=items),
            background_intent="b",
            deliverables="d",
            definition_of_done="dod",
            protected_paths=("check.sh",),
        ),
        limits=Limits(max_iterations=2, max_parallel_agents=3),
        spent=Spent(created=atoms),
        control=Control(),
        atoms={name: Atom(id=name, description="work") for name in names},
    )


def warning(what: str, hint: str, where: tuple[str | int, ...] = BASE_CASE) -> Problem:
    return Problem(where=where, what=what, hint=hint, warning=True)


# --- the one look --------------------------------------------------------------------------------


def test_a_red_base_case_seals_the_plan() -> None:
    world = World(verdicts={"one": Verdict.PASSED})
    before = plan(check("one"), check("two"))
    ready = world.align(before)
    aligned = Aligned(commit=COMMIT, pins=("check.sh",), branch="main")
    assert ready.plan == replace(before, control=Control(run_id=RUN, aligned=aligned))
    assert (ready.baseline, ready.warnings) == (Baseline.RED, ())
    assert [(f.item, f.result.verdict) for f in ready.seen.findings] == [
        ("item one", Verdict.PASSED),
        ("item two", Verdict.FAILED),
    ]
    assert world.diary == [
        "checkout c0ffee",
        "command one in /fresh",
        "command two in /fresh",
        "discard /fresh",
    ]


PASSED, FAILED, STUCK = Verdict.PASSED, Verdict.FAILED, Verdict.COULD_NOT_RUN


@pytest.mark.parametrize(
    ("verdicts", "baseline"),
    [
        ({"a": PASSED, "b": PASSED}, Baseline.ALREADY_GREEN),
        ({"a": PASSED, "b": FAILED}, Baseline.RED),
        ({"a": PASSED, "b": STUCK}, Baseline.COULD_NOT_RUN),
        ({"a": STUCK, "b": STUCK}, Baseline.COULD_NOT_RUN),
        ({"a": STUCK, "b": FAILED}, Baseline.RED),
    ],
)
def test_what_the_base_case_says_before_any_work(
    verdicts: dict[str, Verdict], baseline: Baseline
) -> None:
    assert World(verdicts=verdicts).align(plan(check("a"), check("b"))).baseline is baseline


def test_one_of_several_ways_is_enough_to_be_green() -> None:
    ways = ChecklistItem(item="either", any_of=(check("a"), check("b")))
    assert World(verdicts={"b": PASSED}).align(plan(ways)).baseline is Baseline.ALREADY_GREEN


def test_what_only_a_person_can_judge_is_not_run_and_not_green() -> None:
    world = World(verdicts={"a": PASSED})
    ready = world.align(plan(check("a"), check("it is nice", CheckType.ASSERTION)))
    assert (ready.baseline, ready.warnings) == (
        Baseline.RED,
        (
            warning(
                "every mechanical check holds ALREADY; only judgement is left",
                "add a check that fails until the work is done",
            ),
        ),
    )
    assert world.diary == ["checkout c0ffee", "command a in /fresh", "discard /fresh"]


def test_the_checkout_is_discarded_whatever_happens() -> None:
    world = World()
    with pytest.raises(RuntimeError, match="a bug"):
        world.align(plan(check("crash")))
    assert world.diary[-1] == "discard /fresh"


def test_a_checkout_that_cannot_be_made_is_no_verdict() -> None:
    with pytest.raises(WorkspaceFailed, match="setup failed"):
        World(broken="setup failed").align(plan(check("a")))


# --- warnings ------------------------------------------------------------------------------------


def test_an_ignored_file_is_there_only_if_a_command_makes_it() -> None:
    items = [
        check("dist/a", CheckType.FILE),
        check("src/b", CheckType.FILE),
        check("dist/c", CheckType.NOT_FILE),
        check("make"),
        check("dist/d", CheckType.FILE),
    ]
    ready = World(ignored=("dist/a", "dist/c", "dist/d")).align(plan(*items))
    assert ready.warnings == (
        warning(
            "item dist/a: dist/a is ignored by git, so that no fresh checkout has it",
            "put a command that makes it before this check, or let git keep it",
        ),
    )


def test_what_is_not_committed_is_not_part_of_the_run() -> None:
    without = "and the run starts from c0ffeec0ffee, without"
    hint = "commit first what belongs to it"
    changed, both = ("a",), ("a", "b")
    assert World(changed=changed, new=both).align(plan(check("a"))).warnings == (
        warning(f"1 file has changes that are not committed, {without}: a", hint, ()),
        warning(f"2 files are not tracked by git, {without}: a, b", hint, ()),
    )
    assert World(changed=both, new=("b",)).align(plan(check("a"))).warnings == (
        warning(f"2 files have changes that are not committed, {without}: a, b", hint, ()),
        warning(f"1 file is not tracked by git, {without}: b", hint, ()),
    )


def test_too_few_iterations_for_the_atoms_that_are_open() -> None:
    assert World().align(plan(check("a"), atoms=3)).warnings == ()
    assert World().align(plan(check("a"), atoms=4)).warnings == (
        warning(
            "about 8 sessions are to be expected (one in two succeeds), and 2 iterations of 3 "
            "allow 6: the run will end before it is done",
            "raise it to 6 or more: `dwindle redirect --set max_iterations=6`",
            ("objective", "constraints", "max_iterations"),
        ),
    )


def test_only_leaves_that_are_live_and_open_need_a_session() -> None:
    """One inner atom, one that is done, and a choice of two: two tasks, and one other way."""
    large = plan(check("a"), atoms=5)
    done = replace(large.atoms[AtomId("A5")], status=Status.RESOLVED)
    group = GroupId("way")
    choices = (AtomId("A3"), AtomId("A4"))
    smaller = replace(
        large,
        atoms={**large.atoms, AtomId("A5"): done},
        decompositions=(
            Decomposition(parent=AtomId("A1"), children=(AtomId("A2"),), reason="large"),
        ),
        groups={group: OrGroup(id=group, choices=choices, selected=AtomId("A3"))},
    )
    assert World().align(smaller).warnings == ()
    assert World().align(replace(smaller, groups={})).warnings == ()
    one = replace(smaller, groups={}, decompositions=())
    assert [w.what[:17] for w in World().align(one).warnings] == ["about 8 sessions "]


# --- what is written -----------------------------------------------------------------------------


@dataclass
class Sheet:
    """A file that notes in which order things were written."""

    name: str
    order: list[str]
    content: bytes = b""

    def read(self) -> bytes:
        return self.content

    def replace(self, content: bytes) -> None:
        self.order.append(self.name)
        self.content = content


class Summary:
    def encode(self, plan: Plan) -> bytes:
        return f"run {plan.control.run_id}".encode()


def test_the_old_plan_is_kept_before_the_new_one_is_written() -> None:
    order: list[str] = []
    file, kept = Sheet("plan", order, b"old"), Sheet("kept", order)
    record(World().align(plan(check("a"))), writer=Summary(), file=file, kept=kept)
    assert (order, kept.content, file.content) == (
        ["kept", "plan"],
        b"old",
        f"run {RUN}".encode(),
    )


def test_without_an_old_plan_there_is_nothing_to_keep() -> None:
    file = Sheet("plan", [])
    record(World().align(plan(check("a"))), writer=Summary(), file=file, kept=None)
    assert (file.order, file.content) == (["plan"], f"run {RUN}".encode())


@pytest.mark.parametrize(
    ("run_id", "taken", "name"),
    [
        (RUN, (), f"state.{RUN}.md"),
        (RUN, (f"state.{RUN}.md",), f"state.{RUN}.2.md"),
        (None, (), "state.1.md"),
        (None, ("state.1.md", "state.2.md"), "state.3.md"),
    ],
)
def test_what_the_old_plan_is_called(run_id: str | None, taken: Sequence[str], name: str) -> None:
    assert kept_name("state.md", run_id, lambda candidate: candidate in taken) == name


# --- run ids -------------------------------------------------------------------------------------


def test_run_ids_are_ulids() -> None:
    assert new_run_id(0, bytes(10)) == "0" * 26
    assert new_run_id(1, bytes(9) + b"\x21") == "0000000001" + "0" * 14 + "11"
    assert new_run_id(2**48 - 1, b"\xff" * 10) == "7" + "Z" * 25
    assert new_run_id(1469918176385, bytes(10))[:10] == "01ARYZ6S41"


def test_run_ids_sort_by_time() -> None:
    moments = [1, 31, 32, 1023, 1024, 10**12, 10**12 + 1]
    ids = [new_run_id(moment, bytes(range(10))) for moment in moments]
    assert ids == sorted(ids)
    assert [name for name in ids if not RUN_ID.fullmatch(name)] == []
    assert re.fullmatch(f"[{ALPHABET}]+", "".join(ids))
