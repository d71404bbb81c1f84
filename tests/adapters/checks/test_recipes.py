"""Which tool is behind a recipe, a script or a quoted line, and whether its tests are counted."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.adapters.checks.plain_containment import PlainContainment

from dwindle.adapters.checks.counting import ToolCounter
from dwindle.adapters.checks.known_tool import known_tool
from dwindle.adapters.checks.mechanical import MechanicalChecks
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Check, CheckType
from dwindle.ports.checks import CheckResult, Ran
from dwindle.ports.process import Command

PASSED, FAILED, COULD_NOT_RUN, _ = Verdict
PATH = f"{Path(sys.executable).parent}:{os.defpath}"


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        path.chmod(0o755)
    return folder


def named(line: str, tree: Path) -> tuple[str, int, bool] | None:
    tool = known_tool(line, tree)
    return None if tool is None else (tool.name, tool.says_no, tool.must_report)


MAKE = ".PHONY: test\nPY ?= .venv/bin/python\ntest: lint\n\t@$(PY) -m pytest -q\nlint:\n\truff .\n"
READ: dict[str, tuple[str, dict[str, str], tuple[str, int, bool]]] = {
    "a recipe": ("make test", {"Makefile": MAKE}, ("pytest", 2, True)),
    "the first recipe": ("make -s", {"makefile": MAKE}, ("pytest", 2, True)),
    "elsewhere": ("make -C a test", {"a/GNUmakefile": MAKE}, ("pytest", 2, True)),
    "after going there": ("cd a && make test", {"a/Makefile": MAKE}, ("pytest", 2, True)),
    "a variable is given": ("make PY=python3 test", {"Makefile": MAKE}, ("pytest", 2, True)),
    "just": (
        "just ci",
        {"justfile": "py := 'python3'\nlint:\n  ruff .\nci *args: lint\n  {{py}} -m unittest\n"},
        ("unittest", 1, True),
    ),
    "a package": (
        "npm run unit",
        {"package.json": '{"scripts": {"preunit": "tsc", "unit": "node --test"}}'},
        ("node", 1, True),
    ),
    "python behind npm": (
        "npm t",
        {"package.json": '{"scripts": {"test": "make test"}}', "Makefile": MAKE},
        ("pytest", 2, True),
    ),
    "something else behind npm": (
        "npm test",
        {"package.json": '{"scripts": {"test": "node --test | tee log"}}'},
        ("node", 1, False),
    ),
    "a script": (
        "./run.sh",
        {"run.sh": "#!/usr/bin/env bash\nset -eu\ncd sub\nuv run pytest\n"},
        ("pytest", 1, True),
    ),
    "a script for a shell": ("sh a/b.sh", {"a/b.sh": "cargo test\n"}, ("cargo", 101, False)),
    "something is read along": (
        "make test",
        {"Makefile": f"-include local.mk\n{MAKE}"},
        ("pytest", 2, False),
    ),
    "quoted": ("bash -c 'pytest -q'", {}, ("pytest", 1, True)),
    "quoted twice": ("""sh -c 'bash -c "python -m pytest"'""", {}, ("pytest", 1, True)),
}


@pytest.mark.parametrize("story", READ)
def test_the_one_tool_behind_it_is_found(story: str, tmp_path: Path) -> None:
    line, files, expected = READ[story]
    assert named(line, written(tmp_path, files)) == expected
    if "-c" not in line and "npm" not in line:
        assert named(line, tmp_path / "empty") is None


LEFT_ALONE: dict[str, tuple[str, dict[str, str]]] = {
    "two runs": ("make", {"Makefile": "t:\n\tpytest a\n\tpytest b\n"}),
    "a failure that does not matter": ("make", {"Makefile": "t:\n\t-pytest\n"}),
    "a pipe": ("make", {"Makefile": "t:\n\tpytest | tail\n"}),
    "a function": ("make", {"Makefile": "t:\n\t$(foreach x,a b,pytest $(x);)\n"}),
    "a variable that is set twice": ("make", {"Makefile": "P=pytest\nP=true\nt:\n\t$(P) test\n"}),
    "another shell": ("make", {"Makefile": "SHELL=python\nt:\n\tpytest\n"}),
    "one shell for all": ("make", {"Makefile": ".ONESHELL:\nt:\n\tpytest\n"}),
    "two recipes for one": ("make", {"Makefile": "t:\n\tpytest\nt:\n\ttrue\n"}),
    "no such target": ("make x", {"Makefile": MAKE}),
    "an option that matters": ("make -n test", {"Makefile": MAKE}),
    "a report of its own": ("make", {"Makefile": "t:\n\tpytest --junitxml=x\n"}),
    "the request is overruled": ("make", {"Makefile": "export PYTEST_ADDOPTS=-q\nt:\n\tpytest\n"}),
    "a loop": ("sh a.sh", {"a.sh": "for x in a b; do\npytest $x\ndone\n"}),
    "a function of the shell": ("sh a.sh", {"a.sh": "t() {\n  true\n}\npytest\n"}),
    "not for a shell": ("./a", {"a": "#!/usr/bin/python3\nimport pytest\n"}),
    "a recipe in another language": ("just", {"justfile": "t:\n    #!/bin/sh\n    pytest\n"}),
    "an argument": ("just t x", {"justfile": "t x:\n    pytest {{x}}\n"}),
    "round and round": ("sh a.sh", {"a.sh": "sh a.sh\n"}),
    "no scripts": ("yarn unit", {"package.json": '{"scripts": {"unit": 1}}'}),
    "no package": ("yarn unit", {"package.json": "[]"}),
    "unittest with a path of its own": (
        "make",
        {"Makefile": "t:\n\tPYTHONPATH=src python -m unittest\n"},
    ),
}


@pytest.mark.parametrize("story", LEFT_ALONE)
def test_what_only_its_own_program_could_work_out_is_left_alone(story: str, tmp_path: Path) -> None:
    line, files = LEFT_ALONE[story]
    assert named(line, written(tmp_path, files)) is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    written(tmp_path, {"real": "t:\n\tpytest\n"})
    (tmp_path / "Makefile").symlink_to("real")
    assert named("make t", tmp_path) is None


# --- real runs -----------------------------------------------------------------------------------

GOOD = "def test_good():\n    assert True\n"
BAD = "def test_bad():\n    assert False\n"
PROJECT = {
    "Makefile": "test:\n\tpython -m pytest -q -p no:cacheprovider\n",
    "run.sh": "set -e\npython -m pytest -q -p no:cacheprovider\n",
    "test_a.py": GOOD,
}


def run(tree: Path, line: str) -> CheckResult:
    checks = MechanicalChecks(PlainContainment(path=PATH))
    return asyncio.run(checks.run(Check(type=CheckType.COMMAND, value=line), tree))


def facts(result: CheckResult) -> tuple[Verdict, int | None, int | None]:
    return (result.verdict, result.exit_code, result.tests)


@pytest.mark.slow
@pytest.mark.parametrize("line", ["make test", "sh run.sh", "bash -c 'sh run.sh'"])
def test_tests_behind_a_recipe_are_counted(line: str, tmp_path: Path) -> None:
    tree = written(tmp_path, PROJECT)
    assert facts(run(tree, line)) == (PASSED, 0, 1)
    written(tree, {"test_b.py": BAD})
    assert facts(run(tree, line)) == (FAILED, 2 if "make" in line else 1, 2)


@pytest.mark.slow
def test_a_recipe_that_make_need_not_run_is_no_pass(tmp_path: Path) -> None:
    """A file of the target's name is all it takes."""
    tree = written(tmp_path, {**PROJECT, "test": ""})
    result = run(tree, "make test")
    assert facts(result) == (FAILED, 0, None)
    assert "nothing shows that a test ran" in result.evidence


