"""What a runner of a tree has in memory is what the next one would find out anew.

The law that makes a kill harmless, held after every iteration: the plan in memory equals the one
that is derived from the branch, the journal and the logs, and the same is decided from both. The
agent does what it likes, well and badly, by a seed; nothing of it depends on time.
"""

from __future__ import annotations

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.loop.story import RUN
from tests.loop.tree_story import PATH, TreeStory, did

from dwindle.adapters.formats.config.settings import Settings
from dwindle.adapters.formats.tree.file import decode
from dwindle.adapters.git.in_place.history import branch_history, read_with
from dwindle.adapters.git.repository import find
from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.journal import read_journal
from dwindle.app import run_tree as tree_running
from dwindle.app.run import RunRequest
from dwindle.app.settings import settings_for
from dwindle.app.tree.resume_tree import ResumedTree, resume_tree
from dwindle.kernel.decide import decide
from dwindle.kernel.events import Event, IterationCommitted, RunStarted
from dwindle.kernel.measure import gauge
from dwindle.kernel.model import Plan
from dwindle.kernel.transitions import apply
from dwindle.ports.in_place import History
from dwindle.views.terminal.progress import Progress

pytestmark = pytest.mark.slow

AGENT = """\
import json, os, random, sys
with open(os.environ["DWINDLE_ORDER"], encoding="utf-8") as file:
    order = json.load(file)
with open(".runner/tree.json", encoding="utf-8") as file:
    tree = json.load(file)
chance = random.Random(f"{sys.argv[1]} {order['attempt']} {order['atom']}")


def nodes(at):
    return [at, *(found for child in at["children"] for found in nodes(child))]


def new(name):
    kept = {"acceptance": [], "passes": False, "attempts": 0, "children": []}
    most = chance.choice([1, 1, 2, 3])
    order = chance.randrange(3)
    return {"id": name, "order": order, "title": name, "goal": name, "max_attempts": most, **kept}


def put(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


every = nodes(tree["root"])
me = next(one for one in every if one["id"] == order["atom"])
opened = [one for one in every if not one["passes"]]
other = chance.choice(opened)
fresh = f"n{order['attempt']}"
what = chance.choices(
    ["work", "break", "split", "grow", "drop", "edit", "cheat", "spoil", "return", "crash", "idle"],
    [9, 4, 5, 2, 2, 2, 2, 2, 1, 2, 2],
)[0]
if what in ("work", "break", "crash", "cheat", "drop") or chance.random() < 0.2:
    put(f"{me['id']}.txt", f"{order['attempt']}\\n")
if what == "work" and os.path.exists("broken"):
    os.remove("broken")
if what == "break":
    put("broken", f"{order['attempt']}\\n")
if what == "split" and not me["children"]:
    me["children"] = [new(f"{fresh}a"), new(f"{fresh}b")][: chance.choice([1, 2])]
if what == "grow":
    other["children"].append(new(fresh))
if what == "drop" and other is not tree["root"]:
    above = next(one for one in every if other in one["children"])
    above["children"].remove(other)
    above["children"] += [new(fresh)] if chance.random() < 0.7 else []
if what == "edit":
    other.update(title="Better", goal=f"better, says {order['attempt']}", order=chance.randrange(3))
if what == "cheat":
    other.update(chance.choice([{"passes": True}, {"attempts": 0}, {"max_attempts": 10}]))
if what == "return":
    other["children"].append(new("n1a"))
text = json.dumps(tree)
put(".runner/tree.json", text[: len(text) // 2] if what == "spoil" else text)
sys.exit(chance.choice([0, 0, 3]) if what == "crash" else 0)
"""


class Comparing(Progress):
    """Looks at the run from outside after every iteration."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        super().__init__()
        self.folder = folder
        self.settings = settings
        self.compared = 0
        self.gauges: list[int] = []

    def on_event(self, plan: Plan, event: Event) -> None:
        self.gauges.append(gauge(plan))
        if isinstance(event, IterationCommitted):
            self.compared += 1
            assert_same(plan, self._anew())

    def _anew(self) -> ResumedTree:
        with ThreadPoolExecutor(1) as outside:
            history = outside.submit(lambda: asyncio.run(self._history())).result()
        content = (self.folder / ".runner/tree.json").read_bytes()
        tree = decode(content).tree
        assert tree is not None
        journal = read_journal(RealDisk(), self.folder / ".runner/journal", RUN)
        return resume_tree(
            tree,
            goal=tree.root.goal,
            history=history,
            events=list(journal.events(0)),
            limits=self.settings.limits,
            logs=self.folder / ".runner/iterations" / RUN,
            run=RUN,
        )

    async def _history(self) -> History:
        repository = await find(self.folder)
        reader = branch_history(RUN, await repository.head())
        return (await read_with(repository.git, reader)).summary


def assert_same(plan: Plan, found: ResumedTree) -> None:
    anew = found.plan
    assert anew.atoms == plan.atoms
    assert list(anew.atoms) == list(plan.atoms)
    assert anew.decompositions == plan.decompositions
    assert anew.refused_edits == plan.refused_edits
    assert (found.refusal is None) == (plan.refused_edits == 0)
    assert replace(anew.spent, seconds=0.0) == replace(plan.spent, seconds=0.0)
    assert abs(anew.spent.seconds - plan.spent.seconds) < 0.01
    assert len(found.seen) == plan.spent.created
    assert anew.control.iteration == plan.control.iteration
    resumed = apply(anew, RunStarted(run_id=RUN, aligned=plan.control.aligned))
    assert resumed.limits == plan.limits
    here, there = decide(plan), decide(resumed)
    assert there.actions == here.actions
    assert (there.stop and there.stop.code) == (here.stop and here.stop.code)  # words may differ
    assert gauge(resumed) == gauge(plan)


@pytest.mark.parametrize(
    "seed", [*range(1, 7), *(pytest.param(n, marks=pytest.mark.nightly) for n in range(7, 60))]
)
def test_memory_and_branch_agree_after_every_iteration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    story = (
        TreeStory(tmp_path)
        .leaves("a", "b", "c", most=3)
        .having({"tools/agent.py": AGENT})
        .agent(sys.executable, "-I", "-S", "tools/agent.py", str(seed))
        .settings("guard", 'command = ["sh", "check.sh"]')
        .settings("limits", "max_iterations = 40\nmax_nodes = 25")
        .prepared()
    )
    monkeypatch.setenv("PATH", PATH)
    settings = settings_for(story.folder, None).settings
    assert settings is not None
    outside = Comparing(story.folder, settings)

    request = RunRequest(sandbox=False, run_id=RUN)
    halted = asyncio.run(tree_running.run(story.folder, request, outside))

    assert halted.stop is not None
    assert outside.compared == len(story.iterations()) >= 2
    assert outside.gauges == sorted(outside.gauges, reverse=True), "it does not dwindle"
    assert json.loads(story.tree)["root"]["passes"] is (halted.stop.code == "completed")


def test_a_goal_that_an_agent_rewrites_is_told_to_the_next(tmp_path: Path) -> None:
    """At once, not only after a restart: or a run that was killed would tell its agents more."""
    told = did({"write": {".runner/GOAL.md": "# Another goal\n", "a.txt": "a\n"}})
    story = TreeStory(tmp_path).leaves("a", "b").node("a", told)

    assert story.run().code == 0
    assert ("All is done" in story.prompt(1), "# Another goal" in story.prompt(2)) == (True, True)
