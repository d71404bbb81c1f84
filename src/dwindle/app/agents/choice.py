"""`--agent`: who does the work, from the words of a person to settings that stand above the file.

`claude` is for all roles, `verifier=codex` for one, and stands above the other. A model stands
behind the name (`claude:opus`). A program and its words stand behind `command:`, split as a shell
would; a file, from the folder that the person is in, behind `scripted:`. Any other name is that of
an agent which some package has installed.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from dwindle.adapters.formats.config.kinds import NAME, BuiltinAgent
from dwindle.adapters.formats.graph.shape import closest
from dwindle.app.refusal import Refused
from dwindle.text.terminal import one_line

OPTION: Final = "--agent"
ROLES: Final = ("worker", "probe", "verifier", "planner")
FORMS: Final = (
    "claude, codex, claude:MODEL, command:PROGRAM WORDS, scripted:FILE, or an installed one"
)
_FOR_ONE: Final = re.compile(r"([^=:/\s]*)=(.*)", re.DOTALL)


def agent_overrides(words: Sequence[str]) -> dict[str, object]:
    """What stands above `[agents]` in the settings, by dotted name; or Refused."""
    chosen: dict[str, object] = {}
    for word in words:
        role, wanted = _role_and_agent(word)
        place = f"agents.{role}" if role else "agents"
        if f"{place}.backend" in chosen:
            whom = f"the {role}" if role else "all roles"
            raise _refused(f"two agents are named for {whom}", "say each once")
        chosen |= {f"{place}.{key}": value for key, value in _settings(wanted)}
    return chosen


def _role_and_agent(word: str) -> tuple[str, str]:
    found = _FOR_ONE.fullmatch(word.strip())
    if found is None:
        return "", word.strip()
    role, wanted = found[1], found[2].strip()
    if role not in ROLES:
        raise _refused(f"{one_line(role)!r} is no role", closest(role, ROLES))
    return role, wanted


def _settings(wanted: str) -> Iterator[tuple[str, object]]:
    name, colon, rest = wanted.partition(":")
    name, rest = name.strip(), rest.strip()
    if not NAME.fullmatch(name):
        raise _refused(f"{one_line(wanted)!r} names no agent", f"say {FORMS}")
    yield "backend", name
    if name == BuiltinAgent.COMMAND:
        yield "command", _words(rest)
    elif name == BuiltinAgent.SCRIPTED:
        yield "script", _file(rest)
    elif colon:
        if not rest:
            raise _refused(f"{name}: names no model", f"say {name}:MODEL, or {name} alone")
        yield "model", rest


def _words(rest: str) -> list[str]:
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise _refused(f"{one_line(rest)!r} is no command: {error}", "close the quotes") from None
    if not words or not words[0].strip():
        raise _refused("command needs a program", "say --agent 'command:PROGRAM WORDS'")
    return words


def _file(rest: str) -> str:
    if not rest:
        raise _refused("scripted needs a file", "say --agent scripted:FILE")
    path = os.path.abspath(os.path.expanduser(rest))  # noqa: PTH100, PTH111 - as it was written
    if not os.path.isfile(path):  # noqa: PTH113
        raise _refused(
            f"there is no file {one_line(rest)}", "the path is from the folder you are in"
        )
    return path


def _refused(what: str, hint: str) -> Refused:
    return Refused(what, where=OPTION, hint=hint)
