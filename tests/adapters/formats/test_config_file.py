"""The settings file: what it may say, and everything that is wrong with it at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dwindle.adapters.formats.config.file import MAX_BYTES, ReadSettings, read_settings
from dwindle.adapters.formats.config.kinds import BuiltinAgent, agent_named
from dwindle.adapters.formats.config.settings import (
    AgentSettings,
    AgentsSettings,
    GuardSettings,
    LimitSettings,
    NotifySettings,
    SandboxSettings,
    Settings,
    WorkspaceSettings,
)
from dwindle.app.settings import SETTINGS_FILE, settings_for
from dwindle.kernel.model import Problem

EVERYTHING = b"""\
[agents]
backend = "command"
command = ["my-agent", "", "--quiet"]
timeout_seconds = 60

[agents.worker]
model = "large"

[agents.probe]
backend = "scripted"
script = "probe.yaml"

[agents.verifier]
backend = "claude"
model = "opus"
timeout_seconds = 90

[guard]
command = "make ci"

[workspace]
setup = "npm ci"
share = ["node_modules", "a/b"]

[limits]
max_iterations = 1
max_nodes = 2
max_attempts = 3
iteration_timeout_seconds = 4
max_wall_seconds = 5
max_tokens = 6
max_cost_usd = 7
execute_root = true
output_bytes = 8
check_timeout_seconds = 9

[sandbox]
enabled = false
network = false
writable = ["/var/cache/thing"]
env = ["NPM_TOKEN"]

