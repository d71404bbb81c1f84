"""What the person told git not to look at: `assume-unchanged` and `skip-worktree`.

Their `git status` is silent about such files. A run cannot be: it compares the files with commits,
and would take what differs there for an agent's work.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from dwindle.adapters.workspaces.git import Git

_MARKED = re.compile(r"[a-zS] ")
"""How `git ls-files -v` shows them."""
_FLAGS = ("--no-assume-unchanged", "--no-skip-worktree")


async def hidden_in(git: Git) -> tuple[str, ...] | None:
    """What an index says not to look at; None if git cannot read it."""
    said = await git.ask("ls-files", "-z", "-v")
    if said.code:
        return None
    return tuple(line[2:] for line in said.lines if _MARKED.match(line))


async def show(git: Git, paths: Sequence[str]) -> None:
    """Let an index say no more that these are not to be looked at."""
    given = b"".join(os.fsencode(path) + b"\0" for path in paths)
    for flag in _FLAGS if given else ():
        await git.tell("update-index", flag, "-z", "--stdin", given=given)


def explained(lines: Sequence[str], hidden: Sequence[str]) -> Iterator[str]:
    """Lines of a status, with a word on those that the person's own git does not show."""
    for line in lines:
        if line[3:] in hidden:
            how = f"git update-index {' '.join(_FLAGS)} -- {line[3:]}"
            yield f"{line} (git was told not to look at it; `{how}` shows it)"
        else:
            yield line
