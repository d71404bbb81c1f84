"""Write a plan again when little of it has changed, at the price of what has changed.

Dumping all YAML at every step is what ruins tools like this one. Plans are frozen and replaced, so
a record that is the very same object as last time has the very same text: its fragment is kept,
and a save is one comparison per record and a join. A section whose whole container is the same
object is not even looked into.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from dwindle.adapters.formats.graph import encode as write
from dwindle.kernel.model import Plan

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
FENCE: Final = b"---\n"


class Fragments(Generic[K, V]):
    """The text of one section, and of every record in it."""

    def __init__(self, title: str, empty: str, encode: Callable[[K, V], str]) -> None:
        self._title = f"\n{title}:\n".encode()
        self._none = f"\n{title}: {empty}\n".encode()
        self._encode = encode
        self._records: dict[K, tuple[V, bytes]] = {}
        self._container: object = None
        self._section = b""

    def section(self, container: Collection[Any], entries: Iterable[tuple[K, V]]) -> bytes:
        """The whole section, encoding only the entries that are not last time's objects."""
        if container is self._container:
            return self._section
        known, records = self._records.get, {}
        parts = [self._title]
        for key, value in entries:
            record = known(key)
            if record is None or record[0] is not value:
                record = (value, self._encode(key, value).encode())
            records[key] = record
            parts.append(record[1])
        self._records = records
        self._container = container
        self._section = b"".join(parts) if records else self._none
        return self._section


class GraphWriter:
    """Encodes the plans of one file, one after the other; the body is always the same."""

    def __init__(self, body: bytes = b"") -> None:
        self._body = body
        self._atoms = Fragments("atoms", "[]", write.atom)
        self._decompositions = Fragments("decompositions", "[]", write.decomposition)
        self._groups = Fragments("or_groups", "{}", write.group)
        self._bindings = Fragments("bindings", "{}", write.binding)
        self._trail = Fragments("trail", "[]", write.trail_entry)
        self._corrections = Fragments("corrections", "[]", write.correction)

    def encode(self, plan: Plan) -> bytes:
        """Give the whole file."""
        return b"".join(
            (
                FENCE,
                write.objective(plan).encode(),
                b"\n",
                write.control(plan).encode(),
                _named(self._atoms, plan.atoms),
                _listed(self._decompositions, plan.decompositions),
                _named(self._groups, plan.groups),
                _named(self._bindings, plan.bindings),
                _listed(self._trail, plan.trail),
                _listed(self._corrections, plan.corrections),
                FENCE,
                self._body,
            )
        )


def _named(fragments: Fragments[Any, V], records: Mapping[Any, V]) -> bytes:
    return fragments.section(records, records.items())


def _listed(fragments: Fragments[Any, V], records: Sequence[V]) -> bytes:
    return fragments.section(records, enumerate(records))
