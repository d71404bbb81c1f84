"""A run of 1,000 independent atoms, three at a time. Peers: `make -j3`, and LangGraph with SQLite.

For each atom two shell lines: the agent, which writes the smallest report that counts, and the
check `true`. Ours is the real loop on the in-memory workspace, durability on: journal, plan file,
session logs. `make` runs the same two lines for each target; it keeps no record and contains
nothing, so the uncontained run is compared with it. What bubblewrap adds is printed as well.
LangGraph runs the two lines in a node and keeps checkpoints with its SqliteSaver (durability
"sync"); see `_langgraph.py`. It is measured if it is found in a virtual environment of its own:

    python -m venv ~/.cache/dwindle-bench/langgraph
    ~/.cache/dwindle-bench/langgraph/bin/pip install langgraph langgraph-checkpoint-sqlite

They take turns; the best of the rounds counts. What it takes to start Python and to import is
counted for neither of the two that are written in it. Memory is the peak of our process.
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script, only this folder is on it

from bench._runs import CACHE, CHECK_LINE, REPORT_LINE, Cast, line, plan_of, ran, remark, scratch

from dwindle.adapters.agents.command import CommandAgent
from dwindle.adapters.containment import Bare, kinds
from dwindle.testing.workspaces import MemoryWorkspace

ATOMS = 1_000
ROUNDS = 4
LIMIT_MAKE = 2
LIMIT_MB = 100
LANGGRAPH = CACHE / "langgraph/bin/python"


def make(folder: Path) -> float:
    """Seconds of `make -j3`."""
    names = " ".join(f"A{n}" for n in range(ATOMS))
    rules = [f".PHONY: all {names}", f"all: {names}"]
    agent = REPORT_LINE.replace("$", "$$")
    for n in range(ATOMS):
        rules += [
            f"A{n}: export DWINDLE_REPORT = {folder}/{n}.json",
            f"A{n}:\n\t@{agent}\n\t@{CHECK_LINE}",
        ]
    (folder / "Makefile").write_text("\n".join(rules) + "\n")
    began = time.perf_counter()
    subprocess.run(["make", "-j3", "-s"], cwd=folder, check=True)
    return time.perf_counter() - began


def langgraph(folder: Path, way: str) -> float:
    script = Path(__file__).with_name("_langgraph.py")
    argv = [str(LANGGRAPH), str(script), way, str(ATOMS), str(folder), REPORT_LINE, CHECK_LINE]
    said = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    return float(said)


def ours(folder: Path, mechanism: str) -> tuple[float, float]:
    """Seconds, and the peak of memory in MB; in a process of its own."""
    argv = [sys.executable, __file__, "--run", mechanism, str(folder)]
    said = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return float(said[0]), float(said[1])


def run(mechanism: str, folder: Path) -> None:
    """What `ours` starts."""
    found = {kind.mechanism: kind for kind in (Bare(), *kinds())}
    (folder / "trees").mkdir()
    cast = Cast(
        workspace=MemoryWorkspace(folder=folder / "trees"),
        agent=CommandAgent(argv=("/bin/sh", "-c", REPORT_LINE)),
        containment=found[mechanism],
    )
    done = asyncio.run(ran(folder, plan_of(ATOMS), cast))
    print(done.seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main(folder: Path | None = None) -> None:
    peers: list[float] = []
    graphs: list[float] = []
    runs: list[tuple[float, float]] = []
    with scratch(folder) as place:

        def fresh(name: str) -> Path:
            made = place / name
            made.mkdir()
            return made

        for turn in range(ROUNDS):
            peers.append(make(fresh(f"make{turn}")))
            runs.append(ours(fresh(f"ours{turn}"), Bare.mechanism))
            if LANGGRAPH.exists():
                graphs += [langgraph(fresh(f"{way}{turn}"), way) for way in ("steps", "fan")]
        contained = [
            (kind.mechanism, ours(fresh(kind.mechanism.split()[0]), kind.mechanism)[0])
            for kind in kinds()[:1]
        ]
    floor, best = min(peers), min(seconds for seconds, _ in runs)
    line("an_atom_by_make_-j3", floor / ATOMS * 1e3, "ms", 1)
    line("an_atom_uncontained", best / ATOMS * 1e3, "ms", best / floor, LIMIT_MAKE)
    for mechanism, seconds in contained:
        line(f"an_atom_under_{mechanism}", seconds / ATOMS * 1e3, "ms", seconds / floor)
    if graphs:
        peer = min(graphs)
        line("an_atom_by_langgraph", peer / ATOMS * 1e3, "ms", peer / floor)
        line("an_atom_against_langgraph", best / ATOMS * 1e3, "ms", best / peer, 1)
    else:
        remark(f"LangGraph: not measured, {LANGGRAPH} is not there (see independent.py)")
    peak = max(megabytes for _, megabytes in runs)
    line(f"runner_memory_{ATOMS}_atoms", peak, "MB", peak / LIMIT_MB, 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2], Path(sys.argv[3]))
    else:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
