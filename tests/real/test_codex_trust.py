"""Where codex was allowed to write, it remembers the repository as trusted.

Sessions of ours must not add to that: the person's own sessions there would have more rights.
"""

from __future__ import annotations

import json

import pytest
from tests.real.codex_session import play, shell
from tests.real.model import Step
from tests.real.programs import Program
from tests.real.stage import Stage
from tests.surfaces.command import git, repository

from dwindle.testing.agents import DONE, DONE_REPORT, set_up

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("config", ["", "# mine\n"], ids=["no config", "a config"])
@pytest.mark.parametrize("own_sandbox", [False, True], ids=["ours", "its own"])
def test_no_session_of_ours_makes_a_repository_trusted(
    stage: Stage, codex: Program, config: str, own_sandbox: bool
) -> None:
    """The workspace is one more checkout of the person's repository, as in a run."""
    place = set_up(stage.root / "session")
    main = stage.root / "main"
    main.mkdir()
    repository(main)
    place.workspace.rmdir()
    git(main, "worktree", "add", "--quiet", "--detach", str(place.workspace))
    file = stage.codex_home / "config.toml"
    if config:
        file.write_text(config)
    steps = (Step(tools=(shell("ls"),)), Step(json.dumps(DONE)))
    played = play(stage, codex, *steps, place=place, own_sandbox=own_sandbox)
    assert played.report == DONE_REPORT
    assert (file.read_text() if file.exists() else "") == config
