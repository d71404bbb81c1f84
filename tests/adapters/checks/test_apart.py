"""Judge and judged are apart while a check runs: memory, tracing, files, plugins, bytecode."""

from __future__ import annotations

import asyncio
import py_compile
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dwindle.adapters.checks.mechanical import CheckSettings, MechanicalChecks
from dwindle.adapters.sandbox.bubblewrap import Bubblewrap
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Check, CheckType
from dwindle.ports.checks import CheckResult
from dwindle.ports.fixed_files import MOST_MOUNTS
from dwindle.ports.process import Command

SUITE = f"{sys.executable} -m pytest -q -p no:cacheprovider"


@pytest.fixture
def wrapped(require_tool: Callable[[str], Path]) -> Bubblewrap:
    return Bubblewrap(program=str(require_tool("bwrap")))


def result(sandbox: Bubblewrap, tree: Path, line: str, *fixed: str) -> CheckResult:
    check = Check(type=CheckType.COMMAND, value=line)
    checks = MechanicalChecks(sandbox, CheckSettings())
    return asyncio.run(checks.run(check, tree, fixed))


def files(tree: Path, **content: str) -> None:
    for name, text in content.items():
        path = tree / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


TRACER = """
import ctypes, os, signal, subprocess, sys
other = subprocess.Popen(["sleep", "30"])
said = ctypes.CDLL(None).ptrace(16, other.pid, 0, 0)  # PTRACE_ATTACH
os.kill(other.pid, signal.SIGKILL)
sys.exit(0 if said == 0 else 1)
"""


def test_what_is_checked_cannot_trace(wrapped: Bubblewrap, tmp_path: Path) -> None:
    files(tmp_path, tracer_dot_py=TRACER)
    line = f"{sys.executable} tracer.py; test $? = 1"
    assert result(wrapped, tmp_path, line).verdict is Verdict.PASSED
    agent = Command(argv=(sys.executable, "tracer.py"), cwd=tmp_path)
    ended = asyncio.run(wrapped.run(agent))
    assert ended.exit_code == 0, "agents may debug; so the test above can fail"


FORGER = """
import os, re, sys
parent = os.getppid()
wanted = b"SECRET-VERDICT-" + b"RED"
try:
    maps = open(f"/proc/{parent}/maps").read()
    memory = open(f"/proc/{parent}/mem", "r+b", 0)
except OSError as error:
    sys.exit(f"no: {error}")
for line in maps.splitlines():
    found = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
    if not found or "[" in line and "heap" not in line:
        continue
    start, end = (int(one, 16) for one in found.groups())
    try:
        memory.seek(start)
        content = memory.read(end - start)
    except (OSError, ValueError, OverflowError):
        continue
    at = content.find(wanted)
    while at >= 0:
        memory.seek(start + at)
        memory.write(b"SECRET-VERDICT-GRN")
        at = content.find(wanted, at + 1)
"""
FORGED = """
import subprocess, sys

VERDICT = bytearray(b"SECRET-VERDICT-" + b"RED")


def test_price():
    subprocess.run([sys.executable, "price.py"], check=False)
    assert bytes(VERDICT).endswith(b"GRN")
"""


def test_a_program_that_tests_start_cannot_write_to_the_memory_of_the_tool(
    wrapped: Bubblewrap, tmp_path: Path
) -> None:
    files(tmp_path, price_dot_py=FORGER, test_price_dot_py=FORGED)
    assert result(wrapped, tmp_path, SUITE).verdict is Verdict.FAILED


def test_such_a_program_would_succeed_without_the_defence(
    wrapped: Bubblewrap, tmp_path: Path
) -> None:
    """Shows that the test above can fail."""
    files(tmp_path, price_dot_py=FORGER, test_price_dot_py=FORGED)
    words = (*SUITE.split(), "-p", "no:cacheprovider")
    command = Command(argv=words, cwd=tmp_path, writable=(tmp_path,), timeout_seconds=60.0)
    ended = asyncio.run(wrapped.run(command))
    if b"Operation not permitted" in ended.stdout.head + ended.stdout.tail:
        return  # the kernel forbids it by itself
    assert ended.exit_code == 0, ended.stdout.text()


def test_fixed_files_cannot_be_changed_by_what_is_checked(
    wrapped: Bubblewrap, tmp_path: Path
) -> None:
    files(tmp_path, tests__test_dot_sh="exit 1\n", src_dot_txt="x\n")
    again = "mkdir -p tests; echo exit 0 > tests/test.sh"
    rewrite = f"{again}; mv tests other; {again}; rm -rf tests; {again}; sh tests/test.sh"
    assert result(wrapped, tmp_path, rewrite, "tests/test.sh").verdict is not Verdict.PASSED
    assert (tmp_path / "tests/test.sh").read_text() == "exit 1\n"
    assert result(wrapped, tmp_path, rewrite).verdict is Verdict.PASSED, "without it they can"


def test_other_files_of_the_tree_can_be_written(wrapped: Bubblewrap, tmp_path: Path) -> None:
    files(tmp_path, tests__test_dot_sh="exit 1\n")
    line = "echo > tests/output && echo > built"
    assert result(wrapped, tmp_path, line, "tests/test.sh", "gone").verdict is Verdict.PASSED


def test_many_fixed_files_are_held_by_their_folders(wrapped: Bubblewrap, tmp_path: Path) -> None:
    names = [f"tests/test_{n}.sh" for n in range(MOST_MOUNTS + 1)]
    for name in (*names, "check.sh"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("exit 1\n")
    line = "! echo > tests/test_5.sh && ! echo > check.sh && echo > other"
    assert result(wrapped, tmp_path, line, *names, "check.sh").verdict is Verdict.PASSED


def test_compiled_modules_of_the_tree_are_not_read(wrapped: Bubblewrap, tmp_path: Path) -> None:
    files(tmp_path, price_dot_py="def total():\n    return 3\n")
    py_compile.compile(
        str(tmp_path / "price.py"), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    files(tmp_path, price_dot_py="def total():\n    return 0\n")
    line = f"{sys.executable} -c 'import price; assert price.total() == 3'"
    assert result(wrapped, tmp_path, line).verdict is Verdict.FAILED


SHADOW = """
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    outcome = yield
    outcome.get_result().outcome = "passed"
"""


def test_a_module_with_the_name_of_a_plugin_is_not_that_plugin(
    wrapped: Bubblewrap, tmp_path: Path
) -> None:
    """The plugin of hypothesis, which is installed here, is a module of its own."""
    (tmp_path / "_hypothesis_pytestplugin.py").write_text(SHADOW)
    (tmp_path / "test_red.py").write_text("def test_red():\n    assert False\n")
    assert result(wrapped, tmp_path, SUITE).verdict is Verdict.FAILED
    command = Command(argv=tuple(SUITE.split()), cwd=tmp_path, timeout_seconds=60.0)
    assert asyncio.run(wrapped.run(command)).exit_code == 0, "without the gate it decides"
