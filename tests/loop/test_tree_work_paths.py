"""Work paths of a tree: what lies outside never reaches the branch, and nothing goes silently."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.loop.tree_story import TreeStory, did, ran
from tests.surfaces.command import write

pytestmark = pytest.mark.slow

PYPROJECT = '[project]\nname = "app"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n'
GROUND = {"src/app.txt": "old\n", "pyproject.toml": PYPROJECT, "tests/test_app.txt": "a test\n"}
PASSED, OPEN = "0001 node a execute guard=pass", "0002 node a execute guard=pass"
OUTSIDE = "files outside of the work paths were restored: "
ALLOW = "([guard] work_paths in .runner/config.toml lets agents change it)"


def told(folder: Path, *sessions: dict[str, str], most: int = 2, more: str = "") -> TreeStory:
    """Sessions on one leaf, each with the files that it writes."""
    steps = [did({"write": files}) if files else did() for files in sessions]
    story = TreeStory(folder).leaves("a", most=most).node("a", *steps).having(GROUND)
    paths = '["src/**", "tests/**", "pyproject.*", "check.*"]'
    return story.settings("guard", f"work_paths = {paths}\n{more}")


def reasons(story: TreeStory) -> list[str]:
    return [event["reason"] for event in story.events() if event["kind"] == "AttemptFailed"]


def test_what_lies_outside_is_kept_and_named_and_the_next_session_passes(tmp_path: Path) -> None:
    files = {"src/app.txt": "new\n", "tests/test_new.txt": "x\n"}
    story = told(tmp_path, {**files, "stray.txt": "stray\n", "docs/x.md": "x\n"}, {})

    ending = story.run()

    assert (ending.code, ending.iterations) == (0, (PASSED, OPEN)), story.said
    assert (ending.tree, ending.files) == (("root passes 0/3", "  a passes 1/2"), files)
    assert story.kept_files("a/1") == {**files, "stray.txt": "stray\n", "docs/x.md": "x\n"}
    (reason,) = reasons(story)
    note = f"{OUTSIDE}docs/x.md, stray.txt {ALLOW}; kept at {story.kept_ref('a/1')}"
    assert reason.startswith(f"{note}\nThe guard is green without them, ")
    assert story.meta(1)["notes"] == [note]
    paths = "- src/**\n- tests/**\n- pyproject.*\n- check.*\n"
    assert "# Where you may change files\n" in story.prompt(1)
    assert paths in story.prompt(1)
    assert "The guard was green, but files that you may not change were" in story.prompt(2)
    assert story.called("replay").code == 0


def test_an_agent_that_was_told_may_leave_the_same_again(tmp_path: Path) -> None:
    story = told(
        tmp_path,
        {"src/app.txt": "new\n", "stray.txt": "1\n", "other.txt": "1\n"},
        {"stray.txt": "2\n"},
    )
    ending = story.run()
    assert (ending.code, ending.iterations) == (0, (PASSED, OPEN)), story.said
    assert ending.files == {"src/app.txt": "new\n"}
    assert len(reasons(story)) == 1


def test_another_stray_file_is_told_again(tmp_path: Path) -> None:
    story = told(tmp_path, {"src/app.txt": "new\n", "stray.txt": "1\n"}, {"other.txt": "1\n"})
    ending = story.run()
    assert (ending.code, ending.tree[1]) == (31, "  a open 2/2"), story.said
    assert [reason.partition(" (")[0] for reason in reasons(story)] == [
        f"{OUTSIDE}stray.txt",
        f"{OUTSIDE}other.txt",
    ]


def test_a_session_without_any_work_inside_has_failed_and_says_why(tmp_path: Path) -> None:
    story = told(tmp_path, {"stray.txt": "1\n"}, most=1)
    ending = story.run()
    assert ending.iterations[0] == "0001 node a decompose guard=skipped"
    assert (ending.files, ending.tree[1]) == ({}, "  a open 1/1")
    assert reasons(story)[0].startswith(f"{OUTSIDE}stray.txt ")
    assert reasons(story)[0].endswith("so there is no work to judge.")
    assert story.called("replay").code == 0


CHEATS = {
    "a test of the ground": {"tests/test_app.txt": "nothing\n"},
    "a script of the guard": {"check.sh": "true\n"},
    "a recipe": {"justfile": "ci:\n    @true\n"},
    "attributes": {"src/.gitattributes": "* -text\n"},
    "a new file at the top": {"conftest.py": "x = 1\n"},
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_loses_its_lever(cheat: str, tmp_path: Path) -> None:
    story = told(tmp_path, {"src/app.txt": "new\n", "src/broken": "yes\n", **CHEATS[cheat]}, most=1)
    ending = story.having({"check.sh": "test ! -e src/broken\n"}).run()
    assert ending.iterations[0] == "0001 node a execute guard=fail", story.said
    assert ending.files == {"src/app.txt": "new\n", "src/broken": "yes\n"}
    assert reasons(story)[0].startswith(f"{OUTSIDE}{next(iter(CHEATS[cheat]))} ")


def test_of_a_manifest_what_steers_tools_stays(tmp_path: Path) -> None:
    new = PYPROJECT.replace("\n\n", '\ndependencies = ["x"]\n\n').replace('"-q"', '"--co"')
    story = told(tmp_path, {"src/app.txt": "new\n", "pyproject.toml": new}, {})
    ending = story.run()
    found, wanted = ending.files["pyproject.toml"], new.replace('"--co"', '"-q"')
    assert (ending.code, tomllib.loads(found)) == (0, tomllib.loads(wanted)), story.said
    note = f"{OUTSIDE}pyproject.toml (what steers tools) {ALLOW}"
    assert reasons(story)[0].startswith(note)


def test_what_is_named_and_what_is_a_deliverable_is_work(tmp_path: Path) -> None:
    files = {"src/app.txt": "new\n", "justfile": "ci:\n    @sh check.sh\n    @true\n"}
    files["stray.txt"] = "x\n"
    more = 'deliverables = ["justfile", "stray.*"]'
    ending = told(tmp_path, files, more=more).run()
    assert (ending.code, ending.iterations, ending.files) == (0, (PASSED,), files)


def test_what_tests_write_outside_while_the_guard_runs_is_taken_out_too(tmp_path: Path) -> None:
    check = "cat src/app.txt > planted.txt\n"
    story = told(tmp_path, {"src/app.txt": "new\n"}).having({"check.sh": check})
    ending = story.run()
    assert (ending.code, ending.files) == (0, {"src/app.txt": "new\n"}), story.said
    assert story.meta(1)["notes"] == [
        f"{OUTSIDE}planted.txt {ALLOW}; kept at {story.kept_ref('a/1')}"
    ]
    assert story.kept_files("a/1")["planted.txt"] == "new\n"


def test_a_link_out_of_the_checkout_is_no_work(tmp_path: Path) -> None:
    story = told(tmp_path, {}).node(
        "a",
        did({"write": {"src/app.txt": "new\n"}}, ran("ln -s /etc/passwd src/out")),
        did(),
    )
    ending = story.run()
    assert (ending.code, ending.files) == (0, {"src/app.txt": "new\n"}), story.said
    assert reasons(story)[0].startswith(f"{OUTSIDE}src/out ")


def test_the_ground_is_where_the_run_began_and_a_person_may_commit(tmp_path: Path) -> None:
    """Tests that agents added are theirs to change; what a person committed since stays."""
    story = told(tmp_path, {"tests/test_new.txt": "1\n"}).leaves("b")
    story.node("b", did({"write": {"tests/test_new.txt": "2\n"}}))
    assert story.run(command="step").iterations == (PASSED,)
    write(story.folder, "justfile", "ci:\n    @sh check.sh\n    @test -e mine.txt\n")
    write(story.folder, "mine.txt", "mine\n")
    story.git("add", "--all")
    story.git("commit", "--quiet", "--message=mine")
    assert story.called("run").code == 0
    assert (story.folder / "mine.txt").read_text() == "mine\n"
    assert (story.folder / "tests/test_new.txt").read_text() == "2\n"


def test_thousands_of_files_outside_are_put_back(tmp_path: Path) -> None:
    many = "mkdir -p out && cd out && seq -f '%0200.f' 4000 | xargs touch"
    story = told(tmp_path, {}).node(
        "a", did({"write": {"src/app.txt": "new\n"}}, ran(many)), did(ran(many))
    )
    ending = story.run()
    assert (ending.code, ending.files) == (0, {"src/app.txt": "new\n"}), story.said
    assert "and 3995 more" in reasons(story)[0]


@pytest.mark.parametrize("by_work_paths", [True, False], ids=["work paths", "none"])
def test_compiled_python_is_taken_out_and_fails_nothing(
    by_work_paths: bool, tmp_path: Path
) -> None:
    files = {"src/app.txt": "new\n"}
    compiled = {"src/__pycache__/app.cpython-311.pyc": "x\n"}
    story = told(tmp_path, {**files, **compiled}, most=1)
    if not by_work_paths:
        story = TreeStory(tmp_path).leaves("a", most=1).having(GROUND)
        story.node("a", did({"write": {**files, **compiled}}))
    ending = story.run()
    assert (ending.code, ending.iterations, ending.files) == (0, (PASSED,), files), story.said
    assert story.kept_files("a/1") == {**files, **compiled}
    (note,) = story.meta(1)["notes"]
    assert "were restored: src/__pycache__/app.cpython-311.pyc (" in note


# --- without work paths --------------------------------------------------------------------------


def test_a_steering_file_that_was_put_back_is_told_too(tmp_path: Path) -> None:
    files = {"src/app.txt": "new\n", "check.sh": "true\n"}
    story = TreeStory(tmp_path).leaves("a").node("a", did({"write": files}), did()).having(GROUND)
    ending = story.run()
    assert (ending.code, ending.iterations) == (0, (PASSED, OPEN)), story.said
    assert ending.files == {"src/app.txt": "new\n"}
    note = "files that steer the guard were restored: check.sh ([guard] deliverables in "
    assert reasons(story)[0].startswith(note)


def test_an_ignored_file_that_was_put_back_is_kept_in_the_log(tmp_path: Path) -> None:
    more = {".gitignore": "*.mk\n", "Makefile": "-include local.mk\nci:\n\t@true\n"}
    step = did({"write": {"src/app.txt": "new\n", "local.mk": "x = 1\n"}})
    story = TreeStory(tmp_path).leaves("a").node("a", step, did()).having(GROUND | more)
    ending = story.settings("guard", 'command = "make ci"').run()
    assert (ending.code, ending.iterations) == (0, (PASSED, OPEN)), story.said
    log = story.logs(1).relative_to(story.folder)
    assert f"; kept in {log}/put_back.*.txt\n" in reasons(story)[0]
    assert (story.logs(1) / "put_back.1.txt").read_text() == "local.mk\n\nx = 1\n"
