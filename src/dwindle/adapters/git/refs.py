"""Whether an agent moved refs while it had a tree.

All work trees of a repository share its branches and tags, so a session that is not kept out of
`.git` by a sandbox can move what is not its own. Some moves are the person's: they may commit in
their own checkout while a run goes on, and their editor may fetch. The branch that their checkout
is on, if that checkout's own log tells of the move, is theirs, and so is whatever a fetch brings.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from dwindle.adapters.git.files import content_of
from dwindle.adapters.git.repository import Repository

_NOT_WATCHED = ("refs/remotes/", "refs/prefetch/", "refs/dwindle/", "refs/heads/runner/")


def watched_refs(refs: Mapping[str, str]) -> dict[str, str]:
    """Those that only a person may move while a session works."""
    return {name: value for name, value in refs.items() if not name.startswith(_NOT_WATCHED)}


def ref_moves(
    repository: Repository,
    before: Mapping[str, str],
    after: Mapping[str, str],
    explained: Collection[str] = (),
) -> Iterator[str]:
    """A clause for each ref that an agent created, moved or removed."""
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if old == new or name in explained or (name, new) == _person_at(repository):
            continue
        if old is None:
            yield f"{name} was created"
        elif new is None:
            yield f"{name} was removed (it was at {old})"
        else:
            yield f"{name} was moved from {old} to {new}"


def configuration(repository: Repository) -> bytes:
    """What decides which programs git runs on our behalf."""
    with suppress(OSError):
        return content_of(repository.common / "config")
    return b""


def _person_at(repository: Repository) -> tuple[str, str] | None:
    """The branch that the person's checkout is on, and where its own log says that it went last."""
    git_dir = repository.git.git_dir
    with suppress(OSError, IndexError):
        head = os.fsdecode((git_dir / "HEAD").read_bytes()).removeprefix("ref:").strip()
        last = (git_dir / "logs" / "HEAD").read_bytes().splitlines()[-1]
        return head, os.fsdecode(last.split(b" ", 2)[1])
    return None
