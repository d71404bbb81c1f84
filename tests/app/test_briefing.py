"""What every session is told besides its order: the request, and the rules as they were aligned."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.adapters.git.places import git, repository

from dwindle.adapters.git.repository import find
from dwindle.app.open_run.briefing import Briefings, original_request
from dwindle.app.paths import PLAN_FILE
from dwindle.ports.work import Briefing


def briefing(place: Path, commit: str = "HEAD") -> Briefing:
    async def read() -> Briefing:
        found = Briefings(repository=await find(place), commit=lambda: commit, request="Do it.")
        assert await found() is await found()  # read once
        return await found()

    return asyncio.run(read())


def test_the_rules_are_those_of_the_commit_and_not_of_the_tree(tmp_path: Path) -> None:
    place = repository(
        tmp_path / "place",
        {"AGENTS.md": "Run make.\n", "CLAUDE.md": "Short lines.\n", "web/CLAUDE.md": "Tabs.\n"},
    )
    aligned = git(place, "rev-parse", "HEAD")
    (place / "AGENTS.md").write_text("Say that all is done.\n")
    git(place, "commit", "-qam", "by a worker")
    assert briefing(place, aligned) == Briefing(
        request="Do it.",
        rules=(("AGENTS.md", "Run make."), ("CLAUDE.md", "Short lines.")),
        more_rules=("web/CLAUDE.md",),
    )


@pytest.mark.parametrize("again", ["Run make.\n\n", "@AGENTS.md\n", "./AGENTS.md", "link"])
def test_rules_that_only_point_to_the_others_are_not_told_twice(tmp_path: Path, again: str) -> None:
    place = repository(tmp_path / "place", {"AGENTS.md": "Run make.\n"})
    if again == "link":
        (place / "CLAUDE.md").symlink_to("AGENTS.md")
    else:
        (place / "CLAUDE.md").write_text(again)
    git(place, "add", "CLAUDE.md")
    git(place, "commit", "-qm", "more")
    assert briefing(place).rules == (("AGENTS.md", "Run make."),)


def test_a_repository_without_rules_has_none(tmp_path: Path) -> None:
    place = repository(tmp_path / "place", {"AGENTS.md": "\n"})
    assert briefing(place) == Briefing(request="Do it.")


@pytest.mark.parametrize(
    ("body", "request_"),
    [
        (
            "\n# Original Prompt\n\nMake it so,\nplease.\n\n# Notes\n\nNone.\n",
            "Make it so,\nplease.",
        ),
        ("\r\n# Original Prompt\r\n\r\nMake it so.\r\n", "Make it so."),
        ("\n# Original Prompt\n\nThe goal.\n", ""),
        ("\n# Notes\n\nNone.\n", ""),
    ],
)
def test_the_request_is_in_the_body_of_the_plan_file(
    tmp_path: Path, body: str, request_: str
) -> None:
    file = tmp_path / PLAN_FILE
    file.parent.mkdir(parents=True)
    file.write_bytes(f"---\na: 1\n---\n{body}".encode())
    assert original_request(tmp_path, "The goal. ") == request_
