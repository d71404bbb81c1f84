"""Running git: never through a shell, never with surprises from the surroundings, never for ever.

Whoever starts us may have set GIT_DIR, an editor or an index of their own, and an agent may have
left configuration that changes how a tree is read. So every GIT_* variable is dropped, and what
would run programs (hooks, fsmonitor, signing) or make an index unfit to be copied (a split index,
an untracked cache) is switched off on every call. The repository is always named by `--git-dir`:
the `.git` link of a tree that an agent had is never believed.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dwindle.ports.workspace import WorkspaceFailed

PATIENCE = 900.0
"""Seconds for one call; writing the files of a big repository to a slow disk takes its time."""

_LAST_WORDS = 0.3
"""Seconds that git gets to remove its lock files before it is killed."""

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.sparseCheckout=false",
    "core.ignoreStat=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.safecrlf=false",
    "core.quotePath=false",
    "commit.gpgSign=false",
    "submodule.recurse=false",
    "log.showSignature=false",
    "gc.auto=0",
    "maintenance.auto=false",
)

DURABLE = ("core.fsync=all,-index",)
"""For what must outlive a power cut. Our indexes are rebuilt from commits, so they may be lost."""

DURABLE_IN_BULK = (*DURABLE, "core.bigFileThreshold=1")
"""As DURABLE, with all files in one pack: thousands of single objects take seconds."""


def environment() -> dict[str, str]:
    """Ours, without what would steer git."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How a call ended."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return os.fsdecode(self.out).strip()

    @property
    def lines(self) -> tuple[str, ...]:
        """Records that end with NUL."""
        return tuple(os.fsdecode(part) for part in self.out.split(b"\0") if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """One repository, as seen through the git program."""

    git_dir: Path
    tree: Path
    """The work tree, and where git runs."""
    index: Path | None = None
    settings: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=environment)
    held: tuple[int, ...] = ()
    """Descriptors that every call inherits, so that their locks last as long as it does."""
    patience: float = PATIENCE

    def at(self, tree: Path, *, index: Path | None = None, git_dir: Path | None = None) -> Git:
        return replace(self, tree=tree, index=index, git_dir=git_dir or self.git_dir)

    def with_settings(self, *settings: str) -> Git:
        return replace(self, settings=(*self.settings, *settings))

    async def ask(self, *words: str | Path, given: bytes = b"") -> Said:
        """Run one command, whatever its exit code."""
        return await run(
            self._argv(words),
            cwd=self._cwd,
            variables=self._with_index(),
            given=given,
            held=self.held,
            patience=self.patience,
        )

    async def beginning(self, most: int, *words: str | Path) -> bytes:
        """The first bytes that a command prints, however much more it would have printed."""
        process = await _started(
            self._argv(words),
            cwd=self._cwd,
            env=self._with_index(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            pass_fds=self.held,
        )
        parts, left = [], most
        try:
            async with asyncio.timeout(self.patience):
                while left and process.stdout and (part := await process.stdout.read(left)):
                    parts.append(part)
                    left -= len(part)
                if left and await process.wait():
                    shown = " ".join(str(word) for word in words[:6])
                    raise WorkspaceFailed(f"git {shown} ended with {process.returncode}")
        except TimeoutError as error:
            raise WorkspaceFailed(f"git took more than {self.patience:g} s") from error
        finally:
            try:
                if process.returncode is None:
                    await asyncio.shield(_end(process))
            finally:
                _let_go(process)
        return b"".join(parts)

    def _argv(self, words: Sequence[str | Path]) -> tuple[str, ...]:
        where = (f"--git-dir={self.git_dir}", f"--work-tree={self.tree}")
        settings = [word for one in (*_SETTINGS, *self.settings) for word in ("-c", one)]
        return ("git", *where, *settings, *map(str, words))

    @property
    def _cwd(self) -> Path:
        return self.tree if self.tree.is_dir() else self.git_dir

    def _with_index(self) -> dict[str, str]:
        variables = dict(self.variables)
        if self.index is not None:
            variables["GIT_INDEX_FILE"] = str(self.index)
        return variables

    async def tell(self, *words: str | Path, given: bytes = b"") -> Said:
        """Run one command that must succeed."""
        said = await self.ask(*words, given=given)
        if said.code:
            shown = " ".join(str(word) for word in words[:6])
            raise WorkspaceFailed(f"git {shown} ended with {said.code}", said.err or said.text)
        return said

    async def add_worktree(self, *words: str | Path) -> None:
        """Git stumbles over a work tree that another git is just making; the next try is fine."""
        for pause in (0.05, 0.1, 0.2, 0.4):
            said = await self.ask("worktree", "add", *words)
            if not said.code or "commondir" not in said.err:
                break
            await asyncio.sleep(pause)
        else:
            said = await self.ask("worktree", "add", *words)
        if said.code:
            raise WorkspaceFailed(f"git worktree add ended with {said.code}", said.err)


async def run(  # noqa: PLR0913 - all that a process is started with
    argv: Sequence[str],
    *,
    cwd: Path,
    variables: Mapping[str, str],
    given: bytes = b"",
    held: tuple[int, ...] = (),
    patience: float = PATIENCE,
) -> Said:
    """Run a program in a process group of its own, which does not outlive this call."""
    try:
        process = await _started(
            argv,
            cwd=cwd,
            env=variables,
            stdin=asyncio.subprocess.PIPE if given else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=held,
        )
    except OSError as error:
        reason = "is it installed, and on PATH?" if isinstance(error, FileNotFoundError) else ""
        raise WorkspaceFailed(f"could not run {argv[0]}: {error.strerror}", reason) from error
    try:
        async with asyncio.timeout(patience):
            out, err = await process.communicate(given or None)
    except TimeoutError as error:
        shown = " ".join(argv[-4:])
        raise WorkspaceFailed(f"{argv[0]} took more than {patience:g} s: {shown}") from error
    finally:
        if process.returncode is None:
            await asyncio.shield(_end(process))
    return Said(code=process.returncode or 0, out=out, err=os.fsdecode(err))


async def _started(argv: Sequence[str], **given: Any) -> asyncio.subprocess.Process:
    """A process in a group of its own. Whoever is cancelled while it starts leaves nothing of it.

    Left to itself, asyncio would then kill the first process of the group and wait for the others.
    """
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(*argv, start_new_session=True, **given)
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError):
            await _end(await starting)
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask first, because git then removes its lock files; then kill whatever is left."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_WORDS):
            await process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _let_go(process: asyncio.subprocess.Process) -> None:
    """Close our end of its output, of which there may be more that nobody will read.

    The only way to: a process of asyncio's does not show what it reads from.
    """
    transport: asyncio.SubprocessTransport = process._transport  # type: ignore[attr-defined]  # noqa: SLF001
    transport.close()
