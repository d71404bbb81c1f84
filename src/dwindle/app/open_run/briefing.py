"""What every session of a run is told: the user's request, and the repository's rules for agents.

The rules (AGENTS.md, CLAUDE.md) are those of a commit that no agent has made: that of alignment, or
where the branch of a tree began. A worker can change the files in its tree, and a judge must not
obey the one that it judges.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from dwindle.adapters.formats.graph.front_matter import split
from dwindle.adapters.git.repository import GitGround, Repository
from dwindle.app.paths import PLAN_FILE
from dwindle.ports.work import Briefing
from dwindle.runner.orders.work import bounded_briefing

RULE_FILES: Final = ("AGENTS.md", "CLAUDE.md")
ORIGINAL: Final = re.compile(r"^# Original Prompt[ \t]*\n(.*?)(?=^# |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefings:
    """The briefing of a run, as of the commit that `commit` names; read once for each."""

    repository: Repository
    commit: Callable[[], str]
    request: str = ""
    known: dict[str, Briefing] = field(default_factory=dict)

    async def __call__(self) -> Briefing:
        commit = self.commit()
        if commit not in self.known:
            self.known[commit] = await self._read(commit)
        return self.known[commit]

    async def _read(self, commit: str) -> Briefing:
        ground = GitGround(self.repository)
        rules: dict[str, str] = {}
        for name in RULE_FILES:
            text = (await ground.content(commit, name) or b"").decode("utf-8", "replace")
            if text.strip() and not _points_to(text, rules):
                rules[name] = text
        below = [
            path
            for path in await ground.tracked(commit)
            if "/" in path and PurePosixPath(path).name in RULE_FILES
        ]
        found = Briefing(request=self.request, rules=tuple(rules.items()), more_rules=tuple(below))
        return bounded_briefing(found)


def original_request(root: Path, goal: str) -> str:
    """The request in the body of the plan file; empty if it says no more than the goal."""
    body = split((root / PLAN_FILE).read_bytes()).body.decode("utf-8", "replace")
    found = ORIGINAL.search(body.replace("\r\n", "\n"))
    said = found[1].strip() if found else ""
    return "" if said == goal.strip() else said


def _points_to(text: str, rules: dict[str, str]) -> bool:
    """Whether a file is the same as one before, an import of it, or a link to it."""
    said = text.strip()
    return (
        said in (rule.strip() for rule in rules.values())
        or said.removeprefix("@").removeprefix("./") in rules
    )
