"""A rehearsal: the scripted agent, started as it always is, as a program."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dwindle.adapters.agents.reports.report import decode
from dwindle.adapters.agents.scripted import scripted_agent
from dwindle.kernel.events import NewAtom
from dwindle.kernel.model import ROOT, AtomId, Role
from dwindle.ports.agent import Place
from dwindle.ports.work import (
    NoReport,
    Occasion,
    Order,
    PlannerQuestions,
    PlanningOrder,
    ProbeReport,
    Proposal,
    Purpose,
    Report,
    Trouble,
    VerifierReport,
    WorkerReport,
    WorkOrder,
)
from dwindle.runner.orders.planning import planning_order_json
from dwindle.runner.orders.work import order_json
from dwindle.scripted.script import ScriptRefused, load
from dwindle.testing.agents import ORDER, PLAN, set_up
from dwindle.testing.bare_process import BareProcess

DOCS = Path(__file__).parents[3] / "docs" / "agents.md"


def _order_json(order: Order) -> bytes:
    if isinstance(order, PlanningOrder):
        return planning_order_json(order)
    return order_json(order)


def session(script: Path, folder: Path, order: Order = ORDER) -> tuple[Report, Place]:
    place = set_up(folder, order)
    place.order.write_bytes(_order_json(order))
    agent = scripted_agent(script)
    assert agent.name == "scripted"
    ended = asyncio.run(BareProcess().run(agent.launch(order, place)))
    return agent.conclude(order, place, ended).report, place


def written(folder: Path, text: str, name: str = "script.yaml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


STORY = """\
worker:
  A1:
    - do:
        - write: {src/a.py: "x = 1\\n", src/b.py: "y = 2\\n"}
        - append: {src/a.py: "z = 3\\n"}
          delete: [src/b.py]
        - run: "cat > prompt.txt; ls src > seen.txt"
        - sleep: 0.01
        - print: [working, "still working"]
      report: {success: false, reason: "the first time never works"}
    - do: [{write: {"${atom}-${session_of_atom}.txt": "${role} ${HOME}"}}]
      report: {success: true, summary: "done by ${atom}", artifacts: ["${atom}-2.txt"]}
  A2:
    - {report: {success: true, summary: printed}, report_on: stdout}
  A3:
    - report_text: '{"success": tru'
  A4:
    - {do: [{run: "echo oh no >&2; exit 7"}], report: {success: true, summary: never}}
  A5:
    - {exit: 75}
  A6:
    - {do: [{delete: [nothing.txt]}]}
  A7:
    - {report: {success: true, summary: done}, exit: 4}
probe:
  "*":
    - report:
        feasible: true
        findings: split it
        decomposition: {reason: large, children: [{description: a half}]}
verifier:
  The manual is good:
    - report: {passed: false, evidence: "no manual", failures: ["there is none"]}
