"""One agent session from its order to its report, whichever role it has."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from dwindle.adapters.agents.command import CommandAgent
from dwindle.adapters.sandbox.process_group import ProcessGroup
from dwindle.kernel.events import NO_USAGE, Usage
from dwindle.kernel.model import Role
from dwindle.ports.agent import Agent, Place
from dwindle.ports.process import Command, Ended, Secret
from dwindle.ports.work import (
    PLANNER,
    NoReport,
    Order,
    PlannerQuestions,
    Result,
    Trouble,
    WorkerReport,
)
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.escalation import Escalating
from dwindle.runner.orders.planning import planning_order_json
from dwindle.runner.orders.prompt import planning_prompt, prompt_for
from dwindle.runner.orders.work import order_json
from dwindle.runner.session import REPORT_BYTES, AgentRunner, Policy, Wait, numbered_folder
from dwindle.testing.agents import ORDER, PLAN
from dwindle.testing.bare_process import BareProcess
from dwindle.text.redact import named_secrets

DONE = """printf '{"success": true, "summary": "s"}' > "$DWINDLE_REPORT" """
ASKS = """printf '{"questions": ["Which?"]}' > "$DWINDLE_REPORT" """


def runner_of(folder: Path, line: str, policy: Policy | None = None) -> AgentRunner:
    """Runs a line of shell as the agent of every role."""
    (folder / "tree").mkdir(exist_ok=True)
    agent = CommandAgent(argv=("sh", "-c", line), environment={"OWN_TOKEN": "canary-2"})
    return AgentRunner(
        agents=dict.fromkeys((Role.WORKER, PLANNER), agent),
        sandbox=ProcessGroup(),
        outboxes=folder / "outbox",
        policy=policy or Policy(),
    )


def result_of(runner: AgentRunner, folder: Path, order: Order = ORDER) -> Result:
    return asyncio.run(runner.run(order, folder / "tree", folder / "logs" / "0001")).result


def kept_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "logs" / "0001").iterdir()}


# --- what is kept --------------------------------------------------------------------------------


def test_order_prompt_report_and_log_are_kept_and_the_outbox_is_gone(tmp_path: Path) -> None:
    line = f'test "$(ls "$(dirname "$DWINDLE_ORDER")")" = order.json && cat && {DONE}'
    found = result_of(runner_of(tmp_path, line), tmp_path)
    assert found == Result(report=WorkerReport(success=True, summary="s"), usage=NO_USAGE)
    prompt = prompt_for(ORDER).encode()
    assert kept_in(tmp_path) == {
        "order.json": order_json(ORDER),
        "prompt.md": prompt,
        "report.json": b'{"success": true, "summary": "s"}',
        "session.log": prompt,
    }
    assert list((tmp_path / "outbox").iterdir()) == []


def test_a_planner_is_a_session_like_any_other(tmp_path: Path) -> None:
    found = result_of(runner_of(tmp_path, ASKS), tmp_path, PLAN)
    assert found.report == PlannerQuestions(questions=("Which?",))
    assert kept_in(tmp_path) == {
        "order.json": planning_order_json(PLAN),
        "prompt.md": planning_prompt(PLAN).encode(),
        "report.json": b'{"questions": ["Which?"]}',
    }


def test_no_program_starts_if_its_record_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file where a folder has to be")
    with pytest.raises(WorkspaceFailed, match="Not a directory"):
        result_of(runner_of(tmp_path, "touch started"), tmp_path)
    assert list((tmp_path / "tree").iterdir()) == []


def test_an_outbox_that_a_killed_runner_left_is_not_used_again(tmp_path: Path) -> None:
    left = tmp_path / "outbox" / "logs.0001"
    left.mkdir(parents=True)
    (left / "report.json").write_text('{"success": true}')
    found = result_of(runner_of(tmp_path, "true"), tmp_path)
    assert isinstance(found.report, NoReport)
    assert found.report.trouble is Trouble.NO_REPORT


def fifo(report: Path) -> None:
    os.mkfifo(report)


def link(report: Path) -> None:
    report.symlink_to("/etc/passwd")


def folder_of_that_name(report: Path) -> None:
    report.mkdir()


@pytest.mark.parametrize("leave", [fifo, link, folder_of_that_name])
def test_a_report_that_is_no_plain_file_is_not_kept(
    leave: Callable[[Path], None], tmp_path: Path
) -> None:
    class Leaves(BareProcess):
        async def run(
            self, command: Command, watch: Callable[[bytes], str | None] | None = None
        ) -> Ended:
            leave(Path(command.environment["DWINDLE_REPORT"]))
            return await super().run(command, watch)

    runner = replace(runner_of(tmp_path, "true"), sandbox=Leaves())
    assert isinstance(result_of(runner, tmp_path).report, NoReport)
    assert "report.json" not in kept_in(tmp_path)
    assert list((tmp_path / "outbox").iterdir()) == []


def test_no_more_of_a_report_is_kept_than_could_be_read(tmp_path: Path) -> None:
    line = f'head -c {2 * REPORT_BYTES} /dev/zero | tr "\\0" x > "$DWINDLE_REPORT"'
    found = result_of(runner_of(tmp_path, line), tmp_path)
    assert isinstance(found.report, NoReport)
    assert kept_in(tmp_path)["report.json"] == b"x" * REPORT_BYTES


def test_two_callers_at_a_time_get_two_folders(tmp_path: Path) -> None:
    (tmp_path / "0041").mkdir()
    (tmp_path / "notes").mkdir()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(numbered_folder, [tmp_path] * 100))
    assert sorted(path.name for path in found) == [f"{number:04}" for number in range(42, 142)]


# --- the policy ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Recording(BareProcess):
    """A sandbox that remembers what it was to run."""

    seen: list[Command] = field(default_factory=list)

    async def run(
        self, command: Command, watch: Callable[[bytes], str | None] | None = None
    ) -> Ended:
        del watch
        self.seen.append(command)
        return Ended(exit_code=0)


def test_the_policy_is_applied_to_the_command(tmp_path: Path) -> None:
    key = Secret(b"canary-1", b"[KEY]")
    policy = Policy(
        writable=(Path("/cache"),),
        readable=(Path("/history"),),
        hidden=(Path("/plan"),),
        secrets=(key,),
        timeouts={Role.WORKER: 5.0, PLANNER: 7200.0},
        output_bytes=1000,
    )
    sandbox = Recording()
    runner = replace(runner_of(tmp_path, "true", policy), sandbox=sandbox)
    plain = replace(runner_of(tmp_path, "true"), sandbox=sandbox)
    for order in (ORDER, PLAN):
        result_of(runner, tmp_path, order)
        result_of(plain, tmp_path, order)
    worker, _, planner, before = sandbox.seen
    assert Path("/cache") in worker.writable
    assert Path("/cache") not in planner.writable
    assert planner.writable == before.writable
    assert (worker.readable, worker.hidden) == ((Path("/history"),), (Path("/plan"),))
    assert worker.secrets == (Secret(b"canary-2", b"[OWN_TOKEN]"), key)
    assert (worker.timeout_seconds, worker.output_bytes) == (5.0, 1000)
    assert planner.timeout_seconds == before.timeout_seconds


def test_secrets_are_in_no_spelling_of_report_or_log(tmp_path: Path) -> None:
    policy = Policy(secrets=named_secrets([("KEY", 'can"ary/1')]))
    said = json.dumps({"success": True, "summary": 'can"ary/1'}).replace("y", "\\u0079")
    report = said.replace("'", "'\\''")
    line = f"printf '%s' '{report}' > \"$DWINDLE_REPORT\"; echo 'can\"ary/1' $OWN_TOKEN"
    found = result_of(runner_of(tmp_path, line, policy), tmp_path)
    assert found.report == WorkerReport(success=True, summary="[KEY]")
    kept = kept_in(tmp_path)
    assert json.loads(kept["report.json"])["summary"] == "[KEY]"
    assert kept["session.log"] == b"[KEY] [OWN_TOKEN]\n"


def test_words_for_a_bad_end_are_redacted_and_escaped(tmp_path: Path) -> None:
    policy = Policy(secrets=(Secret(b"canary-1", b"[KEY]"),))
    line = "printf 'it was canary-1 \\033]0;title\\007\\n' >&2; exit 3"
    assert result_of(runner_of(tmp_path, line, policy), tmp_path).report == NoReport(
        trouble=Trouble.FAILED,
        reason="it ended with exit code 3\nit was [KEY] \\x1b]0;title\\x07",
    )


# --- waiting -------------------------------------------------------------------------------------


def turned_away(
    trouble: Trouble = Trouble.RATE_LIMITED, after: float | None = None, tokens: int = 0
) -> Result:
    report = NoReport(trouble=trouble, reason="later", again_after=after)
    return Result(report=report, usage=Usage(tokens=tokens))


WORKED = Result(report=WorkerReport(success=True, summary="s"), usage=Usage(tokens=7, usd=0.5))


class Answers:
    """An agent whose programs come to these results, one after the other."""

    name = "answers"

    def __init__(self, results: Sequence[Result], warning: str = "") -> None:
        self.results = list(results)
        self.warning = warning

    def session(self, order: Order, place: Place) -> Answers:  # noqa: ARG002
        return self

    @property
    def command(self) -> Command:
        return Command(argv=("true",), cwd=Path("/"))

    def watch(self, line: bytes) -> str | None:  # noqa: ARG002
        return None

    def conclude(self, ended: Ended) -> Result:  # noqa: ARG002
        return self.results.pop(0)


class Day:
    """A day that passes only by sleeping."""

    def __init__(self, folder: Path, results: Sequence[Result], seconds: float = 1e4) -> None:
        self.left = seconds
        self.waits: list[Wait] = []
        self.slept: list[float] = []
        agent: Agent = Answers(results)
        self.runner = AgentRunner(
            agents={Role.WORKER: agent},
            sandbox=Recording(),
            outboxes=folder / "outbox",
            seconds_left=lambda: self.left,
            on_wait=lambda _, wait: self.waits.append(wait),
            sleep=self.sleep,
        )
        self.result = result_of(self.runner, folder)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.left -= seconds


@pytest.mark.parametrize("trouble", [Trouble.RATE_LIMITED, Trouble.OVERLOADED, Trouble.OFFLINE])
def test_what_passes_is_waited_for(trouble: Trouble, tmp_path: Path) -> None:
    day = Day(tmp_path, [turned_away(trouble), turned_away(trouble, after=60.0), WORKED])
    assert (day.result, day.slept) == (WORKED, [5.0, 61.0])
    later = NoReport(trouble=trouble, reason="later")
    assert day.waits == [
        Wait(seconds=5.0, why=later, tries=1),
        Wait(seconds=61.0, why=replace(later, again_after=60.0), tries=2),
    ]
    logs = [str(command.log).rpartition("/")[2] for command in _commands(day)]
    assert logs == ["session.log", "session.2.log", "session.3.log"]


def _commands(day: Day) -> list[Command]:
    sandbox = day.runner.sandbox
    assert isinstance(sandbox, Recording)
    return sandbox.seen


def test_waits_grow_and_then_stay(tmp_path: Path) -> None:
    day = Day(tmp_path, [*(turned_away() for _ in range(7)), WORKED])
    assert day.slept == [5.0, 15.0, 45.0, 120.0, 300.0, 300.0, 300.0]


def test_usage_of_every_program_is_added_up(tmp_path: Path) -> None:
    day = Day(tmp_path, [turned_away(tokens=3), WORKED])
    assert day.result.usage == Usage(tokens=10, usd=0.5)
    assert day.runner.meter.take(ORDER.nonce) == Usage(tokens=10, usd=0.5)


def test_the_runner_does_not_wait_beyond_the_end_of_the_run(tmp_path: Path) -> None:
    day = Day(tmp_path, [turned_away(after=3600.0)], seconds=600.0)
    assert (day.result, day.slept) == (turned_away(after=3600.0), [])


def test_other_troubles_are_not_waited_for(tmp_path: Path) -> None:
    failed = turned_away(Trouble.FAILED, after=1.0)
    day = Day(tmp_path, [failed])
    assert (day.result, day.slept) == (failed, [])


# --- being ended ---------------------------------------------------------------------------------


def test_what_a_program_used_is_known_though_the_runner_ended_it(tmp_path: Path) -> None:
    class Endless(BareProcess):
        async def run(
            self, command: Command, watch: Callable[[bytes], str | None] | None = None
        ) -> Ended:
            del command, watch
            await asyncio.sleep(3600)
            return Ended()

    said: list[str] = []
    runner = AgentRunner(
        agents={Role.WORKER: Answers([WORKED], warning="an untested version")},
        sandbox=Endless(),
        outboxes=tmp_path / "outbox",
        warn=said.append,
    )

    async def story() -> None:
        running = asyncio.ensure_future(runner.run(ORDER, tmp_path, tmp_path / "logs" / "0001"))
        await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(story())
    assert runner.meter.take(ORDER.nonce) == WORKED.usage
    assert said == ["an untested version"]
    assert list((tmp_path / "outbox").iterdir()) == []


def test_an_agent_that_cannot_say_what_it_used_is_no_reason_to_stumble(tmp_path: Path) -> None:
    class Hangs(BareProcess):
        async def run(
            self, command: Command, watch: Callable[[bytes], str | None] | None = None
        ) -> Ended:
            del command, watch
            await asyncio.sleep(3600)
            return Ended()

    runner = AgentRunner(
        agents={Role.WORKER: Answers([])}, sandbox=Hangs(), outboxes=tmp_path / "outbox"
    )

    async def story() -> None:
        async with asyncio.timeout(0.05):
            await runner.run(ORDER, tmp_path, tmp_path / "logs" / "0001")

    with pytest.raises(TimeoutError):
        asyncio.run(story())
    assert runner.meter.take(ORDER.nonce) == NO_USAGE


# --- several agents ------------------------------------------------------------------------------


def no_login() -> Result:
    return Result(report=NoReport(trouble=Trouble.NOT_LOGGED_IN, reason="log in"), usage=NO_USAGE)


def escalated(folder: Path, **results: Sequence[Result]) -> tuple[Result, list[str]]:
    """What a session comes to, and what the runner said about agents that took over."""
    said: list[str] = []
    team = Escalating(agents={label: Answers(found) for label, found in results.items()})
    runner = AgentRunner(
        agents={Role.WORKER: team},
        sandbox=Recording(),
        outboxes=folder / "outbox",
        on_switch=lambda order, why: said.append(f"{order.agent}: {why}"),
        seconds_left=lambda: 0.0,
    )
    order = replace(ORDER, agent=runner.label(Role.WORKER, 0))
    return result_of(runner, folder, order), said


def test_the_next_agent_goes_on_in_the_same_session(tmp_path: Path) -> None:
    found, said = escalated(tmp_path, a=[no_login()], b=[turned_away(tokens=2)], c=[WORKED])
    assert found == replace(WORKED, usage=Usage(tokens=9, usd=0.5))
    assert said == [
        "b: a cannot be had (log in); b goes on",
        "c: b cannot be had (later); c goes on",
    ]


def test_the_last_word_is_that_of_the_last_agent(tmp_path: Path) -> None:
    found, said = escalated(tmp_path, a=[turned_away()], b=[no_login()])
    assert (found, said) == (no_login(), ["b: a cannot be had (later); b goes on"])


def test_a_failed_attempt_is_no_reason_to_ask_another_agent(tmp_path: Path) -> None:
    failed = turned_away(Trouble.FAILED)
    assert escalated(tmp_path, a=[failed], b=[WORKED]) == (failed, [])
