"""Whole runs, and whom they tell: of graphs and trees, and that no failure there touches them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.app.test_notifier import SECRET
from tests.app.test_webhook import listening
from tests.loop.tree_story import TreeStory, did
from tests.surfaces.command import dwindle, write
from tests.surfaces.small_runs import (
    ASSERTED,
    DRAFT,
    HOPELESS,
    JOURNAL,
    NEVER,
    RUN,
    SCRIPT,
    SETTINGS,
    journal_of,
    project,
)

pytestmark = pytest.mark.slow


def told(heard: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in heard.read_text().splitlines()]


def notifying(folder: Path, *lines: str, draft: str = DRAFT, script: str = SCRIPT) -> Path:
    project(folder, draft, script)
    write(folder, ".runner/config.toml", "\n".join([SETTINGS, "[notify]", *lines, ""]))
    return folder


def test_a_graph_that_is_completed_and_a_budget_before(tmp_path: Path) -> None:
    """The program may call `dwindle`: the run has let go of everything by then."""
    heard = tmp_path / "heard"
    narrow = "  constraints: {max_parallel_agents: 1, max_iterations: 2}\n  base_case:"
    folder = notifying(
        tmp_path / "project",
        f'command = "cat >> {heard}; test $DWINDLE_EVENT = budget || dwindle land"',
        draft=DRAFT.replace("  base_case:", narrow),
    )
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    ended = dwindle(folder, "run", PATH=path)
    assert (ended.code, ended.err, "[notify]" in ended.out) == (0, "", False)
    assert [(one["event"], one["run"], one["text"]) for one in told(heard)] == [
        ("budget", RUN, "project: 2 of 2 iterations are spent (max_iterations)"),
        (
            "completed",
            RUN,
            "project: the run is completed: every check of the base case passed",
        ),
    ]
    assert (folder / "done").read_text() == "yes"


def test_a_person_is_asked_and_then_it_stops(tmp_path: Path) -> None:
    with listening() as (port, heard):
        hook = f'webhook = "http://127.0.0.1:{port}/{SECRET}"'
        asks = notifying(tmp_path / "asks", hook, draft=ASSERTED)
        assert dwindle(asks, "run").code == 11
        stops = notifying(tmp_path / "stops", hook, draft=HOPELESS, script=NEVER)
        assert dwindle(stops, "run").code == 31
    said = [(one.body["event"], one.body["exit_code"], one.body["questions"]) for one in heard]
    assert said == [("confirmation_needed", 11, ["It reads well"]), ("stopped", 31, [])]
    assert SECRET not in (stops / JOURNAL).read_text()
    for path in (stops / ".runner/iterations").rglob("*"):
        assert path.is_dir() or SECRET not in path.read_text(errors="replace")


def test_failures_are_a_line_and_nothing_else(tmp_path: Path) -> None:
    quiet = project(tmp_path / "quiet")
    loud = notifying(
        tmp_path / "loud",
        'command = ["/nonexistent/tell"]',
        f'webhook = "http://127.0.0.1:9/{SECRET}"',
    )
    dwindle(quiet, "run")
    ended = dwindle(loud, "run")
    assert (ended.code, ended.err) == (0, "")
    said = [line for line in ended.out.splitlines() if "[notify]" in line]
    assert sorted(said) == [
        (
            "dwindle: [notify] command: it cannot be started: No such file or directory;"
            " the run is not affected"
        ),
        "dwindle: [notify] webhook: Connection refused; the run is not affected",
    ]
    assert SECRET not in ended.out
    kinds = [[event["event"]["kind"] for event in journal_of(one)] for one in (quiet, loud)]
    assert kinds[0] == kinds[1]


def test_a_tree(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    story = (
        TreeStory(tmp_path)
        .settings("notify", f'command = "cat >> {heard}"')
        .settings("limits", "max_iterations = 2")
        .leaves("a", "b", "c")
        .node("a", did({"a.txt": "a\n"}))
        .node("b", did({"b.txt": "b\n"}))
    )
    ending = story.run()
    assert ending.code == 21, story.said
    assert [(one["event"], one["plan"], one["text"]) for one in told(heard)] == [
        ("budget", "tree", "my trée: 2 of 2 iterations are spent (max_iterations)"),
        (
            "stopped",
            "tree",
            "my trée: the run has stopped, iteration_limit: max_iterations 2 is reached",
        ),
    ]
