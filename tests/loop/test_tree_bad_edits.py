"""Agents that do to the tree what they may not: refused as a whole, repaired, and the run goes on.

What they wrote besides stays in the iteration's commit; the tree is as it was before. Of all the
ways to do wrong each has a leaf, in one run; the repairs after the first three of them do nothing,
and after that the root has no planning session left, so that the next leaf is taken at once.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.loop.story import Entry
from tests.loop.tree_story import Ending, TreeStory, did, edit, ran, works, wrote

pytestmark = pytest.mark.slow


def bad(folder: Path, *steps: Entry) -> TreeStory:
    story = (
        TreeStory(folder)
        .leaves("p", "a", most=3)
        .node("a", did(wrote(x_txt="x\n"), *steps), works("a"))
        .node("root", did())
    )
    story.root["children"][0].update(passes=True, attempts=1)
    return story


GOOD_IN_THE_END = Ending(
    code=0,
    iterations=(
        "0001 node a execute guard=skipped",
        "0002 node root decompose guard=skipped",
        "0003 node a execute guard=pass",
    ),
    tree=("root passes 0/3", "  p passes 1/3", "  a passes 1/3"),
    files={"x.txt": "x\n", "a.txt": "a\n"},
)


def reasons(story: TreeStory, number: int = 1) -> list[str]:
    refused = json.loads((story.logs(number) / "refusal.json").read_bytes())
    return [problem["what"] for problem in refused["problems"]]


EDITS: dict[str, tuple[str, list[str]]] = {
    "passes": ("node('{me}')['passes'] = True", ["{me} was marked as passed by the agent"]),
    "reopens": ("node('p')['passes'] = False", ["p has passed and was reopened"]),
    "attempts": ("node('{me}')['attempts'] = 2", ["attempts of {me} went from 0 to 2"]),
    "max attempts": (
        "node('{me}')['max_attempts'] = 9",
        ["max_attempts of {me} went from 3 to 9"],
    ),
    "edits what passed": (
        "node('p').update(goal='less', order=5)",
        ["p has passed and its order was changed", "p has passed and its goal was changed"],
    ),
    "deletes what passed": ("take('p')", ["p has passed and is gone"]),
    "moves what passed": (
        "node('{me}')['children'] = [take('p'), new('b')]",
        ["p has passed and was moved from root to {me}"],
    ),
    "adds below what passed": ("split('p', 'q')", ["the node passes but not all its children do"]),
    "new and passed": (
        "split('root', 'b'); node('b')['passes'] = True",
        ["the new node b says that it has passed"],
    ),
    "new with a large budget": (
        "split('root', 'b', most=11)",
        ["the new node b allows itself 11 attempts"],
    ),
    "another field": ("node('{me}')['mode'] = 'execute'", ["a node has no key 'mode'"]),
    "an id twice": ("split('root', '{me}')", ["the id '{me}' is taken"]),
    "another root": ("tree['root']['id'] = 'top'", ["the root's id is 'top'"]),
    "ten thousand children": (
        "split('{me}', *('n%d' % n for n in range(10000)))",
        ["10000 new nodes, and 169 more may be made (max_nodes)"],
    ),
    "sixty-five levels": (
        "at = node('{me}')\nfor n in range(65): split(at['id'], 'n%d' % n); at = node('n%d' % n)",
        ["more than 64 levels deep"],
    ),
    "several at once": (
        "node('{me}').update(passes=True, attempts=3); node('p')['title'] = 'P'",
        [
            "{me} was marked as passed by the agent",
            "attempts of {me} went from 0 to 3",
            "p has passed and its title was changed",
        ],
    ),
    "no open work left": (
        "[take(one['id']) for one in nodes() if one['id'] != 'root' and not one['passes']]",
        ["no open leaf is left, and nothing was done that a guard could pass"],
    ),
}
FILES = {
    "no JSON": "echo '{' > .runner/tree.json",
    "empty": ": > .runner/tree.json",
    "another version": 'sed -i \'s/"version": 1/"version": 2/\' .runner/tree.json',
    "a key twice": 'sed -i \'0,/"order"/s//"order": 0, "order"/\' .runner/tree.json',
    "no UTF-8": "printf '\\377' >> .runner/tree.json",
    "removed": "rm .runner/tree.json",
    "a folder": "rm .runner/tree.json && mkdir -p .runner/tree.json/deep",
    "a link": "mv .runner/tree.json t.json && ln -s ../t.json .runner/tree.json",
    "a link to nowhere": "ln -sf /nowhere .runner/tree.json",
    "a pipe": "rm .runner/tree.json && mkfifo .runner/tree.json",
    "deep": "head -c 100000 /dev/zero | tr '\\0' '[' > .runner/tree.json",
    "huge": "truncate -s 3G .runner/tree.json",
}
BAD: dict[str, tuple[Entry, list[str]]] = {
    f"n{number:02}-{name.replace(' ', '-')}": (step, reasons)
    for number, (name, step, reasons) in enumerate(
        [
            *((name, edit(code), reasons) for name, (code, reasons) in EDITS.items()),
            *((name, ran(line), list[str]()) for name, line in FILES.items()),
        ]
    )
}


def _for(name: str, step: Entry) -> Entry:
    own = {"write": {f"{name}.x": "x\n"}}
    return did(own, {"run": step["run"].replace("{me}", name)})


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> tuple[TreeStory, Ending]:
    """One run with all of them, one leaf after the other."""
    story = (
        TreeStory(tmp_path_factory.mktemp("bad"))
        .settings("limits", "max_iterations = 100")
        .leaves("p", *BAD, most=3)
        .node("root", did())
    )
    story.root["children"][0].update(passes=True, attempts=1)
    for name, (step, _) in BAD.items():
        story.node(name, _for(name, step), works(name))
    return story, story.run()


def test_the_run_goes_on_to_the_right_end(gallery: tuple[TreeStory, Ending]) -> None:
    _, ended = gallery

    fixed = dict.fromkeys(list(BAD)[:3], "node root decompose guard=skipped")
    lines = [
        line
        for name in BAD
        for line in (
            f"node {name} execute guard=skipped",
            *([fixed[name]] if name in fixed else []),
            f"node {name} execute guard=pass",
        )
    ]
    assert ended == Ending(
        code=0,
        iterations=tuple(f"{n:04} {line}" for n, line in enumerate(lines, start=1)),
        tree=("root passes 0/3", "  p passes 1/3", *(f"  {name} passes 1/3" for name in BAD)),
        files={f"{name}.x": "x\n" for name in BAD}
        | {f"{name}.txt": f"{name}\n" for name in BAD}
        | {"t.json": ended.files["t.json"]},
    )


@pytest.mark.parametrize("name", BAD)
def test_an_edit_is_refused(gallery: tuple[TreeStory, Ending], name: str) -> None:
    """The tree of that iteration is the one before, with one attempt used; the reasons are all."""
    story, ended = gallery
    at = next(i for i, line in enumerate(ended.iterations) if f" {name} " in line)
    before, after = (json.loads((story.logs(at + 1) / f"tree.{w}.json").read_bytes()) for w in ENDS)
    _node(before, name)["attempts"] += 1
    expected = [reason.replace("{me}", name) for reason in BAD[name][1]]
    found = reasons(story, at + 1)

    assert after == before
    assert story.meta(at + 1)["tree_edit"] == "refused"
    assert sorted(found) == sorted(expected) if expected else len(found) >= 1


ENDS = ("before", "after")


def _node(tree: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(c for c in tree["root"]["children"] if c["id"] == name)
    return found


def test_an_id_that_was_removed_does_not_come_back(tmp_path: Path) -> None:
    story = (
        TreeStory(tmp_path)
        .leaves("a", "b", most=3)
        .node("a", did(edit("replace('a', 'a2')")))
        .node("a2", did(edit("split('root', 'a')")), works("a2"))
        .node("root", did())
    )

    assert story.run() == Ending(
        code=0,
        iterations=(
            "0001 node a decompose guard=skipped",
            "0002 node a2 decompose guard=skipped",
            "0003 node root decompose guard=skipped",
            "0004 node a2 execute guard=pass",
            "0005 node b execute guard=pass",
        ),
        tree=("root passes 0/3", "  a2 passes 1/2", "  b passes 0/3"),
        files={"a2.txt": "a2\n", "b.txt": "b\n"},
    )
    assert reasons(story, 2) == ["a was removed in an earlier iteration and is back"]


def test_two_repairs_at_most_and_then_the_next_leaf(tmp_path: Path) -> None:
    """They are refused as well: each is an attempt on the root, and nothing is stuck."""
    story = bad(tmp_path, ran("echo '{' > .runner/tree.json"))
    story.node("root", did(ran("echo '{{' > .runner/tree.json")))

    ended = story.run()

    assert ended == Ending(
        code=0,
        iterations=(
            "0001 node a execute guard=skipped",
            "0002 node root decompose guard=skipped",
            "0003 node root decompose guard=skipped",
            "0004 node a execute guard=pass",
        ),
        tree=("root passes 2/3", *GOOD_IN_THE_END.tree[1:]),
        files=GOOD_IN_THE_END.files,
    )
    asked = [json.loads((story.logs(n) / "refusal.json").read_bytes()) for n in (1, 2, 3)]
    assert [one["in_a_row"] for one in asked] == [1, 2, 3]
    assert "{{" in story.prompt(3)


def test_a_repair_that_is_interrupted_comes_after_the_restart(tmp_path: Path) -> None:
    """What was refused is remembered by the log of the iteration, not by the runner."""
    story = bad(tmp_path, edit("node('a')['passes'] = True"))
    story.run(command="step")
    assert story.iterations() == ("0001 node a execute guard=skipped",)

    assert story.run() == GOOD_IN_THE_END
    assert "a was marked as passed by the agent" in story.prompt(2)


def test_work_in_a_repair_is_set_aside(tmp_path: Path) -> None:
    story = bad(tmp_path, edit("node('a')['passes'] = True"))
    story.node("root", did(wrote(y_txt="y\n"), ran("echo more >> justfile")))

    ended = story.run()

    assert ended == Ending(**{**vars(GOOD_IN_THE_END), "kept": ("root/2",)})
    kept = story.kept_files("root/2")
    assert (kept["y.txt"], "tools/edit.py" in kept, "more\n" in kept["justfile"]) == (
        "y\n",
        False,
        True,
    )


def test_the_settings_are_put_back_without_a_sandbox(tmp_path: Path) -> None:
    line = "printf '[limits]\\nmax_nodes = 9\\n' > .runner/config.toml"
    story = bad(tmp_path, ran(line), edit("split('root', 'c')")).prepared()
    before = (story.folder / ".runner/config.toml").read_bytes()

    assert story.run("--no-sandbox") == GOOD_IN_THE_END
    assert reasons(story) == ["the settings were changed"]
    assert (story.folder / ".runner/config.toml").read_bytes() == before
    kept = (story.logs(1) / "config.refused.toml").read_text("utf-8")
    assert kept == "[limits]\nmax_nodes = 9\n"


def test_the_settings_are_out_of_reach_in_the_sandbox(tmp_path: Path) -> None:
    """A session that fails on them is one that crashed."""
    story = bad(tmp_path, ran("echo > .runner/config.toml")).prepared()
    before = (story.folder / ".runner/config.toml").read_bytes()

    ended = story.run()

    assert ended.iterations == (
        "0001 node a execute guard=skipped",
        "0002 node a execute guard=pass",
    )
    assert (ended.code, ended.tree) == (0, GOOD_IN_THE_END.tree)
    assert (story.folder / ".runner/config.toml").read_bytes() == before
    assert "it ended with exit code" in story.meta(1)["failure"]
