"""What `status` says was spent: skimmed off the journal, and the same as what is on record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.surfaces.bad_plans import GRAPH
from tests.surfaces.command import GRAPH_FILE, dwindle, repository, write

from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.journal import JsonlJournal, path_of, read_journal
from dwindle.app.spending.account import spending_of
from dwindle.app.spending.skim import spending_beside, spending_on_record
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Event,
    Redirected,
    RunStarted,
    SessionStarted,
    SetLimit,
    Usage,
    VerificationEnded,
    Waited,
)
from dwindle.kernel.model import ROOT, AtomId, CorrectionType, Role

RUN = "01J00000000000000000000000"
A1 = AtomId("A1")
STORY: tuple[Event, ...] = (
    RunStarted(run_id=RUN, at="2026-11-01T10:00:00Z"),
    SessionStarted(atom=A1, role=Role.WORKER, elapsed=0.5),
    Waited(note="überlastet", atom=A1, seconds=3, elapsed=60),
    AttemptFailed(
        atom=A1,
        nonce=2,
        elapsed=122,
        reason='"kind":"SessionStarted"',
        usage=Usage(tokens=12_345, read=12_000, written=345, usd=0.118, estimated=True),
    ),
    Redirected(
        type=CorrectionType.CONSTRAINT_CHANGE,
        edits=(SetLimit(name="max_iterations", value=30),),
        description="more",
    ),
    SessionStarted(atom=A1, role=Role.WORKER),
    AtomResolved(
        atom=A1,
        nonce=6,
        elapsed=10,
        summary="s",
        usage=Usage(tokens=1000, usd=1.0),
        judging=Usage(tokens=400, usd=0.25),
    ),
    SessionStarted(atom=ROOT, role=Role.VERIFIER),
    VerificationEnded(atom=ROOT, nonce=8, passed=False, elapsed=2),
)
BEGUN = GRAPH.replace(
    "redirect_requested: false",
    f"""redirect_requested: false
  run_id: {RUN}
  revision: 9
  spent:
    sessions: 3
    seconds: 194.5
    tokens: 13345
    usd: 1.118
    redirects: 1""",
)


def journal(folder: Path, *events: Event, after: int = 0) -> Path:
    written = JsonlJournal.create(RealDisk(), folder, RUN, after=after, versions=("9f",))
    for event in events:
        written.append(event)
        written.expect(("9f", "c2"))
    written.close()
    return path_of(folder, RUN)


@pytest.mark.parametrize("after", [0, 40])
def test_skimming_finds_what_reading_finds(after: int, tmp_path: Path) -> None:
    journal(tmp_path, *STORY, after=after)
    read = read_journal(RealDisk(), tmp_path, RUN).events(0)
    assert spending_on_record(str(tmp_path), RUN) == spending_of(read, first=after + 1)


def test_a_line_that_is_just_being_written_is_not_there_yet(tmp_path: Path) -> None:
    path = journal(tmp_path, *STORY)
    with path.open("ab") as file:
        file.write(b'{"n":10,"event":{"kind":"SessionSta')
    assert spending_on_record(str(tmp_path), RUN) == spending_of(STORY)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"n":0,"journal":1}\n',
        b"\xff\n",
        b'{"n":1,"event":{"kind":"SessionStarted","atom":7}}\n',
        b"[]\n",
    ],
)
def test_what_is_no_journal_says_nothing(content: bytes, tmp_path: Path) -> None:
    (tmp_path / f"{RUN}.jsonl").write_bytes(content)
    assert spending_on_record(str(tmp_path), RUN) is None


def test_one_that_takes_too_long_is_left_alone(tmp_path: Path) -> None:
    size = journal(tmp_path, *STORY).stat().st_size
    assert spending_on_record(str(tmp_path), RUN, most=size) == spending_of(STORY)
    assert spending_on_record(str(tmp_path), RUN, most=size - 1) is None


@pytest.mark.parametrize("run", ["../../secrets", "", "a/b", "no such run"])
def test_a_run_id_leads_nowhere_else(run: str, tmp_path: Path) -> None:
    (tmp_path / ".jsonl").write_bytes(b"")
    assert spending_on_record(str(tmp_path), run) is None


def test_status_says_what_each_role_has_cost(tmp_path: Path) -> None:
    folder = repository(tmp_path)
    write(folder, GRAPH_FILE, BEGUN)
    (folder / ".runner").mkdir()
    journal(folder / ".runner" / "journal", *STORY)
    said = dwindle(folder, "status")
    assert said.code == 0
    start = next(n for n, line in enumerate(said.out.splitlines()) if line.startswith("budgets"))
    assert said.out.splitlines()[start:] == [
        "budgets    3 min 14 s of 24 h; 13,345 tokens without limit; about 1.12 USD",
        "           without limit",
        "by role    worker: 2 sessions, 3 min 12 s, 12,945 tokens, about 0.87 USD",
        "           verifier: 1 session, 2 s, 400 tokens, 0.25 USD",
        "redirects  19 left",
    ]
    found = json.loads(dwindle(folder, "status", "--json").out)["spending"]
    assert found == {
        "run": {
            "sessions": 3,
            "tokens": 13345,
            "read": 12000,
            "cached": 0,
            "written": 345,
            "usd": 1.118,
            "estimated": True,
            "unpriced": 0,
            "seconds": 194.5,
        },
        "by_role": {
            "worker": {
                "sessions": 2,
                "tokens": 12945,
                "read": 12000,
                "cached": 0,
                "written": 345,
                "usd": 0.868,
                "estimated": True,
                "unpriced": 0,
                "seconds": 192.0,
            },
            "verifier": {
                "sessions": 1,
                "tokens": 400,
                "read": 0,
                "cached": 0,
                "written": 0,
                "usd": 0.25,
                "estimated": False,
                "unpriced": 0,
                "seconds": 2.0,
            },
        },
    }


def test_a_journal_beside_the_plan_that_is_of_another_run(tmp_path: Path) -> None:
    folder = repository(tmp_path)
    write(folder, GRAPH_FILE, BEGUN)
    assert spending_beside(str(folder / GRAPH_FILE), RUN) is None
    assert "by role" not in dwindle(folder, "status").out


def test_log_says_what_each_session_has_cost(tmp_path: Path) -> None:
    folder = repository(tmp_path)
    write(folder, GRAPH_FILE, BEGUN)
    (folder / ".runner").mkdir()
    journal(folder / ".runner" / "journal", *STORY, SessionStarted(atom=A1, role=Role.PROBE))
    said = dwindle(folder, "log", "--spending")
    assert said.out.splitlines() == [
        "session 2     A1 (worker): 1 session, 3 min 2 s, 12,345 tokens, about 0.12 USD;",
        "              tokens: 12,000 read, 345 written",
        "session 6     A1 (worker): 1 session, 10 s, 1,000 tokens, 1.00 USD",
        "session 8     the base case (verifier): 1 session, 2 s",
        "session 10    A1 (probe): 1 session, 0 s, still running",
        "atom          A1: 3 sessions, 3 min 12 s, 13,345 tokens, about 1.12 USD; tokens:",
        "              12,000 read, 345 written",
        "atom          the base case: 1 session, 2 s",
        "role          worker: 2 sessions, 3 min 12 s, 12,945 tokens, about 0.87 USD;",
        "              tokens: 12,000 read, 345 written",
        "role          verifier: 1 session, 2 s, 400 tokens, 0.25 USD",
        "role          probe: 1 session, 0 s",
        "run           4 sessions, 3 min 14 s, 13,345 tokens, about 1.12 USD; tokens:",
        "              12,000 read, 345 written",
    ]
    found = json.loads(dwindle(folder, "log", "--spending", "--json").out)
    assert list(found) == ["run", "by_role", "by_atom", "by_session"]
    assert found["by_session"][2] == {
        "nonce": 8,
        "atom": None,
        "role": "verifier",
        "running": False,
        "sessions": 1,
        "tokens": 0,
        "read": 0,
        "cached": 0,
        "written": 0,
        "usd": 0.0,
        "estimated": False,
        "unpriced": 0,
        "seconds": 2.0,
    }
    assert [(one["atom"], one["usd"]) for one in found["by_atom"]] == [("A1", 1.118), (None, 0.0)]


def test_what_is_spent_cannot_be_followed(tmp_path: Path) -> None:
    said = dwindle(repository(tmp_path), "log", "--spending", "--follow")
    assert (said.code, said.out) == (2, "")
    assert "leave out --follow" in said.err
