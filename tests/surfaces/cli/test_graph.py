"""`dwindle graph`: pictures that other programs can read."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.surfaces.bad_plans import GRAPH
from tests.surfaces.command import Ended, dwindle, graph_repository, tree_repository

from dwindle.views.picture.text import in_dot, in_mermaid

CHOSEN = (
    GRAPH.replace("choices: [A3, A4]", "choices: [A3, A4, A7_later]")
    .replace("selected: A3\n    failed: []", "selected: A4\n    failed: [A3]")
    .replace('"Login"', r'"Log \"in\" [x] {y} `z` #35; <b> & \\\\ | 登录 "')
    .replace("id: A6", "id: end.x-1")
)

MERMAID = """\
flowchart TD
    n0["A1<br>User model"]:::ready
    n1["A2<br>Log #34;in#34; #91;x#93; #123;y#125; #96;z#96; #35;35#59; #60;b#62; LAST"]:::waiting
    n2["A3<br>Tokens"]:::failed
    n3["A4<br>Sessions"]:::waiting
    n4["A5<br>Token storage"]:::failed
    n5["end.x-1<br>Page"]:::waiting
    n6{"tokens"}
    n7["A7_later"]:::unwritten
    n2 --o n4
    n6 -.->|failed| n2
    n6 ==>|selected| n3
    n6 -.->|choice| n7
    n0 --> n1
    n0 --> n2
    n0 --> n3
    n1 --> n5
    n6 --> n5
    classDef ready fill:#fff9c4,stroke:#666,color:#000
    classDef waiting fill:#ffffff,stroke:#666,color:#000
    classDef failed fill:#ffcdd2,stroke:#666,color:#000
    classDef unwritten fill:#fafafa,stroke:#666,color:#000,stroke-dasharray:4
""".replace("LAST", "#38; #92;#92; #124; 登录")

DOT = r"""digraph plan {
    node [shape=box, style=filled, fillcolor="#ffffff"];
    "A1" [label="A1\nUser model", fillcolor="#fff9c4", tooltip="ready"];
    "A2" [label="A2\nLog \"in\" [x] {y} `z` #35; <b> LAST", fillcolor="#ffffff", tooltip="waiting"];
    "A3" [label="A3\nTokens", fillcolor="#ffcdd2", tooltip="failed"];
    "A4" [label="A4\nSessions", fillcolor="#ffffff", tooltip="waiting"];
    "A5" [label="A5\nToken storage", fillcolor="#ffcdd2", tooltip="failed"];
    "end.x-1" [label="end.x-1\nPage", fillcolor="#ffffff", tooltip="waiting"];
    "tokens" [shape=diamond, label="tokens"];
    "A7_later" [style="filled,dashed"];
    "A3" -> "A5" [arrowhead=odot];
    "tokens" -> "A3" [style=dashed, label="failed"];
    "tokens" -> "A4" [style=bold, label="selected"];
    "tokens" -> "A7_later" [style=dashed, label="choice"];
    "A1" -> "A2";
    "A1" -> "A3";
    "A1" -> "A4";
    "A2" -> "end.x-1";
    "tokens" -> "end.x-1";
}
""".replace("LAST", r"&amp; \\\\ | 登录")


def test_mermaid(tmp_path: Path) -> None:
    assert dwindle(graph_repository(tmp_path, CHOSEN), "graph") == Ended(code=0, out=MERMAID)


def test_dot(tmp_path: Path) -> None:
    folder = graph_repository(tmp_path, CHOSEN)
    assert dwindle(folder, "graph", "--format", "dot") == Ended(code=0, out=DOT)


def test_data(tmp_path: Path) -> None:
    said = dwindle(graph_repository(tmp_path, CHOSEN), "graph", "--format=json")
    assert (said.code, said.err) == (0, "")
    found = json.loads(said.out)
    assert found["kind"] == "graph"
    assert found["atoms"][-1] == {
        "id": "end.x-1",
        "description": "Page",
        "status": "pending",
        "standing": "waiting",
        "parent": None,
        "depends_on": ["A2", "tokens"],
    }
    assert [(a["id"], a["parent"]) for a in found["atoms"] if a["parent"]] == [
        ("A3", "tokens"),
        ("A4", "tokens"),
        ("A5", "A3"),
    ]
    assert found["groups"] == [
        {
            "id": "tokens",
            "parent": None,
            "choices": ["A3", "A4", "A7_later"],
            "selected": "A4",
            "failed": ["A3"],
            "unwritten": ["A7_later"],
            "speculative": False,
        }
    ]
    assert found["decompositions"] == [
        {"parent": "A3", "children": ["A5"], "reason": "Storage comes first"}
    ]


def test_what_is_parked_has_a_colour_of_its_own(tmp_path: Path) -> None:
    used_up = '"User model"\n    status: pending\n    attempts: 3\n    probes: 1'
    stuck = GRAPH.replace('"User model"\n    status: pending', used_up)
    lines = dwindle(graph_repository(tmp_path, stuck), "graph").out.splitlines()
    assert lines[1] == '    n0["A1<br>User model"]:::parked'
    assert "    classDef parked fill:#d1c4e9,stroke:#666,color:#000" in lines


def test_a_tree(tmp_path: Path) -> None:
    lines = dwindle(tree_repository(tmp_path), "graph").out.splitlines()
    assert lines[6:10] == ["    n0 --o n1", "    n0 --o n2", "    n2 --o n3", "    n2 --o n4"]


def test_a_race_is_marked(tmp_path: Path) -> None:
    race = GRAPH.replace("    failed: []", "    failed: []\n    speculative: true")
    assert 'n6{"tokens<br>(race)"}' in dwindle(graph_repository(tmp_path, race), "graph").out


def test_long_descriptions_are_cut_and_line_breaks_are_none(tmp_path: Path) -> None:
    long = GRAPH.replace('"Login"', '"' + r"one\ntwo " + "x" * 500 + '"')
    shown = dwindle(graph_repository(tmp_path, long), "graph").out.splitlines()[2]
    assert shown == '    n1["A2<br>one two ' + "x" * 109 + '..."]:::waiting'


def test_no_text_can_leave_its_quotes() -> None:
    every = "".join(map(chr, range(32, 127))) + "é登\u2028\u202e"
    assert re.fullmatch(r"(?:[\w .,:\-/()+=!?']|#\d+;)+", in_mermaid(every))
    quoted = in_dot(every)
    assert re.fullmatch(r'"(?:[^"\\]|\\.)*"', quoted)
    assert '"' not in re.sub(r"\\.", "", quoted[1:-1])
