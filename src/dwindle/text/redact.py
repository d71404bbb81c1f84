"""Redaction: which values are secret, how programs spell them, and how to take them out of text.

A variable holds a secret if its name says so, or if the value looks like a key: vendors give keys a
prefix of their own, and a URL may hold a password. A variable that the user lets through to agents
needs only the name. Of all other variables of the runner only a value that is long enough to be a
key counts: `USE_TOKEN=false` must not take every "false" out of every report.

The name of the secret in brackets replaces the value. Besides the value itself, this module looks
for the spellings that programs produce without meaning to hide it: in JSON, in a URL, line by line.
A program that wants to hide a secret (reversed, in base64, a letter at a time) can do so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, Final

from dwindle.ports.process import Secret
from dwindle.text.escape import escape

SHORTEST: Final = 5
"""A shorter value is a word, and no secret."""
SHORTEST_UNNAMED: Final = 8
"""Of a variable that the user did not let through."""
SHORTEST_LINE: Final = 16
"""Of a secret with several lines: a line of that length is a secret on its own."""
HIDDEN: Final = "[...]"
"""In place of a secret without a name."""

_SECRET_NAME: Final = re.compile(
    r"(?:TOKEN|KEYS?|(?:^|_)SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_|$)|"
    r"(?:^|_)(?:PAT|PASS|AUTH|COOKIE|BEARER)$|_PWD$"
)
_NO_KEY: Final = re.compile(r"(?i)true|false|null|none|[0-9.]{1,12}")
_VENDOR_KEY: Final = re.compile(
    r"(?:sk-|sk_live_|rk_live_|gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|AKIA|ASIA|AIza|npm_|"
    r"pypi-|hf_|ya29\.|eyJ[\w-]+\.|dop_v1_|SG\.|-----BEGIN )\S.{6,}",
    re.DOTALL,
)
_URL_LOGIN: Final = re.compile(r"[A-Za-z][\w+.-]*://([^/?#]+)@")
_UNRESERVED_IN_URLS: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~"
)
_OPTION_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_FEW: Final = 8


# --- which values are secret ---------------------------------------------------------------------


def is_secret_name(name: str) -> bool:
    """Does the name of a variable or an option say that its value is secret?"""
    return _SECRET_NAME.search(name.upper().replace("-", "_")) is not None


def secret_names(variables: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that hold a secret, by their names."""
    return tuple(
        name
        for name, value in variables.items()
        if is_secret_name(name) and len(value.strip()) >= SHORTEST
    )


def variable_secrets(
    variables: Mapping[str, str],
    names: Iterable[str] | None = None,
    urls: Iterable[str] = (),
) -> tuple[Secret, ...]:
    """Of the variables `names`, by default those with a telling name, and the logins in `urls`."""
    chosen = secret_names(variables) if names is None else names
    pairs = [(name, variables[name]) for name in chosen if name in variables]
    pairs += [(name, login) for name in urls for login in url_logins(variables.get(name, ""))]
    return named_secrets(pairs)


def environment_secrets(
    let_through: Mapping[str, str], ours: Mapping[str, str]
) -> tuple[Secret, ...]:
    """Of the variables that the user lets through, and of all others of the runner."""
    found = {value: name for name, value in ours.items() if _is_key(name, value, SHORTEST_UNNAMED)}
    found |= {value: name for name, value in let_through.items() if _is_key(name, value, SHORTEST)}
    for name, value in {**ours, **let_through}.items():
        found |= dict.fromkeys(url_logins(value), name)
    return named_secrets((name, value) for value, name in found.items())


def command_line_secrets(words: Sequence[str], name: str) -> Iterator[tuple[str, str]]:
    """Name and value of what follows an option such as --api-key, or looks like a key."""
    return ((name, value) for _, value, is_secret in _options(words) if is_secret)


def redact_command_line(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        f"{option}{HIDDEN if is_secret else value}" for option, value, is_secret in _options(words)
    )


def url_logins(url: str) -> Iterator[str]:
    """Name and password in front of the host, and the password alone."""
    found = _URL_LOGIN.match(url.strip())
    if found is None:
        return
    _, _, password = found[1].partition(":")
    for value in (found[1], password):
        if len(value) >= SHORTEST:
            yield value


def named_secrets(pairs: Iterable[tuple[str, str]]) -> tuple[Secret, ...]:
    """Names and values, in all spellings; the longest first."""
    found: dict[bytes, bytes] = {}
    for name, value in pairs:
        if len(value.strip()) < SHORTEST:
            continue
        shown = f"[{name}]".encode("utf-8", "replace")
        for spelling in spellings(value.strip()):
            found.setdefault(spelling.encode("utf-8", "surrogateescape"), shown)
    return longest_first(Secret(value, shown) for value, shown in found.items())


def longest_first(secrets: Iterable[Secret]) -> tuple[Secret, ...]:
    """Each value once, under its first name. One value may be the beginning of another."""
    known: dict[bytes, Secret] = {}
    for secret in secrets:
        known.setdefault(secret.value, secret)
    return tuple(sorted(known.values(), key=lambda secret: -len(secret.value)))