[notify]
command = ["tell-me", "--loud"]
webhook = "https://example.org:8443/hook?token=abc"
env = ["DISPLAY"]
timeout_seconds = 3
"""

MY_AGENT = AgentSettings(
    backend=BuiltinAgent.COMMAND, command=("my-agent", "", "--quiet"), timeout_seconds=60
)


def test_everything_that_can_be_set() -> None:
    assert read_settings(EVERYTHING) == ReadSettings(
        settings=Settings(
            agents=AgentsSettings(
                worker=replace(MY_AGENT, model="large"),
                probe=AgentSettings(
                    backend=BuiltinAgent.SCRIPTED, script="probe.yaml", timeout_seconds=60
                ),
                verifier=AgentSettings(
                    backend=BuiltinAgent.CLAUDE, model="opus", timeout_seconds=90
                ),
                planner=MY_AGENT,
            ),
            guard=GuardSettings(command=("sh", "-c", "make ci")),
            workspace=WorkspaceSettings(
                setup=("sh", "-c", "npm ci"), share=("node_modules", "a/b")
            ),
            limits=LimitSettings(
                max_iterations=1,
                max_nodes=2,
                max_attempts=3,
                iteration_timeout_seconds=4,
                max_wall_seconds=5,
                max_tokens=6,
                max_cost_usd=7,
                execute_root=True,
                output_bytes=8,
                check_timeout_seconds=9,
            ),
            sandbox=SandboxSettings(
                enabled=False, network=False, writable=("/var/cache/thing",), env=("NPM_TOKEN",)
            ),
            notify=NotifySettings(
                command=("tell-me", "--loud"),
                webhook="https://example.org:8443/hook?token=abc",
                env=("DISPLAY",),
                timeout_seconds=3,
            ),
        )
    )


@pytest.mark.parametrize("data", [None, b"", b"# nothing yet\n", b"[agents]\n[limits]\n"])
def test_without_a_word_the_defaults_hold(data: bytes | None) -> None:
    assert read_settings(data) == ReadSettings(settings=Settings())


# --- layers --------------------------------------------------------------------------------------


def worker(data: bytes, **overrides: object) -> AgentSettings:
    read = read_settings(data, {name.replace("__", "."): it for name, it in overrides.items()})
    assert read.settings is not None
    return read.settings.agents.worker


def test_the_command_line_stands_above_the_file() -> None:
    said = {"limits.max_nodes": 7, "limits.max_tokens": 8, "agents.worker.model": "small"}
    read = read_settings(EVERYTHING, said)
    assert read.settings is not None
    assert (read.settings.limits.max_nodes, read.settings.limits.max_tokens) == (7, 8)
    assert read.settings.agents.worker == replace(MY_AGENT, model="small")
    assert read.settings.agents.planner == MY_AGENT


def test_another_backend_starts_afresh_and_keeps_the_timeout() -> None:
    assert worker(EVERYTHING, agents__backend="codex") == AgentSettings(
        backend=BuiltinAgent.CODEX, timeout_seconds=60
    )


def test_a_name_that_is_not_ours_is_left_to_whoever_installed_it() -> None:
    assert worker(b'[agents]\nbackend = "acme-2"\nmodel = "m"') == AgentSettings(
        backend="acme-2", model="m"
    )
    assert worker(b'[agents]\nbackend = "acme"\nmodel = "m"', agents__backend="acme") == (
        AgentSettings(backend="acme", model="m")
    )
    assert worker(b'[agents]\nbackend = "acme"\nmodel = "m"', agents__backend="other") == (
        AgentSettings(backend="other")
    )


def test_the_same_backend_keeps_what_is_below() -> None:
    assert worker(EVERYTHING, agents__worker__backend="command") == replace(MY_AGENT, model="large")


def test_the_backend_follows_from_what_is_there() -> None:
    assert worker(b'agents.command = "x"') == AgentSettings(
        backend=BuiltinAgent.COMMAND, command=("sh", "-c", "x")
    )
    assert worker(b'[agents.worker]\nscript = "s"') == AgentSettings(
        backend=BuiltinAgent.SCRIPTED, script="s"
    )


def test_several_agents_begin_with_the_first() -> None:
    several = ("claude:sonnet", "codex", "command:my-agent --fast", "scripted:s.yaml")
    line = f"agents.worker.escalate = [{', '.join(map(repr, several))}]"
    assert worker(line.encode()) == AgentSettings(
        backend=BuiltinAgent.CLAUDE, model="sonnet", escalate=several
    )
    assert worker(b'agents.worker.escalate = ["acme"]') == AgentSettings(
        backend="acme", escalate=("acme",)
    )
    # Who names another agent on the command line means that one alone.
    assert worker(line.encode(), agents__backend="codex") == AgentSettings(
        backend=BuiltinAgent.CODEX
    )


def test_what_each_of_several_agents_stands_for() -> None:
    assert [
        agent_named(words) for words in ("codex", "claude: opus ", "acme:m", "command:a b")
    ] == [
        {"backend": BuiltinAgent.CODEX, "model": None},
        {"backend": BuiltinAgent.CLAUDE, "model": "opus"},
        {"backend": "acme", "model": "m"},
        {"backend": BuiltinAgent.COMMAND, "command": ("sh", "-c", "a b")},
    ]
    assert agent_named("scripted:s.yaml") == {"backend": BuiltinAgent.SCRIPTED, "script": "s.yaml"}


def test_a_program_may_be_named_for_a_known_agent() -> None:
    assert worker(b'[agents]\nbackend = "claude"\ncommand = ["claude-next"]') == AgentSettings(
        backend=BuiltinAgent.CLAUDE, command=("claude-next",)
    )


def test_an_override_for_a_table_gives_way_to_one_inside_it() -> None:
    read = read_settings(None, {"limits": 3, "limits.max_nodes": 4})
    assert read == ReadSettings(settings=Settings(limits=LimitSettings(max_nodes=4)))


# --- refusals ------------------------------------------------------------------------------------


def problems(data: bytes, overrides: dict[str, object] | None = None) -> list[tuple[object, ...]]:
    read = read_settings(data, overrides)
    assert read.settings is None
    return [(p.line, ".".join(map(str, p.where)), p.what, p.hint) for p in read.problems]


def test_everything_that_is_wrong_is_said_at_once() -> None:
    data = b"""\
# the settings of a careless person
speed = 9
[agents]
backend = "../clade"
timeout_seconds = true

[agents.worker]
comand = "x"
command = [
  "a",
  3,
]

[gaurd]
command = "x"

[limits]
max_nodes = 0
max_tokens = 1.5
max_cost_usd = inf
execute_root = "yes"

[workspace]
setup = 3
share = ["../other"]

