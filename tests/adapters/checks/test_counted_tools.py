"""Test tools that are asked what they ran, and that are themselves and nobody else."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.adapters.checks.plain_containment import PlainContainment

from dwindle.adapters.checks import counting  # to take the gate away
from dwindle.adapters.checks.mechanical import MechanicalChecks
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Check, CheckType
from dwindle.ports.checks import CheckResult

PASSED, FAILED, COULD_NOT_RUN, _ = Verdict


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def run(tree: Path, line: str, path: str = "") -> CheckResult:
    bin_folder = Path(sys.executable).parent
    checks = MechanicalChecks(PlainContainment(path=f"{path}{bin_folder}:{os.environ['PATH']}"))
    return asyncio.run(checks.run(Check(type=CheckType.COMMAND, value=line), tree))


def facts(result: CheckResult) -> tuple[Verdict, int | None, int | None]:
    return result.verdict, result.exit_code, result.tests


# --- pytest: the tool is the tool ----------------------------------------------------------------

FAILS = "def test_it():\n    assert 1 == 2\n"
LIES = """
import os, pathlib, re
report = re.search(r"junitxml=(\\S+)", os.environ["PYTEST_ADDOPTS"])[1]
pathlib.Path(report).write_text('<testsuite tests="9"/>')
os._exit(0)
"""
SHADOWS = {
    "a module": {"pytest.py": LIES},
    "a package": {"pytest/__init__.py": "", "pytest/__main__.py": LIES},
    "what it is made of": {"_pytest/__init__.py": LIES},
    "what it needs": {"pluggy.py": LIES},
    "what it needs of Python": {"argparse.py": LIES},
}


def test_a_module_named_pytest_is_not_the_tool(tmp_path: Path) -> None:
    tree = written(tmp_path, {"test_it.py": FAILS, **SHADOWS["a module"]})
    assert facts(run(tree, "python -m pytest")) == (FAILED, 1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("story", SHADOWS)
@pytest.mark.parametrize("line", ["python -m pytest", "PYTHONPATH=. pytest"])
def test_a_module_of_the_tools_name_is_not_the_tool(story: str, line: str, tmp_path: Path) -> None:
    tree = written(tmp_path, {"test_it.py": FAILS, **SHADOWS[story]})
    assert facts(run(tree, line)) == (FAILED, 1, 1)


def test_without_the_gate_such_a_module_would_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows that the test above can fail."""
    monkeypatch.setattr(counting, "GATE", tmp_path / "nothing")
    tree = written(tmp_path, {"test_it.py": FAILS, "pytest.py": LIES})
    assert facts(run(tree, "python -m pytest")) == (PASSED, 0, 9)


HONEST = {
    "conftest.py": "import pytest\n@pytest.fixture\ndef three():\n    return 3\n",
    "plugin.py": "import pytest\n@pytest.fixture\ndef four():\n    return 4\n",
    "pytest.ini": "[pytest]\naddopts = -p plugin -p no:cacheprovider\n",
    "test_it.py": "import subprocess, sys, os\n"
    "import thing\n"
    "def test_it(three, four, tmp_path):\n"
    "    assert (three, four, thing.VALUE) == (3, 4, 5)\n"
    "def test_others_are_left_alone():\n"
    "    said = subprocess.run([sys.executable, '-c', 'import sys; print(sys.path)'],\n"
    "        capture_output=True, text=True, check=True).stdout\n"
    "    assert 'gate' not in said\n"
    "    assert 'gate' not in os.environ.get('PYTHONPATH', '')\n",
    "thing.py": "VALUE = 5\n",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "python -m pytest",
        "PYTHONPATH=. pytest",
        "python -m pytest -p xdist -n 2",
        "python -m coverage run -m pytest",
        "python -W error -m pytest",
    ],
)
def test_an_honest_project_with_fixtures_and_plugins_keeps_working(
    line: str, tmp_path: Path
) -> None:
    result = run(written(tmp_path, HONEST), line)
    assert facts(result) == (PASSED, 0, 2), result.evidence


