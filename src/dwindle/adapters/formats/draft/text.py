"""Values of a draft as YAML for a person to read and edit: one key a line, short lists on one.

Every spelling is one that the strict reader gives back as it was, so that what a person sees is
what they accept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dwindle.adapters.formats.graph.spelling import flag, name, number, text

NAMES: Final = frozenset(
    (
        *("id", "depends_on", "or_group", "type", "choices", "selected", "parent", "children"),
        "dispatch",
    )
)
"""Keys behind which ids and words of the contract stand."""
LEVELS: Final = ("1", "2", "3", "4", "5")
"""Keys that are numbers in a plan file, though no JSON can have them."""
INDENT: Final = "  "


def draft_text(values: Mapping[str, Any]) -> str:
    return "".join(f"{line}\n" for line in _mapping(values))


def _mapping(values: Mapping[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        spelt = key if key in LEVELS else name(key)
        if _is_short(value):
            yield f"{spelt}: {_inline(key, value)}"
        else:
            yield f"{spelt}:"
            yield from _indented(_mapping(value) if isinstance(value, dict) else _list(value))


def _list(values: list[Any]) -> Iterator[str]:
    for value in values:
        if not isinstance(value, dict) or not value:
            yield f"- {_inline('', value)}"
            continue
        for index, line in enumerate(_mapping(value)):
            yield f"{INDENT if index else '- '}{line}"


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"{INDENT}{line}" for line in lines)


def _is_short(value: Any) -> bool:
    if isinstance(value, dict):
        return not value
    return not isinstance(value, list) or not any(isinstance(v, (dict, list)) for v in value)


def _inline(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return flag(value)
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, str):
        return name(value) if key in NAMES else text(value)
    if isinstance(value, dict):
        within = (f"{name(k)}: {_inline(k, v)}" for k, v in value.items())
        return f"{{{', '.join(within)}}}"
    return f"[{', '.join(_inline(key, v) for v in value)}]"
