"""Work paths: what lies outside of them never reaches the branch, and honest work loses nothing."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.loop.story import RUN, Entry, Story, did, ran
from tests.loop.test_gate import HIDES, PROJECT, RIGHT, SUITE, TESTS

pytestmark = pytest.mark.slow

WORK = ("*.py", "tests/**", "docs/**", "pyproject.*")


def told(folder: Path, *sessions: Entry, **fields: object) -> Story:
    story = Story(folder).having(PROJECT).atom("A1", *sessions, **fields)
    return story.done_when(SUITE).work_paths(*WORK).limits(max_attempts=1)


def certificate(story: Story) -> dict[str, object]:
    text = (story.folder / f".runner/iterations/{RUN}/certificate.json").read_text("utf-8")
    found: dict[str, object] = json.loads(text)
    return found


CHEATS: dict[str, dict[str, str]] = {
    "the conftest that was there": {"tests/conftest.py": HIDES},
    "another conftest": {"conftest.py": HIDES},
    "a settings file": {"pytest.ini": "[pytest]\naddopts = --collect-only\n"},
    "a table of settings": {"pyproject.toml": PROJECT["pyproject.toml"] + 'addopts = "--co"\n'},
    "a module in the place of the tool": {"pytest.py": "import os\nos._exit(0)\n"},
    "what Python runs first": {"sitecustomize.py": "import os\nos._exit(0)\n"},
    "the test itself": {
        "tests/test_app.py": "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n"
    },
    "a package over the tests": {"tests/__init__.py": "import os\nos._exit(0)\n"},
    "a coverage file": {".coveragerc": "[run]\nplugins = evil\n", "evil.py": "x = 1\n"},
    "attributes": {".gitattributes": "tests/** filter=evil\n"},
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_loses_its_lever(cheat: str, tmp_path: Path) -> None:
    found = told(tmp_path, did(CHEATS[cheat])).run()
    assert found.stop != "completed"
    assert found.commits in ((), ("A1",))


def test_honest_work_is_done_and_what_lies_outside_is_kept_and_named(tmp_path: Path) -> None:
    settings = PROJECT["pyproject.toml"].replace("\n\n", '\ndependencies = ["x"]\n\n', 1)
    files = {
        "app.py": RIGHT,
        "tests/test_more.py": "def test_more(three):\n    assert three == 3\n",
        "pyproject.toml": settings,
        "models/weights.pth": "stray\n",
        "notes.txt": "stray\n",
    }
    story = told(tmp_path, did(files, artifacts=["app.py", "notes.txt"]))
    found = story.run()
    assert (found.code, found.kept) == (0, ("A1/1.rest",))
    within = {
        name: text
        for name, text in files.items()
        if name not in ("models/weights.pth", "notes.txt")
    }
    assert found.files == within
    assert story.kept_files("A1/1.rest") == files
    (resolved,) = (e for e in story.events() if e["kind"] == "AtomResolved")
    assert resolved["set_aside"] == ["models/weights.pth", "notes.txt"]
    assert resolved["artifacts"] == ["app.py"]
    assert certificate(story)["new_tests"] == ["tests/test_more.py"]
    assert certificate(story)["work_paths"] == list(WORK)


def test_an_atom_is_checked_without_what_was_set_aside(tmp_path: Path) -> None:
    check = {"type": "command", "value": "sh tools/check.sh"}
    story = told(tmp_path, did({"tools/check.sh": "exit 0\n", "app.py": RIGHT}), check=check)
    found = story.having({"tools/check.sh": "grep -q three app.py && test -f done.py\n"}).run()
    assert found.stop == "atom_exhausted"
    assert "set aside, outside of the work paths: tools/check.sh" in found.trail[0]


def test_work_that_is_set_aside_again_and_again_can_be_allowed_as_printed(tmp_path: Path) -> None:
    story = Story(tmp_path).having(PROJECT).work_paths("app.py").limits(max_attempts=1)
    made = did({"done": "yes\n"})
    story.atom("A1", made, made, check={"type": "command", "value": "test -f done"})
    ended = story.done_when("test -f done").aligned().called("run")
    assert ended.code == 31, ended
    printed = re.search(r"if done is part of the work, `dwindle (.+) && dwindle run`", ended.out)
    assert printed is not None, ended
    assert story.called(*shlex.split(printed[1]), "--yes").code == 0
    assert story.called("run").code == 0


def test_a_new_test_that_fails_is_seen_in_the_second_run(tmp_path: Path) -> None:
    story = told(
        tmp_path,
        did({"app.py": RIGHT, "tests/test_bad.py": "def test_bad():\n    assert False\n"}),
    ).limits(max_verifications=1)
    assert story.run().stop == "verification_exhausted"
    said = json.dumps(certificate(story)["checks"])
    assert "It holds without the new tests, and not with them." in said


def test_a_test_that_is_named_may_be_written_by_the_worker(tmp_path: Path) -> None:
    story = Story(tmp_path).having(PROJECT).work_paths("app.py", "tests/test_new.py")
    story.atom("A1", did({"app.py": RIGHT, "tests/test_new.py": TESTS})).limits(max_attempts=1)
    story.delivers("app.py and tests/test_new.py")
    assert story.done_when(f"{SUITE} tests/test_new.py").run().code == 0
    assert "new_tests" not in certificate(story)


def test_nothing_within_the_work_paths_is_nothing(tmp_path: Path) -> None:
    found = told(tmp_path, did({"stray.txt": "x\n"}, artifacts=[])).run()
    assert found.stop == "atom_exhausted"
    assert "no file changed and none is new" in found.trail[0]


def test_a_link_out_of_the_tree_is_no_work(tmp_path: Path) -> None:
    entry = did({"app.py": RIGHT}, ran("ln -s /etc/passwd docs.py && ln -s app.py alias.py"))
    story = told(tmp_path, entry)
    found = story.run()
    assert (found.code, sorted(found.files)) == (0, ["alias.py", "app.py"])


def test_a_worker_may_ask_for_more_and_a_person_grants_it(tmp_path: Path) -> None:
    check = {"type": "command", "value": "test -f Makefile"}
    files = {"app.py": RIGHT, "Makefile": "all:\n"}
    story = told(tmp_path, did(files, work_paths=["Makefile"]), did(files), check=check)
    assert story.run().stop == "atom_exhausted"
    assert "asks for more work paths: Makefile" in story.called("log").out
    paths = [word for path in (*WORK, "Makefile") for word in ("--work-path", path)]
    assert story.called("redirect", *paths, "--yes").code == 0
    assert story.plan.objective.work_paths == (*WORK, "Makefile")
    found = story.run()
    assert (found.code, found.files) == (0, files)


SETUP = "printf '#!/bin/sh\\nexit 1\\n' > tool && chmod +x tool && cat pyproject.toml > installed"


def test_a_setup_runs_on_the_ground_and_checks_cannot_change_what_it_made(tmp_path: Path) -> None:
    """The worker's setup.sh would have made another tool; its dependency is installed."""
    project = {**PROJECT, "setup.sh": SETUP, ".gitignore": "tool\ninstalled\n"}
    settings = PROJECT["pyproject.toml"].replace("\n\n", '\ndependencies = ["x"]\n\n', 1)
    files = {
        "app.py": RIGHT,
        "setup.sh": "echo exit 0 > tool; touch installed",
        "pyproject.toml": settings,
    }
    story = (
        told(tmp_path, did(files)).having(project).settings("workspace", 'setup = "sh setup.sh"')
    )
    lines = ("! ./tool", "! echo > tool", "grep -q '\"x\"' installed")
    assert story.done_when(*lines).run().code == 0


