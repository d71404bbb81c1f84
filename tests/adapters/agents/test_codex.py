"""How codex is started: what it is told, what it sees, what it may write. No codex is needed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.agents import fake_codex

from dwindle.adapters.agents.codex.agent import PATIENCE, TEMPORARY, CodexAgent
from dwindle.adapters.agents.reports.schema import report_schema, strict
from dwindle.adapters.sandbox import ProcessGroup
from dwindle.kernel.model import Role
from dwindle.ports.agent import Agent
from dwindle.ports.process import Command, Ended
from dwindle.ports.work import NoReport, Order, Trouble
from dwindle.testing.agents import CONTRACTS, ORDER, PLAN, AgentScene, Contract, set_up

ROLES: tuple[Order, ...] = (*(replace(ORDER, role=role) for role in Role), PLAN)


def stage(line: str, folder: Path) -> Agent:
    (folder / "line.sh").write_text(f"{line}\n", "utf-8")
    program = folder / "codex"
    here = Path(fake_codex.__file__)
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{here}' '{folder}' \"$@\"\n", "utf-8")
    program.chmod(0o755)
    return CodexAgent(program=str(program), ours={"HOME": str(folder)})


@pytest.mark.parametrize("contract", CONTRACTS, ids=str)
def test_it_keeps_the_contract(contract: Contract, tmp_path: Path) -> None:
    scene = AgentScene(stage=stage, folder=tmp_path, containment=ProcessGroup())

    async def played() -> None:
        await contract.check(scene)

    asyncio.run(played())


def started(
    tmp_path: Path, order: Order = ORDER, *, ours: Mapping[str, str] | None = None, **how: object
) -> Command:
    tmp_path.mkdir(exist_ok=True)
    program = tmp_path / "codex"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    known = {"HOME": str(tmp_path), **(ours or {})}
    agent = CodexAgent(program=str(program), ours=known, **how)  # type: ignore[arg-type]
    return agent.session(order, set_up(tmp_path / "session", order)).command


def settings(command: Command) -> dict[str, str]:
    """What is said by `-c`."""
    words = command.argv
    said = [words[at + 1] for at, word in enumerate(words) if word == "-c"]
    return dict(one.split("=", 1) for one in said)


def test_the_whole_command_line_of_a_worker(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    command = started(tmp_path, model="gpt-5.5", effort="high")
    workspace, outbox = (tmp_path / "session" / name for name in ("workspace", "outbox"))
    assert command.argv == (
        *(str(tmp_path / "codex"), "exec", "--json", "--ephemeral", "--skip-git-repo-check"),
        *("--ignore-rules", "--ignore-user-config", "--color", "never"),
        *("--output-schema", str(outbox / "report.schema.json"), "-m", "gpt-5.5"),
        *("-c", 'model_reasoning_effort="high"', "-c", "analytics.enabled=false"),
        *("-c", "agents.enabled=false"),
        *("-c", "features.plugins=false", "-c", "features.apps=false"),
        *("-c", "features.hooks=false", "-c", "features.memories=false"),
        *("-c", "features.shell_snapshot=false"),
        *("-c", "features.unbounded_connection_retries=false"),
        *("-c", 'shell_environment_policy.inherit="all"'),
        *("-c", "shell_environment_policy.ignore_default_excludes=true"),
        *("-c", 'shell_environment_policy.exclude=["CODEX_API_KEY","OPENAI_API_KEY"]'),
        *("-c", "project_doc_max_bytes=0"),
        *("-c", f'projects={{"{workspace}"={{trust_level="untrusted"}}}}'),
        *("-s", "danger-full-access", "-"),
    )
    assert command == Command(
        argv=command.argv,
        cwd=workspace,
        stdin=b"Write it.\n",
        environment={
            **({"TMPDIR": str(outbox / "tmp")} if tmp_path.is_relative_to(TEMPORARY) else {}),
            "CODEX_HOME": str(tmp_path / ".codex"),
            "DWINDLE_ORDER": str(outbox / "order.json"),
            "DWINDLE_REPORT": str(outbox / "report.json"),
        },
        timeout_seconds=60.0,
        writable=(workspace, outbox, tmp_path / ".codex"),
        readable=(tmp_path / "codex",),
    )
    told = json.loads((outbox / "report.schema.json").read_bytes())
    assert told == strict(report_schema(ORDER))


@pytest.mark.parametrize("order", ROLES, ids=lambda order: str(order.role))
def test_the_sandbox_is_always_said(order: Order, tmp_path: Path) -> None:
    works = order.role == Role.WORKER
    own = "workspace-write" if works else "read-only"
    for own_sandbox, wanted in ((False, "danger-full-access"), (True, own)):
        argv = started(tmp_path / wanted, order, own_sandbox=own_sandbox).argv
        assert [argv[at + 1] for at, word in enumerate(argv) if word == "-s"] == [wanted]
        assert ("--add-dir" in argv) is (works and own_sandbox)


@pytest.mark.parametrize("order", ROLES, ids=lambda order: str(order.role))
def test_nothing_of_the_workspace_speaks_to_those_who_judge_it(
    order: Order, tmp_path: Path
) -> None:
    said = settings(started(tmp_path, order))
    workspace = tmp_path / "session" / "workspace"
    assert said["projects"] == f'{{"{workspace}"={{trust_level="untrusted"}}}}'
    assert said["project_doc_max_bytes"] == "0"
    assert ("skills.include_instructions" in said) is (order.role != Role.WORKER)


def test_only_what_is_listed_is_passed_on(tmp_path: Path) -> None:
    ours = {
        "AWS_SECRET_ACCESS_KEY": "no",
        "RUST_LOG": "no",
        "HTTPS_PROXY": "http://proxy:1",
        "NO_PROXY": "localhost",
        "OPENAI_API_KEY": "sk-canary",
    }
    command = started(tmp_path, ours=ours, environment={"MORE": "yes"})
    given = {name: value for name, value in command.environment.items() if name in ours}
    assert given == {"HTTPS_PROXY": "http://proxy:1", "NO_PROXY": "localhost"}
    assert command.environment["CODEX_API_KEY"] == "sk-canary"
    assert command.environment["MORE"] == "yes"
    assert "sk-canary" not in " ".join(command.argv)


@pytest.mark.parametrize(
    ("ours", "service"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param(
            {"OPENAI_BASE_URL": "http://there/v1"}, {}, id="an address that gets no stored login"
        ),
        pytest.param(
            {"OPENAI_BASE_URL": "http://there/v1", "CODEX_API_KEY": "sk-canary"},
            {
                "model_provider": '"environment"',
                "model_providers.environment": (
                    '{name="environment",base_url="http://there/v1",env_key="CODEX_API_KEY",'
                    'wire_api="responses",request_max_retries=2,stream_max_retries=2}'
                ),
            },
            id="an address and a key",
        ),
    ],
)
def test_an_address_is_told_with_the_key_since_codex_does_not_look(
    ours: dict[str, str], service: dict[str, str], tmp_path: Path
) -> None:
    said = settings(started(tmp_path, ours=ours, retries=2))
    assert {name: said[name] for name in said if name.startswith(("model_prov", "openai"))} == (
        service
    )


def test_odd_names_are_spelt_as_toml_has_them(tmp_path: Path) -> None:
    folder = tmp_path / 'a "quoted" \\ place\x7f 名'
    folder.mkdir()
    said = settings(started(folder, replace(ORDER, role=Role.PROBE)))
    spelt = str(folder / "session" / "workspace").replace("\\", "\\\\").replace('"', '\\"')
    assert said["projects"] == (
        f'{{"{spelt}"={{trust_level="untrusted"}}}}'.replace("\x7f", "\\u007f")
    )


def test_whoever_waits_for_the_network_for_ever_is_ended(tmp_path: Path) -> None:
    place = set_up(tmp_path)
    session = CodexAgent(program="codex", ours={}).session(ORDER, place)
    notice = b'{"type":"error","message":"Reconnecting... waiting for network (Connection failed)"}'
    said = [session.watch(notice) for _ in range(PATIENCE)]
    assert said == [*([None] * (PATIENCE - 1)), "codex waits for the network"]
    ended = Ended(error="codex waits for the network", signal=15, seconds=60)
    assert session.conclude(ended).report == NoReport(
        trouble=Trouble.OFFLINE,
        reason="codex's service cannot be reached: Reconnecting... waiting for network "
        "(Connection failed)",
    )


def test_an_outbox_comes_back_as_it_was_handed_out(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    place = set_up(tmp_path / "session")
    session = CodexAgent(program="codex", ours={"HOME": str(tmp_path)}).session(ORDER, place)
    assert session.command.environment["CODEX_HOME"] == str(tmp_path / ".codex")
    session.conclude(Ended(error="no such program"))
    kept = sorted(path.name for path in place.outbox.iterdir() if path.name != "tmp")
    assert kept == ["order.json", "prompt.md"]


def test_a_missing_program_is_told_with_what_helps(tmp_path: Path) -> None:
    agent = CodexAgent(program="codex", ours={"PATH": str(tmp_path)})
    assert agent.missing() == (
        "codex is not found, or not executable; install Codex, or name the path of the program in "
        "the settings"
    )


def test_without_a_login_it_need_not_be_asked(tmp_path: Path) -> None:
    nobody = CodexAgent(program="codex", ours={"HOME": str(tmp_path)})
    assert nobody.login_problem == "no login was found; run `codex login`, or set CODEX_API_KEY"
    # Named in `[sandbox] env`, for example.
    added = CodexAgent(program="codex", ours={}, environment={"CODEX_API_KEY": "sk-canary"})
    assert added.login_problem is None
