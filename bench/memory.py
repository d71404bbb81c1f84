"""Peak memory of a process that loads, validates and looks at a plan of 10,000 atoms.

The floor is a bare interpreter that has imported the same modules.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script, only this folder is on it

from bench.decide_apply import mixed

from dwindle.adapters.formats.graph.plan import GraphWriter

LIMIT_MB = 100
IMPORTS = (
    "import resource, sys; from dwindle.app.plans.load import load_graph;"
    " from dwindle.kernel.graph import view"
)
PEAK = "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
LOAD = (
    "loaded = load_graph(open(sys.argv[1], 'rb').read());"
    "assert loaded.plan is not None, loaded.problems;"
    "view(loaded.plan)"
)


def peak_mb(*statements: str, argument: str = "") -> float:
    script = "; ".join((IMPORTS, *statements, PEAK))
    ran = subprocess.run(
        [sys.executable, "-c", script, argument], capture_output=True, text=True, check=True
    )
    return float(ran.stdout)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.md"
        path.write_bytes(GraphWriter(b"\n# Prompt\n").encode(mixed(10_000)))
        floor = peak_mb("from dwindle.adapters.formats import graph_plan")
        found = peak_mb(LOAD, argument=str(path))
    print(f"memory_10000 {found:.1f} MB ratio={found / LIMIT_MB:.2f} limit=1")
    print(f"memory_10000_over_imports {found:.1f} MB ratio={found / floor:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