def test_a_build_runs_on_the_work_and_its_failure_is_the_works(tmp_path: Path) -> None:
    ignored = {".gitignore": "built\n"}
    story = told(tmp_path / "a", did({"app.py": RIGHT})).having(ignored)
    story.settings("workspace", 'build = ["sh", "-c", "grep -q 3 app.py && cp app.py built"]')
    assert story.done_when("test -f built").run().code == 0
    story = told(tmp_path / "b", did({"app.py": "def three():\n    return 5\n"})).having(ignored)
    story.settings("workspace", 'build = ["sh", "-c", "grep -q 3 app.py"]')
    found = story.done_when("test -f README").limits(max_verifications=1).run()
    assert found.stop != "completed"
    assert "[workspace] build failed" in json.dumps(certificate(story)["checks"])


def test_each_check_finds_the_commit_as_it_is(tmp_path: Path) -> None:
    story = told(tmp_path, did({"app.py": RIGHT, "docs/x.txt": "x\n"}))
    found = story.done_when(
        "echo y > docs/x.txt; echo > made", "grep -qx x docs/x.txt && test -f made"
    )
    assert found.run().code == 0
    assert "Files of the commit that it changed were put back: docs/x.txt" in json.dumps(
        certificate(story)["checks"]
    )


def test_verify_judges_on_the_same_ground(tmp_path: Path) -> None:
    story = told(
        tmp_path, did({"app.py": RIGHT, "tests/test_more.py": "def test_x():\n    pass\n"})
    )
    assert story.run().code == 0
    assert story.called("verify").code == 0


def test_fewer_tests_pass_when_a_person_allows_it(tmp_path: Path) -> None:
    merged = "import app\n\n\ndef test_one(three):\n    assert app.three() == three\n"
    files = {"app.py": RIGHT, "tests/test_app.py": merged}
    story = told(tmp_path, did(files), did(files)).work_paths("app.py", "tests/test_app.py")
    story.limits(max_verifications=3, max_attempts=2)
    assert story.run().stop != "completed"
    assert "redirect --set fewer_tests=N" in json.dumps(certificate(story)["checks"])
    story.called("redirect", "--set", "fewer_tests=1", "--set", "max_verifications=6")
    story.called("redirect", "--remove-atom", "A2")
    assert story.run().code == 0


def test_without_work_paths_compiled_python_stays_off_the_branch_too(tmp_path: Path) -> None:
    files = {"app.py": RIGHT, "__pycache__/app.cpython-311.pyc": "x\n", "kept.pyc": "x\n"}
    story = Story(tmp_path).having(PROJECT).atom("A1", did(files)).done_when(SUITE)
    found = story.protected("!kept.pyc").limits(max_attempts=1).run()
    assert (found.code, found.files) == (0, {"app.py": RIGHT, "kept.pyc": "x\n"})
    (resolved,) = (e for e in story.events() if e["kind"] == "AtomResolved")
    assert resolved["set_aside"] == ["__pycache__/app.cpython-311.pyc"]
    assert story.kept_files("A1/1.rest") == files
