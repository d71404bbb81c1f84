"""How long the graph plan file takes to load and to save, as ratios to PyYAML's parser in C.

    python bench/graph_file.py [ATOMS ...]

Everything is measured in turn in one process, on the same document: PyYAML loads the front matter
that we load, and dumps the values that we save.
"""

from __future__ import annotations

import gc
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import yaml

from dwindle.adapters.formats.graph.plan import GraphWriter, decode
from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Binding,
    Check,
    CheckType,
    Control,
    Limits,
    Objective,
    Plan,
    RunStatus,
    Spent,
    Status,
)
from dwindle.kernel.problems import validate

ROUNDS = 7
DEFAULT_SIZES = (1_000, 10_000)
FENCE = b"---\n"


def sample(size: int) -> Plan:
    """Make a plan in the middle of its life: half of it resolved."""
    atoms: dict[AtomId, Atom] = {}
    bindings: dict[AtomId, Binding] = {}
    for number in range(1, size + 1):
        name = AtomId(f"A{number}")
        above = tuple(f"A{n}" for n in (number - 1, number - 7) if n > 0 and number % 3)
        resolved = number <= size // 2
        atoms[name] = Atom(
            id=name,
            description=f'Move part {number} of the "billing" module to the new client: keep tests',
            status=Status.RESOLVED if resolved else Status.PENDING,
            depends_on=above,
            attempts=1 if resolved else 0,
        )
        if resolved:
            bindings[name] = Binding(
                summary=f"Part {number} uses the new client; 4 tests added, none changed",
                artifacts=(f"src/billing/part_{number}.py", f"tests/billing/test_{number}.py"),
            )
    return Plan(
        objective=Objective(
            goal="Move billing to the new client",
            base_case=BaseCase(check=Check(type=CheckType.COMMAND, value="make test")),
            background_intent="The old client is no longer maintained",
            deliverables="All modules on the new client",
            definition_of_done="The tests pass and the old client is gone",
        ),
        limits=Limits(max_atoms=size * 2, stated=("max_atoms",)),
        spent=Spent(created=size),
        control=Control(status=RunStatus.RUNNING, iteration=7, prev_pending_count=size // 2),
        atoms=atoms,
        bindings=bindings,
    )


def save(path: Path, data: bytes) -> None:
    """Replace a file durably: written beside it, flushed, renamed, and the folder flushed."""
    beside = path.with_suffix(".tmp")
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


LARGE = 10_000
"""The size that the limits are about; at smaller ones fsync is most of a save."""
LIMITS = {
    "load and validate": 1.3,
    "save after one change, with fsync": 0.02,
}


def medians(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Time each piece of work, one after the other and round after round.

    Taking turns lets a busy moment of the machine fall on all of them rather than on one.
    """
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            gc.collect()
            start = time.perf_counter()
            work()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def measure(size: int, folder: Path) -> None:
    """Print the ratios for one size."""
    plan = sample(size)
    writer = GraphWriter(b"\n# Original Prompt\n")
    data = writer.encode(plan)
    front = data.split(FENCE)[1].decode()
    values = yaml.load(front, Loader=yaml.CSafeLoader)
    turns = itertools.count(size // 2 + 1)

    def judged() -> None:
        decoded = decode(data)
        if decoded.plan is None or validate(decoded.plan):
            sys.exit("the sample is not a valid plan, so this would measure nothing")

    def save_changed() -> None:
        name = AtomId(f"A{next(turns)}")
        changed = replace(plan.atoms[name], attempts=1)
        save(folder / "plan.md", writer.encode(replace(plan, atoms={**plan.atoms, name: changed})))

    seconds = medians(
        {
            "C load": lambda: yaml.load(front, Loader=yaml.CSafeLoader),
            "C dump": lambda: yaml.dump(values, Dumper=yaml.CSafeDumper, sort_keys=False),
            "load and validate": judged,
            "load only": lambda: decode(data),
            "save after one change, with fsync": save_changed,
            "write and fsync only": lambda: save(folder / "plan.md", data),
            "encode everything": lambda: GraphWriter().encode(plan),
        }
    )
    for name, ours in seconds.items():
        peer = "C load" if "load" in name else "C dump"
        words = name.replace(",", "").replace(" ", "_").lower()
        limit = f" limit={LIMITS[name]}" if name in LIMITS and size >= LARGE else ""
        ratio = ours / seconds[peer]
        print(f"graph_file_{size}_{words} {ours * 1e3:.1f} ms ratio={ratio:.4f}{limit}")


def main() -> None:
    """Measure the sizes on the command line."""
    sizes = [int(word) for word in sys.argv[1:]] or list(DEFAULT_SIZES)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        for size in sizes:
            measure(size, Path(folder))


if __name__ == "__main__":
    main()
