"""How a place in a file is named, and how what stands there is shown in a message.

Apart from `strict_yaml`, so that reading settings, which are TOML, does not import a YAML parser.
"""

from __future__ import annotations

from typing import Final

MAX_DIGITS: Final = 18
"""A whole number with more digits counts nothing that we could have."""
MAX_PROBLEMS: Final = 500
"""A user does not read more, and a damaged file can hold millions."""

Path = tuple[str | int, ...]
"""The keys and indexes that lead to a place, as in `Problem.where`."""


def step_of(key: object) -> str | int:
    """Name a key in a path; a key that is neither text nor a number is named as it is spelt."""
    if type(key) is str or type(key) is int:
        return key
    return "null" if key is None else str(key).lower()


def clipped(value: object, limit: int = 60) -> str:
    """Show a value from a file in a message, however long or odd it is."""
    shown = ascii(value[: limit + 1]) if isinstance(value, str) else str(step_of(value))
    return shown if len(shown) <= limit + 2 else shown[:limit] + "..."
