"""Plan files that must be refused, each for the one reason that it is named after."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

GRAPH: Final = """\
---
objective:
  goal: "Let people log in"
  base_case:
    checklist:
      - item: "Tests pass"
        check:
          type: command
          value: "make test"
  background_intent: "They cannot"
  deliverables: "A login page"
  definition_of_done: "Tests pass"
  constraints:
    max_iterations: 20
    max_parallel_agents: 2
    max_stall_count: 3

control:
  status: pending
  iteration: 0
  stall_count: 0
  prev_pending_count: -1
  stop_requested: false
  stop_reason: null
  redirect_requested: false

atoms:
  - id: A1
    description: "User model"
    status: pending
    depends_on: []
  - id: A2
    description: "Login"
    status: pending
    depends_on: [A1]
  - id: A3
    description: "Tokens"
    status: pending
    depends_on: [A1]
    or_group: tokens
  - id: A4
    description: "Sessions"
    status: pending
    depends_on: [A1]
    or_group: tokens
  - id: A5
    description: "Token storage"
    status: pending
    depends_on: []
  - id: A6
    description: "Page"
    status: pending
    depends_on: [A2, tokens]

decompositions:
  - parent: A3
    children: [A5]
    reason: "Storage comes first"

or_groups:
  tokens:
    choices: [A3, A4]
    selected: A3
    failed: []

bindings: {}

trail: []

corrections: []
---

# Original Prompt

People cannot log in.
"""

Json = dict[str, Any]


def node(name: str, *children: Json, order: int = 0, passes: bool = False) -> Json:
    return {
        "id": name,
        "order": order,
        "title": name.capitalize(),
        "goal": f"{name} is done",
        "acceptance": [],
        "passes": passes,
        "attempts": 0,
        "max_attempts": 3,
        "children": list(children),
    }


TREE: Final[Json] = {
    "version": 1,
    "root": node(
        "root",
        node("parse", order=10, passes=True),
        node("store", node("table", order=10), node("index", order=20), order=20),
    ),
}


def text(tree: Json) -> str:
    return json.dumps(tree, indent=2) + "\n"


def graph(old: str, new: str) -> bytes:
    """The good graph with one thing changed."""
    assert old in GRAPH, old
    return GRAPH.replace(old, new, 1).encode("utf-8", "surrogatepass")


def tree(change: Callable[[Json], object]) -> bytes:
    """The good tree with one thing changed."""
    changed = deepcopy(TREE)
    change(changed["root"])
    return text(changed).encode()


FIRST_LIMIT = "max_iterations: 20"

BAD_GRAPHS: Final[Mapping[str, bytes]] = {
    "a key given twice": graph("goal:", 'goal: "twice"\n  goal:'),
    "an unknown key": graph("deliverables:", "delivrables:"),
    "a wrong type": graph("depends_on: [A1]", "depends_on: A1"),
    "NaN": graph(FIRST_LIMIT, "max_iterations: .nan"),
    "a boolean for a number": graph(FIRST_LIMIT, "max_iterations: true"),
    "a float for a number": graph(FIRST_LIMIT, "max_iterations: 20.0"),
    "100,000 levels": graph("trail: []", "trail: " + "[" * 100_000 + "]" * 100_000),
    "invalid UTF-8": GRAPH.encode().replace(b"User", b"Us\xff\xfer"),
    "CR LF": GRAPH.replace("\n", "\r\n").encode(),
    "a byte order mark": b"\xef\xbb\xbf" + GRAPH.encode(),
    "no front matter": b"# Just a page\n",
    "an unfinished front matter": b"---\nobjective:\n",
    "two documents": GRAPH.replace(
        "---\n\n# Orig", "---\natoms:\n  - id: A1\n---\n# Orig"
    ).encode(),
    "an empty file": b"",
    "an empty checklist": graph(
        GRAPH[GRAPH.index("    checklist:") : GRAPH.index("  background")], "    checklist: []\n"
    ),
    "a limit of 0": graph(FIRST_LIMIT, "max_iterations: 0"),
    "a negative limit": graph(FIRST_LIMIT, "max_iterations: -5"),
    "an unknown id": graph("depends_on: [A2, tokens]", "depends_on: [A2, A9]"),
    "a self-dependency": graph("depends_on: [A2, tokens]", "depends_on: [A6]"),
    "a cycle": graph("depends_on: []", "depends_on: [A6]"),
    "a cycle through an ancestor": graph(
        '"Token storage"\n    status: pending\n    depends_on: []',
        '"Token storage"\n    status: pending\n    depends_on: [A3]',
    ),
    "a dependency on a choice that may not be taken": graph("[A2, tokens]", "[A2, A5]"),
    "an impossible id": graph("id: A6", 'id: "../A6"'),
    "binary rubbish": bytes(range(256)) * 64,
    "exploding aliases": graph("trail: []", "trail: &a [x, x]\nbindings2: [*a, *a, *a]"),
    "a lone surrogate": graph('"User model"', '"User \\ud800 model"'),
}

BAD_TREES: Final[Mapping[str, bytes]] = {
    "a key given twice": text(TREE).replace('"version": 1', '"version": 1, "version": 1').encode(),
    "an unknown key": tree(lambda root: root.update(note="x")),
    "a missing key": tree(lambda root: root.pop("goal")),
    "a wrong type": tree(lambda root: root.update(title=7)),
    "NaN": text(TREE).replace('"order": 0', '"order": NaN').encode(),
    "a boolean for a number": tree(lambda root: root.update(attempts=True)),
    "a float for a number": tree(lambda root: root.update(order=1.0)),
    "100,000 levels": b"[" * 100_000 + b"]" * 100_000,
    "invalid UTF-8": text(TREE).encode().replace(b"Parse", b"Pa\xff\xferse"),
    "CR LF": text(TREE).replace("\n", "\r\n").encode(),
    "a byte order mark": b"\xef\xbb\xbf" + text(TREE).encode(),
    "an empty file": b"",
    "two documents": (text(TREE) * 2).encode(),
    "no attempts allowed": tree(lambda root: root.update(max_attempts=0)),
    "a negative count": tree(lambda root: root.update(attempts=-1)),
    "an id twice": tree(lambda root: root["children"][0].update(id="store")),
    "an impossible id": tree(lambda root: root["children"][0].update(id="../x")),
    "a parent that passes over an open child": tree(lambda root: root.update(passes=True)),
    "binary rubbish": bytes(range(256)) * 64,
    "a trailing comma": text(TREE).replace('"version": 1,', '"version": 1,,').encode(),
    "another version": text(TREE).replace('"version": 1', '"version": 2').encode(),
    "a blank goal": tree(lambda root: root.update(goal="  ")),
}

REFUSED_CHANGES: Final[Mapping[str, bytes]] = {
    "an agent sets passes": tree(lambda r: r["children"][1]["children"][0].update(passes=True)),
    "an agent resets attempts": tree(lambda r: r["children"][1].update(attempts=2)),
    "a passed node is edited": tree(lambda r: r["children"][0].update(goal="less")),
    "a passed node is reordered": tree(lambda r: r["children"][0].update(order=15)),
    "a passed node is moved": tree(
        lambda r: r["children"][1]["children"].append(r["children"].pop(0))
    ),
    "a passed node is removed": tree(lambda r: r["children"].pop(0)),
    "a passed node is reopened": tree(lambda r: r["children"][0].update(passes=False)),
    "a passed node gets a child": tree(
        lambda r: r["children"][0]["children"].append(node("more", passes=True))
    ),
}