def spellings(value: str) -> Iterator[str]:
    """The value as it is, in JSON, in a URL, and one line at a time."""
    yield value
    inside = json.dumps(value, ensure_ascii=False)[1:-1]
    yield from (inside, json.dumps(value)[1:-1], inside.replace("/", "\\/"))
    yield "".join(
        chr(byte) if byte in _UNRESERVED_IN_URLS else f"%{byte:02X}"
        for byte in value.encode("utf-8", "surrogateescape")
    )
    if "\n" in value:
        lines = (line.strip() for line in value.splitlines())
        yield from (line for line in lines if len(line) >= SHORTEST_LINE and "-----" not in line)


def _is_key(name: str, value: str, shortest: int) -> bool:
    value = value.strip()
    if len(value) < shortest or _NO_KEY.fullmatch(value):
        return False
    return is_secret_name(name) or _is_vendor_key(value)


def _is_vendor_key(value: str) -> bool:
    return _VENDOR_KEY.fullmatch(value) is not None


def _options(words: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Each word as `--option=` (or nothing) and a value, and whether the value is secret."""
    value_follows = False
    for word in words:
        option, equals, value = word.partition("=")
        if value_follows and not word.startswith("-"):
            yield "", word, True
        elif equals and _OPTION_NAME.fullmatch(option):
            yield f"{option}=", value, is_secret_name(option) or _is_vendor_key(value)
        else:
            yield "", word, _is_vendor_key(word)
        value_follows = word.startswith("-") and not equals and is_secret_name(word)


# --- taking them out -----------------------------------------------------------------------------


def redact(text: str, secrets: Sequence[Secret]) -> str:
    if not secrets or not text:
        return text
    data = text.encode("utf-8", "surrogatepass")
    clean = redact_bytes(data, secrets)
    return text if clean is data else clean.decode("utf-8", "surrogatepass")


def redact_bytes(data: bytes, secrets: Sequence[Secret]) -> bytes:
    """Also where JSON has some letters of a secret as numbers."""
    for secret in secrets:
        if secret.value in data:
            data = data.replace(secret.value, secret.shown)
    if b"\\u00" in data:
        for secret in secrets:
            if (pattern := _with_json_numbers(secret.value)) is not None:
                data = pattern.sub(secret.shown.replace(b"\\", rb"\\"), data)
    return data


def redact_and_escape(value: Any, secrets: Sequence[Secret]) -> Any:
    """A report, or a part of one, with every text in it escaped and without secrets."""
    if isinstance(value, str):
        # An enum is a word of this program.
        return redact(escape(value), secrets) if type(value) is str else value
    if isinstance(value, (tuple, list)):
        return type(value)(redact_and_escape(one, secrets) for one in value)
    if isinstance(value, Mapping):
        return {
            redact_and_escape(key, secrets): redact_and_escape(one, secrets)
            for key, one in value.items()
        }
    if is_dataclass(value) and not isinstance(value, type):
        before = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        after = {name: redact_and_escape(one, secrets) for name, one in before.items()}
        return value if after == before else replace(value, **after)
    return value


@lru_cache(64)
def _with_json_numbers(value: bytes) -> re.Pattern[bytes] | None:
    if not value.isascii():
        return None
    letters = (
        rb"(?:%b|\\u00(?i:%02x))" % (re.escape(bytes((letter,))), letter) for letter in value
    )
    return re.compile(b"".join(letters))


class StreamRedactor:
    """Redacts a stream that comes in pieces.

    A piece may end inside of a secret, so the redactor holds back the end of the data for as long
    as a secret could begin there. It never holds back a complete line, unless a secret has line
    ends in it: a reader of lines gets each as it comes.
    """

    __slots__ = ("_held_back", "_pattern", "_shown")

    def __init__(self, secrets: Sequence[Secret]) -> None:
        self._shown = {secret.value: secret.shown for secret in secrets if secret.value}
        values = sorted(self._shown, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, values))) if values else None
        self._held_back = b""

    def add(self, data: bytes) -> bytes:
        """What is certain by now."""
        if self._pattern is None:
            return data
        return self._redacted(self._pattern, self._held_back + data, is_last=False)

    def end(self) -> bytes:
        """What was held back; no more comes."""
        if self._pattern is None or not self._held_back:
            return b""
        return self._redacted(self._pattern, self._held_back, is_last=True)

    def _redacted(self, pattern: re.Pattern[bytes], text: bytes, *, is_last: bool) -> bytes:
        parts: list[bytes] = []
        done, doubtful = 0, len(text) if is_last else self._doubtful(text, 0)
        if any(value in text for value in self._shown):  # a plain search is many times as fast
            while (found := pattern.search(text, done)) and found.start() < doubtful:
                parts += (text[done : found.start()], self._shown[found[0]])
                done = found.end()
                if done > doubtful:
                    doubtful = self._doubtful(text, done)
        self._held_back = text[doubtful:]
        return b"".join((*parts, text[done:doubtful]))

    def _doubtful(self, text: bytes, since: int) -> int:
        """Where the longest end of the text begins that a secret could go on from."""
        return min((_beginning(value, text, since) for value in self._shown), default=len(text))


def _beginning(value: bytes, text: bytes, since: int) -> int:
    since = max(since, len(text) - len(value) + 1)
    # To look for a few bytes at once skips most places that are no beginning.
    at = text.find(value[:_FEW], since)
    while at >= 0:
        if value.startswith(text[at:]):
            return at
        at = text.find(value[:_FEW], at + 1)
    for at in range(max(since, len(text) - _FEW), len(text)):
        if value.startswith(text[at:]):
            return at
    return len(text)