@pytest.mark.slow
def test_a_module_that_shadows_the_tool_behind_a_recipe_is_not_the_tool(tmp_path: Path) -> None:
    lies = "raise SystemExit(0)\n"
    tree = written(tmp_path, {**PROJECT, "test_a.py": BAD, "pytest.py": lies})
    assert facts(run(tree, "make test")) == (FAILED, 2, 1)


@pytest.mark.slow
def test_other_programs_of_python_keep_what_they_customize(tmp_path: Path) -> None:
    tree = written(
        tmp_path,
        {
            **PROJECT,
            "Makefile": "test:\n\tPYTHONPATH=$$PYTHONPATH:path python look.py\n"
            "\tpython -m pytest -q -p no:cacheprovider\n",
            "look.py": "import sys\nassert customized\nassert 'gate' not in str(sys.path)\n",
            "path/sitecustomize.py": "import builtins\nbuiltins.customized = True\n",
        },
    )
    result = run(tree, "make test")
    assert facts(result) == (PASSED, 0, 1), result.evidence


# --- a guard -------------------------------------------------------------------------------------


def guarded(tree: Path, *argv: str) -> tuple[int | None, Ran | None]:
    command = Command(argv=argv, cwd=tree, environment={})

    async def ran() -> tuple[int | None, Ran | None]:
        with ToolCounter().counting(command) as counting:
            asked = command if counting is None else counting.command
            ended = await PlainContainment(path=PATH).run(asked)
            return ended.exit_code, None if counting is None else counting.ran(ended)

    return asyncio.run(ran())


LEAVES = "import os\nos._exit(0)\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (GOOD, (0, Ran(tests=1))),
        (BAD, (1, Ran(tests=1, doubt="1 of 1 tests failed"))),
        (LEAVES, (0, Ran(doubt="nothing shows that a test ran"))),
        ("", (5, Ran(tests=0, doubt="no test ran"))),
    ],
)
def test_what_a_guard_ran_is_told(test: str, expected: tuple[int, Ran], tmp_path: Path) -> None:
    tree = written(tmp_path, {"test_a.py": test})
    words = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert guarded(tree, *words) == expected
    assert guarded(tree, "sh", "-c", " ".join(("PYTHONPATH=.", *words))) == expected
    assert sorted(path.name for path in tree.iterdir()) == ["test_a.py"]


def test_a_guard_that_nobody_can_count_is_left_as_it_is(tmp_path: Path) -> None:
    assert guarded(tmp_path, "true") == (0, None)


@pytest.mark.slow
def test_a_compiled_module_does_not_stand_for_its_source(tmp_path: Path) -> None:
    """An agent can write both, with the time and the length that the cache is compared by."""
    tree = written(tmp_path, {"helper.py": "VALUE = 1\n", "test_a.py": "", "lie.py": "VALUE = 3\n"})
    test = "import helper\n\ndef test_a():\n    assert helper.VALUE == 3\n"
    written(tree, {"test_a.py": test})
    code = (
        "import py_compile, shutil, importlib.util as u\n"
        "shutil.copystat('helper.py', 'lie.py')\n"
        "py_compile.compile('lie.py', cfile=u.cache_from_source('helper.py'))\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tree, check=True)
    assert guarded(tree, "python", "-m", "pytest", "-q")[0] == 1
    plain = Command(argv=("python", "-m", "pytest", "-q"), cwd=tree)
    assert asyncio.run(PlainContainment(path=PATH).run(plain)).exit_code == 0
