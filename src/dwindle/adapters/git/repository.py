"""The repository that a run works on: found, or refused with a sentence that helps."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from dwindle.adapters.git.command import Git, GitResult, environment, run
from dwindle.adapters.git.common_dir import CommonDir, Filters, Values
from dwindle.ports.process import Secret
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.text.escape import escape

OLDEST_GIT = (2, 38)
"""The first with `merge-tree --write-tree`."""

NOT_IGNORED = 1
"""How `git check-ignore` ends when it has nothing to name."""

DISCOVERY_SECONDS = 30.0
"""For git to find a repository: its configuration may include a file that cannot be read."""

FIRST_COMMIT = "git add . && git commit --allow-empty -m 'First'"

NAME, EMAIL = "Dwindle", "dwindle@localhost"

MADE_BY_US = (
    "/.runner/worktrees/",
    "/.runner/journal/",
    "/.runner/iterations/",
    "/.runner/*.lock",
    "/.runner/*.sock",
)
"""What a runner makes for itself, as patterns for git."""

NOT_WORK = (".runner/", ".claude/aot-loop-state")
"""How paths begin that a run reads from the checkout, whatever is committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    git: Git
    """Speaks of the person's checkout, with an identity for commits."""
    common: Path
    """Where objects and refs are, shared by all work trees."""
    checkout: Path
    """The person's own files: read, and never written but to land."""
    hollow: tuple[str, ...] = ()
    """Folders of submodules. They stay empty in our trees, and git does not look into them."""
    secrets: tuple[Secret, ...] = ()
    """What nothing that we put into it may hold."""
    filters: Filters = field(default_factory=Filters)

    @property
    def trees(self) -> Path:
        return self.checkout / ".runner" / "worktrees"

    @property
    def raw(self) -> Repository:
        """The same, for trees in which every file is as it is in commits, byte for byte."""
        return replace(self, git=replace(self.git, raw=True))

    def with_filters(self, filters: Filters) -> Repository:
        """The same, with filters as the settings want them. Raises WorkspaceFailed."""
        if filters == self.filters:
            return self
        ours = CommonDir.open(self.git.git_dir, filters, self.checkout)
        return replace(self, git=replace(self.git, common=ours), filters=filters)

    async def require_filters(self) -> None:
        """Refuse to work on files with a filter of which the settings say nothing."""
        known = (*self.filters.run, *self.filters.left_out)
        others = [name for name in self.git.configured_filters if name not in known]
        if not others:
            return
        paths = await self.git.tell("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD")
        asking = replace(self.git, raw=False)
        said = await asking.ask("check-attr", "-z", "--stdin", "filter", given=paths.out)
        found = {name: path for path, _, name in zip(*[iter(said.lines)] * 3, strict=True)}
        used = [f"{name} ({found[name]})" for name in others if name in found]
        if used:
            what = f"git would run a filter on files of {self.checkout}: {', '.join(used)}"
            how = "name it in [git] filters to have it run, or in [git] unfiltered to do without"
            raise WorkspaceFailed(escape(what), how)

    async def commit(self, name: str) -> str:
        """The full id of a commit, or a refusal that says what was looked for."""
        said = await self.git.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if said.code:
            raise WorkspaceFailed(f"{name} is no commit in {self.checkout}")
        return said.text

    async def head(self) -> str:
        """The commit that the person's checkout is at."""
        return await self.commit("HEAD")

    async def branch(self) -> str:
        """The name of the branch that the person's checkout is on; empty if HEAD is detached."""
        said = await self.git.ask("symbolic-ref", "--quiet", "HEAD")
        return said.text.removeprefix("refs/heads/")

    async def tracked(self, commit: str) -> tuple[str, ...]:
        """Every regular file in a commit, in git's order."""
        listed = await self.git.tell("ls-tree", "-r", "-z", "--full-tree", commit)
        records = (record.partition("\t") for record in listed.lines)
        return tuple(path for kind, _, path in records if kind.startswith("100"))

    async def files(self, commit: str) -> tuple[str, ...]:
        """Every path in a commit, links and submodules too."""
        words = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
        return (await self.git.tell(*words)).lines

    async def submodules(self, commit: str) -> tuple[str, ...]:
        """The folders where a commit has other repositories."""
        listed = await self.git.tell("ls-tree", "-r", "-z", "--full-tree", commit)
        records = (record.partition("\t") for record in listed.lines)
        return tuple(path for kind, _, path in records if kind.startswith("160000"))

    async def refs(self) -> dict[str, str]:
        """Every ref and what it points to."""
        said = await self.git.tell("for-each-ref", "--format=%(refname) %(objectname)")
        return dict(line.rsplit(" ", 1) for line in os.fsdecode(said.out).splitlines())

    async def require_room_for_runs(self) -> None:
        """A name in git is a file or a folder, and `runner` would have to be both."""
        words = ("rev-parse", "--verify", "--quiet", "refs/heads/runner")
        if (await self.git.ask(*words)).code == 0:
            what = "there is a branch named runner, and so there can be none named runner/<run-id>"
            raise WorkspaceFailed(what, "`git branch -m runner another-name` renames it")

    async def is_ancestor(self, older: str, newer: str) -> bool:
        said = await self.git.ask("merge-base", "--is-ancestor", older, newer)
        return said.code == 0

    def exclude(self, patterns: Iterable[str]) -> None:
        """Make git overlook these in every work tree; what is there already stays as it is."""
        path = self.common / "info" / "exclude"
        try:
            path.parent.mkdir(exist_ok=True)
            before = path.read_text("utf-8", "surrogateescape") if path.exists() else ""
            known = before.splitlines()
            missing = [pattern for pattern in patterns if pattern not in known]
            if missing:
                gap = "" if not before or before.endswith("\n") else "\n"
                with path.open("a", encoding="utf-8", errors="surrogateescape") as file:
                    file.write(gap + "".join(f"{pattern}\n" for pattern in missing))
        except OSError as error:
            raise WorkspaceFailed(f"{path}: could not add to it", error.strerror or "") from error


