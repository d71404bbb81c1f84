"""Which values are secret, how they may be spelt, and how they are taken out of words.

A key is known by the name of its variable, or by its own looks: vendors give theirs a beginning of
their own, and an address may have a password in it. What is let through to agents on purpose is
taken at its name's word. Of all else in our own environment only what is long enough to be a key
is: a `USE_TOKEN=false` must not take every "false" out of every report.

A name in brackets stands where the value stood. Besides the value itself, the ways in which
programs write it down without meaning to hide it are looked for: in JSON, in an address, line by
line. Somebody who wants to hide it (reversed, in base64, a letter at a time) can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, Final

from dwindle.ports.legible import legible
from dwindle.ports.process import SHORTEST_SECRET, Secret, is_secret_name

SHORTEST_UNASKED: Final = 8
"""Of a variable that nobody named."""
SHORTEST_LINE: Final = 16
"""Of a secret that has several, to be one by itself."""
_NO_KEY: Final = re.compile(r"(?i)true|false|null|none|[0-9.]{1,12}")
_OF_VENDORS: Final = re.compile(
    r"(?:sk-|sk_live_|rk_live_|gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|AKIA|ASIA|AIza|npm_|"
    r"pypi-|hf_|ya29\.|eyJ[\w-]+\.|dop_v1_|SG\.|-----BEGIN )\S.{6,}",
    re.DOTALL,
)
_LOGIN: Final = re.compile(r"[A-Za-z][\w+.-]*://([^/?#]+)@")
_OF_ADDRESSES: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~"
)
"""Written as they are in every part of one."""
_OPTION: Final = re.compile(r"-{0,2}([A-Za-z0-9_-]+)(=?)(.*)", re.DOTALL)


def secrets_of(named: Mapping[str, str], ours: Mapping[str, str]) -> tuple[Secret, ...]:
    """Of variables that somebody lets through, and of the rest of our own; the longest first."""
    found = {value: name for name, value in ours.items() if _is_one(name, value, SHORTEST_UNASKED)}
    found |= {value: name for name, value in named.items() if _is_one(name, value, SHORTEST_SECRET)}
    for name, value in {**ours, **named}.items():
        found |= dict.fromkeys(logins(value), name)
    return spelt((name, value) for value, name in found.items())


def secrets_in_words(words: Sequence[str], name: str) -> Iterator[tuple[str, str]]:
    """What a command line has behind an option such as --api-key, or that looks like a key."""
    follows = False
    for word in words:
        found = _OPTION.fullmatch(word)
        telling = found is not None and is_secret_name(found[1].replace("-", "_"))
        value = found[3] if found is not None and found[2] else word
        said_so = (follows and not word.startswith("-")) or (telling and found and found[2])
        if said_so or _OF_VENDORS.fullmatch(value):
            yield name, value
        follows = telling and word.startswith("-") and not (found and found[2])


def spelt(pairs: Iterable[tuple[str, str]]) -> tuple[Secret, ...]:
    """Names and values, in all spellings; the longest first."""
    found: dict[bytes, bytes] = {}
    for name, value in pairs:
        for spelling in spellings(value.strip()):
            if len(spelling) >= SHORTEST_SECRET:
                shown = f"[{name}]".encode("utf-8", "replace")
                found.setdefault(spelling.encode("utf-8", "surrogateescape"), shown)
    return longest_first(Secret(value, shown) for value, shown in found.items())


def longest_first(secrets: Iterable[Secret]) -> tuple[Secret, ...]:
    """Each value once, by the name that came first. One may be the beginning of another."""
    known: dict[bytes, Secret] = {}
    for secret in secrets:
        known.setdefault(secret.value, secret)
    return tuple(sorted(known.values(), key=lambda secret: -len(secret.value)))


def spellings(value: str) -> Iterator[str]:
    """The value, and what programs make of it that write JSON, addresses, or one line at a time."""
    yield value
    inside = json.dumps(value, ensure_ascii=False)[1:-1]
    yield from (inside, json.dumps(value)[1:-1], inside.replace("/", "\\/"))
    yield "".join(
        chr(byte) if byte in _OF_ADDRESSES else f"%{byte:02X}"
        for byte in value.encode("utf-8", "surrogateescape")
    )
    if "\n" in value:
        lines = (line.strip() for line in value.splitlines())
        yield from (line for line in lines if len(line) >= SHORTEST_LINE and "-----" not in line)


def logins(address: str) -> Iterator[str]:
    """Name and password in front of a host, and the password alone."""
    found = _LOGIN.match(address.strip())
    if found is None:
        return
    _, _, password = found[1].partition(":")
    for value in (found[1], password):
        if len(value) >= SHORTEST_SECRET:
            yield value


def _is_one(name: str, value: str, shortest: int) -> bool:
    value = value.strip()
    if len(value) < shortest or _NO_KEY.fullmatch(value):
        return False
    return is_secret_name(name) or _OF_VENDORS.fullmatch(value) is not None


# --- taking them out -----------------------------------------------------------------------------


def told_bytes(data: bytes, secrets: Sequence[Secret]) -> bytes:
    """Without the secrets, also where JSON has some of their letters as numbers."""
    for secret in secrets:
        if secret.value in data:
            data = data.replace(secret.value, secret.shown)
    if b"\\u00" in data:
        for secret in secrets:
            if (pattern := _by_number(secret.value)) is not None:
                data = pattern.sub(secret.shown.replace(b"\\", rb"\\"), data)
    return data


def told(text: str, secrets: Sequence[Secret]) -> str:
    if not secrets or not text:
        return text
    data = text.encode("utf-8", "surrogatepass")
    clean = told_bytes(data, secrets)
    return text if clean is data else clean.decode("utf-8", "surrogatepass")


def retold(value: Any, secrets: Sequence[Secret]) -> Any:
    """A report, or a part of one, with every text in it fit to be read: legible, and no secret."""
    if isinstance(value, str):
        # An enum is one of our own words.
        return told(legible(value), secrets) if type(value) is str else value
    if isinstance(value, (tuple, list)):
        return type(value)(retold(one, secrets) for one in value)
    if isinstance(value, Mapping):
        return {retold(key, secrets): retold(one, secrets) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        before = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        after = {name: retold(one, secrets) for name, one in before.items()}
        return value if after == before else replace(value, **after)
    return value


@lru_cache(64)
def _by_number(value: bytes) -> re.Pattern[bytes] | None:
    if not value.isascii():
        return None
    letters = (
        rb"(?:%b|\\u00(?i:%02x))" % (re.escape(bytes((letter,))), letter) for letter in value
    )
    return re.compile(b"".join(letters))
