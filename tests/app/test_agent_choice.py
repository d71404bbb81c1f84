"""`--agent`: what a person may say, and what comes of rubbish."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwindle.adapters.formats.config.file import read_settings
from dwindle.adapters.formats.config.kinds import BuiltinAgent
from dwindle.adapters.formats.config.settings import AgentSettings
from dwindle.app.agents.choice import agent_overrides
from dwindle.app.refusal import Refused

FILE = b"""
[agents]
backend = "claude"
model = "opus"
timeout_seconds = 60

[agents.verifier]
model = "sonnet"
"""


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ((), {}),
        (("claude",), {"agents.backend": "claude"}),
        ((" codex ",), {"agents.backend": "codex"}),
        (("claude:opus",), {"agents.backend": "claude", "agents.model": "opus"}),
        (("acme-agent.v2",), {"agents.backend": "acme-agent.v2"}),
        (
            ("claude", "verifier=codex"),
            {"agents.backend": "claude", "agents.verifier.backend": "codex"},
        ),
        (
            ("command:my-agent --name='two words' A=b:c",),
            {
                "agents.backend": "command",
                "agents.command": ["my-agent", "--name=two words", "A=b:c"],
            },
        ),
        (
            ("worker=command:./agent x=1",),
            {"agents.worker.backend": "command", "agents.worker.command": ["./agent", "x=1"]},
        ),
        (
            ("command: env X=1 agent",),
            {"agents.backend": "command", "agents.command": ["env", "X=1", "agent"]},
        ),
    ],
)
def test_what_was_said_becomes_settings(
    words: tuple[str, ...], settings: dict[str, object]
) -> None:
    assert agent_overrides(words) == settings


def test_a_script_is_a_file_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "an answer.yaml").write_text("worker: {}\n")
    monkeypatch.chdir(tmp_path)
    assert agent_overrides(["planner=scripted:an answer.yaml"]) == {
        "agents.planner.backend": "scripted",
        "agents.planner.script": str(tmp_path / "an answer.yaml"),
    }


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("",), "--agent: '' names no agent\n  say claude, codex, claude:MODEL, command:PROGRAM"),
        (("   ",), "--agent: '' names no agent"),
        (("/usr/bin/claude",), "--agent: '/usr/bin/claude' names no agent"),
        (("two words",), "--agent: 'two words' names no agent"),
        (("claude\x1b[2J",), r"--agent: 'claude\\x1b[2J' names no agent"),
        (("x" * 65,), f"--agent: '{'x' * 65}' names no agent"),
        (("worker=",), "--agent: '' names no agent"),
        (("wroker=claude",), "--agent: 'wroker' is no role\n  did you mean worker?"),
        (("=claude",), "--agent: '' is no role\n  known: worker, probe, verifier, planner"),
        (("acme:",), "--agent: acme: names no model\n  say acme:MODEL, or acme alone"),
        (("command",), "--agent: command needs a program\n  say --agent 'command:PROGRAM"),
        (("command:  ",), "--agent: command needs a program"),
        (("command:''",), "--agent: command needs a program"),
        (("command:it's",), '--agent: "it\'s" is no command: No closing quotation'),
        (("scripted",), "--agent: scripted needs a file\n  say --agent scripted:FILE"),
        (("scripted:no.yaml",), "--agent: there is no file no.yaml\n  the path is from"),
        (("scripted:/tmp",), "--agent: there is no file /tmp"),
        (("claude", "codex"), "--agent: two agents are named for all roles"),
        (("worker=claude", "worker=claude"), "--agent: two agents are named for the worker"),
    ],
)
def test_rubbish_is_refused_with_what_to_say_instead(words: tuple[str, ...], what: str) -> None:
    with pytest.raises(Refused) as refused:
        agent_overrides(words)
    assert str(refused.value).startswith(f"dwindle: {what}"), str(refused.value)
    assert refused.value.code == 2


def test_the_command_line_stands_above_the_file() -> None:
    read = read_settings(FILE, agent_overrides(["claude", "worker=command:agent -q"]))
    assert read.settings is not None
    agents = read.settings.agents
    # The same backend keeps what the file says of it; another starts afresh, but for its time.
    assert agents.verifier == AgentSettings(
        backend=BuiltinAgent.CLAUDE, model="sonnet", timeout_seconds=60
    )
    assert agents.probe == AgentSettings(
        backend=BuiltinAgent.CLAUDE, model="opus", timeout_seconds=60
    )
    assert agents.worker == AgentSettings(
        backend=BuiltinAgent.COMMAND, command=("agent", "-q"), timeout_seconds=60
    )
