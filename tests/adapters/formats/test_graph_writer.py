"""Writing: what is written of a plan, how it is spelt, and how little is encoded again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dwindle.adapters.formats.graph.plan import GraphWriter, decode, writer_of
from dwindle.kernel.model import AtomId, Dispatch, Limits, Plan, Status

DATA = Path(__file__).parent / "data" / "graph"


def plan_of(data: bytes) -> Plan:
    decoded = decode(data)
    assert decoded.problems == ()
    assert decoded.plan is not None
    return decoded.plan


def read(name: str) -> bytes:
    return (DATA / name).read_bytes()


class TestLimits:
    """A limit is written when the file stated it, or when it is not what its absence means."""

    def stated(self, line: str) -> bytes:
        old = b"    max_stall_count: 3\n"
        return read("legacy_start.md").replace(old, old + f"    {line}\n".encode())

    def constraints(self, plan: Plan) -> list[str]:
        front = GraphWriter().encode(plan).decode()
        block = front.partition("max_stall_count: 3\n")[2].partition("\n\n")[0]
        return block.split()

    def test_one_that_is_stated_is_written_even_if_it_is_the_default(self) -> None:
        plan = plan_of(self.stated("max_depth: 6"))
        assert plan.limits == Limits(max_atoms=51, stated=("max_depth",))
        assert self.constraints(plan) == ["max_depth:", "6"]

    def test_one_that_was_changed_is_written(self) -> None:
        plan = plan_of(read("legacy_start.md"))
        changed = replace(plan, limits=replace(plan.limits, dispatch=Dispatch.REFILL))
        assert self.constraints(changed) == ["dispatch:", "refill"]

    def test_room_for_new_atoms_does_not_grow_with_the_plan(self) -> None:
        plan = plan_of(read("legacy_start.md"))
        assert (plan.spent.created, plan.limits.max_atoms) == (1, 51)
        grown = replace(plan, spent=replace(plan.spent, created=2))
        assert self.constraints(grown) == ["max_atoms:", "51"]

    def test_a_large_plan_may_double(self) -> None:
        data = read("legacy_start.md").replace(
            b"redirect_requested: false\n",
            b"redirect_requested: false\n  spent:\n    created: 400\n",
        )
        assert plan_of(data).limits.max_atoms == 800

    def test_money_keeps_its_spelling(self) -> None:
        for spelt in ("3", "3.0", "0.00001", "1.0e-05"):
            plan = plan_of(self.stated(f"max_cost_usd: {spelt}"))
            assert self.constraints(plan) == ["max_cost_usd:", spelt.replace("0.00001", "1.0e-05")]


def test_ids_that_look_like_something_else_are_quoted() -> None:
    plan = plan_of(read("legacy_start.md"))
    odd = ("null", "On", "1", "1e5", "2025-01-01", "-", "a b", "ok", "x.y-z")
    atom = replace(plan.atoms[AtomId("A1")], depends_on=odd)
    changed = replace(plan, atoms={atom.id: atom})
    written = GraphWriter().encode(changed)
    line = next(line for line in written.splitlines() if b"depends_on" in line)
    assert line == (
        b'    depends_on: ["null", "On", "1", "1e5", "2025-01-01", "-", "a b", ok, x.y-z]'
    )
    assert plan_of(written) == changed


class TestWriter:
    """Only what changed is encoded again."""

    def test_a_change_shows_and_everything_else_stays(self) -> None:
        decoded = decode(read("whole_run.md"))
        assert decoded.plan is not None
        writer = writer_of(read("whole_run.md"))
        before = writer.encode(decoded.plan)
        atom = replace(decoded.plan.atoms[AtomId("A5")], status=Status.IN_PROGRESS)
        after = writer.encode(replace(decoded.plan, atoms={**decoded.plan.atoms, atom.id: atom}))
        changed = [
            (old, new)
            for old, new in zip(before.splitlines(), after.splitlines(), strict=True)
            if old != new
        ]
        assert changed == [(b"    status: pending", b"    status: in_progress")]

    def test_records_that_are_the_same_objects_are_not_encoded_again(self) -> None:
        encoded: list[str] = []

        class Noted(str):
            """A description that tells when it is looked at."""

            __slots__ = ()

            def isprintable(self) -> bool:
                encoded.append(str(self))
                return super().isprintable()

        plan = plan_of(read("whole_run.md"))
        atoms = {name: replace(atom, description=Noted(name)) for name, atom in plan.atoms.items()}
        writer = GraphWriter()
        writer.encode(replace(plan, atoms=atoms))
        assert encoded == ["A1", "A2", "A3", "A4", "A5"]
        encoded.clear()
        atom = replace(atoms[AtomId("A2")], attempts=1)
        writer.encode(replace(plan, atoms={**atoms, atom.id: atom}))
        assert encoded == ["A2"]

    def test_a_canonical_file_is_written_as_it_was_read(self) -> None:
        data = read("everything.md")
        assert writer_of(data).encode(plan_of(data)) == data
