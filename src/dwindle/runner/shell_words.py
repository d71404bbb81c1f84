"""The words of a shell line, for whoever looks for names in it."""

from __future__ import annotations

import re
import shlex

_SEPARATORS = re.compile(r"[\s;&|<>(){}`\"'$]+")
_NESTING = 3
"""How deep a command may be quoted inside of another."""


def words(line: str, nesting: int = _NESTING) -> list[str]:
    """What a shell would take for words, in any command of the line; quoted commands included.

    A line that cannot be taken apart properly is cut at everything that might end a word: better a
    file too many than one too few.
    """
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>(){}`")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        found = list(lexer)
    except ValueError:
        return [word for word in _SEPARATORS.split(line) if word]
    nested = [w for w in found if nesting and re.search(r"\s", w)]
    return [*found, *(inner for word in nested for inner in words(word, nesting - 1))]
