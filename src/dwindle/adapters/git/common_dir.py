"""The configuration that git of ours obeys: made by us, from a list of harmless keys.

Git's configuration names programs: filters, diff and merge drivers, hooks, monitors, helpers, and
it includes other files. An agent can write some of these files, and where the person wrote them
they may name a script of the tree, of which an agent has another version. A list of keys to switch
off would always miss one. So git never reads the repository's configuration when it works for us:
GIT_COMMON_DIR leads it to a folder of ours, with links to the objects, refs and logs of the
repository and a `config` with the keys below and nothing else. What is written to `.git/config`
meanwhile changes nothing.

There are two such folders. One reads and writes files as the person's own git would (line ends,
encodings), for their checkout. In the other, `info/attributes` wins over all attributes of the
tree: every file is as it is in the commit, byte for byte. Work trees and checkouts are made by it.

Git itself starts git in some commands: `git add` asks for the status of each submodule, and that
child would obey the submodule's configuration. GIT_EXEC_PATH leads to a folder where the only
program is a `git` that does nothing.

A filter that the settings name (git LFS) is the one exception. It runs from outside of the tree,
with the person's own configuration.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from dwindle.ports.workspace import WorkspaceFailed
from dwindle.text.escape import escape

SECONDS: Final = 30
"""For git to read its configuration."""
PREFIX: Final = "dwindle-git-"
LEFT_SECONDS: Final = 3600
"""The age at which a folder that no process holds was left by a killed one."""

LINKED: Final = ("objects", "refs", "packed-refs", "logs", "worktrees", "shallow", "lfs")

RAW: Final = "* -text !eol -crlf -ident !working-tree-encoding\n"
RAW_UNFILTERED: Final = "* -filter\n"

HARMLESS: Final = frozenset(
    {
        "author.email",
        "author.name",
        "committer.email",
        "committer.name",
        "core.autocrlf",
        "core.attributesfile",
        "core.checkroundtripencoding",
        "core.compression",
        "core.eol",
        "core.excludesfile",
        "core.filemode",
        "core.fsyncmethod",
        "core.ignorecase",
        "core.logallrefupdates",
        "core.loosecompression",
        "core.precomposeunicode",
        "core.protecthfs",
        "core.protectntfs",
        "core.repositoryformatversion",
        "core.sharedrepository",
        "core.sparsecheckout",
        "core.symlinks",
        "diff.renamelimit",
        "diff.renames",
        "extensions.objectformat",
        "extensions.refstorage",
        "i18n.commitencoding",
        "index.threads",
        "merge.directoryrenames",
        "merge.renamelimit",
        "merge.renames",
        "pack.threads",
        "pack.windowmemory",
        "user.email",
        "user.name",
        "user.useconfigonly",
    }
)
"""None of them names a program, or a file that could name one."""

COMMANDS: Final = ("clean", "smudge", "process")
_FILTER: Final = re.compile(r"filter\.(.+)\.(clean|smudge|process|required)", re.DOTALL)
_SHELL: Final = re.compile(r"[\n|&;<>()$`\\*?\[\]#~={}!]")
_INTERPRETER: Final = re.compile(
    r"(env|busybox|(ba|da|z|k|fi)?sh|python[\d.]*|perl[\d.]*|ruby[\d.]*|node(js)?|deno|bun|php[\d.]*"
    r"|lua[\d.]*|[gmn]?awk|sed|make|just|npx|npm|uv|uvx|xargs|find|cargo|go|java|nix|docker|podman)"
)

Values = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What the settings say about git's filters."""

    run: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Files with these go into commits, and come out of them, as they are."""


class CommonDir:
    """Stands in front of one repository's own common directory; gone when no one uses it."""

    def __init__(self, common: Path, values: Values, commands: Values) -> None:
        self.common = common
        self.values = values
        self.has_filters = bool(commands)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=_room(common)))
        self._folder = folder
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._end = weakref.finalize(self, _remove, folder, held, os.getpid())
        fcntl.flock(held, fcntl.LOCK_EX)
        config = _config_text({**_harmless(values), **commands})
        _fill(folder / "plain", common, config, None)
        attributes = RAW if commands else RAW + RAW_UNFILTERED
        _fill(folder / "raw", common, config, attributes)
        (folder / "bin").mkdir()
        (folder / "bin" / "git").symlink_to(shutil.which("true") or "/bin/true")

    @classmethod
    def open(cls, git_dir: Path, filters: Filters | None = None, tree: Path | None = None) -> Self:
        """Raises WorkspaceFailed if git cannot read its configuration, or a filter is not fit."""
        common, values = common_of(git_dir), _listing(git_dir)
        _remove_left(common)
        inside = tuple(path for path in (tree, common) if path is not None)
        commands: dict[str, str] = {}
        for name in filters.run if filters else ():
            commands |= _filter_commands(name, values, inside)
        return cls(common, values, commands)

    def of(self, git_dir: Path) -> CommonDir:
        """This one, or one for another repository, such as that of a submodule."""
        return self if common_of(git_dir) == self.common else CommonDir.open(git_dir)

    @property
    def filters(self) -> tuple[str, ...]:
        """The names of all that are configured."""
        found = (_FILTER.fullmatch(key) for key in self.values)
        named = (match[1] for match in found if match and match[2] in COMMANDS)
        return tuple(dict.fromkeys(named))

    def variables(self, *, raw: bool) -> dict[str, str]:
        return {
            "GIT_COMMON_DIR": str(self._folder / ("raw" if raw else "plain")),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_EXEC_PATH": str(self._folder / "bin"),
        }


