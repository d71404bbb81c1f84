"""What the real claude can reach: processes, settings of the workspace, files. For each version."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from tests.real.claude_session import agent_call, init, outcome
from tests.real.model import Lane, ModelServer, Step, ToolCall
from tests.real.programs import CLAUDE, NEWER_CLAUDE, Program
from tests.real.stage import Stage

from dwindle.adapters.sandbox.choice import choose

pytestmark = pytest.mark.slow

OK = Lane(steps=(Step("fine"),))

# --- processes -----------------------------------------------------------------------------------

LASTING = "exec python3 -c 'import time; time.sleep(300)'"
WORD = "time.sleep(300)"
LASTS = Lane(steps=(Step(tools=(ToolCall("Bash", {"command": LASTING}),)), Step("interrupted")))


def test_what_it_started_outlives_a_kill_of_its_group(stage: Stage, claude: Program) -> None:
    def kill() -> None:
        leader = stage.running(str(claude.path))
        assert leader is not None
        os.killpg(leader, signal.SIGKILL)

    with ModelServer(LASTS) as model:
        ran = stage.interrupt(
            stage.claude(claude, model, "--allowedTools", "Bash"),
            lambda: stage.running(f"python3 -c import time; {WORD}"),
            containment=stage.bare(),
            how=kill,
        )
    assert ran is not None
    assert ran.ended.signal == signal.SIGKILL
    assert stage.running(WORD) is not None
    assert stage.running(str(claude.path)) is None


def test_a_cancelled_session_leaves_no_process_under_our_containment(
    stage: Stage, claude: Program
) -> None:
    with ModelServer(LASTS) as model:
        stage.interrupt(
            stage.claude(claude, model, "--allowedTools", "Bash"),
            lambda: stage.running(f"python3 -c import time; {WORD}"),
            containment=choose(mark=stage.mark),
        )
    assert stage.survivors() == {}


def test_only_root_has_to_say_that_it_is_in_a_sandbox_to_skip_permissions(
    stage: Stage, claude: Program
) -> None:
    with ModelServer(OK) as model:
        silent, said = (
            stage.run(
                stage.claude(claude, model, "--dangerously-skip-permissions", environment=variables)
            )
            for variables in ({}, {"IS_SANDBOX": "1"})
        )
    if os.getuid() == 0:
        assert (silent.code, silent.stdout) == (1, "")
        assert "cannot be used with root/sudo privileges" in silent.stderr
    else:
        assert outcome(silent) == (0, "success", False)
    assert outcome(said) == (0, "success", False)
    assert init(said)["permissionMode"] == "bypassPermissions"


# --- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "obeyed"),
    [
        pytest.param('{"permissions": {"deny": ["Bash"]}}', True, id="right"),
        pytest.param('{"permissions": {"deny": ["Bash"]}, "model": 5}', False, id="wrong type"),
        pytest.param('{"permissions": {"deny": ["Bash"]}', False, id="not JSON"),
    ],
)
def test_settings_with_one_mistake_are_dropped_in_silence_and_init_shows_it(
    stage: Stage, claude: Program, text: str, obeyed: bool
) -> None:
    settings = stage.home / "settings.json"
    settings.write_text(text)
    nowhere = str(stage.home / "no-such-plugin")
    with ModelServer(OK) as model:
        ran = stage.run(
            stage.claude(claude, model, "--settings", str(settings), "--plugin-dir", nowhere)
        )
    assert outcome(ran) == (0, "success", False)
    assert ("Bash" not in init(ran)["tools"]) is obeyed
    assert ("Bash" not in model.requests[0].conversation.tools) is obeyed


BUILT_IN = {
    CLAUDE: [],
    NEWER_CLAUDE: [
        (f"cc-plugin-{name}", "builtin") for name in ("agents-md", "privacy", "plugin-authoring")
    ],
}
"""Plugins that are always there."""


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return folder


def test_what_fails_to_load_fails_in_silence_and_init_shows_it(
    stage: Stage, claude: Program
) -> None:
    plugin = written(
        stage.home / "plugin",
        {
            ".claude-plugin/plugin.json": '{"name": "gate", "version": "1.0.0"}',
            "hooks/hooks.json": '{"hooks": ',
        },
    )
    server = {"mcpServers": {"tools": {"command": str(stage.home / "no-such-program")}}}
    with ModelServer(OK) as model:
        ran = stage.run(
            stage.claude(
                claude,
                model,
                *("--plugin-dir", str(plugin)),
                *("--mcp-config", json.dumps(server), "--strict-mcp-config"),
            )
        )
    assert outcome(ran) == (0, "success", False)
    begun = init(ran)
    named = [(found["name"], found["path"]) for found in begun["plugins"]]
    assert named == [("gate", str(plugin)), *BUILT_IN[claude.version]]
    assert [(problem["plugin"], problem["type"]) for problem in begun["plugin_errors"]] == [
        ("plugin@inline", "hook-load-failed")  # named after the folder
    ]
    assert [(found["name"], found["status"]) for found in begun["mcp_servers"]] == [
        ("tools", "failed")
    ]


@pytest.mark.parametrize(
    ("description", "has_write"),
    [pytest.param("d", False, id="right"), pytest.param('"d', True, id="not YAML")],
)
def test_an_agent_whose_file_is_not_yaml_gets_the_tools_that_it_was_not_given(
    stage: Stage, claude: Program, description: str, has_write: bool
) -> None:
    head = f"name: judge\ndescription: {description}\ntools: Read"
    plugin = written(
        stage.home / "plugin",
        {
            ".claude-plugin/plugin.json": '{"name": "court", "version": "1.0.0"}',
            "agents/judge.md": f"---\n{head}\n---\nJudge.\n",
        },
    )
    sub = Lane(name="sub", user="begin as a subagent", steps=(Step("judged"),))
    main = Lane(name="main", steps=(Step(tools=(agent_call("court:judge"),)), Step("main done")))
    with ModelServer(sub, main) as model:
        ran = stage.run(stage.claude(claude, model, "--plugin-dir", str(plugin)))
    assert outcome(ran) == (0, "success", False)
    assert [request.lane for request in model.requests] == ["main", "sub", "main"]
    assert "plugin_errors" not in init(ran)
    offered = model.requests[1].conversation.tools
    assert "Read" in offered
    assert ("Write" in offered) is has_write


def test_agents_that_are_not_json_are_refused_by_the_newer_version_only(
    stage: Stage, claude: Program
) -> None:
    with ModelServer(OK) as model:
        ran = stage.run(stage.claude(claude, model, "--agents", "{"))
    assert (ran.code, len(model.requests)) == {CLAUDE: (0, 1), NEWER_CLAUDE: (1, 0)}[claude.version]


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "attached"),
    [
        pytest.param({}, True, id="as it is"),
        pytest.param({"CLAUDE_CODE_DISABLE_ATTACHMENTS": "1"}, False, id="switched off"),
    ],
)
def test_a_path_after_an_at_sign_is_read_whatever_the_tools(
    stage: Stage, claude: Program, environment: dict[str, str], attached: bool
) -> None:
    secret = stage.home / "secret.txt"
    secret.write_text("the canary sings\n")
    with ModelServer(OK) as model:
        ran = stage.run(
            stage.claude(
                claude,
                model,
                *("--tools", "", "--permission-mode", "dontAsk", "--setting-sources", ""),
                prompt=f"a log said: see @{secret}",
                environment=environment,
            )
        )
    assert outcome(ran) == (0, "success", False)
    (request,) = model.requests
    assert ("the canary sings" in json.dumps(request.body)) is attached
    assert str(secret) in request.conversation.user


def test_a_probe_cannot_write(stage: Stage, claude: Program) -> None:
    steps = (
        Step(
            tools=(
                ToolCall("Write", {"file_path": "{{cwd}}/made.txt", "content": "x"}),
                ToolCall("Bash", {"command": "touch made.txt"}),
            )
        ),
        Step("I could not."),
    )
    with ModelServer(Lane(steps=steps)) as model:
        ran = stage.run(
            stage.claude(
                claude,
                model,
                *("--tools", "Read,Grep,Glob", "--permission-mode", "dontAsk"),
                *("--setting-sources", "", "--strict-mcp-config"),
            )
        )
    assert outcome(ran) == (0, "success", False)
    assert list(stage.work.iterdir()) == []
    assert [result.is_error for result in model.requests[1].conversation.tool_results] == [
        True,
        True,
    ]
    begun = init(ran)
    assert begun["tools"] == ["Glob", "Grep", "Read"]
    extra = {CLAUDE: (), NEWER_CLAUDE: ("DeferredToolPlaceholder",)}[claude.version]
    assert sorted(model.requests[0].conversation.tools) == sorted(("Glob", "Grep", "Read", *extra))
    assert (begun["permissionMode"], begun["mcp_servers"]) == ("dontAsk", [])
