"""The JSON Schemas of both plan files, generated from the wire types and shipped with the program.

A schema says what the types can say. Whether ids are unique, dependencies exist or `passes` is
true is for `dwindle validate` to judge; each schema's description says so. A schema has a name but
no address: no server has to be asked for it.

The copies in the repository are written and checked by

    python -m dwindle.adapters.formats.schema --write | --check
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from dwindle.adapters.formats.graph import wire as graph_wire
from dwindle.adapters.formats.tree import wire as tree_wire

Kind = Literal["graph", "tree"]
Schema = dict[str, Any]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_BEYOND: Final = "More must hold than a schema can say; `dwindle validate` judges a file."

SHIPPED: Final[dict[Kind, str]] = {
    "graph": "state_contract.v1.3.schema.json",
    "tree": "task_tree.v1.schema.json",
}
"""File names inside the package."""

PUBLISHED: Final[dict[Kind, str]] = {
    "graph": "schemas/state_contract/v1.3.schema.json",
    "tree": "schemas/task_tree/v1.schema.json",
}
"""Paths in the repository."""


def tree_schema() -> Schema:
    """Of `.runner/tree.json`."""
    return _named(
        msgspec.json.schema(tree_wire.TreeDocument),
        name="dwindle:task_tree:v1",
        title="Task Tree v1",
        description=f"The tree plan, `.runner/tree.json`. {_BEYOND}",
    )


def graph_schema() -> Schema:
    """Of the front matter of `.claude/aot-loop-state.md`."""
    return _named(
        msgspec.json.schema(graph_wire.State),
        name="dwindle:state_contract:v1.3",
        title="State Contract v1.3",
        description=f"The YAML front matter of `.claude/aot-loop-state.md`. {_BEYOND}",
    )


def render(schema: Schema) -> str:
    """The one text of a schema."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def shipped(kind: Kind) -> str:
    """The text that came with the program; nothing is generated."""
    return (files("dwindle") / "schemas" / SHIPPED[kind]).read_text(encoding="utf-8")


def copies(root: Path) -> dict[Path, str]:
    """Every copy that a checkout has, and what it should hold."""
    texts: dict[Kind, str] = {"graph": render(graph_schema()), "tree": render(tree_schema())}
    inside = {root / "src/dwindle/schemas" / SHIPPED[kind]: text for kind, text in texts.items()}
    outside = {root / PUBLISHED[kind]: text for kind, text in texts.items()}
    return inside | outside


def stale(root: Path) -> tuple[Path, ...]:
    """The copies that are missing or out of date."""
    return tuple(path for path, text in copies(root).items() if not _holds(path, text))


def main(arguments: Sequence[str], root: Path) -> int:
    """Write the copies below `root`, or say which of them are stale."""
    if list(arguments) == ["--write"]:
        for path, text in copies(root).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        return 0
    if list(arguments) == ["--check"]:
        old = stale(root)
        for path in old:
            sys.stderr.write(f"{path.relative_to(root)} is not current; run with --write\n")
        return 1 if old else 0
    sys.stderr.write("usage: python -m dwindle.adapters.formats.schema --write | --check\n")
    return 2


def _named(schema: Schema, *, name: str, title: str, description: str) -> Schema:
    head = {"$schema": _DIALECT, "$id": name, "title": title, "description": description}
    return head | schema


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path.cwd()))
