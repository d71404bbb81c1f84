"""The plugin in the real program: what it makes of each file, and whole loops inside of a session.

Only the model is ours (`plugin_play`). The host is as it comes, with its cap on hooks as it is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.real.claude_session import init
from tests.real.model import Conversation, Lane, ModelServer, Step, ToolCall
from tests.real.plugin_play import bash, enters, lanes, results, works
from tests.real.programs import ROOT, Program
from tests.real.stage import Ran, Stage
from tests.surfaces.command import dwindle, repository, write
from tests.surfaces.host.guest import until_stopped
from tests.surfaces.small_runs import RUN, plan_of

from dwindle.kernel.model import Plan, TrailType

pytestmark = pytest.mark.slow

PLUGIN = ROOT / "plugin"
ALLOWED = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash(dwindle:*)", "Agent", "Task")

HEAD = """\
objective:
  goal: Make files
  background_intent: A user asked for them
  deliverables: Files
  definition_of_done: They are there
  base_case: {{type: command, value: test -f {last}}}
  constraints: {limits}
atoms:
"""


def draft(atoms: str, last: str, **limits: Any) -> str:
    return HEAD.format(last=last, limits=json.dumps({"dispatch": "wave", **limits})) + atoms


class Seat:
    """A person in a session of the program, with the plugin."""

    def __init__(self, stage: Stage, program: Program, plugin: Path = PLUGIN) -> None:
        self.stage = stage
        self.program = program
        self.plugin = plugin

    @property
    def folder(self) -> Path:
        return self.stage.work

    @property
    def plan(self) -> Plan:
        return plan_of(self.folder)

    def agrees_on(self, plan: str) -> None:
        repository(self.folder)
        write(self.folder, ".runner/draft.yaml", plan)
        given = ("--from", ".runner/draft.yaml", "--yes", "--run-id", RUN)
        ended = dwindle(self.folder, "align", *given)
        assert ended.code == 0, ended

    def says(self, model: ModelServer, words: str, *, path: str | None = None) -> Ran:
        here = {"PATH": path or f"{_folder_of_dwindle()}:/usr/bin:/bin"}
        command = self.stage.claude(
            self.program,
            model,
            *("--plugin-dir", str(self.plugin), *ALLOWED),
            prompt=words,
            environment=here,
            seconds=400,
        )
        return self.stage.run(command, containment=self.stage.bare())


def _folder_of_dwindle() -> str:
    return str(Path(sys.executable).parent)


@pytest.fixture
def seat(stage: Stage, claude: Program) -> Seat:
    return Seat(stage, claude)


def final(ran: Ran) -> str:
    return str(ran.of("result")[-1].get("result"))


# --- what the program makes of the files ---------------------------------------------------------


def test_every_agent_has_the_tools_of_its_line_and_no_others(seat: Seat) -> None:
    """An agent file that cannot be parsed would have all of them."""
    seen: dict[str, tuple[str, ...]] = {}
    names = {
        "aot-coordinator": "You coordinate one",
        "aot-probe": "You look, and change nothing",
        "aot-worker": "You do one atom",
        "aot-verifier": "You judge, and change nothing",
    }

    def looks(name: str) -> Lane:
        def step(conversation: Conversation) -> Step:
            seen[name] = conversation.tools
            return Step("fine")

        return Lane(name=name, system=names[name], steps=(step,), repeats=True)

    calls = tuple(
        ToolCall(
            "Agent",
            {
                "description": "x",
                "prompt": "x",
                "subagent_type": f"dwindle:{name}",
                "run_in_background": False,
            },
        )
        for name in names
    )
    main = Lane(name="main", steps=(Step(tools=calls), Step("done")), repeats=True)
    with ModelServer(*map(looks, names), main) as model:
        ran = seat.says(model, "go on")
    shown = init(ran)
    assert [f"dwindle:{name}" in shown["agents"] for name in names] == [True] * 4
    always = {"ToolSearch", "DeferredToolPlaceholder"}  # of the newer program, for everybody
    assert set(seen["aot-coordinator"]) - always == {"Agent", "Read", "Bash"}
    assert set(seen["aot-probe"]) - always <= {"Read", "Grep", "Glob"}
    assert set(seen["aot-verifier"]) - always <= {"Read", "Grep", "Glob", "Bash"}
    assert {"Read", "Bash", "Write", "Edit"} <= set(seen["aot-worker"])
    assert not {"Agent", "Task"} & set(seen["aot-worker"])


def test_the_manifests_are_valid_and_it_installs_without_a_network(
    stage: Stage, claude: Program
) -> None:
    market = stage.root / "a market"
    (market / ".claude-plugin").mkdir(parents=True)
    for name in (".claude-plugin/marketplace.json",):
        (market / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run(["cp", "-r", str(PLUGIN), str(market / "plugin")], check=True)

    def says(*words: str) -> Ran:
        here = stage.environment(None)
        return stage.run(stage.command(claude, *words, environment=here), containment=stage.bare())

    for place in (market, market / "plugin", market / "plugin/.claude-plugin/plugin.json"):
        checked = says("plugin", "validate", "--strict", str(place))
        assert checked.code == 0, checked.stdout + checked.stderr
    added = says("plugin", "marketplace", "add", str(market))
    assert added.code == 0, added.stdout + added.stderr
    installed = says("plugin", "install", "dwindle@dwindle")
    assert installed.code == 0, installed.stdout + installed.stderr
    listed = says("plugin", "list")
    assert "dwindle@dwindle" in listed.stdout


# --- whole loops ---------------------------------------------------------------------------------


def twenty() -> str:
    """Two at once, a choice that fails, one that stumbles, and a chain: twenty iterations."""
    atoms = [
        "  - {id: A1, description: Make a1.txt}",
        "  - {id: A2, description: Make a2.txt}",
        "  - {id: A3, description: Fail at this, or_group: way, depends_on: [A1, A2]}",
        "  - {id: A4, description: Make a4.txt, or_group: way, depends_on: [A1, A2]}",
        "  - {id: A5, description: Stumble but make a5.txt, depends_on: [A4]}",
    ]
    atoms += [
        f"  - {{id: A{n}, description: Make a{n}.txt, depends_on: [A{n - 1}]}}"
        for n in range(6, 21)
    ]
    groups = "or_groups:\n  way: {choices: [A3, A4], selected: A3, failed: []}\n"
    return draft("\n".join(atoms) + "\n" + groups, "a20.txt", max_iterations=20, max_attempts=3)


def test_twenty_iterations_with_the_cap_of_the_host_as_it_is(seat: Seat) -> None:
    seat.agrees_on(twenty())
    with ModelServer(*lanes()) as model:
        ran = seat.says(model, "/dwindle:enter-recursion")
    plan = seat.plan
    assert final(ran) == "over: completed: every check of the base case passed", final(ran)
    assert plan.control.iteration == 20
    assert plan.groups["way"].failed == ("A3",)  # type: ignore[index]
    kinds = [(entry.type, entry.atom or entry.selected) for entry in plan.trail]
    assert (TrailType.FAILURE, "A5") in kinds
    asked = (r.conversation for r in model.requests)
    fresh = [c for c in asked if "You coordinate one" in c.system and c.turn == 0]
    assert len(fresh) >= 3  # the host lets none of them go on for long
    replayed = dwindle(seat.folder, "replay")
    assert replayed.code == 0, replayed


def test_a_limit_stops_the_loop_inside_of_the_session(seat: Seat) -> None:
    seat.agrees_on(
        draft("  - {id: A1, description: Fail at this}\n", "a1.txt", max_attempts=2, max_winds=0)
    )
    with ModelServer(*lanes()) as model:
        ran = seat.says(model, "/dwindle:enter-recursion")
    assert final(ran).startswith("over: "), final(ran)
    assert str(seat.plan.control.stop_code) in {"atom_exhausted", "stalled"}
    assert seat.plan.spent.sessions <= 4


def test_stop_and_redirect_while_a_worker_runs_discard_what_it_brings(seat: Seat) -> None:
    seat.agrees_on(
        draft(
            "  - {id: A1, description: Make a1.txt}\n"
            "  - {id: A2, description: Make a2.txt, depends_on: [A1]}\n",
            "a2.txt",
        )
    )
    done: list[str] = []

    def interrupted(conversation: Conversation) -> Step:
        """The person redirects while the first worker is at work."""
        if not done:
            done.append("redirect")
            changed = dwindle(seat.folder, "redirect", "--add-atom", "Make a3.txt", "--yes")
            assert changed.code == 0, changed
        return works(conversation)

    play = list(lanes())
    play[0] = Lane(name="worker", system="You do one atom", steps=(interrupted,), repeats=True)
    with ModelServer(*play) as model:
        ran = seat.says(model, "/dwindle:enter-recursion")
    plan = seat.plan
    assert final(ran).startswith("over: completed"), final(ran)
    assert plan.spent.redirects == 1
    assert plan.spent.sessions >= 4  # the first session of A1 was for nothing

    with ModelServer(*lanes()) as model:
        again = seat.says(model, "/dwindle:enter-recursion")
    assert final(again) == "refused: the run is completed"


def test_a_session_that_is_over_leaves_a_run_to_be_taken_up(seat: Seat) -> None:
    seat.agrees_on(draft("  - {id: A1, description: Make a1.txt}\n", "a1.txt"))

    def leaves(conversation: Conversation) -> Step:
        said = results(conversation)
        if not said:
            return Step(tools=(bash("dwindle state enter"),))
        if len(said) == 1:
            return Step(tools=(bash("dwindle state update-atom A1 in_progress"),))
        return Step("I am off.")

    with ModelServer(*lanes(leaves)) as model:
        seat.says(model, "/dwindle:enter-recursion")
    until_stopped(seat.folder)
    plan = seat.plan
    assert (str(plan.control.status), plan.sessions) == ("stopped", {})
    with ModelServer(*lanes(enters)) as model:
        ran = seat.says(model, "/dwindle:enter-recursion")
    assert final(ran).startswith("over: completed"), final(ran)


def test_it_aligns_in_dialogue_and_stops_by_command(seat: Seat) -> None:
    repository(seat.folder)
    plan = draft("  - {id: A1, description: Make a1.txt}\n", "a1.txt")

    def agrees(conversation: Conversation) -> Step:
        said = results(conversation)
        name = str(seat.folder / ".runner/draft.yaml")
        if not said:
            return Step(tools=(ToolCall("Write", {"file_path": name, "content": plan}),))
        if len(said) == 1:
            return Step(tools=(bash("dwindle align --from .runner/draft.yaml --yes"),))
        return Step("agreed")

    with ModelServer(*lanes(agrees)) as model:
        seat.says(model, "/dwindle:align-goal Make a1.txt")
    assert seat.plan.objective.goal == "Make files"

    def stops(conversation: Conversation) -> Step:
        said = results(conversation)
        if not said:
            return Step(tools=(bash("dwindle state enter"),))
        if len(said) == 1:
            return Step(tools=(bash('dwindle stop --reason "enough"'),))
        return Step("stopped")

    with ModelServer(*lanes(stops)) as model:
        seat.says(model, "/dwindle:exit-recursion enough")
    assert seat.plan.control.stop_reason == "enough"


# --- bad input -----------------------------------------------------------------------------------


def test_without_dwindle_it_says_how_to_get_it_and_the_session_works(
    stage: Stage, claude: Program
) -> None:
    spaced = stage.root / "a plug in"
    subprocess.run(["cp", "-r", str(PLUGIN), str(spaced)], check=True)
    seat = Seat(stage, claude, spaced)
    seat.folder.joinpath("README").write_text("x\n", "utf-8")

    def tries(conversation: Conversation) -> Step:
        said = results(conversation)
        if not said:
            script = spaced / "skills/state-contract/scripts/read_state.py"
            return Step(tools=(bash(f"dwindle state enter; python3 '{script}'"),))
        return Step(said[-1])

    with ModelServer(*lanes(tries)) as model:
        ran = seat.says(model, "/dwindle:enter-recursion", path="/usr/bin:/bin")
    assert ran.code == 0
    assert "dwindle" in final(ran)


def test_where_there_is_no_plan_the_command_says_so(seat: Seat) -> None:
    repository(seat.folder)
    with ModelServer(*lanes()) as model:
        ran = seat.says(model, "/dwindle:enter-recursion")
    assert final(ran) == "refused: State file not found: .claude/aot-loop-state.md"
