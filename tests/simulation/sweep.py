"""One run of 21 iterations, with a second wind, and every way in which it can be cut short.

The run is told once, undisturbed, on a machine that is copied before and after every call to the
disk, to git and to start a program. Each copy is what a kill at that instant leaves; a power cut
leaves any of a few others, in which what was not synced is lost, torn or late. From each of them
the run is taken up again and must come to the same end. Identical copies are
taken up once.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial

from tests.doubles.disk import FakeDisk, Image
from tests.doubles.memory_git import MemoryGit
from tests.simulation.actors import Behaviour, Temper
from tests.simulation.calls import Calls
from tests.simulation.laws import Laws
from tests.simulation.machine import Life, Machine, Runner
from tests.simulation.plans import ALL_GOOD

from dwindle.kernel import transitions
from dwindle.kernel.events import Event, NewAtom
from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Check,
    ChecklistItem,
    CheckType,
    Control,
    GroupId,
    Limits,
    Objective,
    OrGroup,
    Plan,
    Spent,
)
from dwindle.ports.work import Proposal, WorkerReport, WorkOrder

STEPS = 16
"""Of each of two chains that are worked on side by side."""
TEMPER = Temper(able=1.0, honest=1.0, grows=0.0, limited=0.0, slow=0.0)


@cache
def the_plan() -> Plan:
    """Two chains: a choice that fails at the end of one, a part that grows in the other.

    Beside them stands an atom that is parked after its one attempt, and done in the second wind.
    """
    atoms: dict[AtomId, Atom] = {}

    def atom(name: str, *after: str, **given: object) -> AtomId:
        key = AtomId(name)
        made = Atom(id=key, description=f"do {name}", depends_on=after, **given)  # type: ignore[arg-type]
        atoms[key] = made
        return key

    for side in "XY":
        for step in range(1, STEPS + 1):
            atom(f"{side}{step}", *((f"{side}{step - 1}",) if step > 1 else ()))
    way = GroupId("way")
    first = atom(
        "B1", f"X{STEPS}", or_group=way, check=Check(type=CheckType.COMMAND, value="good no")
    )
    second = atom("B2", f"X{STEPS}", or_group=way)
    atom("C1", f"Y{STEPS}")
    atom("Z1", max_attempts=1)
    limits = Limits(
        max_iterations=200,
        max_parallel_agents=2,
        max_atoms=100,
        max_attempts=4,
        max_forgiven=500,
        max_probes=0,
        max_winds=2,
        stated=("max_atoms", "max_attempts", "max_forgiven", "max_probes", "max_winds"),
    )
    check = Check(type=CheckType.COMMAND, value=ALL_GOOD)
    return Plan(
        objective=Objective(
            goal="two chains",
            base_case=BaseCase(checklist=(ChecklistItem(item="good", check=check),)),
            background_intent="to be cut short",
            deliverables="files",
            definition_of_done="all is good",
        ),
        limits=limits,
        spent=Spent(created=len(atoms)),
        control=Control(),
        atoms=atoms,
        groups={way: OrGroup(id=way, choices=(first, second), selected=first)},
    )


def behaves(order: WorkOrder, tries: int) -> Behaviour:
    """By atom, and by which of its sessions it is; interrupted ones do not count."""
    del tries
    name, nth = order.atom, order.session_of_atom
    number = int("".join(c for c in name if c.isdigit()))
    seconds = 0.1 + 0.07 * (number % 5) + (0.15 if name.startswith("Y") else 0.0)
    if name == "C1" and nth == 1:
        split = Proposal(new=(NewAtom(description="a"), NewAtom(description="b")), reason="two")
        return Behaviour(seconds=seconds, report=WorkerReport(decomposition=split))
    failing = name in ("X4", "Y9", "Z1") and nth == 1
    report = WorkerReport(success=not failing, summary=f"{name} is done", reason="not yet")
    content = f"{'bad' if failing else 'good'} {name}".encode()
    return Behaviour(seconds=seconds, report=report, writes=((f"{name}.txt", content),))


class Light(Laws):
    """Only the laws about the world; the kernel's are looked after elsewhere, at greater cost."""

    def apply(self, plan: Plan, event: Event) -> Plan:
        return transitions.apply(plan, event)

    def same(self, plan: Plan, events: list[Event]) -> None:
        """Replaying every one of thousands would take longer than all the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What must not depend on how often it was cut short."""

    stop: str
    winds: int
    resolved: tuple[str, ...]
    bindings: dict[str, str]
    tree: dict[str, bytes]
    left: tuple[str, ...]
    """On the disk."""


def outcome(life: Life) -> Outcome:
    assert life.halted is not None, life
    assert life.halted.stop is not None
    machine = life.left
    plan = machine.plan()
    return Outcome(
        stop=str(life.halted.stop.code),
        winds=plan.spent.winds,
        resolved=tuple(n for n, a in plan.atoms.items() if a.status == "resolved"),
        bindings={n: b.summary for n, b in plan.bindings.items()},
        tree=dict(machine.git.files()),
        left=tuple(sorted(path.name for path in machine.image if path.suffix != ".torn")),
    )


def runner(laws: Laws) -> Runner:
    return Runner(seed=0, temper=TEMPER, laws=laws, behave=behaves)


