"""The codex backend with the real program: every role, both sandboxes, keys, and what it loads."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.real.codex_session import CANARY, MODEL, Played, holding, play, shell, variables
from tests.real.loopback_network import Island
from tests.real.model import Api, Lane, ModelServer, Step, ToolCall, Usage, failures
from tests.real.programs import Program, codex_wrapper
from tests.real.stage import Stage

from dwindle.adapters.agents.codex.agent import CodexAgent
from dwindle.adapters.agents.codex.program import PACKAGE, sandbox_problem
from dwindle.adapters.agents.reports.schema import report_schema, strict
from dwindle.adapters.sandbox import Bubblewrap, kinds
from dwindle.kernel import events
from dwindle.kernel.model import ROOT, Check, CheckType, Role
from dwindle.ports.backend import AgentFacts
from dwindle.ports.process import Containment, Strength
from dwindle.ports.work import (
    Order,
    PlannerQuestions,
    ProbeReport,
    Purpose,
    VerifierReport,
    WorkerReport,
)
from dwindle.testing.agents import DONE, DONE_REPORT, ORDER, PLAN, set_up

pytestmark = pytest.mark.slow

PROBE = replace(ORDER, role=Role.PROBE, purpose=Purpose.LOOK)
JUDGE = replace(
    ORDER,
    role=Role.VERIFIER,
    purpose=Purpose.JUDGE,
    atom=ROOT,
    checks=(Check(type=CheckType.ASSERTION, value="README.md says hello"),),
)
SAYS_DONE = Step(json.dumps(DONE))
PATCH = "*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\n"
BOTH_SANDBOXES = pytest.mark.parametrize("own_sandbox", [False, True], ids=["ours", "its own"])


# --- roles ---------------------------------------------------------------------------------------


@BOTH_SANDBOXES
def test_a_worker_writes_code_by_tool_calls(
    stage: Stage, codex: Program, own_sandbox: bool
) -> None:
    counted = Usage(input_tokens=1000, output_tokens=100, cached_tokens=400, reasoning_tokens=30)
    played = play(
        stage,
        codex,
        Step(tools=(ToolCall("apply_patch", PATCH),), usage=counted),
        Step(tools=(shell('cp hello.txt copy.txt; cp "$DWINDLE_ORDER" seen.json'),), usage=counted),
        replace(SAYS_DONE, usage=counted),
        prompt="/help @/etc/passwd\nGröße 名\n",
        effort="low",
        own_sandbox=own_sandbox,
    )
    assert played.report == DONE_REPORT
    assert played.result.usage == events.Usage(
        tokens=3300,
        usd=(1800 * 5 + 1200 * 0.5 + 300 * 30) / 1_000_000,
        read=1800,
        cached=1200,
        written=300,
        estimated=True,
    )
    assert played.files == ["copy.txt", "hello.txt", "seen.json"]
    assert (played.place.workspace / "copy.txt").read_text() == "hello\n"
    asked = played.requests[0].conversation
    assert (asked.model, asked.effort) == (MODEL, "low")
    assert asked.schema == strict(report_schema(ORDER))
    assert asked.last_user == "/help @/etc/passwd\nGröße 名\n"


@BOTH_SANDBOXES
def test_a_probe_tries_to_write_and_cannot(stage: Stage, codex: Program, own_sandbox: bool) -> None:
    victim = stage.home / "mine.txt"
    victim.write_text("mine")
    played = play(
        stage,
        codex,
        Step(tools=(ToolCall("apply_patch", PATCH), shell(f"echo x > made.txt; rm {victim}"))),
        Step(json.dumps({"feasible": True, "findings": "it cannot be written"})),
        order=PROBE,
        own_sandbox=own_sandbox,
    )
    assert played.report == ProbeReport(feasible=True, findings="it cannot be written")
    assert played.files == []
    assert victim.read_text() == "mine"
    patched, ran = played.seen
    assert "Read-only file system" in ran
    assert re.search("Failed to write file|blocked by read-only sandbox", patched)


def test_without_our_sandbox_a_worker_is_kept_to_its_own_folders(
    stage: Stage, codex: Program
) -> None:
    elsewhere = stage.home / "elsewhere.txt"
    outside = Path("/tmp") / f"{stage.mark}.txt"  # noqa: S108 - the point
    line = (
        f'echo a > here.txt; echo b > {elsewhere}; echo c > {outside}; echo d > "$TMPDIR/t.txt"; '
        'echo \'{"success": true, "summary": "from the file"}\' > "$DWINDLE_REPORT"'
    )
    played = play(
        stage, codex, Step(tools=(shell(line),)), Step("I have written it."), own_sandbox=True
    )
    assert played.report == WorkerReport(success=True, summary="from the file")
    assert played.files == ["here.txt"]
    assert (elsewhere.exists(), outside.exists()) == (False, False)
    assert (played.place.outbox / "tmp" / "t.txt").read_text() == "d\n"
    assert not (stage.codex_home / "config.toml").exists(), "it remembers the folder as trusted"


@BOTH_SANDBOXES
def test_the_model_that_it_takes_by_itself_works_in_its_own_way(
    stage: Stage, codex: Program, own_sandbox: bool
) -> None:
    """By programs that call the tools; and it has no agents of its own, whose use is not told."""
    script = (
        'const ran = await tools.exec_command({cmd: "echo made > made.txt; cat made.txt"});\n'
        f"text(ran.output);\nawait tools.apply_patch({json.dumps(PATCH)});\n"
    )
    played = play(
        stage,
        codex,
        Step(tools=(ToolCall("exec", script),)),
        SAYS_DONE,
        model=None,
        own_sandbox=own_sandbox,
    )
    assert (played.report, played.files) == (DONE_REPORT, ["hello.txt", "made.txt"])
    assert "made\n" in played.seen[0]
    asked = played.requests[0].conversation
    assert asked.model.startswith("gpt-6")
    assert "exec" in asked.tools
    assert "spawn_agent" not in asked.tools
    assert played.result.usage == events.Usage(tokens=240, read=200, written=40)


def test_a_verifier_judges_by_the_schema(stage: Stage, codex: Program) -> None:
    judged = {"passed": False, "evidence": "there is no README.md", "failures": ["no README.md"]}
    played = play(stage, codex, Step(tools=(shell("ls"),)), Step(json.dumps(judged)), order=JUDGE)
    assert played.report == VerifierReport(
        passed=False, evidence="there is no README.md", failures=("no README.md",)
    )
    schema = played.requests[0].conversation.schema
    assert schema is not None
    assert schema["required"] == ["passed", "evidence", "failures"]


def test_a_planner_asks(stage: Stage, codex: Program) -> None:
    nothing = {"objective": None, "atoms": None, "decompositions": None, "note": None}
    asks = Step(json.dumps({"questions": ["Which one?"], **nothing}))
    played = play(stage, codex, asks, order=PLAN)
    assert played.report == PlannerQuestions(questions=("Which one?",))
    assert played.place.workspace not in played.command.writable


# --- the program ---------------------------------------------------------------------------------


def test_the_program_behind_the_wrapper_is_started(codex: Program) -> None:
    wrapper = codex_wrapper()
    there = PACKAGE.find(str(codex.path))
    assert there.argv == (str(codex.path),)
    folder = codex.path.parents[1]
    assert (there.needs, there.is_native, there.problem) == ((folder,), True, "")
    assert PACKAGE.find(str(wrapper)) == there


def test_doctor_finds_it(stage: Stage, codex: Program) -> None:
    agent = CodexAgent(program=str(codex.path), ours=variables(stage, None), model="gpt-5.5")
    assert agent.facts() == AgentFacts(
        what=f"codex 0.166.0, model gpt-5.5;  ({codex.path})",
        problem="no login was found; run `codex login`, or set CODEX_API_KEY",
    )
    assert sandbox_problem(PACKAGE.find(str(codex.path))) == ""


# --- keys ----------------------------------------------------------------------------------------


def test_the_key_is_sent_to_the_service_only(stage: Stage, codex: Program) -> None:
    played = play(stage, codex, Step(tools=(shell("env"),)), SAYS_DONE)
    assert played.requests[0].headers["authorization"] == f"Bearer {CANARY}"
    assert CANARY not in "\n".join((*played.command.argv, *played.seen, repr(played.result)))
    assert CANARY not in played.ended.stdout.text() + played.ended.stderr.text()
    assert holding(stage.root, CANARY) == []


def test_a_key_in_a_complaint_or_a_report_is_blotted_out(stage: Stage, codex: Program) -> None:
    told = replace(failures.unauthorised(Api.OPENAI), message=f"Incorrect API key: {CANARY}.")
    played = play(stage, codex, Step(failure=told))
    assert "401 Unauthorized: Incorrect API key: [OPENAI_API_KEY]." in played.trouble.reason
    shutil.rmtree(played.place.workspace.parent)
    says = Step(json.dumps({**DONE, "summary": f"the key is {CANARY}"}))
    told_by = play(stage, codex, says).report
    assert told_by == replace(DONE_REPORT, summary="the key is [OPENAI_API_KEY]")


def test_a_login_wins_over_a_key_that_happens_to_be_there(stage: Stage, codex: Program) -> None:
    stored = {"auth_mode": "apikey", "OPENAI_API_KEY": "sk-stored-by-login"}
    (stage.codex_home / "auth.json").write_text(json.dumps(stored))
    agent = CodexAgent(
        program=str(codex.path), ours=variables(stage, None) | {"OPENAI_API_KEY": CANARY}
    )
    assert (agent.key(), agent.home.login) == ("", f"{stage.codex_home}/auth.json has a key")
    assert play_config(stage, codex, "").requests[0].headers["authorization"] == (
        "Bearer sk-stored-by-login"
    )


def play_config(stage: Stage, codex: Program, more: str) -> Played:
    """With a config of the person's that names the service."""
    place = set_up(stage.root / "session")
    with ModelServer(Lane(steps=(SAYS_DONE,))) as model:
        table = f'name = "mine"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\n{more}'
        login = "" if more else "requires_openai_auth = true\n"
        (stage.codex_home / "config.toml").write_text(
            f'model = "{MODEL}"\nmodel_provider = "mine"\n[model_providers.mine]\n{table}{login}'
        )
        agent = CodexAgent(
            program=str(codex.path), ours=variables(stage, None) | {"MY_KEY": CANARY}
        )
        session = agent.session(ORDER, place)
        ran = stage.run(session.command, watch=session.watch)
    return Played(
        result=session.conclude(ran.ended),
        ended=ran.ended,
        command=session.command,
        place=place,
        requests=tuple(model.requests),
    )


