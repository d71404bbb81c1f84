"""The guard in a clean checkout: what git ignores does not decide whether a tree is done."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from tests.loop.tree_story import TreeStory, did, ran, works
from tests.surfaces.command import write

pytestmark = pytest.mark.slow

PASSED, FAILED = "0001 node a execute guard=pass", "0001 node a execute guard=fail"
MEANING = "The guard is green in place, and red in a clean checkout of the same commit: something "
NEEDS_LOCAL = "echo looking; test -e local/answer || { echo no answer; exit 1; }\n"
IGNORE = {".gitignore": "local/\n"}


def told(
    folder: Path, *steps: dict[str, object], check: str = "true\n", most: int = 1
) -> TreeStory:
    story = TreeStory(folder).leaves("a", most=most).node("a", *steps or [works("a")])
    return story.having({"check.sh": check})


def reason(story: TreeStory) -> str:
    return next(str(e["reason"]) for e in story.events() if e["kind"] == "AttemptFailed")


def test_what_git_ignores_does_not_complete_a_tree(tmp_path: Path) -> None:
    cheat = did({"write": {"a.txt": "a\n", "local/answer": "42\n"}})
    story = told(tmp_path, cheat, check=NEEDS_LOCAL).having(IGNORE)

    ending = story.run()

    assert (ending.code, ending.iterations[0]) == (31, FAILED), story.said
    assert ending.tree[1] == "  a open 1/1"
    assert reason(story).startswith(MEANING)
    assert "something that git ignores, and no commit has, decides in place" in reason(story)
    assert reason(story).endswith(
        "just ci is red: it ended with exit code 1\nlooking\nno answer\n"
        "error: recipe `ci` failed on line 2 with exit code 1"
    )
    assert (story.logs(1) / "guard.clean.log").read_text().startswith("looking\nno answer\n")
    assert (story.logs(1) / "guard.log").read_text() == "looking\n"
    said = story.meta(1)["guard"]
    assert (said["verdict"], said["exit_status"], said["clean"]["verdict"]) == ("fail", 0, "fail")
    assert story.called("replay").code == 0


def test_only_the_leaf_that_would_complete_the_tree_is_judged_there(tmp_path: Path) -> None:
    story = told(tmp_path, check="echo ran >> local/log\n").leaves("b").having(IGNORE)
    story.having({"check.sh": "mkdir -p local && pwd >> local/log\ngrep -q a a.txt\n"})
    story.prepared()
    write(story.folder, "local/log", "")

    ending = story.run()

    assert ending.code == 0, story.said
    assert (story.folder / "local/log").read_text().splitlines() == [str(story.folder)] * 2
    assert [story.meta(n)["guard"]["clean"] is None for n in (1, 2)] == [True, False]
    clean = story.meta(2)["guard"]["clean"]
    assert (clean["verdict"], clean["exit_status"], clean["without"]) == ("pass", 0, [])
    assert not (story.logs(1) / "guard.clean.log").exists()
    assert story.git("worktree", "list").count("\n") == 0


def test_exactly_what_is_committed_is_judged(tmp_path: Path) -> None:
    """The tree file too, in which every node passes then."""
    check = "git rev-parse HEAD^{tree}; git status --porcelain; grep -c 'passes.: true' "
    story = told(tmp_path, check=f"test -e local || {{ {check} .runner/tree.json; }}\n")
    story.having(IGNORE).prepared()
    write(story.folder, "local/x", "")

    ending = story.run()

    assert ending.code == 0, story.said
    assert (story.logs(1) / "guard.clean.log").read_text().splitlines() == [
        story.git("rev-parse", "HEAD^{tree}"),
        "2",
    ]


def test_it_is_skipped_where_it_could_not_differ(tmp_path: Path) -> None:
    story = told(tmp_path)
    assert story.run().code == 0
    assert story.meta(1)["guard"]["clean"] is None
    assert not (story.logs(1) / "guard.clean.log").exists()


def test_a_folder_that_no_commit_can_have_is_a_difference(tmp_path: Path) -> None:
    cheat = did({"write": {"a.txt": "a\n"}}, ran("mkdir -p empty/inside"))
    story = told(tmp_path, cheat, check="test -d empty\n")
    assert story.run().iterations[0] == FAILED
    assert reason(story).startswith(MEANING)


def test_a_person_may_do_without_it(tmp_path: Path) -> None:
    cheat = did({"write": {"a.txt": "a\n", "local/answer": "42\n"}})
    story = told(tmp_path, cheat, check=NEEDS_LOCAL).having(IGNORE)
    story.settings("guard", "clean_checkout = false")
    assert (story.run().code, story.meta(1)["guard"]["clean"]) == (0, None)


def test_a_setup_and_what_is_shared_are_there(tmp_path: Path) -> None:
    check = "test -e local/answer && test -e made\n"
    story = told(tmp_path, check=check).having({".gitignore": "local/\nmade\n"})
    story.settings("workspace", 'setup = "touch made"\nshare = ["local"]').prepared()
    write(story.folder, "local/answer", "42\n")
    write(story.folder, "made", "")
    assert story.run().code == 0, story.said
    assert story.meta(1)["guard"]["clean"]["verdict"] == "pass"


def test_a_setup_that_the_work_breaks_is_an_attempt_that_failed(tmp_path: Path) -> None:
    story = told(tmp_path, did({"write": {"a.txt": "a\n", "local/x": "x\n"}})).having(IGNORE)
    story.settings("workspace", 'setup = "test ! -e a.txt || { echo broken; exit 1; }"')
    assert story.run().iterations[0] == FAILED, story.said
    assert reason(story) == (
        "The guard is green in place, but there is no clean checkout: "
        "[workspace] setup failed: broken"
    )


def test_it_runs_within_the_time_of_the_iteration(tmp_path: Path) -> None:
    story = told(tmp_path, check="test -e local || sleep 60\n").having(IGNORE)
    story.node("a", did({"write": {"a.txt": "a\n", "local/x": "x\n"}}))
    story.settings("limits", "iteration_timeout_seconds = 5")
    began = time.monotonic()
    ending = story.run()
    assert time.monotonic() - began < 30
    assert (ending.code, ending.iterations) == (25, (FAILED,)), story.said
    assert "it was still running after " in reason(story)


def test_what_the_clean_run_does_to_this_checkout_does_not_count(tmp_path: Path) -> None:
    """Without a sandbox, code under test can write here: then another tree would be committed."""
    plant = "test -e local || echo x > '{}/planted.txt'\n"
    story = told(tmp_path, did({"write": {"a.txt": "a\n", "local/x": "x\n"}})).having(IGNORE)
    story.having({"check.sh": plant.format(story.folder)})
    assert story.run("--no-sandbox").iterations[0] == FAILED, story.said
    assert "this checkout was changed while the guard ran in a clean one" in reason(story)


def test_no_file_says_that_it_passes_while_the_clean_run_decides(tmp_path: Path) -> None:
    """A runner that is killed then leaves a tree that says what is known: nothing yet."""
    count = "test -e local || grep -c 'passes.: true' '{}/.runner/tree.json' || true\n"
    story = told(tmp_path, did({"write": {"a.txt": "a\n", "local/x": "x\n"}})).having(IGNORE)
    story.having({"check.sh": count.format(story.folder)})
    assert story.run("--no-sandbox").code == 0, story.said
    assert (story.logs(1) / "guard.clean.log").read_text().splitlines()[0] == "0"
    assert "2" in story.git("grep", "-c", "passes.: true", "HEAD", "--", ".runner/tree.json")


# --- work paths ----------------------------------------------------------------------------------

RUNS_ALL = "cat tests/*.sh | sh\n"
NEW = {"tests/test_old.sh": "test -e src/a.txt || exit 1\n"}
WORK = 'work_paths = ["src/**", "tests/**"]'


def with_tests(folder: Path, files: dict[str, str]) -> TreeStory:
    story = told(folder, did({"write": files}), check=RUNS_ALL).having(NEW)
    return story.settings("guard", WORK)


def test_new_tests_do_not_decide(tmp_path: Path) -> None:
    """`cat` takes the new one first, and that ends well before the old one is read."""
    story = with_tests(tmp_path, {"src/b.txt": "b\n", "tests/a_test.sh": "exit 0\n"})
    ending = story.run()
    assert ending.iterations[0] == FAILED, story.said
    assert "red in a clean checkout without the new tests (tests/a_test.sh)" in reason(story)
    assert story.meta(1)["guard"]["clean"]["without"] == ["tests/a_test.sh"]


def test_new_tests_have_to_be_green_too_and_honest_work_passes(tmp_path: Path) -> None:
    files = {"src/a.txt": "a\n", "tests/a_test.sh": "test -e src/a.txt || exit 1\n"}
    story = with_tests(tmp_path, files)
    ending = story.run()
    assert (ending.code, ending.files) == (0, files), story.said
    assert (story.logs(1) / "guard.clean.without-new-tests.log").exists()
    assert (story.logs(1) / "guard.clean.log").exists()


def test_what_a_person_committed_outside_is_judged_as_it_is(tmp_path: Path) -> None:
    story = with_tests(tmp_path, {"src/a.txt": "a\n", "tests/a_test.sh": "true\n"}).leaves("b")
    story.node("b", did({"write": {"src/b.txt": "b\n"}}))
    assert story.run(command="step").iterations == (PASSED,)
    write(story.folder, "check.sh", f"test -e mine.txt && {RUNS_ALL}")
    write(story.folder, "mine.txt", "mine\n")
    story.git("add", "--all")
    story.git("commit", "--quiet", "--message=mine")
    assert story.called("run").code == 0, story.said
    assert story.meta(2)["guard"]["clean"]["verdict"] == "pass"


# --- the trial at the start ----------------------------------------------------------------------

VENV = {".gitignore": ".venv/\n*.log\n"}


def with_tool(folder: Path, check: str = ".venv/bin/tool\n") -> TreeStory:
    """The guard needs a program in a folder that git ignores."""
    story = told(folder, check=check).having(VENV).prepared()
    write(story.folder, ".venv/bin/tool", "#!/bin/sh\necho used >> tool.log\n").chmod(0o755)
    write(story.folder, "old.log", "")
    return story


def test_a_guard_that_cannot_run_in_a_clean_checkout_is_refused(tmp_path: Path) -> None:
    story = with_tool(tmp_path)
    said = story.called("run")
    assert said.code == 40
    assert said.err.startswith(
        "dwindle: the guard `just ci` can run in this checkout, but not in a clean one, where it "
        "has to be green before the tree is done: "
    )
    assert "not found" in said.err.partition("is done: ")[2].splitlines()[0]
    assert (
        "\n  git ignores .venv, and a clean checkout has none of it; add to .runner/config.toml:"
        '\n    [workspace]\n    share = [".venv"]\n  or a setup that makes it there, such as: '
        'setup = "python3 -m venv .venv && ' in said.err
    )
    assert "[guard] clean_checkout = false" in said.err
    assert story.git("branch", "--format=%(refname:short)") == "main"
    assert story.git("status", "--porcelain") == ""


def test_a_script_that_git_ignores_is_found_missing(tmp_path: Path) -> None:
    story = told(tmp_path, check="sh local.sh\n").having({".gitignore": "local.sh\n"}).prepared()
    write(story.folder, "local.sh", "true\n")
    said = story.called("run")
    assert (said.code, 'share = ["local.sh"]\n' in said.err) == (40, True), said


@pytest.mark.parametrize(
    "lines", ['[workspace]\nshare = [".venv"]', "[guard]\nclean_checkout = false"]
)
def test_the_proposed_lines_help(lines: str, tmp_path: Path) -> None:
    story = with_tool(tmp_path)
    config = story.folder / ".runner/config.toml"
    config.write_text(f"{config.read_text()}\n{lines}\n")
    story.git("commit", "--quiet", "--all", "--message=settings")
    assert story.called("run").code == 0


def test_a_setup_that_fails_is_told_before_an_agent_works(tmp_path: Path) -> None:
    story = told(tmp_path).having(VENV).settings("workspace", 'setup = "echo no net; exit 1"')
    story.prepared()
    write(story.folder, "old.log", "")
    said = story.called("run")
    assert said.code == 40
    assert said.err == (
        "dwindle: .runner/config.toml: the guard `just ci` cannot be tried: there is no clean "
        "checkout: [workspace] setup failed: no net\n  correct [workspace] setup; [guard] "
        "clean_checkout = false does without a clean checkout, which is weaker\n"
    )
    assert story.git("branch", "--format=%(refname:short)") == "main"


def test_a_run_that_is_resumed_is_refused_too(tmp_path: Path) -> None:
    story = told(tmp_path).leaves("b")
    assert story.run(command="step").iterations == (PASSED,)
    write(story.folder, "check.sh", ".venv/bin/tool\n")
    write(story.folder, ".gitignore", VENV[".gitignore"])
    story.git("add", "--all")
    story.git("commit", "--quiet", "--message=a tool")
    write(story.folder, ".venv/bin/tool", "#!/bin/sh\n").chmod(0o755)
    said = story.called("run")
    assert (said.code, "share = " in said.err) == (40, True), said


@pytest.mark.parametrize("guard", ["make ci", f"{sys.executable} -m nothing_of_the_kind"])
def test_a_guard_that_cannot_run_in_place_either_is_none_of_it(guard: str, tmp_path: Path) -> None:
    story = told(tmp_path).having({**VENV, "Makefile": "ci:\n\t./missing\n"})
    story.settings("guard", f'command = "{guard}"').settings("limits", "max_iterations = 1")
    story.prepared()
    write(story.folder, "old.log", "")
    assert story.run().iterations == (FAILED,), story.said


def test_a_guard_that_is_red_there_is_fine_and_what_takes_long_is_said(tmp_path: Path) -> None:
    story = (
        told(tmp_path, check="test -e a.txt || { sleep 1.5; exit 1; }\n").having(VENV).prepared()
    )
    write(story.folder, "old.log", "")
    said = story.called("run")
    assert said.code == 0, said
    line = "dwindle: trying the guard `just ci` in a clean checkout, before an agent works\n"
    assert said.err.startswith(line)


def test_nothing_is_tried_where_nothing_is_ignored(tmp_path: Path) -> None:
    story = told(tmp_path, check="test -e a.txt || sleep 1.5\n")
    said = story.called("run")
    assert (said.code, "trying" in said.err) == (0, False)


def test_tests_that_need_an_ignored_environment_are_found_missing(tmp_path: Path) -> None:
    """A count is owed: no test ran there, and one does here."""
    guard = f"PYTHONPATH=.venv {sys.executable} -m pytest -q -p no:cacheprovider"
    tests = {"test_a.py": "import lib\n\n\ndef test_a():\n    assert lib.x\n", **VENV}
    story = told(tmp_path).having({**tests, "conftest.py": "import lib\n"})
    story.settings("guard", f"command = '''{guard}'''").prepared()
    write(story.folder, ".venv/lib.py", "x = 1\n")
    said = story.called("run")
    assert (said.code, "No module named 'lib'" in said.err) == (40, True), said
    assert 'share = [".venv"]' in said.err
