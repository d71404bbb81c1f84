"""`dwindle replay`: a run worked out again comes to the same bytes, and a forged one does not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.surfaces.command import GRAPH_FILE, PLAIN, Ended, dwindle, write
from tests.surfaces.small_runs import (
    DRAFT,
    HOPELESS,
    JOURNAL,
    NEVER,
    RUN,
    START,
    completed,
    project,
    ran,
)

from dwindle.adapters.formats.graph import plan as graph_plan
from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.journal import JsonlJournal, read_journal
from dwindle.kernel.events import Event, RunEnded, RunStarted, SessionStarted, Waited
from dwindle.kernel.model import AtomId, Role, StopCode
from dwindle.kernel.transitions import apply
from dwindle.runner.ledger import digest
from dwindle.runner.replay import Differs, replay

pytestmark = pytest.mark.slow

CHOICES = DRAFT.replace(
    "  definition_of_done",
    "  constraints: {max_iterations: 20, max_parallel_agents: 1, max_stall_count: 3}\n"
    "  definition_of_done",
).replace(
    "  - id: A1\n    description: Write done\n",
    """\
  - {id: A1, description: Write done}
  - {id: A2, description: One way, or_group: way, check: {type: command, value: grep -q good c}}
  - {id: A3, description: Another, or_group: way, check: {type: command, value: grep -q good c}}
or_groups:
  way: {choices: [A2, A3], selected: A2, failed: []}
""",
)
CHOOSING = """\
worker:
  A1:
    - report:
        success: false
        decomposition: {reason: two, children: [{description: a}, {description: b}]}
  A2:
    - do: [{write: {c: bad}}]
      report: {success: true, summary: c, artifacts: [c]}
  A3:
    - do: [{write: {c: good}}]
      report: {success: true, summary: c, artifacts: [c]}
  "*":
    - do: [{append: {done: "yes"}}]
      report: {success: true, summary: done, artifacts: [done]}
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return completed(tmp_path_factory.mktemp("replay"))


def same(events: int, path: str = GRAPH_FILE) -> Ended:
    said = f"{RUN}: {events} events decided again, and {path} has the same bytes\n"
    return Ended(code=0, out=said)


def copied(done: Path, to: Path) -> Path:
    """The plan and the journal of a run, without its repository."""
    for name in (GRAPH_FILE, JOURNAL, START):
        write(to, name, (done / name).read_bytes())
    return to


def test_a_run_comes_to_the_same_bytes(done: Path) -> None:
    assert dwindle(done, "replay", RUN) == same(8)
    assert dwindle(done, "replay") == same(8)


def test_neither_stops_nor_choices_nor_growth_make_a_difference(tmp_path: Path) -> None:
    project(tmp_path, CHOICES, CHOOSING)
    assert dwindle(tmp_path, "step").code == 0
    assert dwindle(tmp_path, "replay").code == 0
    said = dwindle(tmp_path, "run")
    assert said.code == 0, said
    said = dwindle(tmp_path, "replay")
    events = len(read_journal(RealDisk(), (tmp_path / JOURNAL).parent, RUN).lines)
    assert (said, events >= 15) == (same(events), True)


def test_a_run_that_got_nowhere(tmp_path: Path) -> None:
    ran(project(tmp_path, HOPELESS, NEVER), 31)
    events = len(read_journal(RealDisk(), (tmp_path / JOURNAL).parent, RUN).lines)
    assert dwindle(tmp_path, "replay") == same(events)


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_run_that_was_broken_off_and_taken_up_again(tmp_path: Path, how: str) -> None:
    slow = "- do: [{sleep: 30}, {write: {done: 'yes'}}]"
    script = f"""\
worker:
  A1:
    {slow}
      report: {{success: true, summary: s, artifacts: [done]}}
"""
    draft = DRAFT.replace("description: Write done", "description: Write done\n    max_attempts: 1")
    project(tmp_path, draft, script)
    running = subprocess.Popen(
        [sys.executable, "-m", "dwindle", "run"], cwd=tmp_path, env=PLAIN, stdout=subprocess.PIPE
    )
    assert running.stdout is not None
    while b"a worker starts" not in running.stdout.readline():
        assert running.poll() is None
    if how == "kill":
        running.kill()
    else:
        assert dwindle(tmp_path, "stop", "--reason", "tea").code == 0
    running.communicate(timeout=20)
    assert dwindle(tmp_path, "replay").code == 0  # Also in the middle of it.
    write(tmp_path, ".runner/script.yaml", script.replace(slow, "- do: [{write: {done: 'yes'}}]"))
    ran(tmp_path, 0)
    events = len(read_journal(RealDisk(), (tmp_path / JOURNAL).parent, RUN).lines)
    assert dwindle(tmp_path, "replay") == same(events)


def test_a_plan_that_made_room_for_another(tmp_path: Path) -> None:
    completed(tmp_path)
    words = ("align", "--from", ".runner/draft.yaml", "--yes")
    assert dwindle(tmp_path, *words).code == 0
    kept = f".claude/aot-loop-state.{RUN}.md"
    assert dwindle(tmp_path, "replay", RUN) == same(8, kept)
    (tmp_path / kept).unlink()
    said = f"{RUN}: 8 events decided again, but there is no plan file of it\n"
    assert dwindle(tmp_path, "replay", RUN) == Ended(code=0, out=said)


def test_a_plan_that_was_edited(done: Path, tmp_path: Path) -> None:
    copied(done, tmp_path)
    text = (tmp_path / GRAPH_FILE).read_text()
    at = text.splitlines().index("    attempts: 2") + 1
    write(tmp_path, GRAPH_FILE, text.replace("    attempts: 2", "    attempts: 1"))
    assert dwindle(tmp_path, "replay", RUN) == Ended(
        code=1,
        err=f'dwindle: DIFFERENT: {GRAPH_FILE}:{at} has "attempts: 1", '
        'but "attempts: 2" comes of the journal\n',
    )


