"""Ask git without an event loop, and without changing anything; earlier versions of a file.

Git locks, fetches and writes nothing here. Its environment lacks the variables that would lead it
to another repository than the one around the folder (git sets them for hooks).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dwindle.app.plans.load import MAX_BYTES
from dwindle.app.plans.plan_files import repository
from dwindle.app.refusal import Refused

if TYPE_CHECKING:
    from dwindle.adapters.git.in_place.history import Reader

T = TypeVar("T")
SECONDS = 30
OTHER_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX")
READ_ONLY = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
RUNS_NOTHING = ("-c", "log.showSignature=false", "-c", "log.mailmap=false")


def committed_version(path: Path) -> bytes | None:
    """The committed version; None if nothing is committed or the file is not."""
    real = path.resolve()
    if repository(str(real.parent)) is None:
        return None
    commit = _commit(real, "HEAD")
    return None if commit is None else _blob(real, commit)


def version_at(path: Path, revision: str) -> bytes:
    """The version in a revision; Refused if there is none."""
    real = path.resolve()
    if repository(str(real.parent)) is None:
        raise Refused(
            f"{revision} is no file, and {path} is in no git repository",
            where=f"--against {revision}",
            hint="name an earlier version of the file",
        )
    commit = _commit(real, revision)
    if commit is None:
        raise Refused(
            f"{revision} is neither a file nor a revision",
            where=f"--against {revision}",
            hint="`git log --oneline` lists revisions",
        )
    data = _blob(real, commit)
    if data is None:
        raise Refused(
            f"{revision} has no {path.name} there",
            where=f"--against {revision}",
            hint=f"`git log --oneline -- {path}` lists the revisions that changed it",
        )
    return data


def _commit(path: Path, revision: str) -> str | None:
    # Nothing that follows --end-of-options can be an option, whatever it looks like.
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    ended = ask_git(path.parent, *asked)
    name = ended.stdout.decode("ascii", "replace").strip()
    if ended.returncode == 0 and name:
        return name
    if ended.stderr:  # --quiet says nothing about a revision that does not exist
        raise _failed(path, ended)
    return None


def _blob(path: Path, commit: str) -> bytes | None:
    name = f"{commit}:./{path.name}"
    if ask_git(path.parent, "cat-file", "-e", name).returncode != 0:
        return None
    size = ask_git(path.parent, "cat-file", "-s", name)
    if size.returncode != 0:
        raise _failed(path, size)
    if int(size.stdout) > MAX_BYTES:
        what = f"its version in {commit} has {int(size.stdout)} bytes"
        raise Refused(what, where=str(path), hint=f"at most {MAX_BYTES} are read")
    blob = ask_git(path.parent, "cat-file", "blob", name)
    if blob.returncode != 0:
        raise _failed(path, blob)
    return blob.stdout


def read_with_git(root: Path, reader: Reader[T]) -> T:
    """Let git answer all that a reader of its output asks; Refused if git fails."""
    try:
        question = next(reader)
        while True:
            ended = ask_git(root, *question.words, given=question.stdin)
            if ended.returncode:
                said = ended.stderr.decode(errors="replace").strip()
                what = f"git {question.words[0]} failed: {said or f'exit code {ended.returncode}'}"
                raise Refused(what, where=str(root), hint="try `git fsck`")
            question = reader.send(ended.stdout)
    except StopIteration as end:
        result: T = end.value
        return result


def ask_git(folder: Path, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run one git command that changes nothing, whatever its exit code."""
    kept = {name: value for name, value in os.environ.items() if name not in OTHER_REPOSITORY}
    try:
        return subprocess.run(
            ["git", *RUNS_NOTHING, *words],
            cwd=folder,
            env=kept | READ_ONLY | {"LC_ALL": "C"},
            input=given,
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )
    except FileNotFoundError:
        what = "git is not installed, so that earlier versions cannot be seen"
        hint = "install git, or name the earlier version: --against FILE"
        raise Refused(what, where=str(folder), hint=hint) from None
    except subprocess.TimeoutExpired:
        what = f"git did not answer within {SECONDS} seconds"
        raise Refused(what, where=str(folder), hint="try `git status` there") from None
    except ValueError:  # a NUL in a revision
        hint = "`git log --oneline` lists revisions"
        raise Refused("this cannot be a revision", where="--against", hint=hint) from None


def _failed(path: Path, ended: subprocess.CompletedProcess[bytes]) -> Refused:
    said = ended.stderr.decode(errors="replace").strip().splitlines()
    return Refused(
        f"git failed: {said[0] if said else f'exit code {ended.returncode}'}",
        where=str(path),
        hint="name the earlier version: --against FILE",
    )
