"""What the page asks for, and what it gets; also when it asks for nonsense."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest
from bench._recorded import RUN, plan_of, record
from starlette.types import ASGIApp
from tests.surfaces.web.asgi import asked

from dwindle.adapters.store.journal import JsonlJournal
from dwindle.surfaces.web.access import AccessPolicy
from dwindle.surfaces.web.drawing import Drawings
from dwindle.surfaces.web.feed import BEHIND, Feed, Feeds
from dwindle.surfaces.web.listing import Listing
from dwindle.surfaces.web.page import Page, application
from dwindle.views.layout.folding import finished_parts, folded_parents
from dwindle.views.read_model.shapes import NodeView

DOOR = AccessPolicy(token="a-token")  # noqa: S106 - for the test
BEARER = "Bearer a-token"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    journal, _ = record(tmp_path, plan_of(3, 5), 24)
    journal.close()
    return tmp_path


@pytest.fixture
def app(root: Path) -> ASGIApp:
    return application(Page(root), DOOR)


# --- asking ---------------------------------------------------------------------------------------


def test_the_page_and_its_parts_are_there_and_name_nothing_outside(app: ASGIApp) -> None:
    page = asked(app, "/").body.decode()
    names = [part.split('"')[0] for part in page.split("/static/")[1:]]
    assert "main.js" in names
    for name in names:
        part = asked(app, f"/static/{name}")
        assert part.status == 200
        text = part.body.decode().replace("http://www.w3.org/", "")
        assert "http" not in text.replace("https", "http") or "://" not in text
        assert "innerHTML" not in text
        assert "eval(" not in text
    assert "style=" not in page
    assert "<script>" not in page


@pytest.mark.parametrize("name", ["nothing.js", "..%2fpage.py", "%2e%2e", "__init__.py"])
def test_no_other_file_is_handed_out(app: ASGIApp, name: str) -> None:
    assert asked(app, f"/static/{name}").status == 404


def test_runs_are_listed_with_the_one_that_is_current(app: ASGIApp, root: Path) -> None:
    found = asked(app, "/api/runs").data
    assert (found["current"], found["folder"]) == (RUN, root.name)
    assert [(one["run"], one["current"], one["events"]) for one in found["runs"]] == [
        (RUN, True, 24)
    ]


def test_a_run_that_begins_is_found_and_what_did_not_change_is_not_read_again(
    tmp_path: Path,
) -> None:
    listing = Listing(tmp_path, fresh=0.0)
    assert listing.current() is None
    journal, chance = record(tmp_path, plan_of(2, 3), 4)
    assert listing.current() == RUN
    first = listing.runs()
    assert listing.runs() is first
    journal.append(*_more(chance, 1))
    assert json.loads(listing.runs())["runs"][0]["events"] == 5
    patient = Listing(tmp_path)
    told = patient.runs()
    journal.append(*_more(chance, 1))
    assert patient.runs() is told
    journal.close()


def test_the_current_run_need_not_be_named(app: ASGIApp) -> None:
    named = asked(app, f"/api/runs/{RUN}/layout").data
    assert asked(app, "/api/runs/current/layout").data == named


def test_the_layout_has_a_box_for_every_node_and_folds_what_it_is_told_to(app: ASGIApp) -> None:
    whole = asked(app, f"/api/runs/{RUN}/layout").data
    names = [box[0] for box in whole["boxes"]]
    assert {"P1", "P2", "P3"} <= set(names)
    assert {line[2] for line in whole["lines"]} <= {"part", "choice", "need"}
    folded = asked(app, f"/api/runs/{RUN}/layout?toggled=P1,P2,P3,nobody").data
    assert [box[0] for box in folded["boxes"]] == ["P1", "P2", "P3"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/runs/..%2f..%2fetc/layout", 400),
        ("/api/runs/a b/layout", 400),
        (f"/api/runs/{RUN}/sessions/99999", 404),
        (f"/api/runs/{RUN}/sessions/2/part?name=../../journal", 404),
        (f"/api/runs/{RUN}/sessions/2/part?name=x&start=y", 400),
        (f"/api/runs/{RUN}/sessions/x", 404),
        ("/nothing", 404),
    ],
)
def test_nonsense_is_refused_in_a_sentence(app: ASGIApp, path: str, status: int) -> None:
    assert asked(app, path).status == status


def test_a_run_that_is_not_there_is_empty_and_no_error(app: ASGIApp) -> None:
    assert asked(app, "/api/runs/01ARZ3NDEKTSV4RRFFQ69G5FAV/layout").data["boxes"] == []


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{", "that is no JSON"),
        (b"[" * 20_000 + b"]" * 20_000, "that is no JSON"),
        (b"[]", "that is no JSON object"),
        ({"edits": []}, "there are no edits"),
        ({"edits": [{"kind": "Nonsense"}]}, "these are no edits: edits.0.kind"),
        ({"edits": [{"kind": "RewriteGraph", "atoms": []}]}, "cannot rewrite the whole graph"),
        ({"edits": [{"kind": "SetLimit", "name": "max_iterations"}]}, "SetLimit lacks value"),
        ({"edits": [{"kind": "RemoveAtom", "atom": "A999"}]}, "A999"),
        ({"edits": [{"kind": "RemoveAtom", "atom": "A2"}], "why": "x" * 5000}, "why has to be"),
        (b"x" * 70000, "that is too long"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_and_says_why(
    app: ASGIApp, body: object, error: str
) -> None:
    answer = asked(app, f"/api/runs/{RUN}/preview", body, authorization=BEARER)
    assert answer.status == 400
    assert error in answer.data["error"]


def test_a_preview_says_the_effect_and_changes_nothing(app: ASGIApp, root: Path) -> None:
    before = {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
    edit = {"kind": "SetLimit", "name": "max_iterations", "value": 500}
    answer = asked(app, f"/api/runs/{RUN}/preview", {"edits": [edit]}, authorization=BEARER)
    assert answer.data["said"][0] == "constraint_change: the Trail is kept"
    assert {p: p.read_bytes() for p in root.rglob("*") if p.is_file()} == before


def test_what_a_past_run_cannot_be_asked_for(app: ASGIApp, root: Path) -> None:
    past = "01H0000000000000000000PAST"
    folder = root / ".runner/journal"
    JsonlJournal.create(_disk(), folder, past, after=0, versions=()).close()
    (folder / f"{past}.start.md").write_bytes((folder / f"{RUN}.start.md").read_bytes())
    for wish in ("stop", "preview", "redirect", "confirm"):
        answer = asked(app, f"/api/runs/{past}/{wish}", {"edits": []}, authorization=BEARER)
        assert (answer.status, answer.data["error"]) == (
            400,
            "this run is over: the plan belongs to another run now",
        )
    assert asked(app, f"/api/runs/{RUN}/dance", {}, authorization=BEARER).status == 404


def test_only_json_is_taken(app: ASGIApp) -> None:
    kind = {"content_type": "text/plain", "authorization": BEARER}
    assert (
        asked(app, f"/api/runs/{RUN}/stop", {}, **kind).data["error"] == "the body has to be JSON"
    )


def _disk() -> Any:
    from dwindle.adapters.store.disk import RealDisk  # noqa: PLC0415 - for this test alone

    return RealDisk()


# --- following ------------------------------------------------------------------------------------


def read(message: bytes) -> tuple[str, Any]:
    kind, data = message.decode().strip().split("\n")
    return kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def test_two_viewers_see_the_picture_and_then_what_is_added(tmp_path: Path) -> None:
    journal, chance = record(tmp_path, plan_of(3, 5), 6)

    async def story() -> list[list[tuple[str, Any]]]:
        feeds = Feeds(tmp_path)
        viewers = [feeds.of(RUN).stream() for _ in range(2)]
        seen = [[read(await anext(viewer))] for viewer in viewers]
        journal.append(*_more(chance, 2))
        for viewer, mine in zip(viewers, seen, strict=True):
            while mine[-1][0] != "change":
                mine.append(read(await asyncio.wait_for(anext(viewer), 5)))
        for viewer in viewers:
            await viewer.aclose()
        feeds.close()
        return seen

    one, other = asyncio.run(story())
    assert one[-1] == other[-1]
    assert (one[0][0], one[0][1]["head"]["revision"]) == ("picture", 6)
    assert one[-1][1]["head"]["revision"] == 8
    assert [event["n"] for event in one[-1][1]["events"]] == [7, 8]


def _more(chance: Any, count: int) -> list[Any]:
    return [chance.next() for _ in range(count)]


def test_who_cannot_keep_up_gets_the_whole_picture_again(root: Path) -> None:
    async def story() -> list[str]:
        feeds = Feeds(root)
        feed: Feed = feeds.of(RUN)
        viewer = feed.stream()
        kinds = [read(await anext(viewer))[0]]
        for number in range(BEHIND + 5):
            feed.tell(b"event: tails\ndata: %d\n\n" % number)
        kinds.append(read(await anext(viewer))[0])
        await viewer.aclose()
        feeds.close()
        return kinds

    assert asyncio.run(story()) == ["picture", "picture"]


def test_without_viewers_nothing_is_read(root: Path) -> None:
    async def story() -> tuple[bool, bool]:
        feeds = Feeds(root)
        feed = feeds.of(RUN)
        viewer = feed.stream()
        await anext(viewer)
        during = feed._task is not None
        await viewer.aclose()
        feeds.close()
        return during, feed._task is not None

    assert asyncio.run(story()) == (True, False)


# --- drawing --------------------------------------------------------------------------------------


def test_what_is_over_is_folded_but_for_what_was_unfolded_by_hand() -> None:
    nodes: list[NodeView] = [
        _node("", "root", "pending", ["A", "B"]),
        _node("A", "atom", "resolved", ["C"]),
        _node("C", "atom", "resolved", []),
        _node("B", "atom", "pending", ["D"]),
        _node("D", "atom", "pending", []),
    ]
    assert folded_parents(nodes, solved=False, toggled=()) == frozenset()
    assert folded_parents(nodes, solved=True, toggled=()) == {"A"}
    assert folded_parents(nodes, solved=True, toggled=("A", "B", "C", "")) == {"B"}
    drawn = json.loads(Drawings().of(nodes, solved=False, toggled=("A",)))
    assert ([box[0] for box in drawn["boxes"]], drawn["hidden"]) == (["A", "B", "D"], 1)


def test_folding_also_puts_away_what_is_finished_among_the_parts_of_what_is_open() -> None:
    nodes: list[NodeView] = [
        _node("", "root", "pending", ["A", "B"]),
        _node("A", "atom", "resolved", ["C"]),
        _node("C", "atom", "resolved", []),
        _node("B", "atom", "pending", ["D", "E", "F"]),
        _node("D", "atom", "failed", []),
        _node("E", "atom", "resolved", []),
        _node("F", "group", "pending", ["G", "H"]),
        _node("G", "atom", "left", []),
        _node("H", "atom", "pending", []),
    ]
    assert finished_parts(nodes) == {"A", "C", "E"}
    drawn = json.loads(Drawings().of(nodes, solved=True, toggled=()))
    assert [box[0] for box in drawn["boxes"]] == ["B", "D", "F", "G", "H"]
    assert drawn["hidden"] == 3
    # Of a plan that is finished as a whole, nothing is put away: the page would be empty.
    assert finished_parts([_node("", "root", "resolved", ["A"]), *nodes[1:3]]) == frozenset()


def _node(name: str, kind: str, status: str, children: list[str]) -> NodeView:
    parents = {"A": "", "B": "", "C": "A", "D": "B", "E": "B", "F": "B", "G": "F", "H": "F"}
    facts = {"id": name, "kind": kind, "status": status, "children": children}
    return cast("NodeView", {**facts, "parent": parents.get(name), "depends_on": []})
