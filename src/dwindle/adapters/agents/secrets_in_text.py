"""Keeping what a program must know out of what others will read.

An agent has its key in its environment, and so has every command that it runs. What it says may
therefore hold the key, by accident or because somebody talked it into that. A name in brackets
stands in its place wherever we pass its words on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from dwindle.ports.process import SHORTEST_SECRET, Secret

SHORTEST: Final = SHORTEST_SECRET


class Secrets:
    """Values that must not be told, each with the name that is told for it."""

    def __init__(
        self,
        variables: Mapping[str, str],
        *,
        secret: tuple[str, ...],
        addresses: tuple[str, ...] = (),
    ) -> None:
        """`addresses` are URLs: only a name and password in front of the host is secret in them."""
        found = dict(_pairs(variables, secret, addresses))
        # Programs tell in JSON, where quotes and backslashes look different.
        inside = {json.dumps(value, ensure_ascii=False)[1:-1]: found[value] for value in found}
        found = {**inside, **found}
        # The longest first: one may be the beginning of another.
        self._values = tuple(sorted(found.items(), key=lambda pair: -len(pair[0])))

    def of_command(self) -> tuple[Secret, ...]:
        """For whoever keeps what the program prints."""
        return tuple(Secret(_bytes(value), f"[{name}]".encode()) for value, name in self._values)

    def out_of(self, text: str) -> str:
        for value, name in self._values:
            text = text.replace(value, f"[{name}]")
        return text

    def out_of_bytes(self, data: bytes) -> bytes:
        for value, name in self._values:
            data = data.replace(_bytes(value), f"[{name}]".encode())
        return data


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


def _pairs(
    variables: Mapping[str, str], secret: tuple[str, ...], addresses: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    for name in secret:
        value = variables.get(name, "").strip()
        if len(value) >= SHORTEST:
            yield value, name
    for name in addresses:
        try:
            place = urlsplit(variables.get(name, "")).netloc
        except ValueError:
            continue
        login, at, _ = place.rpartition("@")
        if at and len(login) >= SHORTEST:
            yield login, name
            _, colon, password = login.partition(":")
            if colon and len(password) >= SHORTEST:
                yield password, name
