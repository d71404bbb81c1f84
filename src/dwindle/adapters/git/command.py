"""Running git: never through a shell, never with surprises from the surroundings, never for ever.

The user's environment may set GIT_DIR, an editor or another index, so every GIT_* variable is
dropped. Configuration is our own (`common_dir.py`); what would make an index unfit to be copied (a
split index, an untracked cache) is switched off on every call. The repository is always named by
`--git-dir`: the `.git` link of a tree that an agent had is never believed.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from dwindle.adapters.git.common_dir import CommonDir
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.text import amounts
from dwindle.text.escape import escape

P = ParamSpec("P")
T = TypeVar("T")
PATIENCE = 900.0
"""Seconds for one call; writing the files of a big repository to a slow disk takes its time."""

LEAST_ROOM = 64 << 10
"""Bytes that are left on a disk on which git cannot work."""

_LAST_WORDS = 0.3
"""Seconds that git gets to remove its lock files before it is killed."""

_EARLIER_PATIENCE = 60.0
"""Seconds to wait for the git processes of an earlier runner."""

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
    "log.mailmap=false",
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
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class GitResult:
    """How a call ended."""

    code: int
    out: bytes
    err: str
    """Escaped: an agent chooses the names of files, and git quotes them."""

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
    raw: bool = False
    """Whether files are as they are in commits, whatever attributes say of line ends and such."""
    common: CommonDir | None = None
    """Made from the repository's own if not given."""

    def __post_init__(self) -> None:
        common = CommonDir.open(self.git_dir) if self.common is None else self.common
        object.__setattr__(self, "common", common.of(self.git_dir))

    @property
    def configured_filters(self) -> tuple[str, ...]:
        return () if self.common is None else self.common.filters

    def at(self, tree: Path, *, index: Path | None = None, git_dir: Path | None = None) -> Git:
        return replace(self, tree=tree, index=index, git_dir=git_dir or self.git_dir)

    def with_settings(self, *settings: str) -> Git:
        return replace(self, settings=(*self.settings, *settings))

    def with_patterns(self) -> Git:
        """With patterns in paths, which everywhere else are taken literally."""
        return replace(self, variables={**self.variables, "GIT_LITERAL_PATHSPECS": "0"})

    async def ask(self, *words: str | Path, given: bytes = b"") -> GitResult:
        """Run one command, whatever its exit code."""
        return await run(
            self._argv(words),
            cwd=self._cwd,
            variables=self._environment(),
            given=given,
            held=self.held,
            patience=self.patience,
        )

    async def beginning(self, most: int, *words: str | Path) -> bytes:
        """The first bytes that a command prints, however much more it would have printed."""
        process = await _started(
            self._argv(words),
            cwd=self._cwd,
            env=self._environment(),
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
            raise WorkspaceFailed(
                f"git took more than {amounts.duration(self.patience)}"
            ) from error
        finally:
            try:
                if process.returncode is None:
                    await asyncio.shield(_end(process))
            finally:
                _let_go(process)
        return b"".join(parts)

    def _disk_full(self) -> str:
        """Git does not always say why it could not write."""
        for place in (self.git_dir, self._cwd):
            with suppress(OSError):
                facts = os.statvfs(place)
                if facts.f_bavail * facts.f_frsize < LEAST_ROOM or (
                    facts.f_files and not facts.f_favail
                ):
                    return f" ({os.strerror(errno.ENOSPC)})"
        return ""

    def _argv(self, words: Sequence[str | Path]) -> tuple[str, ...]:
        where = (f"--git-dir={self.git_dir}", f"--work-tree={self.tree}")
        settings = [word for one in (*_SETTINGS, *self.settings) for word in ("-c", one)]
        return ("git", *where, *settings, *map(str, words))

    @property
    def _cwd(self) -> Path:
        return self.tree if self.tree.is_dir() else self.git_dir

    def _environment(self) -> dict[str, str]:
        assert self.common is not None  # noqa: S101 - see __post_init__
        variables = {**self.variables, **self.common.variables(raw=self.raw)}
        if self.index is not None:
            variables["GIT_INDEX_FILE"] = str(self.index)
        return variables

    async def tell(self, *words: str | Path, given: bytes = b"") -> GitResult:
        """Run one command that must succeed."""
        said = await self.ask(*words, given=given)
        if said.code:
            shown = escape(" ".join(str(word) for word in words[:6]))
            output = (said.err or escape(said.text)) + self._disk_full()
            raise WorkspaceFailed(f"git {shown} ended with {said.code}", output)
        return said


async def run(  # noqa: PLR0913 - all that a process is started with
    argv: Sequence[str],
    *,
    cwd: Path,
    variables: Mapping[str, str],
    given: bytes = b"",
    held: tuple[int, ...] = (),
    patience: float = PATIENCE,
) -> GitResult:
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
        what = f"{argv[0]} took more than {amounts.duration(patience)}: {' '.join(argv[-4:])}"
        raise WorkspaceFailed(escape(what)) from error
    finally:
        if process.returncode is None:
            await asyncio.shield(_end(process))
    return GitResult(code=process.returncode or 0, out=out, err=escape(os.fsdecode(err)))


async def _started(argv: Sequence[str], **given: Any) -> asyncio.subprocess.Process:
    """Start a process in a group of its own; cancelled while it starts, leave no process behind.

    Left to itself, asyncio would then kill the first process of the group and wait for the others.
    """
    if shutil.which(argv[0]) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(*_tied(), *argv, start_new_session=True, **given)
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError):
            await _end(await starting)
        raise


@cache
def _tied() -> tuple[str, ...]:
    """What makes the kernel ask a process to end when the runner dies, however it dies."""
    words = (shutil.which("setpriv") or "setpriv", "--pdeathsig", "TERM", "--")
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run((*words, "true"), capture_output=True, check=True, timeout=5)
        return words
    return ()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask first, because git then removes its lock files; then kill what is left."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_WORDS):
            await process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _let_go(process: asyncio.subprocess.Process) -> None:
    """Close our end of its output without reading the rest.

    The only way to: a process of asyncio's does not show what it reads from.
    """
    transport: asyncio.SubprocessTransport = process._transport  # type: ignore[attr-defined]  # noqa: SLF001
    transport.close()


def report_disk_errors(
    method: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Turn an error of the disk into WorkspaceFailed, as an error of git is."""

    @wraps(method)
    async def reporting(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(*args, **kwargs)
        except OSError as error:
            what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            raise WorkspaceFailed(escape(what)) from error

    return reporting


# --- git processes of an earlier runner -----------------------------------------------------------
#
# A killed runner leaves the git that it had just started, and that git writes files for a moment.
# So every git inherits a descriptor with a lock on it: the lock is free when the last git has
# ended, and only then does the next runner take the trees over.


def open_presence(common: Path, run: str) -> int:
    """A descriptor for all processes of one run to share; it holds no lock yet."""
    folder = common / "dwindle" / run
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise WorkspaceFailed(f"{folder}: could not be made", error.strerror or "") from error


async def lock_presence(presence: int) -> None:
    """Wait for the processes of an earlier runner, and lock them out."""
    end = time.monotonic() + _EARLIER_PATIENCE
    while True:
        try:
            fcntl.flock(presence, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise WorkspaceFailed(
                    "git processes of an earlier runner are still at work", "see `ps -C git`"
                ) from None
            await asyncio.sleep(0.01)
        else:
            return