def common_of(git_dir: Path) -> Path:
    """Where a repository keeps what its work trees share."""
    real = Path(os.path.realpath(git_dir))
    with suppress(OSError):
        if real.is_file():  # the link of a linked work tree
            real = real.parent / os.fsdecode(real.read_bytes()).removeprefix("gitdir:").strip()
        named = os.fsdecode((real / "commondir").read_bytes()).strip()
        return Path(os.path.realpath(real / named))
    return Path(os.path.realpath(real))


def _fill(folder: Path, common: Path, config: str, attributes: str | None) -> None:
    (folder / "info").mkdir(parents=True)
    (folder / "config").write_text(config, "utf-8", "surrogateescape")
    for name in LINKED:
        if name != "logs" or (common / name).is_dir():
            (folder / name).symlink_to(common / name)
    (folder / "info" / "exclude").symlink_to(common / "info" / "exclude")
    if attributes is None:
        (folder / "info" / "attributes").symlink_to(common / "info" / "attributes")
    else:
        (folder / "info" / "attributes").write_text(attributes, "ascii")


def _room(common: Path) -> Path:
    """The system's folder for temporary files; git's own where there is none."""
    with suppress(FileNotFoundError):
        return Path(tempfile.gettempdir())
    room = common / "dwindle"
    room.mkdir(exist_ok=True)
    return room


def _remove(folder: Path, held: int, owner: int) -> None:
    os.close(held)
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_left(common: Path) -> None:
    """Folders of runners that were killed: no process holds their locks any more."""
    oldest = time.time() - LEFT_SECONDS
    for folder in _room(common).glob(f"{PREFIX}*"):
        with suppress(OSError):
            facts = folder.lstat()
            if facts.st_mtime > oldest or facts.st_uid != os.geteuid():
                continue
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(held)


# --- what is configured --------------------------------------------------------------------------


def _listing(git_dir: Path) -> dict[str, str]:
    """The effective configuration; of a key with several values the last."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ("git", f"--git-dir={git_dir}", "config", "--list", "-z"),
            env={**kept, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise WorkspaceFailed(f"git did not read its configuration in {SECONDS} seconds") from error
    except OSError as error:
        raise WorkspaceFailed(f"could not run git: {error.strerror}") from error
    if done.returncode:
        said = escape(os.fsdecode(done.stderr))
        raise WorkspaceFailed("git cannot read its configuration", said)
    records = (os.fsdecode(one) for one in done.stdout.split(b"\0") if one)
    pairs = (one.partition("\n") for one in records)
    return {key: value if line else "true" for key, line, value in pairs}


def _harmless(values: Values) -> dict[str, str]:
    return {key: value for key, value in values.items() if key in HARMLESS}


def _config_text(values: Values) -> str:
    return "".join(_entries(values.items()))


def _entries(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for key, value in pairs:
        section, _, rest = key.partition(".")
        middle, _, name = rest.rpartition(".")
        under = f' "{_escaped(middle)}"' if middle else ""
        yield f'[{section}{under}]\n\t{name} = "{_escaped(value)}"\n'


def _escaped(text: str) -> str:
    for char, spelt in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(char, spelt)
    return text


# --- filters that the settings name --------------------------------------------------------------


def _filter_commands(name: str, values: Values, inside: Sequence[Path]) -> dict[str, str]:
    """What a filter runs, with each program by its full path."""
    keys = {kind: f"filter.{name}.{kind}" for kind in (*COMMANDS, "required")}
    found = {kind: values[key] for kind, key in keys.items() if values.get(key)}
    if not any(kind in found for kind in COMMANDS):
        what = f"[git] filters names {name}, and git's configuration has no filter {name}"
        raise WorkspaceFailed(what, f"see `git config --get-regexp '^filter.{name}'`")
    return {
        keys[kind]: value if kind == "required" else _filter_command(name, value, inside)
        for kind, value in found.items()
    }


def _filter_command(name: str, command: str, inside: Sequence[Path]) -> str:
    """The same command, with our variables taken away again. Raises WorkspaceFailed."""
    words = [] if _SHELL.search(command) else _words(command)
    if not words:
        raise _unfit(name, command, "it is no plain program with words behind it")
    found = shutil.which(words[0])
    if found is None:
        raise _unfit(name, command, f"{words[0]} was not found")
    program = Path(os.path.realpath(found))
    for place in inside:
        top = Path(os.path.realpath(place))
        if program.is_relative_to(top) or Path(found).absolute().is_relative_to(top):
            raise _unfit(name, command, "the program is inside of the repository")
        if any(word != "%f" and os.path.lexists(top / word) for word in words[1:] if word):
            raise _unfit(name, command, "it names a file of the repository")
    if _INTERPRETER.fullmatch(program.name) or _INTERPRETER.fullmatch(Path(found).name):
        raise _unfit(name, command, f"{program.name} can run what is in the repository")
    ours = "GIT_COMMON_DIR GIT_EXEC_PATH GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM"
    path = shlex.quote(os.environ.get("PATH", os.defpath))
    rest = " ".join(word if word == "%f" else shlex.quote(word) for word in words[1:])
    return f"unset {ours}; PATH={path} exec {shlex.quote(str(program))} {rest}"


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _unfit(name: str, command: str, why: str) -> WorkspaceFailed:
    what = f"the filter {name} cannot be run: {why}"
    return WorkspaceFailed(what, escape(f"it is configured as {command!r}"))
