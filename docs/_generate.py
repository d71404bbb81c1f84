"""Draw the tables of the kernel into the pages that show them, or check that they are current.

    python docs/_generate.py --write | --check

What stands between `<!-- made: NAME -->` and `<!-- /made -->` belongs to this script.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script, only this folder is on it

from tests.model.suites import SUITES

from dwindle.kernel.events import Edit, Event, Gap, Interruption, NewAtom, News, SessionNews, Usage
from dwindle.kernel.model import EXIT_CODES, RunStatus, Status, TreeEdit
from dwindle.kernel.transitions import ATOM_NEXT, PAYS, REPORTED_BY, RUN_NEXT

PAGES = tuple(Path(__file__).parent / name for name in ("kernel.md", "events.md"))


PLAIN_WORDS = {
    "str": "text",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "AtomId": "id",
    "GroupId": "id",
}


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


def event_fields() -> str:
    """Every event with its sentence and the fields that it has besides the common ones."""
    kinds: tuple[type[News], ...] = get_args(Event)
    lines = ["| event | says | fields of its own |", "|---|---|---|"]
    for kind in kinds:
        shared = SessionNews if issubclass(kind, SessionNews) else News
        name = f"`{kind.__name__}`{' *' if shared is SessionNews else ''}"
        lines.append(f"| {name} | {_sentence(kind)} | {_fields(kind, without=shared)} |")
    return "\n".join(lines)


def common_fields() -> str:
    lines = ["| | fields |", "|---|---|", f"| every event | {_fields(News)} |"]
    return "\n".join([*lines, f"| marked * | {_fields(SessionNews, without=News)} |"])


def part_table() -> str:
    """What stands inside of events and is no part of the plan file."""
    parts: tuple[type[Any], ...] = (Usage, NewAtom, Gap, TreeEdit, *get_args(Edit))
    lines = ["| part | says | fields |", "|---|---|---|"]
    lines += [f"| `{part.__name__}` | {_sentence(part)} | {_fields(part)} |" for part in parts]
    causes = ", ".join(f"`{cause}`" for cause in Interruption)
    return "\n".join([*lines, f"| `Interruption` | why a session was interrupted | {causes} |"])


def _sentence(kind: type[Any]) -> str:
    """The first paragraph of its description; a class without one is described by its fields."""
    text = kind.__doc__ or ""
    return "" if text.startswith(f"{kind.__name__}(") else _cell(text.split("\n\n")[0])


def _fields(kind: type[Any], without: type[Any] | None = None) -> str:
    known = [field.name for field in fields(without)] if without else []
    return ", ".join(_field(it) for it in fields(kind) if it.name not in known) or "-"


def _field(it: Field[Any]) -> str:
    optional = it.default is not MISSING or it.default_factory is not MISSING
    return f"`{it.name}{'?' if optional else ''}` {_words(str(it.type))}"


def _words(type_: str) -> str:
    """A type as readers of JSON would put it."""
    listed = re.sub(r"tuple\[(\w+), \.\.\.\]", r"list of \1", type_.removesuffix(" | None"))
    return _cell(re.sub(r"\w+", lambda word: PLAIN_WORDS.get(word[0], word[0]), listed))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "or")


MADE: Mapping[str, Callable[[], str]] = {
    "run": run_diagram,
    "atom": atom_diagram,
    "events": event_table,
    "fields": event_fields,
    "common": common_fields,
    "parts": part_table,
    "stops": stop_table,
    "suites": suite_table,
}


def regenerated(text: str) -> str:
    def fresh(match: re.Match[str]) -> str:
        return f"{match[1]}\n{MADE[match[2]]()}\n{match[3]}"

    return re.sub(r"(<!-- made: (\w+) -->)\n.*?(<!-- /made -->)", fresh, text, flags=re.DOTALL)


def main(arguments: list[str]) -> int:
    stale = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fresh = regenerated(text)
        if arguments == ["--write"]:
            page.write_text(fresh, encoding="utf-8")
        elif fresh != text:
            stale.append(page)
    for page in stale:
        print(f"docs/{page.name} is not current: run python docs/_generate.py --write")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
