"""Keeping secrets out of a stream that comes in pieces.

A secret may be cut in two anywhere, so the end of what has come is held back for as long as a
secret could begin there. A line that has ended is never held back, unless a secret has line ends in
it: whoever watches the lines sees each as it comes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dwindle.ports.process import Secret

FEW = 8
_NONE = re.compile(b"")


class Mask:
    """Bytes in, the same bytes out, with what is shown for each secret in its place."""

    __slots__ = ("_held", "_pattern", "_shown")

    def __init__(self, secrets: Sequence[Secret]) -> None:
        self._shown = {secret.value: secret.shown for secret in secrets if secret.value}
        # The longest first: one may be the beginning of another.
        values = sorted(self._shown, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, values))) if values else _NONE
        self._held = b""

    def add(self, data: bytes) -> bytes:
        """What can be told by now."""
        return self._told(self._held + data, is_last=False) if self._shown else data

    def end(self) -> bytes:
        """What was held back; no more comes."""
        return self._told(self._held, is_last=True) if self._held else b""

    def _told(self, text: bytes, *, is_last: bool) -> bytes:
        parts: list[bytes] = []
        done, doubtful = 0, len(text) if is_last else self._doubtful(text, 0)
        if any(value in text for value in self._shown):  # a plain search is many times as fast
            while (found := self._pattern.search(text, done)) and found.start() < doubtful:
                parts += (text[done : found.start()], self._shown[found[0]])
                done = found.end()
                if done > doubtful:
                    doubtful = self._doubtful(text, done)
        self._held = text[doubtful:]
        return b"".join((*parts, text[done:doubtful]))

    def _doubtful(self, text: bytes, since: int) -> int:
        """Where the longest end of the text begins with which a secret could go on."""
        return min((_beginning(value, text, since) for value in self._shown), default=len(text))


def _beginning(value: bytes, text: bytes, since: int) -> int:
    since = max(since, len(text) - len(value) + 1)
    # To look for a few bytes at once passes over most of what is no beginning.
    at = text.find(value[:FEW], since)
    while at >= 0:
        if value.startswith(text[at:]):
            return at
        at = text.find(value[:FEW], at + 1)
    for at in range(max(since, len(text) - FEW), len(text)):
        if value.startswith(text[at:]):
            return at
    return len(text)
