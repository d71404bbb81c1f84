"""What a program under bubblewrap sees of the file system.

The whole of it, read-only; /tmp, HOME, /run and /dev/shm covered by empty folders of its own in
memory, each of a size; then what the command names, writable, readable or hidden. Whatever lies
deeper is mounted later, so a name always wins over what is around it.

/proc is new and belongs to the program, but for /proc/sys. Root owns the files in there, and
needs no capability to have the kernel start a program outside (`core_pattern`). bwrap itself covers
only what looks writable to it, and that folder does not.

HOME is covered because of what people keep there: keys, tokens, histories, other projects. /run is
covered because of its sockets: one can talk to a daemon through a read-only mount, and a daemon can
start processes outside. So can some that listen elsewhere.

Toolchains often live under HOME too, and without them no check would run. So the following come
back, read-only, if they lie under what is covered:

* what the runner is made of: its Python, both of the virtual environment and of what that was made
  from, where its packages are if that is a link, and `dwindle` itself, which of an editable install
  lies elsewhere. These come back from /tmp as well: a clone or an environment may lie there that is
  only tried out;
* every folder on PATH; where it is the `bin` or `shims` of an installation, as with pyenv or nvm,
  the whole installation (never HOME itself, nor ~/.local or ~/.cargo, where other things are; but
  ~/.rustup with ~/.cargo/bin, whose programs only start those in there);
* what the links in such a folder point to: the installation around a `bin`, else the file alone;
* the file with the addresses of name servers that /etc/resolv.conf may point to.

Root has no capabilities in there, but still owns files that no other user may read: password
hashes, keys of the host, data of services. So where the runner is root, what belongs to root and is
closed to others is hidden, in the folders where systems keep such files.
"""

from __future__ import annotations

import os
import site
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from dwindle.ports.process import Command

TMP = Path("/tmp")  # noqa: S108 - the program's own, in memory
RUN = Path("/run")
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - as above
DAEMONS = tuple(map(Path, ("/var/lib/incus", "/var/lib/lxd", "/var/snap/lxd/common/lxd")))
"""A process that may talk to one of these is root."""

WORLD = (
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    *("--ro-bind", "/proc/sys", "/proc/sys"),
)
MIXED = (".local", ".cargo")
"""Folders of HOME that have a `bin` and are no installation."""

COMPANIONS = {".cargo": ".rustup"}
"""Where the programs in the `bin` of such a folder keep what they start."""