"""


def on(name: str, number: int = 1) -> WorkOrder:
    return replace(ORDER, atom=AtomId(name), session_of_atom=number)


def test_the_steps_are_done_in_the_order_written(tmp_path: Path) -> None:
    report, place = session(written(tmp_path, STORY), tmp_path / "session")
    assert report == WorkerReport(reason="the first time never works")
    there = {
        str(path.relative_to(place.workspace)): path.read_text("utf-8")
        for path in place.workspace.rglob("*")
        if path.is_file()
    }
    assert there == {
        "src/a.py": "x = 1\nz = 3\n",
        "prompt.txt": "Write it.\n",
        "seen.txt": "a.py\n",
    }


@pytest.mark.parametrize("number", [2, 3, 50])
def test_the_last_entry_is_repeated(tmp_path: Path, number: int) -> None:
    report, place = session(written(tmp_path, STORY), tmp_path / "session", on("A1", number))
    assert report == WorkerReport(success=True, summary="done by A1", artifacts=("A1-2.txt",))
    found = place.workspace / f"A1-{number}.txt"
    assert found.read_text("utf-8") == "worker ${HOME}"


@pytest.mark.parametrize(
    ("order", "report"),
    [
        (on("A2"), WorkerReport(success=True, summary="printed")),
        (
            on("A3"),
            NoReport(
                trouble=Trouble.MALFORMED,
                reason="the report is malformed: it is not JSON: Expecting value "
                "(line 1, column 13)",
            ),
        ),
        (
            on("A4"),
            NoReport(
                trouble=Trouble.FAILED,
                reason="it ended with exit code 7\noh no\n"
                "run ended with exit code 7: echo oh no >&2; exit 7",
            ),
        ),
        (on("A5"), NoReport(trouble=Trouble.RATE_LIMITED, reason="it ended with exit code 75")),
        (
            on("A6"),
            NoReport(
                trouble=Trouble.FAILED,
                reason="it ended with exit code 1\ncould not delete: "
                "[Errno 2] No such file or directory: 'nothing.txt'",
            ),
        ),
        (
            on("A7"),
            NoReport(
                trouble=Trouble.FAILED,
                reason="it ended with exit code 4, so that its report of success does not count",
            ),
        ),
        (
            on("A99"),
            NoReport(
                trouble=Trouble.FAILED,
                reason="it ended with exit code 66\nthe script has nothing for a worker on A99",
            ),
        ),
        (
            replace(on("A99"), role=Role.PROBE, purpose=Purpose.PLAN),
            ProbeReport(
                feasible=True,
                findings="split it",
                decomposition=Proposal(new=(NewAtom(description="a half"),), reason="large"),
            ),
        ),
        (
            replace(
                on(ROOT),
                role=Role.VERIFIER,
                purpose=Purpose.JUDGE,
                description="The manual is good",
            ),
            VerifierReport(passed=False, evidence="no manual", failures=("there is none",)),
        ),
    ],
)
def test_every_kind_of_end_can_be_rehearsed(
    tmp_path: Path, order: WorkOrder, report: Report
) -> None:
    assert session(written(tmp_path, STORY), tmp_path / "session", order)[0] == report


BAD = """\
worker:
  A1: {report: {}}
  A2: []
  A3:
    - later
    - do: make
    - do: [make, {}, {shout: hello}, {write: a.py}, {write: {a: 1}}, {delete: a}]
    - do: [{run: [a]}, {sleep: long}, {sleep: -1}, {print: 3}, {sleep: 1, print: fine}]
    - {exit: 256, report_on: paper, report: {}, report_text: 3}
    - reprot: {}
judge:
  A1: []
