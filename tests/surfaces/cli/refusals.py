"""What `validate` says about every plan file that must be refused, kept beside this file.

python -m tests.surfaces.cli.refusals        writes it anew; read the difference before you keep it
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.surfaces.bad_plans import BAD_GRAPHS, BAD_TREES, REFUSED_CHANGES
from tests.surfaces.command import TREE_FILE, dwindle, tree_repository, write

KEPT = Path(__file__).parent / "data" / "refusals.txt"

CASES = {
    **{f"graph: {name}": ("plan.md", data) for name, data in BAD_GRAPHS.items()},
    **{f"tree: {name}": (TREE_FILE, data) for name, data in BAD_TREES.items()},
    **{f"tree: {name}": (TREE_FILE, data) for name, data in REFUSED_CHANGES.items()},
}


def kept() -> dict[str, str]:
    """What it said when the file was last written."""
    blocks = KEPT.read_text(encoding="utf-8").split("## ")[1:]
    return {name: said for name, _, said in (block.partition("\n") for block in blocks)}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = tree_repository(Path(name))
        said = []
        for case, (file, data) in CASES.items():
            write(folder, file, data)
            said.append(f"## {case}\n{dwindle(folder, 'validate', file).out}")
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text("".join(said), encoding="utf-8")


if __name__ == "__main__":
    main()
