"""Reading a shell line as far as it is simple.

Only lists joined by `&&` are read: there the exit code of the whole is that of the last command
that ran, and 0 means that every one of them said yes. A pipe, `;`, `||`, `&`, a subshell or a
substitution makes a line mean what only a shell can work out, and it is left alone.
"""

from __future__ import annotations

import re
import shlex

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_REDIRECTION = re.compile(r"[<>][<>&|]*")
_PUNCTUATION = frozenset("();<>|&")


def simple_commands(line: str) -> tuple[tuple[str, ...], ...]:
    """The words of each command of a `&&` list, redirections left out; () if it is not one."""
    if any(mark in line.strip() for mark in ("\n", "`", "$(")):
        return ()
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError:
        return ()
    commands: list[list[str]] = [[]]
    is_target = False
    for token in tokens:
        if token == "&&":  # noqa: S105
            commands.append([])
        elif _REDIRECTION.fullmatch(token):
            if commands[-1] and commands[-1][-1].isdigit():  # the 2 of 2>&1
                commands[-1].pop()
            is_target = True
            continue
        elif token and set(token) <= _PUNCTUATION:
            return ()
        elif not is_target:
            commands[-1].append(token)
        is_target = False
    return tuple(map(tuple, commands)) if all(commands) else ()


def without_assignments(words: tuple[str, ...]) -> tuple[str, ...]:
    for index, word in enumerate(words):
        if not _ASSIGNMENT.match(word):
            return words[index:]
    return ()


def program_of(line: str) -> str:
    """The name of the program that decides the exit code, if the line is a single command."""
    commands = simple_commands(line)
    if len(commands) != 1:
        return ""
    words = without_assignments(commands[0])
    return words[0].rpartition("/")[2] if words else ""
