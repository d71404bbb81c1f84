"""What `watch` shows, on screens of every size: a pure function, whole screens compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.views.recorded import RUN, Recorded, plan_to_run, stuck

from dwindle.adapters.store.disk import DirectoryLock
from dwindle.kernel.events import Usage
from dwindle.kernel.model import AtomId, Limits
from dwindle.text.terminal import columns
from dwindle.views.read_model.run_view import Follower, budgets_of
from dwindle.views.terminal.plan_lines import FINE, PLAIN, Signs
from dwindle.views.terminal.watch import signs_for
from dwindle.views.terminal.watch_frame import Row, WatchState, frame

NOW = 1_794_737_110.0
"""2026-11-15T10:05:10Z."""


def seen_of(followed: Follower, now: float = NOW) -> WatchState:
    followed.poll()
    head = followed.head()
    assert followed.plan is not None
    return WatchState(
        head=head,
        goal=followed.nodes[""]["description"],
        nodes=followed.nodes,
        running=[followed.sessions[nonce] for nonce in head["running"]],
        events=followed.lines,
        budgets=budgets_of(followed.plan),
        now=now,
    )


def texts(rows: list[Row]) -> list[str]:
    return ["".join(line.text for line in row).rstrip() for row in rows]


def under_way(folder: Path) -> WatchState:
    """A choice has failed, another is being tried, and something waits for it."""
    with Recorded(folder, plan_to_run("A1 G1{A2[A5]|A3} A4<-G1 A6")) as made:
        made.begin().start("A1", "A5").resolve("A1", "a pen", Usage(tokens=1500, usd=0.5))
        for _ in range(2):
            made.fail("A5").start("A5")
        made.fail("A5").give_up("G1", "A2").start("A3", "A6")
        with DirectoryLock(folder / ".claude"):
            seen = seen_of(Follower(folder, RUN))
    first, second = (one["nonce"] for one in seen.running)
    tails = {first: ["reading stone.py", "writing"], second: []}
    return replace(seen, tails=tails, goal="Everything is written down")


def test_eighty_by_twenty_four(tmp_path: Path) -> None:
    seen = under_way(tmp_path)
    head = seen.head
    fallen = f"{head['gauge']:,} [####......] down {head['first_gauge'] - head['gauge']:,}"
    assert texts(frame(seen, width=79, height=24, signs=PLAIN)) == [
        "running",
        "Everything is written down",
        "3 of 6 open, 1 resolved, 2 given up | iteration 4/9",
        f"gauge {fallen} | at most {head['bound']} more sessions",
        "5:10 of 24 h | 0.50 USD | 1,500 tokens",
        "-- plan -----------------------------------------------------------------------",
        "  x A1  A1 1/3",
        "  > G1  one of",
        "    ! A2  A2",
        "      - A5  A5 3/3",
        "   => A3  A3 1/1",
        "  . A4  A4",
        "  > A6  A6 1/3",
        "-- sessions -------------------------------------------------------------------",
        "  A3 worker 4:59  A3",
        "    reading stone.py",
        "    writing",
        "  A6 worker 4:58  A6",
        "-- events ---------------------------------------------------------------------",
        "10:00:09 A5: failed: no pen",
        "10:00:10 G1: A2 has failed; its work is off the branch",
        "10:00:11 A3: a worker starts",
        "10:00:12 A6: a worker starts",
        "q quit  s stop  r redirect  up/down choose  enter log  ? help",
    ]


def test_what_is_parked_says_why(tmp_path: Path) -> None:
    with stuck(tmp_path), DirectoryLock(tmp_path / ".claude"):
        seen = seen_of(Follower(tmp_path, RUN))
    rows = texts(frame(seen, width=79, height=24, signs=PLAIN))
    at = next(number for number, row in enumerate(rows) if row.startswith("-- plan"))
    assert rows[2].startswith("3 of 4 open, 1 resolved, 1 parked | iteration 2/9")
    assert "1 of 1 winds" in rows[at - 1]
    assert rows[at + 1 : at + 5] == [
        "  | A1  A1 1/1 parked: no pen no paper",
        "  . A2  A2",
        "  . A3  A3",
        "  x A4  A4 1/1",
    ]
    narrow = texts(frame(seen, width=30, height=24, signs=PLAIN))
    assert "  | A1 1/1 parked: no pen..." in narrow


def test_a_wide_screen_has_the_plan_beside_the_rest(tmp_path: Path) -> None:
    rows = texts(frame(under_way(tmp_path), width=199, height=60, signs=FINE))
    at = next(number for number, row in enumerate(rows) if " plan " in row)
    assert rows[at].startswith("\u2500\u2500 plan \u2500")
    assert " sessions \u2500" in rows[at]
    assert rows[at + 1].startswith("  \u2713 A1  A1 1/3")
    assert rows[at + 1].endswith("A3 worker 4:59  A3")
    assert any(row.lstrip().startswith("\u2192\u25b6 A3") for row in rows)
    assert len(rows) == 60


@pytest.mark.parametrize("width", [1, 7, 40, 79, 120, 199])
@pytest.mark.parametrize("height", [1, 3, 8, 24, 60])
def test_a_frame_fits_any_screen(width: int, height: int, crowd: WatchState) -> None:
    for signs in (FINE, PLAIN):
        for seen in (crowd, replace(crowd, cursor="A150"), replace(crowd, message="m" * 900)):
            rows = frame(seen, width=width, height=height, signs=signs)
            assert len(rows) == height
            assert all(columns(text) <= width for text in texts(rows))


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> WatchState:
    """Two hundred atoms with long names and wide words, six at work, each with much to say."""
    folder = tmp_path_factory.mktemp("crowd")
    text = " ".join(f"A{n}" for n in range(1, 201))
    limits = Limits(max_parallel_agents=6, max_atoms=20, max_cost_usd=1.0, stated=("max_atoms",))
    plan = plan_to_run(text, limits=limits)
    words = "\u6f22\u5b57 " * 50
    atoms = {name: replace(atom, description=words) for name, atom in plan.atoms.items()}
    with Recorded(folder, replace(plan, atoms=atoms)) as made:
        made.begin().start(*(f"A{n}" for n in range(1, 7)))
        made.resolve("A1", usage=Usage(usd=0.9))
        seen = seen_of(Follower(folder, RUN))
    tails = {one["nonce"]: ["\u6f22" * 300] * 3 for one in seen.running}
    return replace(seen, tails=tails, notes=["something " * 30], goal=words)


def test_what_runs_is_in_the_window_and_the_rest_is_counted(crowd: WatchState) -> None:
    rows = texts(frame(crowd, width=79, height=24, signs=PLAIN))
    title = next(row for row in rows if row.startswith("-- plan"))
    assert "(+0 above, +" in title
    assert any(row.startswith("  > A2 ") for row in rows)
    chosen = texts(frame(replace(crowd, cursor="A150"), width=79, height=24, signs=PLAIN))
    assert any(row.startswith("> . A150 ") for row in chosen)


def test_a_budget_near_its_end_is_coloured(crowd: WatchState) -> None:
    budgets = next(row for row in frame(crowd, width=79, height=24) if "USD" in texts([row])[0])
    assert (texts([budgets])[0], budgets[0].colour) == (
        "0:08 of 24 h | 0.90 of 1.00 USD | 0 tokens",
        "yellow",
    )


def test_what_is_over_is_folded_where_there_is_no_room(tmp_path: Path) -> None:
    inner = " ".join(f"A{n}" for n in range(2, 30))
    with Recorded(tmp_path, plan_to_run(f"G1{{A1[{inner}]|A30}} A31")) as made:
        made.begin()
        for _ in range(3):
            made.start("A2").fail("A2")
        made.give_up("G1", "A1")
        seen = seen_of(Follower(tmp_path, RUN))
    rows = texts(frame(seen, width=79, height=24, signs=PLAIN))
    assert "    ! A1  A1 (+28)" in rows
    assert any("A17" in row for row in texts(frame(seen, width=79, height=60, signs=PLAIN)))


def test_a_run_without_a_plan_shows_its_notes(tmp_path: Path) -> None:
    with Recorded(tmp_path, plan_to_run("A1")) as made:
        made.begin()
        (tmp_path / f".runner/journal/{RUN}.start.md").unlink()
        (tmp_path / ".claude/aot-loop-state.md").unlink()
        followed = Follower(tmp_path, RUN)
        followed.poll()
    seen = WatchState(head=followed.head(), notes=followed.notes, events=followed.lines, now=NOW)
    rows = texts(frame(seen, width=79, height=12))
    assert rows[0] == "pending"
    assert "no plan of this run is left, neither the first nor the last" in rows


def test_a_question_stands_on_top(tmp_path: Path) -> None:
    seen = under_way(tmp_path)
    asked = replace(seen, head={**seen.head, "questions": ["It reads well"]})
    assert "to be confirmed: It reads well" in texts(frame(asked, width=79, height=24))


@pytest.mark.parametrize(
    ("encoding", "signs"),
    [("utf-8", FINE), ("ascii", PLAIN), ("latin-1", PLAIN), (None, PLAIN), ("nonsense", PLAIN)],
)
def test_signs_are_plain_where_fine_ones_cannot_be_shown(encoding: str, signs: Signs) -> None:
    assert signs_for(encoding) is signs


def test_the_atom_of_a_session_may_be_gone(tmp_path: Path) -> None:
    seen = under_way(tmp_path)
    nodes = {name: node for name, node in seen.nodes.items() if name != AtomId("A6")}
    nodes[""] = {**nodes[""], "children": [k for k in nodes[""]["children"] if k != "A6"]}
    rows = texts(frame(replace(seen, nodes=nodes), width=79, height=24, signs=PLAIN))
    assert any(row.startswith("  A6 worker") for row in rows)