NOTHING = Path("/dev/null")
KEPT_CLOSED = tuple(
    map(Path, ("/boot", "/etc", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/var"))
)
"""Where systems and services keep what only root may read."""
COMES_AND_GOES = Path("/var/tmp")  # noqa: S108 - not looked into
CLOSED_DEPTH = 4
MOST_CLOSED = 500
PACKAGE = Path(os.path.realpath(__file__)).parents[2]
"""The package `dwindle`: programs that play agents, and what counts tests, are in there."""


class MissingFolder(Exception):
    """A command names something that is not there."""

    def __init__(self, path: Path, purpose: str) -> None:
        super().__init__(path, purpose)
        self.path = path
        self.purpose = purpose

    def __str__(self) -> str:
        return f"{self.path} should be {self.purpose}, but does not exist"


def covered(home: Path | None) -> tuple[Path, ...]:
    """What is replaced by an empty folder for every program."""
    folders = [TMP, RUN, SHARED_MEMORY, *DAEMONS]
    if home is not None and home != Path(home.anchor):
        folders.append(home)
    return tuple(real for folder in folders if _is_folder(real := _real(folder)))


@cache
def closed_to_others() -> tuple[Path, ...]:
    """What only root may read, where the runner is root; folders without what is in them."""
    if os.geteuid():
        return ()
    found: list[Path] = []
    pending = [(folder, 1) for folder in KEPT_CLOSED]
    while pending and len(found) < MOST_CLOSED:
        path, depth = pending.pop(0)
        with suppress(OSError):
            facts = path.lstat()
            if stat.S_ISDIR(facts.st_mode):
                if facts.st_uid == 0 and not facts.st_mode & stat.S_IXOTH:
                    found.append(path)
                elif depth < CLOSED_DEPTH and path != COMES_AND_GOES:
                    pending += [(inner, depth + 1) for inner in sorted(path.iterdir())]
            elif stat.S_ISREG(facts.st_mode) and not (facts.st_uid or facts.st_mode & stat.S_IROTH):
                found.append(path)
    return tuple(found)


def toolchains(home: Path | None, path: str) -> tuple[Path, ...]:
    """What must be brought back from under what is covered, for programs to be found and to start.

    From /tmp nothing but the runner itself: it is where strangers leave things.
    """
    python = (sys.prefix, sys.base_prefix, *site.getsitepackages())
    runner = [*(_real(Path(folder)) for folder in python), PACKAGE]
    folders = [*runner]
    on_path = [Path(part) for part in path.split(os.pathsep) if part.startswith("/")]
    for folder in on_path:
        folders += _installation(folder, home)
    lost = [folder for folder in covered(home) if folder != _real(TMP)]
    lost += [path for path in closed_to_others() if _is_folder(path)]
    for folder in on_path:
        if any(_real(folder).is_relative_to(cover) for cover in lost):
            folders += _link_targets(folder, home)
    folders.append(Path("/etc/resolv.conf"))
    wanted = [
        real
        for folder in folders
        if _is_there(real := _real(folder)) and any(real.is_relative_to(c) for c in lost)
    ]
    wanted += [path for path in runner if _is_there(path) and _real(TMP) in path.parents]
    return _outermost(path for path in wanted if path not in lost)


def mounts(
    command: Command,
    *,
    home: Path | None,
    tools: Iterable[Path],
    size: tuple[str, ...] = (),
) -> list[str]:
    """The options that build this view. Raises MissingFolder."""
    cover = covered(home)
    hidden = [_real(path) for path in command.hidden]
    cwd = _real(command.cwd)
    is_lost = any(cwd.is_relative_to(path) for path in (*cover, *hidden, *closed_to_others()))
    writable = list(_existing(command.writable, "writable"))
    readable = list(_existing(command.readable, "readable"))
    named = (cwd, *writable, *readable)
    closed = [
        path
        for path in closed_to_others()
        if path not in cover
        and _is_there(path)
        and not any(path.is_relative_to(one) for one in named)
    ]
    back = [path for path in tools if not any(path.is_relative_to(secret) for secret in hidden)]
    if any(PACKAGE.is_relative_to(path) for path in writable):
        back = [path for path in back if path != PACKAGE]  # it is what the agent works on
    # Of two layers with the same place, the later kind counts.
    kinds = (
        [(path, (*size, "--tmpfs", str(path))) for path in cover],
        [(path, _hide(path)) for path in closed],
        [(path, _bind("--ro-bind", path)) for path in back],
        [(cwd, _bind("--ro-bind", cwd))] if is_lost else [],
        [(path, _bind("--bind", path)) for path in writable],
        [(path, _bind("--ro-bind", path)) for path in readable],
        [(path, _hide(path)) for path in hidden if _is_there(path)],
    )
    layers = [layer for kind in kinds for layer in kind]
    layers.sort(key=lambda layer: len(layer[0].parts))
    return [
        *WORLD,
        *(word for _, option in layers for word in option),
        *(word for path in hidden if _is_folder(path) for word in ("--remount-ro", str(path))),
        *("--remount-ro", "/dev"),  # it is memory, of any size
        *("--chdir", str(command.cwd)),
    ]


def _hide(path: Path) -> tuple[str, ...]:
    if _is_folder(path):
        return ("--tmpfs", str(path))
    return ("--ro-bind", str(NOTHING), str(path))


def _bind(option: str, path: Path) -> tuple[str, ...]:
    return (option, str(path), str(path))


def _existing(paths: Iterable[Path], purpose: str) -> Iterator[Path]:
    for path in paths:
        real = _real(path)
        if not _is_there(real):
            raise MissingFolder(path, purpose)
        yield real


def _installation(folder: Path, home: Path | None) -> list[Path]:
    """The folder, and what it belongs to if that is an installation."""
    around = folder.parent
    if folder.name not in {"bin", "shims"} or around == home:
        return [folder]
    if around.parent == home and around.name in MIXED:
        companion = COMPANIONS.get(around.name)
        return [folder] if companion is None else [home / companion, folder]
    return [folder, around]


def _link_targets(folder: Path, home: Path | None) -> Iterator[Path]:
    try:
        entries = [entry.path for entry in os.scandir(folder) if entry.is_symlink()]
    except OSError:
        return
    for entry in entries:
        target = _real(Path(entry))
        if target.parent.name == "bin":
            yield _installation(target.parent, home)[-1]
        elif target.is_file():
            yield target


def _outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    kept: list[Path] = []
    for path in sorted(set(paths), key=lambda path: (len(path.parts), str(path))):
        if not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return tuple(kept)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _is_there(path: Path) -> bool:
    """Whether we can see it; Path.exists raises for what lies in a closed folder."""
    return os.path.exists(path)  # noqa: PTH110


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - as above
