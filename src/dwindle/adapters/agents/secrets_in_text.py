"""Keeping what a program must know out of what others will read.

An agent has its key in its environment, and so has every command that it runs. What it says may
therefore hold the key, by accident or because somebody talked it into that. A name in brackets
stands in its place wherever we pass its words on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dwindle.ports.process import SHORTEST_SECRET, Secret
from dwindle.ports.secrecy import logins, spelt, told, told_bytes


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
        self._secrets = spelt(_pairs(variables, secret, addresses))

    def of_command(self) -> tuple[Secret, ...]:
        """For whoever keeps what the program prints."""
        return self._secrets

    def out_of(self, text: str) -> str:
        return told(text, self._secrets)

    def out_of_bytes(self, data: bytes) -> bytes:
        return told_bytes(data, self._secrets)


def _pairs(
    variables: Mapping[str, str], secret: tuple[str, ...], addresses: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    for name in secret:
        value = variables.get(name, "").strip()
        if len(value) >= SHORTEST_SECRET:
            yield name, value
    for name in addresses:
        for value in logins(variables.get(name, "")):
            yield name, value
