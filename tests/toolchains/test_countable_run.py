"""Which tool a command runs, behind a recipe, a script or a quoted line as well."""

from __future__ import annotations

import pytest

from dwindle.toolchains.countable_run import countable_run

EMPTY: dict[str, str] = {}


@pytest.mark.parametrize(
    "line",
    [
        "pytest",
        "pytest -q tests/test_a.py::test_x -k 'a and not b'",
        "py.test",
        "pytest-3",
        ".venv/bin/pytest",
        "python -m pytest",
        "python3.11 -W error -X dev -I -m pytest -q",
        "../.venv/bin/python -m pytest",
        "CI=1 A='b c' pytest",
        "env CI=1 pytest",
        "uv run pytest",
        "uv run --frozen -- pytest -q",
        "poetry run python -m pytest",
        "coverage run -m pytest",
        "coverage run --branch -m pytest",
        "python -m coverage run --branch -m pytest",
        "exec pytest",
        "cd sub && pytest",
        "pytest 2>&1",
        "pytest > /dev/null",
    ],
)
def test_pytest_is_recognised(line: str) -> None:
    run = countable_run(line, EMPTY.get)
    assert run is not None
    assert run.tool == "pytest"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "echo pytest",
        "make test",
        "pytest | tail",
        "pytest || true",
        "pytest; true",
        "pytest & wait",
        "pytest\ntrue",
        "(pytest)",
        "! pytest",
        "echo $(pytest)",
        "echo `pytest`",
        "sh -c 'pytest || true'",
        "pytest a && pytest b",
        "pip install pytest && make",
        "python pytest.py",
        "python run.py -m pytest",
        "python -m",
        "pytest 'unclosed",
        "env -i pytest",
        "uv run --with x pytest",
        "PYTEST_ADDOPTS=-x pytest",
        "pytest --junitxml=mine.xml",
        "pytest --junit-xml mine.xml",
    ],
)
def test_what_is_not_simply_pytest_is_left_alone(line: str) -> None:
    assert countable_run(line, EMPTY.get) is None


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("python -m unittest", "unittest"),
        ("python3 -m unittest discover -s tests", "unittest"),
        ("coverage run -m unittest", "unittest"),
        ("node --test", "node"),
        ("node --test --test-concurrency=1 test/", "node"),
        ("npm test", "node"),
        ("cd web && npm run test", "node"),
        ("yarn test", "node"),
        ("cargo test", "cargo"),
        ("cargo +stable test --release", "cargo"),
        ("cargo t", "cargo"),
    ],
)
def test_tools_are_recognised(line: str, name: str) -> None:
    run = countable_run(line, EMPTY.get)
    assert run is not None
    assert run.tool == name


@pytest.mark.parametrize(
    "line",
    [
        "python -I -m unittest",
        "python -m unittesting",
        "node test.js",
        "npm run build:test",
        "npm install && ./test",
        "cargo build",
        "cargo test && npm test",
        "NODE_OPTIONS=--no-warnings node --test",
        "node --test --test-reporter=tap",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=qemu cargo test",
        "cargo test | tee log",
    ],
)
def test_where_the_request_would_be_lost_it_is_not_made(line: str) -> None:
    assert countable_run(line, EMPTY.get) is None


# --- behind a recipe -----------------------------------------------------------------------------


def named(line: str, files: dict[str, str]) -> tuple[str, int, bool] | None:
    run = countable_run(line, files.get)
    return None if run is None else (run.tool, run.failure_code, run.must_report)


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
def test_the_one_tool_behind_it_is_found(story: str) -> None:
    line, files, expected = READ[story]
    assert named(line, files) == expected
    if "-c" not in line and "npm" not in line:
        assert named(line, {}) is None


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
def test_what_only_its_own_program_could_work_out_is_left_alone(story: str) -> None:
    line, files = LEFT_ALONE[story]
    assert named(line, files) is None