@dataclass(frozen=True, slots=True)
class Instant:
    """A machine as a cut at one call leaves it, and what had been acknowledged by then."""

    call: int
    image: Image
    git: MemoryGit
    now: float
    acknowledged: tuple[Event, ...]

    def resumed(self) -> Outcome:
        laws = Light(the_plan())
        laws.acknowledged = list(self.acknowledged)
        machine = Machine(image=self.image, git=self.git.copy(), now=self.now)
        return outcome(runner(laws).life(machine, Calls()))


@dataclass(slots=True)
class Undisturbed:
    outcome: Outcome
    calls: int
    disk_calls: int
    iterations: int
    kills: list[Instant] = field(default_factory=list)
    cuts: list[Instant] = field(default_factory=list)
    """Power cuts that leave something else than a kill."""
    images: int = 0
    """What power cuts could leave, all told."""


def undisturbed(*, kills: bool = False, cuts: bool = False) -> Undisturbed:
    """Tell the run, and keep what a kill, or a power cut, would leave at each call."""
    laws, calls = Light(the_plan()), Calls()
    disks: list[FakeDisk] = []
    found_kills: list[Instant] = []
    found_cuts: list[Instant] = []
    seen: set[object] = set()
    images = 0
    machine = Machine.new(the_plan())
    git = machine.git

    def instant(image: Image) -> Instant:
        return Instant(calls.count, image, git.copy(), 0.0, tuple(laws.acknowledged))

    def look() -> None:
        nonlocal images
        disk = disks[0]
        place = (git.state(), len(laws.acknowledged))
        now = disk.image()
        if kills and _new(seen, place, now):
            found_kills.append(instant(now))
        if cuts:
            for image in disk.crash_images():
                images += 1
                if image != now and _new(seen, place, image):
                    found_cuts.append(instant(image))

    def prepare(disk: FakeDisk) -> None:
        disks.append(disk)
        disk.after_each = look

    calls.prepare = prepare
    calls.each = lambda: look() if disks else None
    life = runner(laws).life(machine, calls)
    look()
    plan = life.left.plan()
    return Undisturbed(
        outcome=outcome(life),
        calls=calls.count,
        disk_calls=disks[0].calls,
        iterations=plan.control.iteration,
        kills=found_kills,
        cuts=found_cuts,
        images=images,
    )


def _new(seen: set[object], place: object, image: Image) -> bool:
    key = (place, tuple(image.items()))
    if key in seen:
        return False
    seen.add(key)
    return True


def with_fault(prepare: Callable[[FakeDisk], None]) -> tuple[Outcome, int]:
    """Run on a sick disk, again and again until it comes to rest; how often it was started."""
    laws, machine = Light(the_plan()), Machine.new(the_plan())
    calls = Calls()
    calls.prepare = prepare
    for starts in range(1, 10):
        life = runner(laws).life(machine, calls)
        machine, calls = life.left, Calls()
        stop = life.halted.stop if life.halted is not None else None
        if stop is not None and stop.code != "io_error":
            return outcome(life), starts
    raise AssertionError("it does not come to rest")


@dataclass(slots=True, kw_only=True)
class Swept:
    """What came of cutting it short in every way."""

    kills: int
    different: int
    """Kills that leave something that no other left."""
    disks: int
    """What power cuts could leave."""
    different_disks: int
    faults: int = 0
    violations: list[str] = field(default_factory=list)

    @property
    def runs(self) -> int:
        return self.different + self.different_disks + self.faults

    def __str__(self) -> str:
        return (
            f"{self.kills} kills ({self.different} different),"
            f" {self.disks} disks after power cuts ({self.different_disks} different),"
            f" {self.faults} faults; {len(self.violations)} violations"
        )

    def hold(self, what: str, ends: Callable[[], Outcome], expected: Outcome) -> None:
        try:
            end = ends()
        except Exception as error:  # noqa: BLE001 - whatever it is, the run is lost
            self.violations.append(f"{what}: {type(error).__name__}: {error}")
        else:
            if end != expected:
                self.violations.append(f"{what}: it came to another end: {end}")


def swept(every: int = 1) -> Swept:
    """Every cut and every fault, one after the other; or only one of so many."""
    kills, cuts = undisturbed(kills=True), undisturbed(cuts=True)
    killed, cut = kills.kills[::every], cuts.cuts[::every]
    found = Swept(
        kills=2 * kills.calls // every,
        different=len(killed),
        disks=cuts.images // every,
        different_disks=len(cut),
    )
    for one in killed:
        found.hold(f"killed at call {one.call}", one.resumed, kills.outcome)
    for one in cut:
        found.hold(f"power cut at call {one.call}", one.resumed, kills.outcome)
    for code in (errno.EIO, errno.ENOSPC):
        for number in range(1, kills.disk_calls + 1, every):
            found.faults += 1
            prepare = partial(FakeDisk.fail_call, number=number, code=code)
            what = f"{errno.errorcode[code]} at call {number} to the disk"
            found.hold(what, lambda p=prepare: with_fault(p)[0], kills.outcome)  # type: ignore[misc]
    return found


def main() -> int:
    found = swept()
    print(f"crash sweep: {found}")  # noqa: T201 - what was asked for
    print(*found.violations, sep="\n")  # noqa: T201
    return bool(found.violations)


if __name__ == "__main__":
    sys.exit(main())