def test_a_body_that_was_cut(done: Path, tmp_path: Path) -> None:
    copied(done, tmp_path)
    data = (tmp_path / GRAPH_FILE).read_bytes()
    lines = data.splitlines(keepends=True)
    write(tmp_path, GRAPH_FILE, b"".join(lines[:-1]))
    said = dwindle(tmp_path, "replay", RUN)
    last = lines[-1].decode().strip()
    assert said == Ended(
        code=1,
        err=f"dwindle: DIFFERENT: {GRAPH_FILE}:{len(lines)} has no such line, "
        f'but "{last}" comes of the journal\n',
    )


def test_a_beginning_that_was_edited(done: Path, tmp_path: Path) -> None:
    copied(done, tmp_path)
    write(tmp_path, START, (tmp_path / START).read_bytes() + b"\n")
    assert dwindle(tmp_path, "replay", RUN) == Ended(
        code=1,
        err=f"dwindle: DIFFERENT: {START} is not the plan that the journal began with\n",
    )
    (tmp_path / START).unlink()
    assert dwindle(tmp_path, "replay", RUN) == Ended(
        code=2,
        err=f"dwindle: {START}: the plan that the run began with is not there\n"
        "  it is kept when a run begins; without it there is nothing to replay from\n",
    )


# --- a journal that is sound, and wrong -----------------------------------------------------------


def forged(done: Path, to: Path, change: dict[int, Event]) -> Path:
    """The same run with some events exchanged, chained and saved as if it had been so."""
    start = (done / START).read_bytes()
    events = list(read_journal(RealDisk(), (done / JOURNAL).parent, RUN).events(0))
    folder = (to / JOURNAL).parent
    journal = JsonlJournal.create(RealDisk(), folder, RUN, after=0, versions=(digest(start),))
    decoded = graph_plan.decode(start)
    plan = decoded.plan
    assert plan is not None
    for number, event in enumerate(events, 1):
        said = change.get(number, event)
        journal.append(said)
        plan = apply(plan, said)
    journal.close()
    write(to, START, start)
    write(to, GRAPH_FILE, graph_plan.GraphWriter(decoded.body).encode(plan))
    return to


def test_an_end_that_was_not_decided(done: Path, tmp_path: Path) -> None:
    ended = RunEnded(code=StopCode.COMPLETED, reason="I say so")
    assert dwindle(forged(done, tmp_path, {8: ended}), "replay", RUN) == Ended(
        code=1,
        err="dwindle: DIFFERENT: event 8 is RunEnded completed, "
        "but the end was completed: every check of the base case passed\n",
    )


def test_an_end_without_a_reason(done: Path) -> None:
    plan = graph_plan.decode((done / START).read_bytes()).plan
    assert plan is not None
    news: list[tuple[int, Event]] = [
        (1, RunStarted()),
        (2, RunEnded(code=StopCode.STALLED, reason="tired")),
    ]
    with pytest.raises(Differs) as raised:
        list(replay(plan, news))
    assert str(raised.value) == "event 2 is RunEnded stalled, but there was no reason to end"


def test_a_start_that_was_not_decided(done: Path) -> None:
    plan = graph_plan.decode((done / START).read_bytes()).plan
    assert plan is not None
    probe = SessionStarted(atom=AtomId("A1"), role=Role.PROBE)
    with pytest.raises(Differs) as raised:
        list(replay(plan, [(1, RunStarted()), (2, probe)]))
    assert str(raised.value) == "event 2 is SessionStarted A1 probe, but Work A1 was decided"


def test_a_start_while_there_is_nothing_to_start(done: Path) -> None:
    plan = graph_plan.decode((done / START).read_bytes()).plan
    assert plan is not None
    start = SessionStarted(atom=AtomId("A1"), role=Role.WORKER)
    with pytest.raises(Differs) as raised:
        list(replay(plan, [(1, start)]))
    expected = "nothing was to be done: the run has not been started"
    assert str(raised.value) == f"event 1 is SessionStarted A1 worker, but {expected}"


def test_half_of_what_was_decided(done: Path) -> None:
    plan = graph_plan.decode((done / START).read_bytes()).plan
    assert plan is not None
    two = {**plan.atoms, AtomId("A9"): replace(plan.atoms[AtomId("A1")], id=AtomId("A9"))}
    plan = replace(plan, atoms=two)
    begun: list[tuple[int, Event]] = [
        (1, RunStarted()),
        (2, SessionStarted(atom=AtomId("A1"), role=Role.WORKER)),
    ]
    with pytest.raises(Differs) as raised:
        list(replay(plan, [*begun, (3, Waited())]))
    assert str(raised.value) == "event 3 is Waited, but Work A9 was decided"
    # A runner that was killed there owes nothing any more.
    assert len(list(replay(plan, [*begun, (3, RunStarted())]))) == 3


def test_a_journal_that_was_changed(done: Path, tmp_path: Path) -> None:
    copied(done, tmp_path)
    path = write(tmp_path, JOURNAL, (done / JOURNAL).read_text().replace("no pen", "no ink"))
    said = dwindle(tmp_path, "replay", RUN)
    assert (said.code, said.err[: len(f"dwindle: DIFFERENT: {path}, line ")]) == (
        1,
        f"dwindle: DIFFERENT: {path}, line ",
    )
    shutil.rmtree(path.parent)
    assert dwindle(tmp_path, "replay", RUN).code == 2
