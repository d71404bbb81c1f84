"""Pytest as a check: its own count has to agree with its exit code."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from tests.adapters.checks.plain_containment import PlainContainment

from dwindle.adapters.checks.counting import GATE
from dwindle.adapters.checks.mechanical import CheckSettings, MechanicalChecks
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Check, CheckType
from dwindle.ports.checks import CheckResult

pytestmark = pytest.mark.slow

PASSED, FAILED, COULD_NOT_RUN, NOT_JUDGED = Verdict
PATH = f"{Path(sys.executable).parent}:{os.defpath}"


# --- real runs -----------------------------------------------------------------------------------

GOOD = "def test_good():\n    assert True\n"
BAD = "def test_bad():\n    assert False\n"
SKIPPED = "import pytest\n@pytest.mark.skip\ndef test_skipped():\n    assert False\n"


def project(folder: Path, **files: str) -> Path:
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    for name, content in files.items():
        (folder / f"{name}.py").write_text(content, encoding="utf-8")
    return folder


def run(tree: Path, kind: CheckType = CheckType.COMMAND, line: str = "pytest -q") -> CheckResult:
    checks = MechanicalChecks(PlainContainment(path=PATH))
    return asyncio.run(checks.run(Check(type=kind, value=line), tree))


def test_tests_that_ran_and_passed_are_counted(tmp_path: Path) -> None:
    tree = project(tmp_path / "a tree", test_a=GOOD + SKIPPED)

    result = run(tree, line="python -m pytest -q")

    assert (result.verdict, result.exit_code, result.tests) == (PASSED, 0, 1)
    assert result.evidence.splitlines()[0] == (
        "Passed: `python -m pytest -q` exited with 0 (1 tests ran, 0 failed, 1 skipped)."
    )
    assert sorted(path.name for path in tree.iterdir()) == ["pytest.ini", "test_a.py"]


def test_a_failed_test_fails_the_check_and_passes_its_opposite(tmp_path: Path) -> None:
    tree = project(tmp_path / "tree", test_a=GOOD + BAD)

    positive, negative = run(tree), run(tree, CheckType.NOT_COMMAND)

    assert (positive.verdict, positive.exit_code, positive.tests) == (FAILED, 1, 2)
    assert (negative.verdict, negative.exit_code, negative.tests) == (PASSED, 1, 2)
    assert "assert False" in positive.evidence


NOTHING_RAN = {
    "nothing to collect": {"a": GOOD},
    "everything is skipped": {"test_a": SKIPPED},
    "the process leaves before the first test": {
        "test_a": BAD,
        "conftest": "import os\nos._exit(0)\n",
    },
    "collection only": {
        "test_a": BAD,
        "conftest": "def pytest_configure(config):\n    config.option.collectonly = True\n",
    },
    "collection failed": {"test_a": "import missing_module\n"},
    "a broken conftest": {"test_a": GOOD, "conftest": "1/0\n"},
}


@pytest.mark.parametrize("story", NOTHING_RAN)
def test_without_a_test_that_ran_nothing_passes(story: str, tmp_path: Path) -> None:
    tree = project(tmp_path / "tree", **NOTHING_RAN[story])

    assert run(tree).verdict is FAILED
    assert run(tree, CheckType.NOT_COMMAND).verdict is COULD_NOT_RUN


def test_an_exit_code_that_contradicts_the_count_is_no_answer(tmp_path: Path) -> None:
    turned = "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"
    tree = project(tmp_path / "tree", test_a=BAD, conftest=turned)

    positive, negative = run(tree), run(tree, CheckType.NOT_COMMAND)

    assert (positive.verdict, positive.exit_code, positive.tests) == (FAILED, 0, 1)
    assert negative.verdict is COULD_NOT_RUN


def test_where_pytest_is_not_installed_the_check_could_not_run(tmp_path: Path) -> None:
    tree = project(tmp_path / "tree", test_a=GOOD)

    result = run(tree, line=f"{sys.executable} -S -m pytest")

    assert result.verdict is COULD_NOT_RUN
    assert result.evidence.splitlines()[0].endswith(" -S -m pytest` did not find pytest.")


def test_a_timeout_is_a_timeout_also_for_pytest(tmp_path: Path) -> None:
    tree = project(tmp_path / "tree", test_a="import time\ntime.sleep(60)\n")
    settings = CheckSettings(timeout_seconds=0.3)
    checks = MechanicalChecks(PlainContainment(path=PATH), settings)

    result = asyncio.run(checks.run(Check(type=CheckType.COMMAND, value="pytest"), tree))

    assert result.verdict is COULD_NOT_RUN


def test_the_report_is_kept_beside_the_tree_and_not_for_long(tmp_path: Path) -> None:
    tree, scratch = project(tmp_path / "tree", test_a=GOOD), tmp_path / "scratch"
    scratch.mkdir()
    containment = PlainContainment(path=PATH)
    settings = CheckSettings(scratch=scratch, environment={"PYTEST_ADDOPTS": "-q"})

    checks = MechanicalChecks(containment, settings)
    result = asyncio.run(checks.run(Check(type=CheckType.COMMAND, value="pytest"), tree))

    (command,) = containment.commands
    folder = command.writable[-1]
    assert (result.verdict, result.tests) == (PASSED, 1)
    assert folder.parent.parent == scratch.resolve()
    assert command.readable == (folder.parent, GATE)
    assert command.environment["PYTEST_ADDOPTS"] == f"-q --junitxml={folder}/report.xml"
    assert list(scratch.iterdir()) == []
