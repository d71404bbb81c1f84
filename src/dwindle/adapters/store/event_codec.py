"""Events to JSON and back, worked out once from the classes themselves.

A new kind of event needs no code here: the fields and their types are the format. An object
carries its fields in the order of the class; what equals its default is left out; where several
classes could stand, `kind` is the class's name. So the same event always gives the same bytes.

Reading is strict: a journal that says something we do not know was written by another version,
and half understanding it would be worse than stopping. msgspec does the text; it cannot do the
rest, since it ignores unknown keys of a dataclass and will not tell two of them apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Any, Protocol, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from dwindle.kernel.events import Event

TAG = "kind"

_EXACT = 2**53
"""Below it, a whole number and the float of it are the same."""

Json = Any


class EventUnfit(Exception):
    """An event that no journal can hold, or JSON that is no event; `where` leads to the spot."""

    def __init__(self, what: str, where: tuple[str | int, ...] = ()) -> None:
        super().__init__(what, where)
        self.what = what
        self.where = where

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.where)) or 'event'}: {self.what}"

    def under(self, step: str | int) -> EventUnfit:
        """Return the same fault, seen from one level further out."""
        return EventUnfit(self.what, (step, *self.where))


def encode(event: Event) -> bytes:
    """Return canonical JSON, without a newline."""
    try:
        return msgspec.json.encode(_codec(Event).encode(event))
    except ValueError as error:
        # Lone surrogates, integers of thousands of digits.
        raise EventUnfit(str(error)) from error
    except RecursionError:
        raise EventUnfit(_TOO_DEEP) from None


def decode(text: bytes) -> Event:
    """Return the event that `encode` made the text from."""
    try:
        return cast("Event", _codec(Event).decode(msgspec.json.decode(text)))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EventUnfit(f"not JSON: {error}") from error
    except RecursionError:
        raise EventUnfit(_TOO_DEEP) from None


_TOO_DEEP = "nested too deeply"


class _Codec(Protocol):
    @property
    def encode(self) -> Callable[[Any], Json]: ...
    @property
    def decode(self) -> Callable[[Json], Any]: ...


@dataclass(frozen=True, slots=True)
class _Pair:
    encode: Callable[[Any], Json]
    decode: Callable[[Json], Any]


@cache
def _codec(hint: Any) -> _Codec:
    """Return how to write and read whatever `hint` describes."""
    if hasattr(hint, "__supertype__"):
        return _codec(hint.__supertype__)
    if get_origin(hint) in (Union, UnionType):
        return _union(get_args(hint))
    if get_origin(hint) is tuple:
        *items, end = get_args(hint)
        return (
            _sequence(_codec(items[0])) if end is ... else _row((*map(_codec, items), _codec(end)))
        )
    if is_dataclass(hint):
        return _Record(cast("type", hint), tagged=False)
    if issubclass(hint, Enum):
        return _enumeration(hint)
    return _scalar((hint,))


def _union(members: tuple[Any, ...]) -> _Codec:
    some = tuple(member for member in members if member is not NoneType)
    if len(some) < len(members):
        return _optional(_codec(Union[some]))  # noqa: UP007 - made at run time
    if all(map(is_dataclass, some)):
        return _tagged(some)
    return _scalar(some)


def _optional(inner: _Codec) -> _Codec:
    def encode_optional(value: Any) -> Json:
        return None if value is None else inner.encode(value)

    def decode_optional(value: Json) -> Any:
        return None if value is None else inner.decode(value)

    return _Pair(encode_optional, decode_optional)


def _scalar(types: tuple[type, ...]) -> _Codec:
    """Return the codec for str, int, float and bool, or a choice of them."""
    expected = " or ".join(kind.__name__ for kind in types)
    widened = float in types and int not in types

    def check(value: Any) -> Any:
        kind = type(value)
        if widened and kind is int and abs(value) < _EXACT:
            value, kind = float(value), float
        if kind not in types and not (str in types and isinstance(value, str)):
            raise EventUnfit(f"expected {expected}, got {value!r:.60}")
        if kind is float and not math.isfinite(value):
            raise EventUnfit(f"expected a finite number, got {value!r}")
        return value

    return _Pair(check, check)


def _enumeration(kind: type[Enum]) -> _Codec:
    members = {member.value: member for member in kind}

    def encode_member(value: Any) -> Json:
        if value.__class__ is not kind:
            raise EventUnfit(f"expected a {kind.__name__}, got {value!r:.60}")
        return value.value

    def decode_member(value: Json) -> Enum:
        member = members.get(value) if isinstance(value, str) else None
        if member is None:
            raise EventUnfit(f"expected one of {', '.join(members)}, got {value!r:.60}")
        return member

    return _Pair(encode_member, decode_member)


def _sequence(item: _Codec) -> _Codec:
    def each(one: Callable[[Any], Any], values: list[Any] | tuple[Any, ...]) -> list[Any]:
        done: list[Any] = []
        for value in values:
            try:
                done.append(one(value))
            except EventUnfit as fault:
                raise fault.under(len(done)) from None
        return done

    def encode_all(values: Any) -> Json:
        if not isinstance(values, tuple):
            raise EventUnfit(f"expected a tuple, got {values!r:.60}")
        return each(item.encode, values)

    def decode_all(values: Json) -> tuple[Any, ...]:
        if not isinstance(values, list):
            raise EventUnfit(f"expected a list, got {values!r:.60}")
        return tuple(each(item.decode, values))

    return _Pair(encode_all, decode_all)


def _row(items: tuple[_Codec, ...]) -> _Codec:
    """Return the codec for a tuple of fixed length."""

    def encode_row(values: Any) -> Json:
        return [item.encode(value) for item, value in zip(items, values, strict=True)]

    def decode_row(values: Json) -> tuple[Any, ...]:
        if not isinstance(values, list) or len(values) != len(items):
            raise EventUnfit(f"expected a list of {len(items)}, got {values!r:.60}")
        return tuple(item.decode(value) for item, value in zip(items, values, strict=True))

    return _Pair(encode_row, decode_row)


class _Record:
    """One dataclass. Its fields are looked at when first needed, since classes may nest."""

    def __init__(self, kind: type, *, tagged: bool) -> None:
        self._kind = kind
        self._tagged = tagged

    @cached_property
    def _columns(self) -> dict[str, tuple[Any, Json, _Codec]]:
        """Default, default as JSON, and codec, by name."""
        hints = get_type_hints(self._kind)
        columns: dict[str, tuple[Any, Json, _Codec]] = {}
        for one in fields(self._kind):
            codec = _codec(hints[one.name])
            written = MISSING if one.default is MISSING else codec.encode(one.default)
            columns[one.name] = one.default, written, codec
        return columns

    def encode(self, value: Any) -> Json:
        if value.__class__ is not self._kind:
            raise EventUnfit(f"expected {self._kind.__name__}, got {value!r:.60}")
        out: dict[str, Json] = {TAG: self._kind.__name__} if self._tagged else {}
        for name, (default, default_json, codec) in self._columns.items():
            held = getattr(value, name)
            if held is default:
                continue
            try:
                json = codec.encode(held)
            except EventUnfit as fault:
                raise fault.under(name) from None
            if json != default_json:
                out[name] = json
        return out

    def decode(self, value: Json) -> Any:
        if not isinstance(value, dict):
            raise EventUnfit(f"expected an object, got {value!r:.60}")
        columns = self._columns
        arguments: dict[str, Any] = {}
        for name, held in value.items():
            if self._tagged and name == TAG:
                continue
            if name not in columns:
                raise EventUnfit(f"{self._kind.__name__} has no such field", (name,))
            try:
                arguments[name] = columns[name][2].decode(held)
            except EventUnfit as fault:
                raise fault.under(name) from None
        try:
            return self._kind(**arguments)
        except TypeError:
            lacking = [n for n, row in columns.items() if row[0] is MISSING and n not in arguments]
            raise EventUnfit(f"{self._kind.__name__} lacks {', '.join(lacking)}") from None


def _tagged(kinds: tuple[type, ...]) -> _Codec:
    codecs = {kind: _Record(kind, tagged=True) for kind in kinds}
    by_name = {kind.__name__: codec for kind, codec in codecs.items()}

    def encode_tagged(value: Any) -> Json:
        codec = codecs.get(value.__class__)
        if codec is None:
            raise EventUnfit(f"expected one of {', '.join(by_name)}, got {value!r:.60}")
        return codec.encode(value)

    def decode_tagged(value: Json) -> Any:
        name = value.get(TAG) if isinstance(value, dict) else None
        codec = by_name.get(name) if isinstance(name, str) else None
        if codec is None:
            raise EventUnfit(f"no such {TAG}: {name!r:.60}", (TAG,))
        return codec.decode(value)

    return _Pair(encode_tagged, decode_tagged)
