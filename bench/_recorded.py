"""A run on record, as large as one likes: nothing was run, but every event could have happened.

Used where runs are looked at, not made: by the benchmarks of the page, and by its tests. The plan
is a forest of areas; each has parts that wait for each other, some of them are choices, and areas
wait for areas. The kernel decides what comes next; chance, from a seed, decides how it ends.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dwindle.adapters.formats.graph.writer import GraphWriter
from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.journal import JsonlJournal
from dwindle.kernel.actions import Backjump, FailChoice, Probe, Verify, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Backjumped,
    ChoiceFailed,
    Event,
    ProbeEnded,
    RunEnded,
    RunStarted,
    SessionStarted,
    Usage,
    VerificationEnded,
)
from dwindle.kernel.model import (
    ROOT,
    Aligned,
    Atom,
    AtomId,
    BaseCase,
    Check,
    ChecklistItem,
    CheckType,
    Control,
    Decomposition,
    Dispatch,
    GroupId,
    Limits,
    Objective,
    OrGroup,
    Plan,
    Role,
    RunStatus,
    Spent,
)
from dwindle.kernel.transitions import apply
from dwindle.runner.ledger import digest

RUN = "01J0000000000000000000WEBX"
BEGAN = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
VERBS = ("Read", "Write", "Check", "Sort", "Draw", "Store", "Send", "Parse", "Sum up", "Describe")
NOUNS = (
    "the ledger of the month",
    "what a customer ordered",
    "amounts in foreign money",
    "the index of all pages",
    "names as people write them",
    "the map of the harbour",
    "letters that came back",
)


def plan_of(areas: int, each: int, *, seed: int = 1) -> Plan:
    """`areas` atoms of `each` parts, and here and there a choice of two ways."""
    chance = random.Random(seed)  # noqa: S311 - for a picture
    atoms: dict[AtomId, Atom] = {}
    splits: list[Decomposition] = []
    groups: dict[GroupId, OrGroup] = {}

    def atom(name: str, needs: tuple[str, ...] = ()) -> AtomId:
        words = f"{chance.choice(VERBS)} {chance.choice(NOUNS)}"
        check = Check(type=CheckType.COMMAND, value=f"make check-{name}")
        made = Atom(id=AtomId(name), description=words, depends_on=needs, check=check)
        atoms[made.id] = made
        return made.id

    for area in range(1, areas + 1):
        before = [f"P{n}" for n in range(max(1, area - 4), area) if chance.random() < 0.14]
        whole = atom(f"P{area}", tuple(before))
        parts: list[AtomId] = []
        while len(parts) < each:
            near = [str(p) for p in parts[-4:] if chance.random() < 0.2 and p not in _ways(groups)]
            name = f"A{len(atoms) + 1}"
            parts.append(atom(name, (*before, *near)))
            if chance.random() < 0.1 and len(parts) < each:
                other = atom(f"A{len(atoms) + 1}", (*before, *near))
                parts.append(other)
                group = GroupId(f"or_{name}")
                groups[group] = OrGroup(
                    id=group, choices=(AtomId(name), other), selected=AtomId(name)
                )
        splits.append(Decomposition(parent=whole, children=tuple(parts), reason="it was too much"))
    return Plan(
        objective=Objective(
            goal=f"The harbour office runs without paper ({len(atoms)} atoms)",
            base_case=BaseCase(
                checklist=(
                    ChecklistItem(
                        item="All checks pass",
                        check=Check(type=CheckType.COMMAND, value="make check"),
                    ),
                )
            ),
            background_intent="To see a large plan",
            deliverables="A picture",
            definition_of_done="It is drawn",
        ),
        limits=Limits(
            max_iterations=4 * len(atoms),
            max_atoms=2 * len(atoms),
            max_parallel_agents=6,
            max_attempts=8,
            max_stall_count=50,
            dispatch=Dispatch.REFILL,
        ),
        spent=Spent(created=len(atoms)),
        control=Control(run_id=RUN),
        atoms=atoms,
        decompositions=tuple(splits),
        groups=groups,
    )


def _ways(groups: dict[GroupId, OrGroup]) -> list[AtomId]:
    return [choice for group in groups.values() for choice in group.choices]


class Chance:
    """Makes one event after another, as long as the kernel wants something."""

    def __init__(self, plan: Plan, seed: int = 1) -> None:
        self.plan = plan
        self.seconds = 0.0
        self._chance = random.Random(seed)  # noqa: S311 - as above

    def events(self) -> Iterator[Event]:
        aligned = Aligned(commit="0" * 40)
        yield self._apply(RunStarted(run_id=RUN, aligned=aligned, at=self._at()))
        while (event := self.next()) is not None:
            yield event

    def next(self) -> Event | None:
        """What happens next; None when the run is over."""
        if self.plan.control.status is RunStatus.STOPPED or self.plan.control.stop_code:
            return None
        event = self._next()
        return None if event is None else self._apply(event)

    def _apply(self, event: Event) -> Event:
        self.plan = apply(self.plan, event)
        return event

    def _at(self) -> str:
        return (BEGAN + timedelta(seconds=self.seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _next(self) -> Event | None:
        decision = decide(self.plan)
        if decision.stop is not None:
            return RunEnded(code=decision.stop.code, reason=decision.stop.reason, at=self._at())
        for action in decision.actions:
            match action:
                case Work():
                    return SessionStarted(atom=action.atom, role=Role.WORKER, at=self._at())
                case Probe():
                    return SessionStarted(atom=action.atom, role=Role.PROBE, at=self._at())
                case Verify():
                    return SessionStarted(atom=ROOT, role=Role.VERIFIER, at=self._at())
                case FailChoice():
                    reason = "it cannot be done this way"
                    return ChoiceFailed(
                        group=action.group, choice=action.choice, reason=reason, at=self._at()
                    )
                case Backjump():
                    return Backjumped(
                        group=action.group, atom=action.atom, reason="a dead end", at=self._at()
                    )
        return self._end()

    def _end(self) -> Event | None:
        """One of those at work comes back."""
        if not self.plan.sessions:
            return None
        atom, session = self._chance.choice(list(self.plan.sessions.items()))
        took = round(self._chance.uniform(2, 40), 1)
        self.seconds += took
        read = self._chance.randrange(2000, 60000)
        about = {
            "nonce": session.nonce,
            "usage": Usage(tokens=read + 900, usd=read * 3e-6),
            "at": self._at(),
            "elapsed": took,
        }
        if session.role is Role.VERIFIER:
            return VerificationEnded(passed=True, **about)  # type: ignore[arg-type]
        if session.role is Role.PROBE:
            return ProbeEnded(atom=atom, findings="nothing new", **about)  # type: ignore[arg-type]
        if self._chance.random() < self._risk(atom):
            reason = f"success was reported, but `make check-{atom}` exited with 1"
            return AttemptFailed(atom=atom, reason=reason, **about)  # type: ignore[arg-type]
        summary = f"{atom}: done, with tests"
        return AtomResolved(atom=atom, summary=summary, artifacts=(f"src/{atom}.py",), **about)  # type: ignore[arg-type]

    def _risk(self, atom: AtomId) -> float:
        """Of failing; the last way there is, and the last attempt, always succeed."""
        groups = [g for g in self.plan.groups.values() if atom in g.choices]
        if any(len(g.failed) + 1 >= len(g.choices) for g in groups):
            return 0.0
        if groups:
            return 0.4
        return 0.12 if self.plan.atoms[atom].attempts < self.plan.limits.max_attempts else 0.0


def record(root: Path, plan: Plan, count: int, *, run: str = RUN) -> tuple[JsonlJournal, Chance]:
    """Write a run of `count` events at most below `root`; the journal may be added to."""
    writer = GraphWriter(b"\n")
    content = writer.encode(plan)
    folder = root / ".runner/journal"
    folder.mkdir(parents=True)
    (folder / f"{run}.start.md").write_bytes(content)
    file = root / ".claude/aot-loop-state.md"
    file.parent.mkdir(parents=True)
    journal = JsonlJournal.create(
        RealDisk(), folder, run, after=plan.control.revision, versions=(digest(content),)
    )
    chance = Chance(plan)
    events = [event for _, event in zip(range(count), chance.events(), strict=False)]
    journal.append(*events)
    content = writer.encode(chance.plan)
    journal.expect((digest(content),))
    file.write_bytes(content)
    return journal, chance
