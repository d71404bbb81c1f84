"""What may stand behind a key of the settings: how it is called, and how it is read.

A kind names itself in messages and in the documentation, so that the two cannot drift apart. The
values come from TOML: a truth value is no number here, and nothing is coerced.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, Final

SHELL: Final = ("sh", "-c")
"""What runs a command that was given as one text."""
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
SHOWN: Final = 60


class Unfit(Exception):
    """A value that is not of the kind asked for."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what, hint)
        self.what = what
        self.hint = hint


@dataclass(frozen=True, slots=True)
class ValueKind:
    """One kind of value."""

    name: str
    """For messages and for the documentation: what one may write."""
    read: Callable[[object], Any]
    """Gives the value that the settings hold, or raises Unfit."""


class BuiltinAgent(StrEnum):
    """Which adapter of ours drives an agent; there may be others installed."""

    COMMAND = "command"
    SCRIPTED = "scripted"
    CLAUDE = "claude"
    CODEX = "codex"


def shown(value: object) -> str:
    """A value in a message, however long or odd it is."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    text = ascii(value) if isinstance(value, str) else str(value)
    text = {"True": "true", "False": "false"}.get(text, text)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise Unfit(f"must be true or false, not {shown(value)}")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unfit(f"must be a whole number, not {shown(value)}")
    if value < 1:
        raise Unfit(f"is {value}, which would allow nothing", "give 1 or more, or leave it out")
    return value


def _amount(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Unfit(f"must be a number, not {shown(value)}")
    if not math.isfinite(value) or value <= 0:
        raise Unfit(f"is {value}, which is no limit", "give a number above 0, or leave it out")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Unfit(f"must be text, not {shown(value)}", "put it in double quotes")
    if not value.strip():
        raise Unfit("is blank", "leave it out instead")
    if "\0" in value:
        raise Unfit("contains a NUL, which no program could be given")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise Unfit(f"must be a list of texts, not {shown(value)}", 'for example ["one", "two"]')
    return tuple(_text(entry) for entry in value)


def _command(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (*SHELL, _text(value))
    if not isinstance(value, list):
        what = f"must be a text for the shell or a list of words, not {shown(value)}"
        raise Unfit(what, 'for example "make test" or ["make", "test"]')
    if not value:
        raise Unfit("is an empty list", "name a program, or leave it out")
    program, *words = value
    for word in words:
        if not isinstance(word, str):
            raise Unfit(f"has a word that is not text: {shown(word)}", "put it in double quotes")
        if "\0" in word:
            raise Unfit("contains a NUL, which no program could be given")
    return (_text(program), *words)


def _inside(value: object) -> tuple[str, ...]:
    """Paths that stay within the repository."""
    paths = _texts(value)
    for path in paths:
        parts = PurePosixPath(path).parts
        if path.startswith("/") or ".." in parts or not parts:
            raise Unfit(f"{shown(path)} leads out of the repository", "name a path inside it")
        if parts[0] == ".git":
            raise Unfit(f"{shown(path)} belongs to git", "name another path")
    return paths


def _variables(value: object) -> tuple[str, ...]:
    names = _texts(value)
    for name in names:
        if not VARIABLE.fullmatch(name):
            what = f"{shown(name)} is no name of a variable"
            raise Unfit(what, "names only; the values are those of the runner")
    return names


def _variable(value: object) -> str:
    name = _text(value)
    if not VARIABLE.fullmatch(name):
        # Perhaps what should have been in the variable was written here.
        raise Unfit("is no name of a variable", "its name only, such as WEBHOOK_URL")
    return name


def _web_address(value: object) -> str:
    """Never shown: often it is all that one needs to post there."""
    from urllib.parse import urlsplit  # noqa: PLC0415 - few have one

    address = _text(value)
    hint = "for example https://example.org/hook"
    if not address.isascii() or not address.isprintable() or " " in address:
        raise Unfit("has a character that no address can have", hint)
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:  # a port that is no number, or half an IPv6 address
        raise Unfit("is no address", hint) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise Unfit("is no address that begins with http:// or https://", hint)
    if "@" in parts.netloc:
        raise Unfit("has a name or a password before its host, which is not sent", hint)
    return address


def _backend(value: object) -> BuiltinAgent | str:
    """One of ours, or the name that another package gives to its own, which is looked for later."""
    name = _text(value)
    if name in list(BuiltinAgent):
        return BuiltinAgent(name)
    if not NAME.fullmatch(name):
        ours = ", ".join(BuiltinAgent)
        what = f"must be one of {ours}, or the name of an installed one, not {shown(value)}"
        raise Unfit(what, "letters, digits, dots, dashes and underscores")
    return name


def agent_named(words: str) -> dict[str, Any]:
    """The settings that `claude:opus`, `command:my-agent --fast` or `scripted:FILE` stands for."""
    name, colon, rest = words.partition(":")
    backend, rest = _backend(name.strip()), rest.strip()
    if colon and not rest:
        raise Unfit(f"{shown(words)} has nothing behind its colon", "name a model, or no colon")
    if backend is BuiltinAgent.COMMAND:
        return {"backend": backend, "command": _command(rest)}
    if backend is BuiltinAgent.SCRIPTED:
        return {"backend": backend, "script": _text(rest)}
    return {"backend": backend, "model": rest or None}


def _agents(value: object) -> tuple[str, ...]:
    """Agents in the order in which they are tried, each as `backend` or `backend:model`."""
    named = _texts(value)
    for number, words in enumerate(named):
        agent_named(words)
        if words in named[:number]:
            raise Unfit(f"names {shown(words)} twice", "name each once, the cheapest first")
    return named


FLAG: Final = ValueKind("true or false", _flag)
COUNT: Final = ValueKind("whole number, 1 or more", _count)
AMOUNT: Final = ValueKind("number above 0", _amount)
TEXT: Final = ValueKind("text", _text)
TEXTS: Final = ValueKind("list of texts", _texts)
COMMAND: Final = ValueKind("text or list of words", _command)
INSIDE: Final = ValueKind("list of paths in the repository", _inside)
VARIABLES: Final = ValueKind("list of names", _variables)
VARIABLE_NAME: Final = ValueKind("name of a variable", _variable)
WEB_ADDRESS: Final = ValueKind("address, http or https", _web_address)
AGENTS: Final = ValueKind("list of agents, backend or backend:model", _agents)
BACKEND: Final = ValueKind(
    ", ".join([*(f'"{backend}"' for backend in BuiltinAgent), "or an installed one"]), _backend
)
