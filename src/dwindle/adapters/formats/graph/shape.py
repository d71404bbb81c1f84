"""Say everything that is wrong with the shape of a record, where the converter names one fault.

`msgspec.convert` is fast, strict and stops at the first fault. So it is asked first, and only when
it refuses is the value compared with its type once more, field by field, for the sake of the
person who has to fix the file. Should the two ever disagree, the converter is right and its own
words are reported: a file is never accepted because this module found nothing to say.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

from dwindle.adapters.formats.yaml_place import MAX_PROBLEMS, Path, clipped, step_of
from dwindle.kernel.model import Problem

T = TypeVar("T")

NAMES: Final[dict[type[Any], str]] = {
    str: "text {}",
    bool: "{}",
    int: "a whole number {}",
    float: "a number {}",
    dict: "a mapping",
    list: "a list",
    type(None): "nothing",
}
LONGEST_TYPO: Final = 64
"""Longer words are not mistyped keys, and comparing them takes long."""


@cache
def _info(shape: Any) -> inspect.Type:
    return inspect.type_info(shape)


def shaped(value: object, shape: type[T], where: Path) -> tuple[T | None, tuple[Problem, ...]]:
    """Convert a value, or say everything that keeps it from having that shape."""
    try:
        return msgspec.convert(value, shape), ()
    except msgspec.ValidationError as refusal:
        wanted: Any = shape
        found = tuple(islice(_faults(value, _info(wanted), where), MAX_PROBLEMS))
        return None, found or (Problem(where=where, what=str(refusal)),)


def converted(value: object, shape: type[T]) -> T | None:
    """Convert a value whose faults have been said already, or give None."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        return None


def closest(word: object, known: Iterable[str]) -> str:
    """Hint at what a mistyped word was probably meant to be, or at what it may be."""
    names = tuple(known)
    return _near(word, names) or "known: " + ", ".join(names)


def _near(word: object, names: Sequence[str]) -> str:
    if isinstance(word, str) and len(word) <= LONGEST_TYPO:
        folded = word.strip().lower().replace("-", "_").replace(" ", "_")
        for name in difflib.get_close_matches(folded, names, n=1, cutoff=0.6):
            return f"did you mean {name}?"
    return ""


def _faults(value: object, shape: inspect.Type, where: Path) -> Iterator[Problem]:
    match shape:
        case inspect.Metadata():
            yield from _faults(value, shape.type, where)
        case inspect.StructType():
            yield from _record_faults(value, shape, where)
        case inspect.DictType():
            yield from _mapping_faults(value, shape, where)
        case inspect.VarTupleType():
            yield from _list_faults(value, shape, where)
        case inspect.UnionType():
            yield from _union_faults(value, shape, where)
        case _:
            yield from _scalar_faults(value, shape, where)


def _scalar_faults(value: object, shape: inspect.Type, where: Path) -> Iterator[Problem]:
    match shape:
        case inspect.EnumType():
            yield from _word_faults(value, [member.value for member in shape.cls], where)
        case inspect.LiteralType():
            yield from _word_faults(value, [str(word) for word in shape.values], where)
        case inspect.StrType():
            if type(value) is not str:
                yield _expected("text", value, where, hint=_quote_it(value))
            elif shape.min_length and not value:
                yield Problem(where=where, what="is empty", hint="a name is needed")
        case inspect.IntType():
            yield from _integer_faults(value, shape, where)
        case _ if type(value) is not bool:  # what is left of the scalars of the contract
            yield _expected("true or false", value, where)


def _record_faults(value: object, shape: inspect.StructType, where: Path) -> Iterator[Problem]:
    if type(value) is not dict:
        yield _expected("a mapping", value, where, hint=_fields(shape))
        return
    known = {field.encode_name: field for field in shape.fields}
    missing = [name for name, field in known.items() if field.required and name not in value]
    for name in missing:
        yield Problem(where=(*where, name), what=f"{name} is missing", hint="add it")
    for key, entry in value.items():
        if type(key) is str and key in known:
            yield from _faults(entry, known[key].type, (*where, key))
        else:
            yield Problem(
                where=(*where, step_of(key)),
                what=f"unknown key {clipped(key)}",
                hint=closest(key, known),
            )


def _mapping_faults(value: object, shape: inspect.DictType, where: Path) -> Iterator[Problem]:
    if type(value) is not dict:
        yield _expected("a mapping", value, where)
        return
    for key, entry in value.items():
        yield from _faults(key, shape.key_type, (*where, step_of(key)))
        yield from _faults(entry, shape.value_type, (*where, step_of(key)))


def _list_faults(value: object, shape: inspect.VarTupleType, where: Path) -> Iterator[Problem]:
    if type(value) is not list:
        yield _expected("a list", value, where, hint="write [] for none")
        return
    for index, entry in enumerate(value):
        yield from _faults(entry, shape.item_type, (*where, index))


def _union_faults(value: object, shape: inspect.UnionType, where: Path) -> Iterator[Problem]:
    kinds = [kind for kind in shape.types if not isinstance(kind, inspect.NoneType)]
    if value is None and len(kinds) < len(shape.types):
        return
    if any(isinstance(kind, inspect.FloatType) for kind in kinds):
        if type(value) is not int and type(value) is not float:
            yield _expected("a number", value, where)
        return
    yield from _faults(value, kinds[0], where)


def _word_faults(value: object, words: list[str], where: Path) -> Iterator[Problem]:
    if value not in words:
        what = f"{clipped(value)} is none of {', '.join(words)}"
        yield Problem(where=where, what=what, hint=_near(value, words))


def _integer_faults(value: object, shape: inspect.IntType, where: Path) -> Iterator[Problem]:
    if type(value) is not int:
        yield _expected("a whole number", value, where)
    elif shape.ge is not None and shape.le is not None and not shape.ge <= value <= shape.le:
        yield Problem(where=where, what=f"{value} is not between {shape.ge} and {shape.le}")


def _expected(wanted: str, value: object, where: Path, hint: str = "") -> Problem:
    given = NAMES[type(value)].format(clipped(value))
    return Problem(where=where, what=f"must be {wanted}, not {given}", hint=hint)


def _quote_it(value: object) -> str:
    return "" if value is None or isinstance(value, dict | list) else "put it in double quotes"


def _fields(shape: inspect.StructType) -> str:
    return "its keys are " + ", ".join(field.encode_name for field in shape.fields)