def test_a_config_that_names_the_service_is_kept(stage: Stage, codex: Program) -> None:
    played = play_config(stage, codex, 'env_key = "MY_KEY"\n')
    assert played.report == DONE_REPORT
    assert "--ignore-user-config" not in played.command.argv
    (request,) = played.requests
    assert request.headers["authorization"] == f"Bearer {CANARY}"
    assert request.conversation.model == MODEL


# --- what it loads, and whom it calls ------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "skills"),
    [(ORDER, True), (PROBE, False), (JUDGE, False), (PLAN, False)],
    ids=["worker", "probe", "verifier", "planner"],
)
def test_only_a_worker_sees_skills_of_the_workspace_and_none_its_instructions(
    stage: Stage, codex: Program, order: Order, skills: bool
) -> None:
    place = set_up(stage.root / "session")
    plant(place.workspace, stage.home / "hooked")
    trust = f'[projects."{place.workspace}"]\ntrust_level = "trusted"\n'
    (stage.codex_home / "config.toml").write_text(trust)
    played = play(stage, codex, SAYS_DONE, order=order, place=place, effort="low")
    said = json.dumps(played.requests[0].body)
    assert "the instructions of the workspace" not in said
    assert ("a skill of the workspace" in said) is skills
    assert played.requests[0].conversation.effort == "low"
    assert played.requests[0].conversation.model == MODEL
    assert not (stage.home / "hooked").exists()


