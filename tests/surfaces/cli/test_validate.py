"""`dwindle validate`: every problem at once, 0 or 2, and never a changed file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.surfaces.bad_plans import GRAPH, REFUSED_CHANGES, TREE, text
from tests.surfaces.cli.refusals import CASES, kept
from tests.surfaces.command import (
    GRAPH_FILE,
    TREE_FILE,
    Ended,
    dwindle,
    git,
    graph_repository,
    repository,
    tree_repository,
    write,
)

from dwindle.surfaces.entry import answer

GOOD_GRAPH = f"{GRAPH_FILE}: ok (graph plan, 6 atoms)\n"
GOOD_TREE = f"{TREE_FILE}: ok (tree plan, 5 nodes, compared with HEAD)\n"
EDITED = REFUSED_CHANGES["a passed node is edited"]
EDITED_SAID = (
    f"{TREE_FILE}:17: parse has passed and its goal was changed (root.children[0].goal)\n"
    "    hint: put it back as it was; improve on it in a new node\n"
    f"{TREE_FILE}: 1 problem\n"
)


def test_limits_that_will_be_met_before_the_work_is_done_are_a_warning(tmp_path: Path) -> None:
    few = GRAPH.replace("max_iterations: 20", "max_iterations: 2")
    assert dwindle(graph_repository(tmp_path, few), "validate") == Ended(
        code=0,
        out=f"{GRAPH_FILE}:14: warning: about 9 sessions are to be expected (one in two "
        "succeeds), and 2 iterations of 2 allow 4: the run will end before it is done "
        "(objective.constraints.max_iterations)\n"
        "    hint: raise it to 9 or more: `dwindle redirect --set max_iterations=9`\n"
        f"{GRAPH_FILE}: ok (graph plan, 6 atoms, 0 problems, 1 warning)\n",
    )


# --- what is refused -----------------------------------------------------------------------------


def test_every_bad_input_has_an_answer_on_record() -> None:
    assert list(kept()) == list(CASES)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a good tree in HEAD."""
    return tree_repository(tmp_path_factory.mktemp("shared"))


