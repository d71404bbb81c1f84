"""`dataclasses.replace`, for the records of the kernel only.

Every event makes some thirty new records, and with the one in the standard library that took much
of the time that the kernel needs: it looks at each field in several ways, and then hands it to an
`__init__`. Ours are all frozen, have slots and nothing to check, so the values are put into their
slots. Type checkers see the one of the library, and check what it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import replace as replace  # noqa: PLC0414 - handed on
else:

    def replace(record: Any, /, **changes: Any) -> Any:
        copy, slots = _copying(type(record))
        new = copy(record)
        try:
            for name, value in changes.items():
                slots[name](new, value)
        except KeyError as unknown:
            raise TypeError(f"{type(record).__name__} has no {unknown.args[0]}") from None
        return new


@cache
def _copying(
    kind: type[Any],
) -> tuple[Callable[[Any], Any], Mapping[str, Callable[[object, object], None]]]:
    """How to copy such a record, and the slot of each field that is handed in.

    The copying is written out, a line for each field, as the library does for `__init__`. What was
    worked out for the old record is dropped: such a field begins with its first value.
    """
    slots = {f.name: getattr(kind, f.name).__set__ for f in fields(kind)}
    known: dict[str, Any] = {"new": object.__new__, "kind": kind}
    lines = ["def copy(old):", " made = new(kind)"]
    for f in fields(kind):
        known[f"put_{f.name}"] = slots[f.name]
        known[f"first_{f.name}"] = f.default
        lines.append(f" put_{f.name}(made, {f'old.{f.name}' if f.init else f'first_{f.name}'})")
    exec("\n".join((*lines, " return made")), known)  # noqa: S102 - names of our own fields
    return known["copy"], {f.name: slots[f.name] for f in fields(kind) if f.init}