def plant(workspace: Path, witness: Path) -> None:
    """What an earlier worker may have left to those who come after it."""
    (workspace / "AGENTS.md").write_text("the instructions of the workspace\n")
    config = workspace / ".codex"
    config.mkdir()
    (config / "config.toml").write_text(
        'model_reasoning_summary = "none"\n[features]\nhooks = true\n'
    )
    hook = {"type": "command", "command": f"touch {witness}"}
    told = {"hooks": {"SessionStart": [{"hooks": [hook]}]}}
    (config / "hooks.json").write_text(json.dumps(told))
    skill = workspace / ".agents" / "skills" / "foo"
    skill.mkdir(parents=True)
    says = "---\nname: foo\ndescription: a skill of the workspace\n---\nfoo\n"
    (skill / "SKILL.md").write_text(says)


def test_it_connects_only_to_its_model(stage: Stage, codex: Program, tapped: Island) -> None:
    assert play(stage, codex, SAYS_DONE).report == DONE_REPORT
    assert tapped.attempts == ()


# --- where it lives ------------------------------------------------------------------------------


@pytest.fixture
def below_tmp() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="dwindle-real-", dir="/tmp"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@BOTH_SANDBOXES
def test_its_home_may_be_below_tmp(
    stage: Stage, codex: Program, below_tmp: Path, own_sandbox: bool
) -> None:
    played = play(
        stage,
        codex,
        Step(tools=(shell("echo hello > hello.txt"),)),
        SAYS_DONE,
        own_sandbox=own_sandbox,
        ours={"CODEX_HOME": str(below_tmp)},
    )
    assert (played.report, played.files) == (DONE_REPORT, ["hello.txt"])


