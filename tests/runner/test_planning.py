"""A session of a planner: what it sees, what is kept, and that nobody is in its way."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dwindle.adapters.agents.command import CommandAgent
from dwindle.kernel.events import NO_USAGE
from dwindle.ports.work import NoReport, PlannerQuestions, Result, Trouble
from dwindle.runner.planning import Planning, numbered_folder
from dwindle.runner.planning_orders import planning_order_json
from dwindle.runner.planning_prompt import planning_prompt
from dwindle.testing.agents import PLAN
from dwindle.testing.bare_process import BareProcess

ASKS = """printf '{"questions": ["Which?"]}' > "$DWINDLE_REPORT" """
ASKED = Result(report=PlannerQuestions(questions=("Which?",)), usage=NO_USAGE)


def planning(folder: Path, line: str) -> Planning:
    (folder / "tree").mkdir(exist_ok=True)
    return Planning(
        agent=CommandAgent(argv=("sh", "-c", line)),
        containment=BareProcess(),
        tree=folder / "tree",
        logs=folder / "logs" / "planning",
        outboxes=folder / "outbox",
    )


def test_what_was_told_and_said_is_kept_and_the_outbox_is_gone(tmp_path: Path) -> None:
    line = f'cmp -s - "$(dirname "$DWINDLE_ORDER")/prompt.md" && {ASKS}'
    assert asyncio.run(planning(tmp_path, line).session(PLAN)) == ASKED
    logs = tmp_path / "logs" / "planning" / "0001"
    kept = {path.name: path.read_bytes() for path in logs.iterdir()}
    kept.pop("session.log", None)
    assert kept == {
        "order.json": planning_order_json(PLAN),
        "prompt.md": planning_prompt(PLAN).encode(),
        "report.json": b'{"questions": ["Which?"]}',
    }
    assert list((tmp_path / "outbox").iterdir()) == []


def test_sessions_are_numbered_on_and_two_at_a_time_get_two_numbers(tmp_path: Path) -> None:
    (tmp_path / "logs" / "planning" / "0041").mkdir(parents=True)
    (tmp_path / "logs" / "planning" / "notes").mkdir()
    both = planning(tmp_path, f"sleep 0.2; {ASKS}")

    async def together() -> list[Result]:
        return list(await asyncio.gather(both.session(PLAN), both.session(PLAN)))

    assert asyncio.run(together()) == [ASKED, ASKED]
    assert sorted(path.name for path in (tmp_path / "logs" / "planning").iterdir()) == [
        *("0041", "0042", "0043", "notes")
    ]


def test_a_report_that_is_none_is_not_kept(tmp_path: Path) -> None:
    result = asyncio.run(planning(tmp_path, 'ln -s /etc/passwd "$DWINDLE_REPORT"').session(PLAN))
    assert isinstance(result.report, NoReport)
    assert result.report.trouble is Trouble.MALFORMED
    logs = tmp_path / "logs" / "planning" / "0001"
    assert not (logs / "report.json").exists()


def test_many_at_a_time_get_as_many_folders(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(numbered_folder, [tmp_path] * 200))
    assert sorted(path.name for path in found) == [f"{number:04}" for number in range(1, 201)]
