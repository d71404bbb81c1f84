"""`dataclasses.replace`, for the records of the kernel only.

Every event makes some thirty new records, and with the one in the standard library that took much
of the time that the kernel needs: it looks at each field in several ways, and then hands it to an
`__init__`. Ours are all frozen, have slots and nothing to check, so the values are put into their
slots. Type checkers see the one of the library, and check what it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import replace as replace  # noqa: PLC0414 - handed on
else:

    def replace(record: Any, /, **changes: Any) -> Any:
        kind = type(record)
        new = object.__new__(kind)
        for name, put in _given(kind):
            put(new, changes.pop(name) if name in changes else getattr(record, name))
        for put, default in _worked_out(kind):
            put(new, default)
        if changes:
            raise TypeError(f"{kind.__name__} has no {', '.join(changes)}")
        return new


Put = Callable[[object, object], None]


@cache
def _given(kind: type[Any]) -> tuple[tuple[str, Put], ...]:
    """Name and slot of each field that is handed in."""
    return tuple((f.name, getattr(kind, f.name).__set__) for f in fields(kind) if f.init)


@cache
def _worked_out(kind: type[Any]) -> tuple[tuple[Put, object], ...]:
    """Slot and first value of each field that is not: what was known of the old one is dropped."""
    return tuple((getattr(kind, f.name).__set__, f.default) for f in fields(kind) if not f.init)