@pytest.mark.parametrize("case", CASES)
def test_a_bad_plan_is_refused_and_left_alone(
    case: str, shared: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file, data = CASES[case]
    path = write(shared, file, data)
    before = {each: each.stat().st_mtime_ns for each in sorted(shared.rglob("*"))}
    monkeypatch.chdir(shared)
    code = answer(["validate", file])
    out, err = capfd.readouterr()
    assert Ended(code=code, out=out, err=err) == Ended(code=2, out=kept()[case])
    assert path.read_bytes() == data
    assert {each: each.stat().st_mtime_ns for each in sorted(shared.rglob("*"))} == before


@pytest.mark.parametrize("kind", ["plan.md", "tree.json"])
def test_a_file_of_100_megabytes_is_not_even_read(kind: str, tmp_path: Path) -> None:
    with write(tmp_path, kind, b"").open("r+b") as file:
        file.truncate(100 * 1024 * 1024)
    assert dwindle(tmp_path, "validate", kind) == Ended(
        code=2,
        out=f"{kind}: the file has 104857600 bytes; at most 67108864 are read\n"
        f"    hint: is this a plan?\n{kind}: 1 problem\n",
    )


def test_every_problem_is_said_at_once(tmp_path: Path) -> None:
    text = GRAPH.replace("[A2, tokens]", "[A2, A9]").replace(
        "max_iterations: 20", "max_iterations: 0"
    )
    write(tmp_path, "plan.md", text.replace("max_stall_count: 3", "max_stall_count: 2"))
    assert dwindle(tmp_path, "validate", "plan.md") == Ended(
        code=2,
        out="plan.md:14: max_iterations is 0, which would allow nothing"
        " (objective.constraints.max_iterations)\n"
        "    hint: give 1 or more; leave it out for the default\n"
        "plan.md:16: warning: max_stall_count 2 is below max_attempts 3: the run may stop while"
        " attempts are left (objective.constraints.max_stall_count)\n"
        "    hint: raise it to 3\n"
        "plan.md:53: A9 does not exist (atoms[5].depends_on)\n"
        "    hint: add it, or remove the mention\n"
        "plan.md: 2 problems, 1 warning\n",
    )


def test_a_warning_is_no_reason_to_refuse(tmp_path: Path) -> None:
    write(tmp_path, "plan.md", GRAPH.replace("max_stall_count: 3", "max_stall_count: 2"))
    assert dwindle(tmp_path, "validate", "plan.md") == Ended(
        code=0,
        out="plan.md:16: warning: max_stall_count 2 is below max_attempts 3: the run may stop while"
        " attempts are left (objective.constraints.max_stall_count)\n"
        "    hint: raise it to 3\n"
        "plan.md: ok (graph plan, 6 atoms, 0 problems, 1 warning)\n",
    )


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    write(tmp_path, "plan.md", GRAPH.replace("[A2, tokens]", r'["\e[31mA9"]'))
    said = dwindle(tmp_path, "validate", "plan.md")
    assert said.code == 2
    assert said.out.replace("\n", "").isprintable()


# --- where plans are found -----------------------------------------------------------------------


def test_the_plans_of_the_repository_are_found_from_any_folder_in_it(tmp_path: Path) -> None:
    folder = repository(tmp_path, graph=GRAPH, tree=text(TREE))
    deep = folder / "src" / "deep"
    deep.mkdir(parents=True)
    assert dwindle(folder, "validate") == Ended(code=0, out=GOOD_GRAPH + GOOD_TREE)
    assert dwindle(deep, "validate") == Ended(
        code=0,
        out="".join(f"../../{line}\n" for line in (GOOD_GRAPH + GOOD_TREE).splitlines()),
    )
    assert dwindle(tmp_path.parent, "validate", str(folder)).code == 0


def test_a_project_inside_a_larger_one_is_its_own(tmp_path: Path) -> None:
    inner = tree_repository(tmp_path) / "inner"
    write(inner, GRAPH_FILE, GRAPH)
    assert dwindle(inner, "validate") == Ended(code=0, out=GOOD_GRAPH)


def test_nothing_above_is_looked_at_outside_a_repository(tmp_path: Path) -> None:
    write(tmp_path, GRAPH_FILE, GRAPH)
    inner = tmp_path / "inner"
    inner.mkdir()
    assert dwindle(inner, "validate") == Ended(
        code=2,
        err=f"dwindle: there is no plan: no {GRAPH_FILE} or {TREE_FILE} in {inner}\n"
        "  `dwindle align` agrees on one, `dwindle init` makes a tree; `dwindle validate PATH`\n"
        "  checks any file\n",
    )


def test_no_plan_in_a_repository_says_how_far_it_looked(tmp_path: Path) -> None:
    inner = repository(tmp_path) / "inner"
    inner.mkdir()
    said = dwindle(inner, "status")
    assert said.err.splitlines()[0] == (
        f"dwindle: there is no plan: no {GRAPH_FILE} or {TREE_FILE} in {inner}"
        f" and above, up to {tmp_path}"
    )
    assert (said.code, said.out) == (2, "")


@pytest.mark.parametrize(
    ("name", "content", "what", "hint"),
    [
        ("plan", b"hello", "this is no plan: neither front matter (---) nor JSON ({)",
         "a graph plan ends in .md, a tree plan in .json"),
        ("plan", b"", "this is no plan: neither front matter (---) nor JSON ({)",
         "a graph plan ends in .md, a tree plan in .json"),
        ("gone.md", None, "the file cannot be read: No such file or directory", ""),
        ("a/b.json", None, "the file cannot be read: No such file or directory", ""),
        ("/dev/zero", None, "this is not a regular file", "name a plan file"),
    ],
)  # fmt: skip
def test_what_is_no_plan_is_named(
    name: str, content: bytes | None, what: str, hint: str, tmp_path: Path
) -> None:
    if content is not None:
        write(tmp_path, name, content)
    advice = f"    hint: {hint}\n" if hint else ""
    assert dwindle(tmp_path, "validate", name) == Ended(
        code=2, out=f"{name}: {what}\n{advice}{name}: 1 problem\n"
    )


def test_a_plan_without_a_telling_name_is_told_by_its_content(tmp_path: Path) -> None:
    write(tmp_path, "one", GRAPH)
    write(tmp_path, "two", text(TREE))
    assert dwindle(tmp_path, "validate", "one").out == "one: ok (graph plan, 6 atoms)\n"
    assert dwindle(tmp_path, "validate", "two").out == "two: ok (tree plan, 5 nodes)\n"


def test_a_folder_in_the_place_of_a_plan_is_not_overlooked(tmp_path: Path) -> None:
    (tmp_path / GRAPH_FILE).mkdir(parents=True)
    assert dwindle(tmp_path, "validate") == Ended(
        code=2,
        out=f"{GRAPH_FILE}: this is a folder\n    hint: name a plan file\n"
        f"{GRAPH_FILE}: 1 problem\n",
    )


def test_more_nodes_than_may_be_made_are_a_warning(tmp_path: Path) -> None:
    tree = json.loads(json.dumps(TREE))
    leaf = tree["root"]["children"][1]["children"][0]
    tree["root"]["children"] += [leaf | {"id": f"n{number}", "order": 99} for number in range(300)]
    write(tmp_path, "tree.json", text(tree))
    assert dwindle(tmp_path, "validate", "tree.json") == Ended(
        code=0,
        out="tree.json: warning: the tree has 305 nodes, and at most 200 may ever be made (root)\n"
        "    hint: no further node can be added\n"
        "tree.json: ok (tree plan, 305 nodes, 0 problems, 1 warning)\n",
    )


# --- for programs --------------------------------------------------------------------------------


def test_json_says_the_same(tmp_path: Path) -> None:
    folder = repository(tmp_path, graph=GRAPH.replace("[A2, tokens]", "[A9]"), tree=text(TREE))
    said = dwindle(folder, "validate", "--json")
    assert (said.code, said.err) == (2, "")
    assert json.loads(said.out) == {
        "ok": False,
        "plans": [
            {
                "path": GRAPH_FILE,
                "kind": "graph",
                "against": None,
                "problems": [
                    {
                        "line": 53,
                        "where": ["atoms", 5, "depends_on"],
                        "what": "A9 does not exist",
                        "hint": "add it, or remove the mention",
                        "warning": False,
                    }
                ],
            },
            {"path": TREE_FILE, "kind": "tree", "against": "HEAD", "problems": []},
        ],
    }


# --- a tree beside its earlier version -----------------------------------------------------------


def test_a_tree_is_compared_with_head_with_a_file_and_with_a_revision(tmp_path: Path) -> None:
    folder = tree_repository(tmp_path)
    write(folder, TREE_FILE, EDITED)
    assert dwindle(folder, "validate") == Ended(code=2, out=EDITED_SAID)
    git(folder, "commit", "--quiet", "--all", "--message=second")
    assert dwindle(folder, "validate") == Ended(code=0, out=GOOD_TREE)
    assert dwindle(folder, "validate", "--against", "HEAD~1") == Ended(code=2, out=EDITED_SAID)
    write(folder, "old.json", text(TREE))
    assert dwindle(folder, "validate", "--against", "old.json") == Ended(code=2, out=EDITED_SAID)
    inside = GOOD_TREE.replace(TREE_FILE, "tree.json")
    assert dwindle(folder / ".runner", "validate", "--against", "HEAD").out == inside


def test_open_work_may_be_changed(tmp_path: Path) -> None:
    folder = tree_repository(tmp_path)
    tree = json.loads(text(TREE))
    tree["root"]["children"][1]["goal"] = "store it better"
    write(folder, TREE_FILE, text(tree))
    assert dwindle(folder, "validate") == Ended(code=0, out=GOOD_TREE)


def test_nothing_is_compared_before_the_first_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write(tmp_path, TREE_FILE, text(TREE))
    alone = f"{TREE_FILE}: ok (tree plan, 5 nodes)\n"
    assert dwindle(tmp_path, "validate") == Ended(code=0, out=alone)


def test_a_user_who_fixes_a_broken_commit_is_not_stopped(tmp_path: Path) -> None:
    folder = repository(tmp_path, tree="{}")
    write(folder, TREE_FILE, text(TREE))
    why = "not compared: the version in HEAD is no valid tree (2 problems)"
    hint = "    hint: name one that is: --against FILE or --against REV\n"
    assert dwindle(folder, "validate") == Ended(
        code=0,
        out=f"{TREE_FILE}: warning: {why}\n{hint}"
        f"{TREE_FILE}: ok (tree plan, 5 nodes, 0 problems, 1 warning)\n",
    )
    assert dwindle(folder, "validate", "--against", "HEAD") == Ended(
        code=2, out=f"{TREE_FILE}: {why}\n{hint}{TREE_FILE}: 1 problem\n"
    )


@pytest.mark.parametrize("revision", ["nowhere", "--help", "-x", "HEAD~9", "", "a\nb"])
def test_an_unknown_revision_is_refused(revision: str, tmp_path: Path) -> None:
    folder = tree_repository(tmp_path)
    assert dwindle(folder, "validate", f"--against={revision}") == Ended(
        code=2,
        err=f"dwindle: --against {revision}: {revision} is neither a file nor a revision\n"
        "  `git log --oneline` lists revisions\n",
    )


def test_a_revision_without_the_tree_is_refused(tmp_path: Path) -> None:
    folder = graph_repository(tmp_path)
    write(folder, TREE_FILE, text(TREE))
    assert dwindle(folder, "validate", TREE_FILE, "--against", "main") == Ended(
        code=2,
        err="dwindle: --against main: main has no tree.json there\n"
        f"  `git log --oneline -- {TREE_FILE}` lists the revisions that changed it\n",
    )


def test_a_revision_means_nothing_outside_a_repository(tmp_path: Path) -> None:
    write(tmp_path, "tree.json", text(TREE))
    assert dwindle(tmp_path, "validate", "tree.json", "--against", "main") == Ended(
        code=2,
        err="dwindle: --against main: main is no file, and tree.json is in no git repository\n"
        "  name an earlier version of the file\n",
    )


def test_a_graph_is_not_compared(tmp_path: Path) -> None:
    folder = graph_repository(tmp_path)
    refusal = Ended(
        code=2,
        err=f"dwindle: {GRAPH_FILE}: only a tree can be compared with an earlier version\n"
        "  leave out --against\n",
    )
    assert dwindle(folder, "validate", "--against", "HEAD") == refusal
    assert dwindle(folder, "validate", GRAPH_FILE, "--against", "HEAD") == refusal


def test_without_git_nothing_is_called_compared(tmp_path: Path) -> None:
    folder = tree_repository(tmp_path)
    assert dwindle(folder, "validate", PATH="/nonexistent") == Ended(
        code=2,
        err=f"dwindle: {folder / '.runner'}: git is not installed, so that earlier versions cannot"
        " be seen\n  install git, or name the earlier version: --against FILE\n",
    )
    write(folder, "old.json", text(TREE))
    said = dwindle(folder, "validate", "--against", "old.json", PATH="/nonexistent")
    assert said == Ended(code=0, out=GOOD_TREE.replace("HEAD", "old.json"))


def test_a_hook_of_another_repository_does_not_lead_astray(tmp_path: Path) -> None:
    folder = tree_repository(tmp_path)
    write(folder, TREE_FILE, EDITED)
    said = dwindle(folder, "validate", GIT_DIR="/nonexistent/.git", GIT_WORK_TREE="/nonexistent")
    assert said == Ended(code=2, out=EDITED_SAID)


def test_a_broken_repository_is_said(tmp_path: Path) -> None:
    folder = tree_repository(tmp_path)
    (folder / ".git" / "config").write_text("[broken\n")
    said = dwindle(folder, "validate")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"dwindle: {folder / TREE_FILE}: git failed: fatal: bad config line")
