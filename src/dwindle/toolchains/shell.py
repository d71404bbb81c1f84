"""Words of a shell line, read in two ways.

`words` is generous: it returns each word of each command in the line, those of quoted commands
included. `simple_commands` is strict: it reads only lists joined by `&&`, because there the exit
code of the list is that of the last command that ran, and 0 means that each of them succeeded. What
a pipe, `;`, `||`, `&`, a subshell or a substitution does, only a shell can work out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

SHELLS: Final = ("sh", "bash", "dash", "zsh", "ksh")
BUILTINS: Final = (
    *(".", ":", "[", "!", "cd", "command", "echo", "eval", "exit", "export", "printf", "read"),
    *("set", "source", "test", "trap", "true", "ulimit", "umask", "unset", "wait"),
)

_NESTING: Final = 3
"""How deep `words` looks for commands that are quoted inside of another."""
_SEPARATORS: Final = re.compile(r"[\s;&|<>(){}`\"'$]+")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_REDIRECTION: Final = re.compile(r"[<>][<>&|]*")
_PUNCTUATION: Final = "();<>|&"
_OPERATOR: Final = re.compile(r"[;&|<>(){}`]+")
_PROGRAM: Final = re.compile(r"\|\||[`(){}\n]|\b(?:if|case|for|while|until|function)\b")
"""Of a line with one of these, only a shell can work out what it starts."""


def words(line: str, nesting: int = _NESTING) -> list[str]:
    """All words of all commands; operators are words as well.

    A line with an open quote is cut at every character that might end a word.
    """
    found = _tokens(line, f"{_PUNCTUATION}{{}}`")
    if found is None:
        return [word for word in _SEPARATORS.split(line) if word]
    quoted = [word for word in found if nesting and re.search(r"\s", word)]
    return [*found, *(inner for word in quoted for inner in words(word, nesting - 1))]


def every_command(line: str, nesting: int = _NESTING) -> tuple[tuple[str, ...], ...]:
    """The words of each command, however they are joined, those of `sh -c LINE` included.

    Targets of redirections are left out. An open quote makes it one command.
    """
    tokens = _tokens(line, f"{_PUNCTUATION}{{}}`")
    if tokens is None:
        return (tuple(line.split()),)
    found: list[list[str]] = [[]]
    is_target = False
    for token in tokens:
        if _REDIRECTION.fullmatch(token):
            if found[-1] and found[-1][-1].isdigit():  # the 2 of 2>&1
                found[-1].pop()
        elif is_operator(token):
            found.append([])
        elif not is_target:
            found[-1].append(token)
        is_target = _REDIRECTION.fullmatch(token) is not None
    inner: list[tuple[str, ...]] = []
    for command in found:
        names = [word.rpartition("/")[2] for word in command]
        for index, word in enumerate(command[:-1]):
            is_line = re.fullmatch(r"-[a-z]*c", word) and any(n in SHELLS for n in names[:index])
            if is_line and nesting:
                inner += every_command(command[index + 1], nesting - 1)
    return (*(tuple(command) for command in found if command), *inner)


def is_operator(word: str) -> bool:
    return _OPERATOR.fullmatch(word) is not None


def simple_commands(line: str) -> tuple[tuple[str, ...], ...]:
    """The words of each command of a `&&` list, without redirections; () if it is no such list."""
    if any(mark in line.strip() for mark in ("\n", "`", "$(")):
        return ()
    commands: list[list[str]] = [[]]
    is_target = False
    for token in _tokens(line, _PUNCTUATION) or ():
        if token == "&&":  # noqa: S105
            commands.append([])
        elif _REDIRECTION.fullmatch(token):
            if commands[-1] and commands[-1][-1].isdigit():  # the 2 of 2>&1
                commands[-1].pop()
            is_target = True
            continue
        elif token and set(token) <= set(_PUNCTUATION):
            return ()
        elif not is_target:
            commands[-1].append(token)
        is_target = False
    return tuple(map(tuple, commands)) if all(commands) else ()


def _tokens(line: str, punctuation: str) -> list[str] | None:
    """None if a quote is left open."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=punctuation)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return None


def without_assignments(words: tuple[str, ...]) -> tuple[str, ...]:
    for index, word in enumerate(words):
        if not _ASSIGNMENT.match(word):
            return words[index:]
    return ()


def program_of(line: str) -> str:
    """The name of the program that decides the exit code, if the line is a single command."""
    commands = simple_commands(line)
    words = without_assignments(commands[0]) if len(commands) == 1 else ()
    return words[0].rpartition("/")[2] if words else ""


def program_names(line: str) -> tuple[str, ...]:
    """The programs that plain commands start, without what a shell does by itself."""
    found = []
    for command in () if _PROGRAM.search(line) else every_command(line, nesting=0):
        words = without_assignments(command)
        words = words[1:] if words[:1] == ("exec",) else words
        if words and words[0] not in BUILTINS and not set(words[0]) & set("$~*?[{"):
            found.append(words[0])
    return tuple(found)


def quoted_line(argv: Sequence[str]) -> str | None:
    """LINE, if the command is `sh -c LINE ...`."""
    is_quoted = len(argv) >= len(("sh", "-c", "LINE")) and argv[0] in SHELLS and argv[1] == "-c"
    return argv[2] if is_quoted else None


def line_of(argv: Sequence[str]) -> str:
    """A command as one line for a shell."""
    line = quoted_line(argv) if len(argv) == len(("sh", "-c", "LINE")) else None
    return shlex.join(argv) if line is None else line
