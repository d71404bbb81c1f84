"""What a program printed, as evidence: its end, cleaned, and a digest of all of it."""

from __future__ import annotations

import re
from hashlib import sha256

from dwindle.ports.process import Captured

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def end_of(text: str, characters: int) -> str:
    """The last whole lines that fit; colours and control characters have no place in a plan."""
    plain = _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    plain = "".join(c if c.isprintable() or c in "\n\t" else " " for c in plain).strip("\n")
    if len(plain) <= characters:
        return plain
    kept = plain[-characters:]
    _, line_break, whole_lines = kept.partition("\n")
    return f"[...]\n{whole_lines if line_break else kept}"


def digest_of(captured: Captured) -> str:
    """Empty where part of the output was thrown away before anybody digested it."""
    if captured.digest or not captured.is_whole:
        return captured.digest
    return sha256(captured.head + captured.tail).hexdigest()