[sandbox]
env = ["A=B"]
writable = "x"
"""
    assert problems(data, {"limits.max_attempts": "many"}) == [
        (None, "limits.max_attempts", "max_attempts must be a whole number, not 'many'", ""),
        (
            2,
            "speed",
            "unknown table 'speed'",
            "known: agents, guard, workspace, git, limits, sandbox, notify",
        ),
        (
            4,
            "agents.backend",
            (
                "backend must be one of command, scripted, claude, codex, or the name of an "
                "installed one, not '../clade'"
            ),
            "letters, digits, dots, dashes and underscores",
        ),
        (5, "agents.timeout_seconds", "timeout_seconds must be a whole number, not true", ""),
        (8, "agents.worker.comand", "unknown key 'comand'", "did you mean command?"),
        (
            9,
            "agents.worker.command",
            "command has a word that is not text: 3",
            "put it in double quotes",
        ),
        (14, "gaurd", "unknown table 'gaurd'", "did you mean guard?"),
        (
            18,
            "limits.max_nodes",
            "max_nodes is 0, which would allow nothing",
            "give 1 or more, or leave it out",
        ),
        (19, "limits.max_tokens", "max_tokens must be a whole number, not 1.5", ""),
        (
            20,
            "limits.max_cost_usd",
            "max_cost_usd is inf, which is no limit",
            "give a number above 0, or leave it out",
        ),
        (21, "limits.execute_root", "execute_root must be true or false, not 'yes'", ""),
        (
            24,
            "workspace.setup",
            "setup must be a text for the shell or a list of words, not 3",
            'for example "make test" or ["make", "test"]',
        ),
        (
            25,
            "workspace.share",
            "share '../other' leads out of the repository",
            "name a path inside it",
        ),
        (
            28,
            "sandbox.env",
            "env 'A=B' is no name of a variable",
            "names only; the values are those of the runner",
        ),
        (
            29,
            "sandbox.writable",
            "writable must be a list of texts, not 'x'",
            'for example ["one", "two"]',
        ),
    ]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('guard.command = ""', "command is blank"),
        ('guard.command = "a\\u0000"', "command contains a NUL, which no program could be given"),
        ('guard.command = ["a", "\\u0000"]', "command contains a NUL, which no program could be"),
        ("guard.command = []", "command is an empty list"),
        ('workspace.share = [""]', "share is blank"),
        ('workspace.share = ["."]', "share '.' leads out of the repository"),
        ('workspace.share = ["/etc"]', "share '/etc' leads out of the repository"),
        ('workspace.share = [".git/hooks"]', "share '.git/hooks' belongs to git"),
        ("limits.max_cost_usd = true", "max_cost_usd must be a number, not true"),
        ("limits.max_cost_usd = 0", "max_cost_usd is 0, which is no limit"),
        ("agents.model = 3", "model must be text, not 3"),
        ("agents.model = 2026-01-01", "model must be text, not 2026-01-01"),
        ("agents.model = {a = 1}", "model must be text, not a table"),
        ("agents.model = [1]", "model must be text, not a list"),
        ('agents.escalate = "claude"', "escalate must be a list of texts, not 'claude'"),
        ('agents.escalate = ["a b"]', "escalate must be one of command, scripted, claude, codex"),
        ('agents.escalate = ["claude:"]', "escalate 'claude:' has nothing behind its colon"),
        ('agents.escalate = ["command"]', "escalate is blank"),
        ('agents.escalate = ["codex", "codex"]', "escalate names 'codex' twice"),
        ('notify.webhook_env = "https://h/s3cret"', "webhook_env is no name of a variable"),
        ('notify.webhook = "ftp://h/s3cret"', "webhook is no address that begins with http"),
        ('notify.webhook = "https:s3cret"', "webhook is no address that begins with http"),
        ('notify.webhook = "http://h:0/s3cret"', "webhook is no address that begins with http"),
        ('notify.webhook = "http://h:s3cret/"', "webhook is no address"),
        ('notify.webhook = "http://h/s3c ret"', "webhook has a character that no address can"),
        ('notify.webhook = "http://h/s3crét"', "webhook has a character that no address can"),
        ('notify.webhook = "http://me:s3cret@h/"', "webhook has a name or a password before its"),
        ("limits.max_nodes = '" + "x" * 90 + "'", "max_nodes must be a whole number, not 'xxxxx"),
    ],
)
def test_values_that_mean_nothing(line: str, what: str) -> None:
    [(number, _, said, _)] = problems(line.encode())
    assert (number, str(said)[: len(what)]) == (1, what)


@pytest.mark.parametrize("value", ["ftp://h/s3cret", "http://h:s3cret/", "http://a:s3cret@h/"])
def test_an_address_is_never_shown(value: str) -> None:
    read = read_settings(f'[notify]\nwebhook = "{value}"\nwebhook_env = "{value}"\n'.encode())
    assert len(read.problems) == 2
    assert "s3cret" not in repr(read)
    sound = read_settings(b'[notify]\nwebhook = "http://h/s3cret"\n')
    assert sound.problems == ()
    assert "s3cret" not in repr(sound)


def test_one_webhook() -> None:
    data = b'[notify]\nwebhook = "http://h/"\nwebhook_env = "HOOK"\n'
    assert problems(data) == [
        (
            3,
            "notify.webhook_env",
            "webhook and webhook_env name two addresses",
            "leave one of them out",
        )
    ]
    read = read_settings(b'notify.webhook_env = "HOOK"')
    assert read == ReadSettings(settings=Settings(notify=NotifySettings(webhook_env="HOOK")))


def test_a_table_is_a_table() -> None:
    hint = "write [{}] on a line of its own, and its keys below"
    assert problems(b"guard = 3\n[[agents]]\nbackend = 'x'\n") == [
        (1, "guard", "guard must be a table, not 3", hint.format("guard")),
        (2, "agents", "agents must be a table, not a list", hint.format("agents")),
    ]
    assert problems(b"[agents]\nworker = 'claude'") == [
        (2, "agents.worker", "worker must be a table, not 'claude'", hint.format("agents.worker"))
    ]


def test_what_belongs_together() -> None:
    data = b"""\
