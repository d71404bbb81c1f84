"""Run every benchmark beside this file and print one table.

A benchmark is a script with a `main()` that prints one line per thing it measured:

    name value unit ratio=2.4 [limit=3] [more=words]

`ratio` is the measured time divided by that of a peer timed in the same process, so that numbers
from different machines can be compared; the benchmark's docstring names the peer. Where a line
states a `limit`, a ratio above it is marked and makes this command end with 1, as does a script
that fails or prints nothing that can be read.

    python bench/run.py [NAME ...]      NAME is a script without .py

A file whose name begins with an underscore is no benchmark but something that several of them use.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    script: str
    name: str
    value: float
    unit: str
    ratio: float
    limit: float | None = None

    @property
    def over(self) -> bool:
        return self.limit is not None and self.ratio > self.limit

    def cells(self) -> tuple[str, ...]:
        limit = "" if self.limit is None else f"{self.limit:g}"
        verdict = "over" if self.over else ""
        value = f"{self.value:.4g} {self.unit}"
        return (self.script, self.name, value, f"{self.ratio:.3g}", limit, verdict)


HEADINGS = ("script", "what", "value", "ratio", "limit", "")


def measurement(script: str, line: str) -> Measurement | None:
    """What a line says, or None if it is no measurement but something else worth printing."""
    words = line.split()
    facts = dict(word.split("=", 1) for word in words if "=" in word)
    plain = [word for word in words if "=" not in word]
    if len(plain) != 3 or "ratio" not in facts:
        return None
    name, value, unit = plain
    try:
        return Measurement(
            script=script,
            name=name,
            value=float(value),
            unit=unit,
            ratio=float(facts["ratio"]),
            limit=float(facts["limit"]) if "limit" in facts else None,
        )
    except ValueError:
        return None


def table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def main(names: list[str], folder: Path = HERE) -> int:
    scripts = sorted(p for p in folder.glob("*.py") if p.name != "run.py" and p.name[0] != "_")
    unknown = sorted({*names} - {path.stem for path in scripts})
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}", file=sys.stderr)
        return 2
    wrong = []
    measured: list[Measurement] = []
    for path in scripts:
        if names and path.stem not in names:
            continue
        print(f"running {path.stem} ...", file=sys.stderr, flush=True)
        ended = subprocess.run(
            [sys.executable, str(path)], stdout=subprocess.PIPE, text=True, check=False
        )
        lines = ended.stdout.splitlines()
        found = [m for line in lines if (m := measurement(path.stem, line)) is not None]
        if ended.returncode != 0:
            wrong.append(f"{path.stem} ended with {ended.returncode}")
        if not found:
            wrong.append(f"{path.stem} measured nothing")
        measured.extend(found)
    if measured:
        print(table([HEADINGS, *(m.cells() for m in measured)]))
    wrong.extend(f"{m.name}: ratio {m.ratio:.3g} is over {m.limit:g}" for m in measured if m.over)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
