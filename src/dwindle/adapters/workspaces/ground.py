"""What alignment asks of a repository. Git is only asked, never told."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dwindle.adapters.workspaces.repository import Repository
from dwindle.ports.workspace import WorkspaceFailed

NOT_IGNORED = 1
"""How `git check-ignore` ends when it has nothing to name."""


@dataclass(frozen=True, slots=True)
class GitGround:
    """A repository that was found, so that it has a commit."""

    repository: Repository

    async def head(self) -> str:
        return await self.repository.head()

    async def tracked(self, commit: str) -> tuple[str, ...]:
        return await self.repository.tracked(commit)

    async def content(self, commit: str, path: str) -> bytes | None:
        """What a file holds in a commit; None if it is not there."""
        said = await self.repository.git.ask("cat-file", "blob", f"{commit}:{path}")
        return None if said.code else said.out

    async def is_ignored(self, path: str) -> bool:
        if path.startswith(("/", "../")):
            return False  # git refuses to speak about what lies outside
        git = self.repository.git
        # The one command that does not want to be told to take paths literally.
        asking = replace(git, variables={**git.variables, "GIT_LITERAL_PATHSPECS": "0"})
        said = await asking.ask("check-ignore", "--quiet", "--", path)
        if said.code not in (0, NOT_IGNORED):
            raise WorkspaceFailed(f"git check-ignore ended with {said.code}", said.err)
        return said.code == 0

    async def uncommitted(self) -> int:
        words = ("status", "--porcelain", "-z", "--untracked-files=no", "--no-renames")
        said = await self.repository.git.tell(*words, "--ignore-submodules=all")
        return len(said.lines)
