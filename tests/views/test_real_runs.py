"""Views of the two demos, which are real runs: they show what the runs said of themselves."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.loop.test_tree_whole_run import everything
from tests.loop.tree_story import TreeStory
from tests.surfaces.command import TREE_FILE, Ended, dwindle, git
from tests.views.test_report import Page

from dwindle.adapters.store.journal_tail import Tail
from dwindle.app.journal.event_words import sentence
from dwindle.app.plans.load import PLAN_FILES
from dwindle.app.plans.plan_files import PlanPath
from dwindle.app.tree.tree_run import tree_run
from dwindle.kernel.graph import view
from dwindle.kernel.measure import gauge, measure
from dwindle.views.read_model.attempt_files import parts_of, read_part
from dwindle.views.read_model.fold import Fold
from dwindle.views.read_model.run_view import Follower, current_run, runs
from dwindle.views.report.html import html
from dwindle.views.report.report import report_of

pytestmark = [pytest.mark.slow]

TOLD = re.compile(r"\[(\d+) open, .*?gauge ([\d,]+)\]$", re.MULTILINE)


@pytest.fixture(scope="module", params=["graph", "tree"])
def demo(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, Ended]:
    folder = tmp_path_factory.mktemp("demo") / request.param
    said = dwindle(folder.parent, "demo", "--plan", request.param, "--dir", folder.name)
    assert said.code == 0, said
    return request.param, folder, said


def followed(folder: Path) -> Follower:
    run = current_run(folder)
    assert run is not None
    made = Follower(folder, run)
    made.poll()
    return made


def test_every_step_of_the_fold_is_what_the_run_said(demo: tuple[str, Path, Ended]) -> None:
    _, folder, said = demo
    run = current_run(folder)
    assert run is not None
    fold = Fold(folder, run)
    found = []
    for number, event in Tail(folder / ".runner/journal", run).added():
        fold.take(number, event)
        if sentence(event):
            assert fold.plan is not None
            found.append((view(fold.plan).open_count, gauge(fold.plan)))
    assert found == [(int(n), int(m.replace(",", ""))) for n, m in TOLD.findall(said.out)]
    assert fold.notes == []


def test_it_ends_where_the_plan_file_is(demo: tuple[str, Path, Ended]) -> None:
    kind, folder, _ = demo
    seen = followed(folder)
    assert (seen.head()["phase"], seen.head()["kind"]) == ("completed", kind)
    assert [(line["kind"], line["phase"]) for line in runs(folder)] == [(kind, "completed")]
    if kind == "tree":
        file = PlanPath(str(folder / PLAN_FILES[seen.kind]), seen.kind)
        plan = tree_run(file).plan
        assert seen.plan is not None
        assert {n: (a.status, a.attempts, a.probes) for n, a in plan.atoms.items()} == {
            n: (a.status, a.attempts, a.probes) for n, a in seen.plan.atoms.items()
        }


def test_every_session_has_its_papers(demo: tuple[str, Path, Ended]) -> None:
    kind, folder, _ = demo
    seen = followed(folder)
    for session in seen.sessions.values():
        parts = {part["kind"] for part in parts_of(folder, seen.run, session)}
        if session["atom"]:
            # The agents of the graph say nothing, and leave no log.
            expected = {"prompt", "diff"} | ({"log"} if kind == "tree" else set())
            assert expected <= parts, session
        name = "diff" if kind == "graph" else "diff.patch"
        changed = read_part(folder, seen.run, session, name)
        if session["outcome"] == "resolved":
            assert changed is not None
            assert "diff --git" in changed["text"], session


def test_a_difference_is_found_without_the_branch(demo: tuple[str, Path, Ended]) -> None:
    """The result may have landed, and its branch may be gone."""
    kind, folder, _ = demo
    if kind == "tree":
        return
    seen = followed(folder)
    session = next(one for one in seen.sessions.values() if one["outcome"] == "resolved")
    whole = read_part(folder, seen.run, session, "diff")
    git(folder, "worktree", "prune")
    shutil.rmtree(folder / ".runner/worktrees")
    git(folder, "worktree", "prune")
    git(folder, "branch", "-D", f"runner/{seen.run}")
    assert read_part(folder, seen.run, session, "diff") == whole


def test_the_report_says_how_it_was_judged(demo: tuple[str, Path, Ended]) -> None:
    kind, folder, _ = demo
    run = current_run(folder)
    assert run is not None
    page = Page(html(report_of(folder, run)))
    wanted = "The base case holds" if kind == "graph" else "its guard decides: last green"
    assert wanted in page.text
    marked = "turned back, event" in page.text
    assert marked is (kind == "graph")


def test_a_tree_that_is_run_step_by_step(tmp_path: Path) -> None:
    """Splits, a red guard, an exhausted leaf, a refused edit and its repair are all in it."""
    story = everything(tmp_path).prepared()
    for _ in range(9):
        assert story.called("step").code == 0
    seen = followed(story.folder)
    plan = tree_run(PlanPath(str(story.folder / TREE_FILE), seen.kind)).plan
    assert seen.plan is not None
    assert measure(seen.plan)[:-1] == measure(plan)[:-1]
    assert (seen.plan.refused_edits, seen.plan.spent) == (plan.refused_edits, plan.spent)
    assert (len(seen.sessions), seen.head()["phase"], seen.notes) == (9, "resting", [])


def test_a_tree_that_its_person_edited_between_two_steps(tmp_path: Path) -> None:
    """A run that is taken up again begins with the tree as it is then."""
    story = TreeStory(tmp_path).leaves("a", "b")
    story.run(command="step")
    path = story.folder / TREE_FILE
    tree = json.loads(path.read_bytes())
    tree["root"]["children"].append({**tree["root"]["children"][1], "id": "c", "order": 9})
    path.write_text(json.dumps(tree))
    git(story.folder, "commit", "--quiet", "--all", "--message=one more")
    assert story.called("step").code == 0
    seen = followed(story.folder)
    plan = tree_run(PlanPath(str(path), seen.kind)).plan
    assert seen.plan is not None
    # The file says nothing of a run that rests; all but the last of the measure is the same.
    assert measure(seen.plan)[:-1] == measure(plan)[:-1]
    assert list(seen.plan.atoms) == ["root", "a", "b", "c"]
    told = [(one["atom"], one["iteration"], one["guard"]) for one in seen.sessions.values()]
    assert told == [("a", 1, "pass"), ("b", 2, "pass")]
    assert (seen.head()["phase"], seen.notes) == ("resting", [])
    assert [node["status"] for node in seen.nodes.values()] == [
        "pending",
        "pending",
        "resolved",
        "resolved",
        "pending",
    ]
