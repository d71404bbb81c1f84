"""Draw the tables of the kernel into docs/kernel.md, or check that they are current.

    python docs/_generate.py --write | --check

What stands between `<!-- made: NAME -->` and `<!-- /made -->` belongs to this script.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from dwindle.kernel.events import Event
from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.model import RunStatus, Status
from dwindle.kernel.transitions import ATOM_NEXT, PAYS, REPORTED_BY, RUN_NEXT
from dwindle.testing.suites import SUITES

PAGE = Path(__file__).parent / "kernel.md"


def run_diagram() -> str:
    """The states of a run, and the events that move it."""
    moves: dict[tuple[RunStatus, RunStatus], list[str]] = {}
    for kind, table in RUN_NEXT.items():
        for before, afters in table.items():
            for after in afters:
                if before is not after:
                    moves.setdefault((before, after), []).append(kind.__name__)
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> pending"]
    lines += [f"    {a} --> {b}: {', '.join(kinds)}" for (a, b), kinds in moves.items()]
    return "\n".join([*lines, "    completed --> [*]", "```"])


def atom_diagram() -> str:
    """The statuses of a leaf, and the events that move it."""
    moves: dict[tuple[Status, Status], list[str]] = {}
    for (before, kind), after in ATOM_NEXT.items():
        moves.setdefault((before, after), []).append(kind.__name__)
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> pending"]
    for (before, after), kinds in moves.items():
        lines.append(f"    {before} --> {after}: {'<br>'.join(kinds)}")
    return "\n".join([*lines, "```"])


def event_table() -> str:
    """Every event: when it may happen, who reports it, what it pays."""
    lines = ["| event | while the run is | reported by | pays |", "|---|---|---|---|"]
    kinds: list[type[Event]] = list(RUN_NEXT)
    for kind in kinds:
        when = ", ".join(RUN_NEXT[kind])
        who = ", ".join(REPORTED_BY.get(kind, ())) or "the runner or a person"
        lines.append(f"| `{kind.__name__}` | {when} | {who} | {PAYS.get(kind, 'nothing')} |")
    return "\n".join(lines)


def stop_table() -> str:
    lines = ["| exit code | reason |", "|---|---|"]
    return "\n".join([*lines, *(f"| {code} | `{why}` |" for why, code in EXIT_CODES.items())])


def suite_table() -> str:
    lines = ["| suite | what may happen besides success and failure |", "|---|---|"]
    return "\n".join([*lines, *(f"| {s.name} | {', '.join(s.happens) or '-'} |" for s in SUITES)])


MADE: Mapping[str, Callable[[], str]] = {
    "run": run_diagram,
    "atom": atom_diagram,
    "events": event_table,
    "stops": stop_table,
    "suites": suite_table,
}


def regenerated(text: str) -> str:
    def fresh(match: re.Match[str]) -> str:
        return f"{match[1]}\n{MADE[match[2]]()}\n{match[3]}"

    return re.sub(r"(<!-- made: (\w+) -->)\n.*?(<!-- /made -->)", fresh, text, flags=re.DOTALL)


def main(arguments: list[str]) -> int:
    text = PAGE.read_text(encoding="utf-8")
    fresh = regenerated(text)
    if arguments == ["--write"]:
        PAGE.write_text(fresh, encoding="utf-8")
        return 0
    if fresh != text:
        print("docs/kernel.md is not current: run python docs/_generate.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
