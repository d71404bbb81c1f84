"""Tree agents that would rather change the guard than do the work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.adapters.sandbox.survivors import new_token, survivors
from tests.loop.story import PATIENCE
from tests.loop.tree_story import TreeStory, did, ran, until, works
from tests.surfaces.command import write

pytestmark = pytest.mark.slow

SUITE = f"{sys.executable} -m pytest -q -p no:cacheprovider"
TESTS = (
    "import app\n\n\ndef test_one(three):\n    assert app.three() == three\n\n\n"
    "def test_two():\n    assert True\n"
)
PROJECT = {
    "app.py": "def three():\n    return 4\n",
    "tests/test_app.py": TESTS,
    "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef three():\n    return 3\n",
    "pyproject.toml": '[project]\nname = "app"\n\n'
    '[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = ["."]\n',
    ".gitignore": "__pycache__/\n",
    "Makefile": f".PHONY: check\ncheck:\n\t{SUITE}\n",
    "ci.sh": f"set -e\n{SUITE}\n",
    "check.sh": "false\n",
}
RIGHT = "def three():\n    return 3\n"
HIDES = (
    "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n"
    "    outcome = yield\n    outcome.get_result().outcome = 'passed'\n"
)
OLD = "tests/conftest.py"
FIXTURE = PROJECT[OLD]
RED, GREEN = "0001 node a execute guard=fail", "0001 node a execute guard=pass"


def told(folder: Path, guard: str, files: dict[str, str], *lines: str, more: str = "") -> TreeStory:
    """One leaf with one attempt, and notes to make it a change of something."""
    steps = [{"write": {"a.txt": "a\n", **files}}, *(ran(line) for line in lines)]
    story = TreeStory(folder).leaves("a", most=1).node("a", did(*steps)).having(PROJECT)
    del story.files["justfile"]
    return story.settings("guard", f"command = '''{guard}'''\n{more}").settings(
        "limits", "max_iterations = 1"
    )


CHEATS = {
    "a conftest that hides failures": (SUITE, {"conftest.py": HIDES}, "conftest.py"),
    "the conftest that was there": (SUITE, {OLD: HIDES + FIXTURE}, OLD),
    "a settings file": (SUITE, {"pytest.ini": "[pytest]\naddopts = -k two\n"}, "pytest.ini"),
    "a table of settings": (
        SUITE,
        {"pyproject.toml": PROJECT["pyproject.toml"] + 'addopts = "-k two"\n'},
        "pyproject.toml",
    ),
    "what Python runs first": (
        f"PYTHONPATH=. {SUITE}",
        {"sitecustomize.py": "import os\nos._exit(0)\n"},
        "sitecustomize.py",
    ),
    "a plugin in an ignored folder": (
        SUITE,
        {
            ".gitignore": "__pycache__/\n*.egg-info/\n",
            "hider.egg-info/PKG-INFO": "Metadata-Version: 2.1\nName: hider\nVersion: 1\n",
            "hider.egg-info/entry_points.txt": "  [pytest11]\nhider = hider\n",
            "hider.py": HIDES,
        },
        "hider.egg-info/entry_points.txt",
    ),
    "a conftest that git is told to ignore": (
        SUITE,
        {".gitignore": "conftest.py\n__pycache__/\n", "conftest.py": HIDES},
        "conftest.py",
    ),
    "the recipe": ("make check", {"Makefile": "check:\n\ttrue\n"}, "Makefile"),
    "a recipe that goes first": ("make check", {"GNUmakefile": "check:\n\ttrue\n"}, "GNUmakefile"),
    "a conftest behind a recipe": ("make check", {"conftest.py": HIDES}, "conftest.py"),
    "the script": ("sh ci.sh", {"ci.sh": "true\n"}, "ci.sh"),
    "a conftest behind a script": ("sh ci.sh", {"conftest.py": HIDES}, "conftest.py"),
    "a script that cannot be looked into": ("sh check.sh", {"check.sh": "true\n"}, "check.sh"),
}


@pytest.mark.parametrize("story", CHEATS)
def test_what_steers_the_guard_is_put_back_before_it_runs(story: str, tmp_path: Path) -> None:
    guard, files, named = CHEATS[story]
    found = told(tmp_path, guard, files)

    ending = found.run()

    assert (ending.code, ending.iterations) == (21, (RED,)), found.said
    note = f"files that steer the guard were restored: {named} "
    assert any(one.startswith(note) for one in found.meta(1)["notes"]), found.meta(1)["notes"]
    reason = next(e["reason"] for e in found.events() if e["kind"] == "AttemptFailed")
    assert reason.startswith(note)
    assert "[guard] deliverables" in reason
    assert named not in ending.files or named == "pyproject.toml"
    if named in PROJECT:
        assert (found.folder / named).read_text() == PROJECT[named]


@pytest.mark.parametrize("more", ["", 'work_paths = ["app.py", "*.txt"]'])
def test_what_is_judged_cannot_rewrite_the_script_that_judges_it(more: str, tmp_path: Path) -> None:
    """In between, the guard runs code of the agent."""
    rewrites = "import pathlib\npathlib.Path('check.sh').write_text('true\\n')\n"
    found = told(tmp_path, "sh ci.sh", {"app.py": rewrites}, more=more)
    found.having({"ci.sh": f"{sys.executable} -c 'import app'\nsh check.sh\n"})

    ending = found.run()

    assert (ending.code, ending.iterations) == (21, (RED,)), found.said
    assert "Read-only file system: 'check.sh'" in (found.logs(1) / "guard.log").read_text()


def test_a_link_out_of_the_tree_is_no_work(tmp_path: Path) -> None:
    found = told(tmp_path, "test -s out.txt", {}, "ln -s /etc/passwd out.txt")

    ending = found.run()

    assert (ending.code, ending.iterations) == (21, (RED,)), found.said
    assert ending.files == {"a.txt": "a\n"}


def test_a_file_that_tests_plant_for_the_next_guard_is_put_back_too(tmp_path: Path) -> None:
    """What is under test runs while the guard does."""
    plants = f"import pathlib\npathlib.Path('conftest.py').write_text({HIDES!r})\n{RIGHT}"
    found = told(tmp_path, SUITE, {"app.py": plants})

    ending = found.run()

    assert ending.iterations == (GREEN,)
    assert ending.files == {"a.txt": "a\n", "app.py": plants}
    note = "files that steer the guard were restored: conftest.py ([guard] deliverables in "
    assert found.meta(1)["notes"] == [f"{note}.runner/config.toml lets agents change it)"]
    assert (found.logs(1) / "put_back.1.txt").read_text() == f"conftest.py\n\n{HIDES}"


def test_what_is_done_to_nothing_but_the_guard_is_no_work(tmp_path: Path) -> None:
    found = told(tmp_path, SUITE, {"app.py": RIGHT})
    found.node("a", did({"write": {"conftest.py": "x = 1\n"}}))

    ending = found.run()

    assert ending.iterations == ("0001 node a decompose guard=skipped",)
    assert ending.files == {}
    assert found.kept_files("a/1") == {"conftest.py": "x = 1\n"}


# --- honest work ---------------------------------------------------------------------------------


@pytest.mark.parametrize("guard", [SUITE, "make check", "sh ci.sh"])
def test_honest_work_in_a_project_with_fixtures_and_settings_is_done(
    guard: str, tmp_path: Path
) -> None:
    """A dependency in pyproject.toml, more tests, and the fixtures that were there."""
    more = TESTS + "\n\ndef test_more(three):\n    assert three == 3\n"
    settings = PROJECT["pyproject.toml"].replace("\n\n", '\ndependencies = ["x"]\n\n', 1)
    files = {"app.py": RIGHT, "tests/test_app.py": more, "pyproject.toml": settings}
    found = told(tmp_path, guard, files)

    ending = found.run()

    assert (ending.code, ending.iterations) == (0, (GREEN,)), found.said
    assert ending.files == {"a.txt": "a\n", **files}
    assert found.meta(1)["guard"]["tests"] == 3
    assert found.git("log", "-1", "--format=%(trailers)") == "Dwindle-Tests: 3"
    assert (found.meta(1)["set_aside"], found.kept()) == (None, {})


def test_what_a_person_lets_agents_change_they_may_change(tmp_path: Path) -> None:
    fixtures = FIXTURE.replace("return 3", "return 4")
    new = "import pytest\n\n\n@pytest.fixture\ndef five():\n    return 5\n"
    files = {OLD: fixtures, "tests/deep/conftest.py": new}
    more = 'deliverables = ["tests/**/conftest.py"]'
    found = told(tmp_path, SUITE, files, more=more)

    ending = found.run()

    assert (ending.code, ending.iterations) == (0, (GREEN,)), found.said
    assert ending.files == {"a.txt": "a\n", **files}


# --- counting ------------------------------------------------------------------------------------

FEWER = "def test_two():\n    assert True\n"


@pytest.mark.parametrize("guard", [SUITE, "make check"])
def test_fewer_tests_than_before_are_no_pass(guard: str, tmp_path: Path) -> None:
    found = told(tmp_path, guard, {"tests/test_app.py": FEWER})

    assert found.run().iterations == (RED,)
    reason = next(e["reason"] for e in found.events() if e["kind"] == "AttemptFailed")
    assert "1 tests ran, and 2 before; [guard] fewer_tests = true lets that pass" in reason
    assert found.git("log", "-1", "--format=%(trailers)") == "Dwindle-Tests: 2"


def test_a_person_may_let_tests_become_fewer(tmp_path: Path) -> None:
    found = told(tmp_path, SUITE, {"tests/test_app.py": FEWER}, more="fewer_tests = true")

    assert found.run().code == 0


def test_a_guard_whose_tests_leave_or_do_not_run_is_red(tmp_path: Path) -> None:
    found = told(tmp_path, SUITE, {"app.py": "import os\n\nos._exit(0)\n"})

    assert found.run().iterations == (RED,)
    reason = next(e["reason"] for e in found.events() if e["kind"] == "AttemptFailed")
    assert "it ended with exit code 0, but nothing shows that a test ran" in reason


def test_the_count_is_remembered_by_the_branch_until_a_person_commits(tmp_path: Path) -> None:
    """Three runs: the second goes by what the first left, the third begins anew."""
    found = told(tmp_path, SUITE, {"app.py": RIGHT}).leaves("b", most=2)
    found.settings("limits", "max_iterations = 9")
    found.node("b", did({"write": {"tests/test_app.py": FEWER}}), works("b"))
    assert found.run(command="step").iterations == (GREEN,)
    assert found.run(command="step").iterations[-1] == "0002 node b execute guard=fail"
    assert not (found.logs(2) / "guard.before.log").exists()

    write(found.folder, "mine.txt", "mine\n")
    found.git("add", "--all")
    found.git("commit", "--quiet", "--message=mine")
    found.called("step")
    assert found.git("log", "-1", "--format=%s").endswith("node b execute guard=pass"), found.said
    assert found.git("log", "-1", "--format=%(trailers)") == "Dwindle-Tests: 1"
    assert (found.logs(3) / "guard.before.log").exists()


def test_what_counting_leaves_behind_is_not_taken_for_work(tmp_path: Path) -> None:
    leaves = f"{TESTS}\n\nopen('left.txt', 'w').write('left\\n')\n"
    found = told(tmp_path, SUITE, {"app.py": RIGHT})
    found.having({"tests/test_app.py": leaves})
    found.node("a", did(ran("test ! -e left.txt"), {"write": {"app.py": RIGHT}}))

    ending = found.run()

    assert (ending.code, ending.files) == (0, {"app.py": RIGHT, "left.txt": "left\n"}), found.said


# --- when it is cut short ------------------------------------------------------------------------


def test_what_git_does_not_see_is_put_back_when_a_run_is_stopped(tmp_path: Path) -> None:
    token = new_token()
    cheat = {"write": {"local/conftest.py": HIDES}}
    found = told(tmp_path, "sh ci.sh", {}).having({".gitignore": "local/\n__pycache__/\n"})
    found.node("a", did(cheat, ran(f"while :; do sleep 0.05; done; : {token}")))
    running = found.going()
    try:
        assert until(lambda: survivors(token), PATIENCE), found.log.read_text("utf-8")
        assert found.called("stop").code == 0
        assert running.wait(PATIENCE) == 10
    finally:
        running.kill()

    assert not (found.folder / "local/conftest.py").exists()
    assert found.git("status", "--porcelain") == ""
    (kept,) = found.logs(1).glob("put_back.*.txt")
    assert kept.read_text() == f"local/conftest.py\n\n{HIDES}"
