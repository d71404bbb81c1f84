"""The place where programs are run: no key gets in, no connection gets out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.real.model import Lane, ModelServer, Step
from tests.real.programs import Program
from tests.real.stage import Stage, raise_stage

PYTHON = Program(
    name="python", version="3", path=Path(sys.executable), folder=Path(sys.executable).parent
)
ENV = Program(name="env", version="", path=Path("/usr/bin/env"), folder=Path("/usr/bin"))
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN")


@pytest.mark.parametrize("contained", [True, False])
def test_no_key_of_ours_reaches_a_program(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, contained: bool
) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, "canary")
    with ModelServer(Lane(steps=(Step("x"),))) as model:
        command = stage.command(ENV, environment=stage.environment(model))
        ran = stage.run(command, containment=None if contained else stage.bare())
    seen = dict(line.split("=", 1) for line in ran.stdout.splitlines())
    assert "canary" not in seen.values()
    assert seen["ANTHROPIC_BASE_URL"] == model.url
    assert [seen[name] for name in ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME")] == [
        str(stage.home),
        str(stage.claude_config),
        str(stage.codex_home),
    ]


def test_its_folders_are_not_below_tmp(stage: Stage) -> None:
    assert stage.root.parent == Path("/var/tmp")  # noqa: S108 - codex minds /tmp only


def test_without_a_network_of_its_own_a_dead_proxy_keeps_calls_here() -> None:
    alone = raise_stage(is_island=False)
    try:
        variables = alone.environment(None)
    finally:
        alone.strike()
    assert (variables["HTTPS_PROXY"], variables["NO_PROXY"]) == ("http://127.0.0.1:9", "127.0.0.1")


LEAVES = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True,
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""


def test_who_got_away_is_put_down_and_the_folders_are_gone() -> None:
    made = raise_stage(is_island=False)
    try:
        made.run(
            made.command(PYTHON, "-c", LEAVES, environment=made.environment(None)),
            containment=made.bare(),
        )
        left = made.survivors()
    finally:
        made.strike()
    assert [line.endswith("time.sleep(300)") for line in left.values()] == [True]
    assert made.survivors() == {}
    assert not made.root.exists()