def test_another_sitecustomize_is_run_as_well(tmp_path: Path) -> None:
    files = {
        "path/sitecustomize.py": "import builtins\nbuiltins.customized = True\n",
        "test_it.py": "def test_it():\n    assert customized\n",
    }
    assert facts(run(written(tmp_path, files), "PYTHONPATH=path pytest")) == (PASSED, 0, 1)


# --- unittest ------------------------------------------------------------------------------------

CASE = "import unittest\nclass T(unittest.TestCase):\n"
UNITTEST = {
    "passes": (f"{CASE}    def test_a(self): pass\n    def test_b(self): pass\n", (PASSED, 0, 2)),
    "fails": (f"{CASE}    def test_a(self): self.fail()\n", (FAILED, 1, 1)),
    "skips": (f"{CASE}    def test_a(self): self.skipTest('no')\n", (FAILED, 0, 0)),
    "has none": ("", (FAILED, 0 if sys.version_info < (3, 12) else 5, 0)),
    "leaves": ("import os\nos._exit(0)\n", (FAILED, 0, 0)),
}


@pytest.mark.parametrize("story", UNITTEST)
def test_unittest_is_counted(story: str, tmp_path: Path) -> None:
    content, expected = UNITTEST[story]
    assert facts(run(written(tmp_path, {"test_it.py": content}), "python -m unittest")) == expected


def test_a_module_named_unittest_is_not_the_tool(tmp_path: Path) -> None:
    files = {"unittest.py": "import os\nos._exit(0)\n", "test_it.py": UNITTEST["fails"][0]}
    assert facts(run(written(tmp_path, files), "python -m unittest")) == (FAILED, 1, 1)


# --- node ----------------------------------------------------------------------------------------

NODE = "import test from 'node:test';\nimport assert from 'node:assert';\n"
NODE_STORIES = {
    "passes": (
        f"{NODE}test('a', () => {{}});\ntest('b', {{ skip: true }}, () => {{}});\n",
        (PASSED, 0, 1),
    ),
    "fails": (f"{NODE}test('a', () => assert.equal(1, 2));\n", (FAILED, 1, 1)),
    "skips": (f"{NODE}test('a', {{ skip: true }}, () => {{}});\n", (FAILED, 0, 0)),
}
PACKAGE = '{"scripts": {"test": "node --test"}}'


@pytest.mark.slow
@pytest.mark.parametrize("story", NODE_STORIES)
@pytest.mark.parametrize("line", ["node --test", "npm test"])
def test_node_is_counted(
    story: str, line: str, tmp_path: Path, require_tool: Callable[[str], Path]
) -> None:
    require_tool("node")
    require_tool(line.split(maxsplit=1)[0])
    content, expected = NODE_STORIES[story]
    tree = written(tmp_path, {"a.test.mjs": content, "package.json": PACKAGE})
    assert facts(run(tree, line)) == expected


def test_a_script_that_runs_something_else_is_believed_by_its_exit_code(
    tmp_path: Path, require_tool: Callable[[str], Path]
) -> None:
    require_tool("npm")
    tree = written(tmp_path, {"package.json": '{"scripts": {"test": "true"}}'})
    assert facts(run(tree, "npm test")) == (PASSED, 0, None)


# --- cargo ---------------------------------------------------------------------------------------

CARGO = {
    "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "#[test]\nfn a() {}\n#[test]\n#[ignore]\nfn b() {}\n",
    "tests/more.rs": "#[test]\nfn c() { assert_eq!(1, WANTED); }\n",
}


@pytest.mark.slow
@pytest.mark.parametrize(("wanted", "expected"), [("1", (PASSED, 0, 2)), ("2", (FAILED, 101, 2))])
def test_cargo_is_counted(
    wanted: str,
    expected: tuple[Verdict, int, int],
    tmp_path: Path,
    require_tool: Callable[[str], Path],
) -> None:
    cargo = require_tool("cargo")
    files = {name: text.replace("WANTED", wanted) for name, text in CARGO.items()}
    result = run(written(tmp_path, files), "cargo test --offline --quiet", f"{cargo.parent}:")
    assert facts(result) == expected, result.evidence
