"""What claude is started with, what it is believed, and what becomes of one that misbehaves."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.agents.claude_lines import (
    BUILT_IN,
    FULL,
    READING,
    agent,
    init,
    place_in,
    result,
    said,
    session_in,
    watched,
)

from dwindle.adapters.agents.claude.roles import allowance, distrust
from dwindle.adapters.agents.reports.schema import report_schema
from dwindle.kernel.model import Role
from dwindle.ports.process import Command
from dwindle.ports.work import PLANNER, Order, Purpose
from dwindle.testing.agents import DONE, ORDER, PLAN

PROBE = replace(ORDER, role=Role.PROBE, purpose=Purpose.LOOK)
VERIFIER = replace(ORDER, role=Role.VERIFIER, purpose=Purpose.JUDGE)
ORDERS: dict[str, Order] = {
    Role.WORKER: ORDER,
    Role.PROBE: PROBE,
    Role.VERIFIER: VERIFIER,
    PLANNER: PLAN,
}


def command(folder: Path, order: Order = ORDER, **changed: Any) -> Command:
    return session_in(folder, order, **changed).command


# --- the command line ----------------------------------------------------------------------------

ALWAYS = (
    *("claude", "-p", "--output-format", "stream-json", "--verbose"),
    *("--no-session-persistence", "--strict-mcp-config"),
)
READS = ("--permission-mode", "dontAsk", "--setting-sources", "")


def schema_of(order: Order) -> tuple[str, str]:
    return ("--json-schema", json.dumps(report_schema(order), separators=(",", ":")))


@pytest.mark.parametrize(
    ("role", "sandboxed", "options"),
    [
        (Role.PROBE, True, ("--tools", "Read,Grep,Glob", *READS)),
        (Role.PROBE, False, ("--tools", "Read,Grep,Glob", *READS)),
        (PLANNER, True, ("--tools", "Read,Grep,Glob", *READS)),
        (Role.VERIFIER, True, ("--tools", "Read,Grep,Glob,Bash", "--allowedTools", "Bash", *READS)),
        (Role.VERIFIER, False, ("--tools", "Read,Grep,Glob", *READS)),
        (Role.WORKER, True, ("--dangerously-skip-permissions", "--setting-sources", "project")),
        (
            Role.WORKER,
            False,
            (
                *("--permission-mode", "acceptEdits"),
                *("--allowedTools", "Bash,Edit,Write,NotebookEdit,WebFetch,WebSearch"),
                *("--add-dir", "OUTBOX", "--setting-sources", "project"),
                *("--settings", '{"disableAllHooks": true}'),
            ),
        ),
    ],
)
def test_each_role_may_do_its_own(
    tmp_path: Path, role: str, sandboxed: bool, options: tuple[str, ...]
) -> None:
    order = ORDERS[role]
    found = command(tmp_path, order, sandboxed=sandboxed).argv
    told = tuple(str(tmp_path / "outbox") if word == "OUTBOX" else word for word in options)
    assert found == (*ALWAYS, *schema_of(order), *told)


def test_model_effort_turns_and_money_are_passed_on(tmp_path: Path) -> None:
    argv = command(
        tmp_path, model="haiku", effort="low", max_turns=40, budget=lambda _: 1.23456789
    ).argv
    assert argv[len(ALWAYS) :][:8] == (
        *("--model", "haiku", "--effort", "low", "--max-turns", "40"),
        *("--max-budget-usd", "1.2346"),
    )


@pytest.mark.parametrize(
    ("left", "said_as"), [(None, None), (float("inf"), None), (0.0, "0.0100"), (-3.0, "0.0100")]
)
def test_money_that_is_gone_is_a_cent_and_money_without_end_is_no_limit(
    tmp_path: Path, left: float | None, said_as: str | None
) -> None:
    argv = command(tmp_path, budget=lambda _: left).argv
    found = argv[argv.index("--max-budget-usd") + 1] if "--max-budget-usd" in argv else None
    assert found == said_as


@pytest.mark.parametrize(
    ("prompt", "stdin"),
    [
        (b"Write it.", b"Write it."),
        (b"/clear all", b"\n/clear all"),
        (b"\xef\xbb\xbf/clear", b"\n\xef\xbb\xbf/clear"),
        (b" /clear", b" /clear"),
    ],
)
def test_a_prompt_is_never_a_command_of_claude(tmp_path: Path, prompt: bytes, stdin: bytes) -> None:
    place = place_in(tmp_path, prompt)
    assert agent(tmp_path).session(ORDER, place).command.stdin == stdin


# --- the environment -----------------------------------------------------------------------------

QUIET = {
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "3",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}


def test_only_what_is_listed_is_passed_on(tmp_path: Path) -> None:
    allowed = {
        "ANTHROPIC_API_KEY": "sk-canary-1",
        "ANTHROPIC_AUTH_TOKEN": "canary-2",
        "CLAUDE_CODE_OAUTH_TOKEN": "canary-3",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "ANTHROPIC_MODEL": "sonnet",
        "https_proxy": "http://user:password@proxy",
        "NO_PROXY": "localhost",
    }
    others = {
        "AWS_SECRET_ACCESS_KEY": "canary-4",
        "OPENAI_API_KEY": "canary-5",
        "GITHUB_TOKEN": "canary-6",
        "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB": "1",
        "NODE_OPTIONS": "--require evil",
        "IS_SANDBOX": "1",
    }
    ours = {"PATH": "/bin", "HOME": "/nowhere", **allowed, **others}
    found = command(tmp_path, PROBE, ours=ours)
    outbox = tmp_path / "outbox"
    assert found.environment == {
        **allowed,
        **QUIET,
        "DWINDLE_ORDER": str(outbox / "order.json"),
        "DWINDLE_REPORT": str(outbox / "report.json"),
    }
    assert not [word for word in found.argv if "canary" in word or "password" in word]
    assert b"canary" not in found.stdin


def test_only_a_worker_in_our_sandbox_is_told_that_it_is_in_one(tmp_path: Path) -> None:
    told = [
        (role, sandboxed, "IS_SANDBOX" in command(tmp_path, order, sandboxed=sandboxed).environment)
        for role, order in ORDERS.items()
        for sandboxed in (True, False)
    ]
    assert [(role, sandboxed) for role, sandboxed, is_told in told if is_told] == [
        (Role.WORKER, True)
    ]


def test_what_is_set_for_it_is_stronger(tmp_path: Path) -> None:
    given = {"DISABLE_TELEMETRY": "0", "MY_OWN": "x"}
    found = command(tmp_path, environment=given, retries=0).environment
    assert {name: found[name] for name in (*given, "CLAUDE_CODE_MAX_RETRIES")} == {
        **given,
        "CLAUDE_CODE_MAX_RETRIES": "0",
    }


# --- files ---------------------------------------------------------------------------------------


def test_its_config_directory_is_its_own_but_for_what_a_person_would_obey(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".claude/plugins/cache").mkdir(parents=True)
    (home / ".claude/settings.json").write_text("{}", "utf-8")
    (home / ".claude.json").write_text("{}", "utf-8")
    found = command(tmp_path)
    assert found.writable == (*(tmp_path / "workspace", tmp_path / "outbox", home / ".claude"),)
    assert found.readable == (
        *(home / ".claude.json", home / ".claude/settings.json"),
        home / ".claude/plugins/cache",
    )
    assert "CLAUDE_CONFIG_DIR" not in found.environment


def test_a_config_directory_elsewhere_is_passed_on_if_it_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    ours = {"PATH": "/bin", "HOME": "/nowhere", "CLAUDE_CONFIG_DIR": str(folder)}
    found = command(tmp_path, PROBE, ours=ours)
    assert found.writable == (tmp_path / "outbox",)
    assert "CLAUDE_CONFIG_DIR" not in found.environment
    folder.mkdir()
    found = command(tmp_path, PROBE, ours=ours)
    assert found.writable == (tmp_path / "outbox", folder)
    assert found.environment["CLAUDE_CONFIG_DIR"] == str(folder)


def test_without_a_home_there_is_nothing_to_show(tmp_path: Path) -> None:
    assert command(tmp_path, PROBE, ours={}).writable == (tmp_path / "outbox",)


def test_the_time_and_the_network_are_those_of_the_order_and_the_settings(tmp_path: Path) -> None:
    found = command(tmp_path, replace(ORDER, timeout_seconds=77.0), network=False)
    assert (found.timeout_seconds, found.network) == (77.0, False)


def test_one_that_is_not_there_is_known_beforehand(tmp_path: Path) -> None:
    assert agent(tmp_path, program="no-such-claude").missing() == (
        "no-such-claude is not found, or not executable; install Claude Code, or name the path of "
        "the program in the settings"
    )
    assert agent(tmp_path, program=sys.executable).missing() is None


# --- trust ---------------------------------------------------------------------------------------


def begun(folder: Path, order: Order = ORDER, **told: Any) -> str | None:
    return session_in(folder, order).watch(init(**told))


SET_UP = "claude was not set up as it was asked to be: "
READER = {"tools": READING, "permissionMode": "dontAsk"}


def test_one_that_is_set_up_as_asked_for_may_go_on(tmp_path: Path) -> None:
    newer = {"plugins": [BUILT_IN], "tools": [*READING, "ToolSearch", "DeferredToolPlaceholder"]}
    assert begun(tmp_path) is None
    assert begun(tmp_path, PROBE, **READER) is None
    assert begun(tmp_path, VERIFIER, **{**READER, "tools": [*READING, "Bash"]}) is None
    assert begun(tmp_path, PROBE, **{**READER, **newer}) is None
    assert begun(tmp_path, PLAN, **READER) is None


@pytest.mark.parametrize(
    ("order", "told", "why"),
    [
        pytest.param(
            PROBE,
            {**READER, "tools": [*READING, "Write", "Bash"]},
            "it has tools that it should not have (Write, Bash)",
            id="tools",
        ),
        pytest.param(
            PROBE,
            {**READER, "permissionMode": "default"},
            "its permission mode is default, not dontAsk",
            id="mode",
        ),
        pytest.param(
            ORDER,
            {"permissionMode": None},
            "its permission mode is not given, not bypassPermissions",
            id="no mode",
        ),
        pytest.param(
            ORDER,
            {"tools": [*FULL, "mcp__files__write"]},
            "it has tools that it should not have (mcp__files__write)",
            id="tools of a server",
        ),
        pytest.param(
            ORDER,
            {"plugins": [BUILT_IN, {"name": "looper", "path": "/x", "source": "looper@inline"}]},
            "it has plugins that dwindle did not ask for (looper)",
            id="plugin",
        ),
        pytest.param(
            ORDER,
            {"plugins": [{"name": "sly", "path": "/x", "source": "sly@builtin"}]},
            "it has plugins that dwindle did not ask for (sly)",
            id="plugin that pretends",
        ),
        pytest.param(
            ORDER,
            {"mcp_servers": [{"name": "files", "status": "failed"}]},
            "it has MCP servers that dwindle did not ask for (files)",
            id="server",
        ),
        pytest.param(
            PROBE,
            {"tools": "all", "plugins": {}, "mcp_servers": 1, "permissionMode": ["x"]},
            (
                "it does not say which tools it has; "
                "its permission mode is not given, not dontAsk; "
                "it does not say which plugins it has; it does not say which MCP servers it has"
            ),
            id="everything",
        ),
        pytest.param(
            PROBE,
            {**READER, "tools": [f"T{n}" for n in range(9)]},
            "it has tools that it should not have (T0, T1, T2, T3, T4 and 4 more)",
            id="many",
        ),
    ],
)
def test_one_that_is_not_is_ended_and_says_why(
    tmp_path: Path, order: Order, told: dict[str, Any], why: str
) -> None:
    assert begun(tmp_path, order, **told) == SET_UP + why


def test_one_that_begins_without_a_word_is_ended(tmp_path: Path) -> None:
    why = "claude began without saying how it was set up"
    assert watched(session_in(tmp_path), b"hello", b'{"type":"system"}', said(), init()) == why
    assert watched(session_in(tmp_path), result(structured_output=DONE)) == why


def test_a_beginning_that_cannot_be_read_is_none() -> None:
    allowed = allowance(Role.PROBE, sandboxed=True, outbox=Path("/outbox"))
    assert distrust(None, allowed) == (
        "claude said how it was set up in a way that is not understood"
    )


def test_a_second_beginning_is_looked_at_as_well(tmp_path: Path) -> None:
    session = session_in(tmp_path, PROBE)
    assert watched(session, init(**READER), said(), init(**{**READER, "tools": ["Write"]})) == (
        f"{SET_UP}it has tools that it should not have (Write)"
    )


@pytest.mark.parametrize(
    ("version", "warning"),
    [
        ("2.1.197", ""),
        ("2.1.300", ""),
        ("2.1.325", ""),
        ("3.0.1", "claude 3.0.1 was not tried with this, 2.1.197 to 2.1.325 were; going on"),
        (None, "claude does not say its version; 2.1.197 to 2.1.325 were tried"),
    ],
)
def test_an_unknown_version_is_warned_about_and_goes_on(
    tmp_path: Path, version: str | None, warning: str
) -> None:
    session = session_in(tmp_path)
    assert session.watch(init(claude_code_version=version)) is None
    assert session.warning == warning