async def find(path: Path, filters: Filters | None = None) -> Repository:
    """The repository around `path`; raises WorkspaceFailed where no run could work."""
    _require_folder(path)
    await _require_recent_git(path)
    asked = ("--is-bare-repository", "--is-inside-git-dir", "--git-common-dir", "--git-dir")
    found = await _rev_parse(path, "--path-format=absolute", *asked)
    if found.code:
        if "not a git repository" in found.err:
            what = f"{path} is not in a git repository; `git init && {FIRST_COMMIT}` makes it one"
            raise WorkspaceFailed(what)
        raise WorkspaceFailed(f"git cannot read the repository at {path}", found.err)
    bare, inside, common, git_dir = os.fsdecode(found.out).splitlines()
    if bare == "true":
        raise WorkspaceFailed(f"{path} is a bare repository: there are no files to work on")
    if inside == "true":
        raise WorkspaceFailed(f"{path} is inside of git's own folder; go to the checkout")
    top = await _rev_parse(path, "--show-toplevel")
    checkout = Path(os.fsdecode(top.out).rstrip("\n"))
    ours = CommonDir.open(Path(git_dir), filters, checkout)
    git = Git(git_dir=Path(git_dir), tree=checkout, common=ours)
    if (await git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")).code:
        raise WorkspaceFailed(f"{checkout} has no commit yet; `{FIRST_COMMIT}` makes one")
    return Repository(
        git=git.with_settings(*_settings(ours.values)),
        common=Path(common),
        checkout=checkout,
        filters=filters or Filters(),
    )


async def _rev_parse(path: Path, *words: str) -> GitResult:
    """The one question that is asked with the person's own configuration: it runs nothing."""
    argv = ("git", "rev-parse", *words)
    return await run(argv, cwd=path, variables=environment(), patience=DISCOVERY_SECONDS)


def _require_folder(path: Path) -> None:
    if not path.is_dir():
        raise WorkspaceFailed(f"{path} is not a folder")


async def _require_recent_git(path: Path) -> None:
    said = await run(("git", "version"), cwd=path, variables=environment())
    numbers = re.search(r"(\d+)\.(\d+)", said.text)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < OLDEST_GIT:
        wanted = ".".join(map(str, OLDEST_GIT))
        raise WorkspaceFailed(f"git {wanted} or newer is needed; this is {said.text!r}")


def _settings(known: Values) -> tuple[str, ...]:
    """An identity, if the person has none. Also refuses what we could not handle."""
    if known.get("extensions.refstorage", "files") != "files":
        raise WorkspaceFailed("refs kept as a reftable are not supported; use the files format")
    if known.get("user.name") and known.get("user.email"):
        return ()
    return (f"user.name={NAME}", f"user.email={EMAIL}")


@dataclass(frozen=True, slots=True)
class GitGround:
    """What alignment asks of a repository; it changes nothing."""

    repository: Repository

    async def head(self) -> str:
        return await self.repository.head()

    async def branch(self) -> str:
        return await self.repository.branch()

    async def tracked(self, commit: str) -> tuple[str, ...]:
        return await self.repository.tracked(commit)

    async def content(self, commit: str, path: str) -> bytes | None:
        """What a file holds in a commit; None if it is not there."""
        said = await self.repository.git.ask("cat-file", "blob", f"{commit}:{path}")
        return None if said.code else said.out

    async def is_ignored(self, path: str) -> bool:
        if path.startswith(("/", "../")):
            return False  # git refuses to speak about what lies outside
        # The one command that does not want to be told to take paths literally.
        asking = self.repository.git.with_patterns()
        said = await asking.ask("check-ignore", "--quiet", "--", path)
        if said.code not in (0, NOT_IGNORED):
            raise WorkspaceFailed(f"git check-ignore ended with {said.code}", said.err)
        return said.code == 0

    async def uncommitted(self) -> tuple[str, ...]:
        words = ("status", "--porcelain", "-z", "--untracked-files=no", "--no-renames")
        said = await self.repository.git.tell(*words, "--ignore-submodules=all")
        return tuple(line[3:] for line in said.lines)

    async def untracked(self) -> tuple[str, ...]:
        words = ("ls-files", "-z", "--others", "--exclude-standard")
        found = (await self.repository.git.tell(*words)).lines
        return tuple(path for path in found if not path.startswith(NOT_WORK))
