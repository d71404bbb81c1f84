"""What steers the tools of a base case, put back in an index before files are written from it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from dwindle.adapters.workspaces.git import Git
from dwindle.ports.workspace import Steering

PLAIN = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: str
    blob: str


async def put_steering_back(at: Git, aligned: str, steering: Steering) -> None:
    """`at` has the index. All that steers is as it was in the commit `aligned`, and no more."""

    async def then_in(path: str) -> bytes | None:
        said = await at.ask("cat-file", "blob", f"{aligned}:{path}")
        return None if said.code else said.out

    steering = await steering.looked_into(then_in)
    staged = await at.tell("ls-files", "-z", "--stage")
    now = dict(_entries(staged.lines, blob=1, steering=steering))
    listed = await at.tell("ls-tree", "-r", "-z", "--full-tree", aligned)
    then = dict(_entries(listed.lines, blob=2, steering=steering))
    lines = []
    for path in dict.fromkeys((*now, *then)):
        old, new = then.get(path), now.get(path)
        if old == new:
            continue
        wanted = old
        if steering.is_mixed(path):
            wanted = await _mended(at, path, old, new, steering)
        if wanted != new:
            mode, blob = (wanted.mode, wanted.blob) if wanted else ("0", "0" * 40)
            lines.append(f"{mode} {blob}\t{path}\0")
    if lines:
        given = os.fsencode("".join(lines))
        await at.tell("update-index", "--replace", "-z", "--index-info", given=given)


async def _mended(
    at: Git, path: str, old: _Entry | None, new: _Entry | None, steering: Steering
) -> _Entry | None:
    if new is not None and new.mode not in PLAIN:
        return old  # a link, which says nothing by itself
    before = None if old is None else await _content(at, old)
    after = b"" if new is None else await _content(at, new)
    text = steering.mended(path, before, after)
    if text == after:
        return new
    if text is None or text == before:
        return old
    said = await at.tell("hash-object", "-w", "--stdin", given=text)
    return _Entry(PLAIN[0] if new is None else new.mode, said.text)


async def _content(at: Git, entry: _Entry) -> bytes:
    return (await at.tell("cat-file", "blob", entry.blob)).out


def _entries(
    lines: tuple[str, ...], *, blob: int, steering: Steering
) -> Iterator[tuple[str, _Entry]]:
    for line in lines:
        facts, _, path = line.partition("\t")
        if steering.steers(path) or steering.is_mixed(path):
            words = facts.split()
            yield path, _Entry(words[0], words[blob])
