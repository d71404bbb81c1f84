"""Tests behind a recipe or a script are counted, in checks and in the guard of a tree."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.adapters.checks.plain_containment import PlainContainment

from dwindle.adapters.checks.counting import ToolCounter, counted_run
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


def is_counted(line: str, tree: Path) -> bool:
    with counted_run(line, tree, None) as counted:
        return counted is not None


def test_a_link_is_not_followed_and_a_large_file_is_not_read(tmp_path: Path) -> None:
    recipe = "t:\n\tpytest\n"
    written(tmp_path, {"real": recipe, "large/Makefile": recipe + "#" * (1 << 20)})
    (tmp_path / "Makefile").symlink_to("real")
    lines = ("make -f real t", "make t", "make -C large t")
    assert [is_counted(line, tmp_path) for line in lines] == [True, False, False]


def test_where_python_is_isolated_the_command_stays_as_it_is(tmp_path: Path) -> None:
    for line in ("PYTHONPATH=src python -I -m pytest", "PYTHONPATH=src pytest"):
        with counted_run(line, tmp_path, None) as counted:
            assert counted is not None
            assert (counted.line == line) is ("-I" in line)
            assert ("PYTHONPATH" in counted.variables({})) is ("-I" not in line)


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
    assert facts(result) == (FAILED, 0, 0)
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
