"""Cut a graph plan file in two: front matter, which the machine owns, and body, which people own.

The cut is where everything that is wrong with a file as a file is noticed, before any YAML is
read: its size, its encoding, its line ends, characters that cannot be seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from dwindle.adapters.formats.graph.wire import SECTIONS
from dwindle.kernel.model import Problem

MAX_BYTES: Final = 16 * 1024 * 1024
"""Room for some sixty thousand atoms; a larger file would take minutes to refuse."""
FIRST_LINE: Final = 2
"""The line of the file on which the text of the front matter begins."""
FENCE: Final = re.compile(rb"---\r?(?:\n|\Z)")
SECOND: Final = re.compile(
    rb"\s*(?:^---\r?\n\s*)*^(?:" + "|".join(SECTIONS).encode() + rb"):[ \t]*\r?$", re.MULTILINE
)
UNSEEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
EXAMPLE: Final = "a line of three dashes, then the plan, then three dashes again"


@dataclass(frozen=True, slots=True)
class Front:
    """The two parts. Without `text` there is nothing to read."""

    text: str | None
    body: bytes
    problems: tuple[Problem, ...] = ()


def split(data: bytes) -> Front:
    """Find the front matter and everything that is wrong with the file around it."""
    if len(data) > MAX_BYTES:
        size = f"the file has {len(data)} bytes; at most {MAX_BYTES} are read"
        return Front(None, b"", (Problem(where=(), what=size, line=1),))
    problems: list[Problem] = []
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        problems.append(_at(1, "the file begins with a byte order mark", "save it without one"))
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.append(_at(line, f"byte {error.start + 1} is not UTF-8", "save it as UTF-8"))
        return Front(None, b"", tuple(problems))
    opening = FENCE.match(data)
    if opening is None:
        problems.append(_at(1, "there is no front matter", EXAMPLE))
        return Front(None, data, tuple(problems))
    closing = _closing(data, opening.end())
    if closing is None:
        problems.append(_at(1, "the front matter has no end", EXAMPLE))
        return Front(None, b"", tuple(problems))
    head, body = data[: closing.end()], data[closing.end() :]
    if b"\r" in head:
        line = head.count(b"\n", 0, head.index(b"\r")) + 1
        problems.append(_at(line, "a line ends with a carriage return", "use plain line feeds"))
    text = data[opening.end() : closing.start()].decode().replace("\r\n", "\n").replace("\r", "\n")
    if second := SECOND.match(body):
        line = data.count(b"\n", 0, closing.end() + second.end()) + 1
        what = "a second YAML document begins where the text for people should"
        problems.append(_at(line, what, "keep only one front matter"))
    return Front(text, body, tuple(problems))


def _closing(data: bytes, start: int) -> re.Match[bytes] | None:
    """Find the next line that is nothing but three dashes."""
    while start < len(data):
        if fence := FENCE.match(data, start):
            return fence
        start = data.find(b"\n---", start) + 1 or len(data)
    return None


def unseen(text: str) -> tuple[Problem, ...]:
    """Find the first character of the front matter that a person could not see."""
    found = UNSEEN.search(text)
    if found is None:
        return ()
    line = text.count("\n", 0, found.start()) + FIRST_LINE
    code = ord(found.group())
    what = f"the character U+{code:04X} cannot be seen"
    return (_at(line, what, f'write it as "\\u{code:04X}", or take it out'),)


def _at(line: int, what: str, hint: str) -> Problem:
    return Problem(where=(), what=what, hint=hint, line=line)
