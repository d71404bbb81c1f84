"""How a value is spelt in the front matter: one way each, so that equal plans are equal bytes.

Free text stands in double quotes with the escapes that YAML and JSON share, so that nothing in it
can be taken for syntax by any reader. Ids and words of the contract stand plain when no reader of
YAML, old or new, could take them for anything but text. Every spelling is on one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec.json import Encoder

SAFE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*").fullmatch
NOT_NAMES: Final = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
"""Words that some version of YAML reads as something else, in any mixture of cases."""
UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")

_json = Encoder().encode


def text(value: str) -> str:
    """Free text, quoted. Characters that cannot be seen are escaped, all others are themselves."""
    if value.isprintable():
        if '"' not in value and "\\" not in value:
            return f'"{value}"'
        return _json(value).decode()
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", _json(value).decode())


def name(value: str) -> str:
    """An id or a word of the contract, plain if that is safe."""
    if SAFE_NAME(value) and value.lower() not in NOT_NAMES:
        return value
    return text(value)


def number(value: float) -> str:
    """A number as it was given: 3 stays 3, and 3.0 stays 3.0.

    Older readers of YAML take 1e-05 for text, so that a point is put into it.
    """
    shown = repr(value)
    return shown.replace("e", ".0e") if "e" in shown and "." not in shown else shown


def flag(value: bool) -> str:  # noqa: FBT001
    """A truth value."""
    return "true" if value else "false"


def names(values: Iterable[str]) -> str:
    """A list of ids on one line."""
    return f"[{', '.join(map(name, values))}]"


def texts(values: Iterable[str]) -> str:
    """A list of texts on one line."""
    return f"[{', '.join(map(text, values))}]"