[agents]
model = "large"
[agents.worker]
backend = "command"
[agents.probe]
backend = "scripted"
[agents.verifier]
command = "x"
script = "y"
[agents.planner]
backend = "claude"
"""
    assert problems(data) == [
        (
            3,
            "agents.worker",
            "the worker has backend command, and no command",
            'add command = ["program", "word"]',
        ),
        (
            5,
            "agents.probe",
            "the probe has backend scripted, and no script",
            'add script = "path/of/the/script"',
        ),
        (
            7,
            "agents.verifier",
            "the verifier has no backend",
            "add backend: command, scripted, claude, codex, or the name of an installed one",
        ),
    ]


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b"a = 1\nb = \n", 2, "no TOML: Invalid value"),
        (b"a = 1\na = 2\n", 2, "no TOML: Cannot overwrite a value"),
        (b"a = 1\nb = [1,\n", 2, "no TOML: Invalid value"),
        (b"a = 1\nb = '''x\n\n", 2, "no TOML: Expected \"'''\""),
        (b"a = 1\n\xff = 2", 2, "byte 7 is not UTF-8"),
        (b"#" * (MAX_BYTES + 1), 1, f"the file has {MAX_BYTES + 1} bytes; at most {MAX_BYTES}"),
        (b"a = " + b"[" * 5000, 1, "nested deeper than any setting is"),
    ],
)
def test_what_is_no_toml(data: bytes, line: int, what: str) -> None:
    [(number, _, said, hint)] = problems(data)
    assert (number, str(said)[: len(what)]) == (line, what)
    assert hint


def test_a_broken_file_does_not_hide_a_wrong_option() -> None:
    read = read_settings(b"x", {"limits.max_nodes": 0})
    assert [problem.where for problem in read.problems] == [("limits", "max_nodes"), ()]


def test_lines_are_those_of_statements() -> None:
    data = b"""\
"agents".worker = { model = "m", modle = "n" }
text = '''
[limits]
max_nodes = 0
'''
[limits] # here
max_nodes = 0
[ sandbox . more ]
"""
    found = [(p.line, p.where) for p in read_settings(data).problems]
    assert found == [
        (1, ("agents", "worker", "modle")),
        (2, ("text",)),
        (7, ("limits", "max_nodes")),
        (8, ("sandbox", "more")),
    ]


def test_a_problem_is_a_problem_of_the_kernel() -> None:
    assert read_settings(b"[limits]\nx = 1\ny = 2").problems[0] == Problem(
        where=("limits", "x"),
        what="unknown key 'x'",
        hint="known: " + ", ".join(LimitSettings.__slots__),
        line=2,
    )


def test_the_file_of_a_repository_is_found(tmp_path: Path) -> None:
    assert settings_for(tmp_path) == ReadSettings(settings=Settings())
    (tmp_path / ".runner").mkdir()
    (tmp_path / SETTINGS_FILE).write_text("[limits]\nmax_nodes = 1\nmax_tokens = 2\n")
    limits = LimitSettings(max_nodes=1, max_tokens=3)
    assert settings_for(tmp_path, {"limits.max_tokens": 3}) == ReadSettings(
        settings=Settings(limits=limits)
    )