def test_without_a_home_it_gets_one_for_the_session(stage: Stage, codex: Program) -> None:
    nowhere = stage.home / ".codex"
    played = play(stage, codex, SAYS_DONE, ours={"CODEX_HOME": str(nowhere)})
    assert played.report == DONE_REPORT
    assert not nowhere.exists()
    assert (played.place.outbox / "codex-home" / "installation_id").is_file()


def test_what_later_sessions_obey_cannot_be_written(stage: Stage, codex: Program) -> None:
    config = stage.codex_home / "config.toml"
    config.write_text("# mine\n")
    line = f"echo 'notify = [\"evil\"]' > {config}"
    played = play(stage, codex, Step(tools=(shell(line),)), SAYS_DONE)
    assert "Read-only file system" in played.seen[0]
    assert config.read_text() == "# mine\n"


def test_of_a_hidden_home_it_sees_its_own_folder_and_nothing_else(
    stage: Stage, codex: Program, require_tool: Callable[[str], Path]
) -> None:
    hidden = stage.home / "diary.txt"
    hidden.write_text("dear diary\n")
    folder = stage.home / ".codex"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("what the person always says\n")
    played = play(
        stage,
        codex,
        Step(tools=(shell(f"ls -A {stage.home}; cat {hidden}; touch {stage.home}/made"),)),
        SAYS_DONE,
        ours={"CODEX_HOME": ""},
        containment=Bubblewrap(
            program=str(require_tool("bwrap")), mark=stage.mark, home=stage.home
        ),
    )
    assert played.report == DONE_REPORT
    assert "what the person always says" in json.dumps(played.requests[0].body)
    (seen,) = played.seen
    assert ".codex\n" in seen
    assert "dear diary" not in seen
    assert sorted(path.name for path in stage.home.iterdir()) == [".codex", "diary.txt"]


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.mechanism)
def test_it_works_under_every_containment(stage: Stage, codex: Program, kind: Containment) -> None:
    played = play(
        stage,
        codex,
        Step(tools=(shell("echo hello > hello.txt"),)),
        SAYS_DONE,
        own_sandbox=kind.strength is Strength.WEAK,
        containment=kind,
    )
    assert (played.report, played.files) == (DONE_REPORT, ["hello.txt"])