probe: []
"""


def test_a_bad_script_is_told_all_that_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ScriptRefused) as refused:
        load(written(tmp_path, BAD))
    verbs = "use some of write, append, delete, run, sleep, print, tree"
    keys = "use some of do, report, report_text, report_on, exit"
    listed = "is not a list with at least one entry (begin each session's entry with a dash)"
    texts = "give a mapping from paths to texts"
    assert str(refused.value).splitlines() == [
        f"script.yaml:2: worker.A1: {listed}",
        f"script.yaml:3: worker.A2: {listed}",
        f"script.yaml:5: worker.A3.0: an entry is a mapping ({keys})",
        "script.yaml:6: worker.A3.1.do: is not a list of steps (- run: make)",
        f"script.yaml:7: worker.A3.2.do.0: a step is a mapping ({verbs})",
        f"script.yaml:7: worker.A3.2.do.1: a step is a mapping ({verbs})",
        f"script.yaml:7: worker.A3.2.do.2.shout: 'shout' is unknown ({verbs})",
        f"script.yaml:7: worker.A3.2.do.3.write: cannot write that ({texts})",
        f"script.yaml:7: worker.A3.2.do.4.write: cannot write that ({texts})",
        "script.yaml:7: worker.A3.2.do.5.delete: cannot delete that (give a list of paths)",
        "script.yaml:8: worker.A3.3.do.0.run: cannot run that (give one line for the shell)",
        "script.yaml:8: worker.A3.3.do.1.sleep: cannot sleep that (give seconds, at most 86400)",
        "script.yaml:8: worker.A3.3.do.2.sleep: cannot sleep that (give seconds, at most 86400)",
        "script.yaml:8: worker.A3.3.do.3.print: cannot print that (give a text or a list of them)",
        "script.yaml:9: worker.A3.4: has report and report_text (keep one of them)",
        "script.yaml:9: worker.A3.4.report_text: is not a text (quote it)",
        "script.yaml:9: worker.A3.4.report_on: is neither file nor stdout",
        "script.yaml:9: worker.A3.4.exit: is no exit code (0 to 255)",
        f"script.yaml:10: worker.A3.5.reprot: 'reprot' is unknown ({keys})",
        "script.yaml:11: judge: 'judge' is no role (use worker, probe, verifier, planner)",
        "script.yaml:13: probe: is not a mapping (from atoms, or '*', to lists of entries)",
    ]


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("s.yaml", b"- a",
         "s.yaml: a script is a mapping (with some of worker, probe, verifier, planner)"),
        ("s.yaml", b"worker: {A1: []}\nworker: {}", ("s.yaml:2: worker: the key 'worker' is there "
         "twice (keep one of them)")),
        ("s.yaml", b"\xff", "s.yaml: it is not UTF-8"),
        ("s.json", b'{"worker": {}, "worker": {}}', "s.json: it has the key 'worker' twice"),
        ("s.json", b'{"me": {}}',
         "s.json: me: 'me' is no role (use worker, probe, verifier, planner)"),
        ("s.json", b'{"planner": {"A1": [{}], "align": [{}], "*": [{}]}}',
         "s.json: planner.A1: there is no planning for 'A1' (use align, redirect)"),
    ],
)  # fmt: skip
def test_a_script_that_is_none(tmp_path: Path, name: str, data: bytes, says: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ScriptRefused) as refused:
        load(path)
    assert str(refused.value) == says


def test_a_session_with_a_bad_script_says_so(tmp_path: Path) -> None:
    report, _ = session(tmp_path / "missing.yaml", tmp_path / "session")
    assert report == NoReport(
        trouble=Trouble.FAILED,
        reason="it ended with exit code 65\n"
        "missing.yaml: the script could not be read: No such file or directory",
    )


def test_started_by_hand_it_says_how() -> None:
    clean = {name: value for name, value in os.environ.items() if name != "DWINDLE_ORDER"}
    said = subprocess.run(
        [sys.executable, "-m", "dwindle.scripted"],
        capture_output=True,
        check=False,
        text=True,
        env=clean,
    )
    assert said.returncode == 64
    assert said.stderr.startswith("usage: ")


def test_modules_in_the_workspace_are_not_taken_for_ours(tmp_path: Path) -> None:
    script = written(tmp_path, STORY)
    place = set_up(tmp_path / "session")
    place.order.write_bytes(order_json(on("A2")))
    for name in ("json.py", "dwindle.py", "yaml.py"):
        (place.workspace / name).write_text("raise SystemExit(99)", "utf-8")
    agent = scripted_agent(script)
    ended = asyncio.run(BareProcess().run(agent.launch(on("A2"), place)))
    assert agent.conclude(on("A2"), place, ended).report == WorkerReport(
        success=True, summary="printed"
    )


PLANNER = """\
planner:
  align:
    - report: {questions: ["${role}, for the first time?"]}
    - report: {questions: [Again?]}
  redirect:
    - exit: 3
"""


@pytest.mark.parametrize(("number", "asked"), [(1, "planner, for the first time?"), (2, "Again?")])
def test_a_planner_follows_the_entries_of_its_purpose(
    number: int, asked: str, tmp_path: Path
) -> None:
    order = replace(PLAN, session=number)
    report, _ = session(written(tmp_path, PLANNER), tmp_path / "session", order)
    assert report == PlannerQuestions(questions=(asked,))


def test_a_planner_without_an_entry_says_so(tmp_path: Path) -> None:
    script = written(tmp_path, "planner: {redirect: [{exit: 3}]}")
    report, _ = session(script, tmp_path / "session", PLAN)
    assert report == NoReport(
        trouble=Trouble.FAILED,
        reason="it ended with exit code 66\nthe script has nothing for a planner on align",
    )


def test_the_example_in_the_manual_is_a_script(tmp_path: Path) -> None:
    found = re.findall(r"```yaml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    assert len(found) == 1
    report, place = session(written(tmp_path, found[0]), tmp_path / "session", on("A1", 2))
    assert isinstance(report, WorkerReport)
    assert report.success
    assert all((place.workspace / path).is_file() for path in report.artifacts)


def test_the_reports_in_the_manual_are_reports() -> None:
    text = DOCS.read_text("utf-8")
    orders: dict[str, Order] = {
        "worker": ORDER,
        "probe": replace(ORDER, role=Role.PROBE),
        "verifier": replace(ORDER, role=Role.VERIFIER),
    }
    plans: dict[str, Order] = {
        "align": PLAN,
        "redirect": replace(PLAN, purpose=Occasion.REDIRECT),
    }
    orders |= plans
    examples = re.findall(r"<!-- (\w+) -->\n```json\n(.*?)```", text, re.DOTALL)
    assert sorted({role for role, _ in examples}) == sorted(orders)
    for role, example in examples:
        assert not isinstance(decode(orders[role], example.encode()).report, NoReport), example
        json.loads(example)
