"""What steers the tools of a base case or a guard, but for what the plan wants made."""

from __future__ import annotations

import asyncio

import pytest
from tests.runner.test_pins import command, objective

from dwindle.kernel.model import Check, CheckType
from dwindle.runner.gate.steering import ToolSteering, steering_of, steering_of_guard


def test_without_a_known_tool_nothing_steers() -> None:
    steering = steering_of(objective(command("./test")))
    assert steering.is_empty
    assert not steering.steers("conftest.py")
    assert not steering.is_mixed("pyproject.toml")


def test_what_the_plan_wants_made_does_not_steer() -> None:
    base = objective(
        command("pytest"),
        Check(type=CheckType.FILE, value="./a/conftest.py"),
        protected=("!b/", "tests"),
    )
    wanted = base.__class__(
        goal="g",
        base_case=base.base_case,
        background_intent="i",
        deliverables="A fixture in (c/conftest.py), and docs.",
        definition_of_done="d",
        protected_paths=base.protected_paths,
    )
    steering = steering_of(wanted)
    places = ("a/conftest.py", "b/x/conftest.py", "c/conftest.py", "d/conftest.py")
    assert [steering.steers(path) for path in places] == [False, False, False, True]


def into(steering: ToolSteering, files: dict[str, str]) -> ToolSteering:
    async def content(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    return asyncio.run(steering.follow_recipes(content, files))


def test_what_steers_a_guard_is_what_it_leads_to() -> None:
    files = {"Makefile": "test:\n\tpytest\n", "pyproject.toml": ""}
    before = steering_of_guard(("make", "test"), ("tests/conftest.py", "tools/**"))
    steering = into(before, files)

    paths = ("Makefile", "GNUmakefile", "conftest.py", "tests/conftest.py", "tools/conftest.py")
    assert [path for path in paths if steering.steers(path)] == [
        *("Makefile", "GNUmakefile", "conftest.py")
    ]
    assert steering.is_mixed("pyproject.toml")
    assert not before.steers("Makefile")
    assert into(steering, {}) == steering


@pytest.mark.parametrize("command", [("sh", "-c", "sh a.sh"), ("sh", "a.sh"), ("./a.sh",)])
def test_a_guard_is_a_list_of_words_or_a_line(command: tuple[str, ...]) -> None:
    assert into(steering_of_guard(command, ()), {"a.sh": "true\n"}).files == {"a.sh"}


# --- a cheat, and its honest twin ----------------------------------------------------------------

MAKE = "test: lint unit\nunit: fixtures.txt app.o\n\tpytest\nlint:\n\ttrue\n%.o: %.c\n\tcc $<\n"
PACKAGE = '{"scripts": {"test": "jest"}}'
TEST = "def test(): pass\n"
STORIES: dict[str, tuple[str, dict[str, str], tuple[str, ...], tuple[str, ...]]] = {
    "files that make includes by a pattern": (
        "make test",
        {"Makefile": "include rules/*.mk\n-include *.local\ninclude $(wildcard x/*.mk)\ntest:\n"},
        ("rules/new.mk", "a.local", "x/y.mk"),
        ("rules/a/b.mk", "docs/a.local", "x/y.py"),
    ),
    "and what those include": (
        "make test",
        {"Makefile": "include rules/*.mk\ntest:\n", "rules/a.mk": "include more.mk\n"},
        ("rules/a.mk", "more.mk", "rules/more.mk", "rules/a.mk.sh"),
        ("more.txt",),
    ),
    "a makefile that make would write anew": (
        "make test",
        {"Makefile": "-include local.mk\ntest:\n\tpytest\n"},
        (
            *("Makefile.sh", "Makefile.c", "Makefile,v", "RCS/Makefile,v", "SCCS/s.Makefile"),
            *("s.Makefile", "RCS/Makefile.sh,v", "local.mk.sh", "local.mk"),
        ),
        ("test.sh", "Makefile.md", "sub/Makefile.sh", "RCS/notes", "app.c"),
    ),
    "a prerequisite that make would write anew": (
        "make test",
        {"Makefile": "test: run-tests app\n\t./run-tests\n", "run-tests": "#!/bin/sh\npytest\n"},
        ("run-tests.sh", "RCS/run-tests,v", "run-tests"),
        ("app.c", "app", "lint.sh"),
    ),
    "files and folders with the name of a target": (
        "make test",
        {"Makefile": MAKE},
        ("test", "test/a.py", "lint", "lint/deep/a.py", "unit", "app.o"),
        ("fixtures.txt", "app.c", "units", "docs/test"),
    ),
    "the first target, if none is asked for": (
        "make -C sub",
        {"sub/Makefile": ".PHONY: clean\nall: unit\nunit:\n\ttrue\nother:\n\ttrue\nclean:\n"},
        ("sub/all", "sub/unit"),
        ("all", "sub/other", "sub/clean"),
    ),
    "the target that the makefile chooses": (
        "make",
        {"Makefile": "a:\n\ttrue\nb:\n\ttrue\n.DEFAULT_GOAL := b\n"},
        ("b",),
        ("a",),
    ),
    "phony targets need no file, and folders that existed do no harm": (
        "make test",
        {"Makefile": "ALL = test lint\n.PHONY: $(ALL)\ntest: lint docs\nlint:\ndocs:\n"}
        | {"docs/a.md": ""},
        ("Makefile",),
        ("test/test_a.py", "lint", "docs/b.md"),
    ),
    "a recipe of which another asks for": (
        "make ci",
        {"Makefile": "ci:\n\t$(MAKE) -C sub unit\n", "sub/Makefile": "unit:\n\tpytest\nx:\n"},
        ("ci", "sub/unit", "conftest.py"),
        ("sub/x",),
    ),
    "programs without a suffix that make runs": (
        "make test",
        {"Makefile": "RUN = bin/all\ntest:\n\t@./run-tests -q\n\tCI=1 bin/check && $(RUN)\n"}
        | {"run-tests": "#!/usr/bin/env python3\n", "bin/check": "#!/bin/sh\nnpm test\n"}
        | {"bin/all": "#!/bin/sh\n", "package.json": PACKAGE},
        ("run-tests", "bin/check", "bin/all", "jest.config.js"),
        ("bin/other", "src/run-tests"),
    ),
    "and those that are no scripts, or that did not exist": (
        "make test",
        {"Makefile": "test:\n\tbin/app --check\n\tbin/new\n", "bin/app": "\x7fELF"},
        ("Makefile",),
        ("bin/app", "bin/new"),
    ),
    "programs of other recipes": (
        "just ci && npm test",
        {"justfile": "ci:\n    @exec ./check\n", "check": "#!/bin/sh\n", "bin/web": "#!/bin/sh\n"}
        | {"package.json": '{"scripts": {"test": "bin/web && sh a.sh"}}'}
        | {"a.sh": "if tools/last; then\n", "tools/last": "#!/bin/sh\n"},
        ("check", "bin/web", "tools/last"),
        ("bin/webs",),
    ),
    "configuration of node": (
        "npm test",
        {"package.json": PACKAGE},
        ("vite.config.ts", ".babelrc", "tsconfig.json", "node_modules/.bin/jest"),
        ("src/index.ts", "next.config.js"),
    ),
    "a first project of node": (
        "npm test",
        {"README.md": ""},
        (),
        ("package.json", "tsconfig.json", "vitest.config.ts"),
    ),
    "tests of node without a package": (
        "npx jest",
        {"a.test.js": ""},
        ("jest.config.js",),
        ("a.js",),
    ),
    "coverage": (
        "pytest --cov",
        {"tests/test_a.py": TEST},
        (".coveragerc", "coverage.py"),
        ("ruff.toml", "mypy.ini"),
    ),
    "no coverage": ("pytest", {"tests/test_a.py": TEST}, ("conftest.py",), (".coveragerc",)),
    "mypy and ruff": (
        "mypy . && ruff check",
        {"a.py": ""},
        ("mypy.ini", "ruff.toml"),
        ("conftest.py", "pytest.ini"),
    ),
    "packages of tests": (
        "pytest",
        {"tests/test_a.py": TEST, "src/app/test_b.py": TEST},
        ("tests/__init__.py",),
        ("tests/new/__init__.py", "src/app/__init__.py", "__init__.py"),
    ),
    "first tests": ("pytest", {"a.py": ""}, (), ("tests/__init__.py", "tests/test_a.py")),
    "a package beside a module": (
        "python -m unittest",
        {"price.py": "", "lib/a.py": "", "cost/__init__.py": "", "cost.py": ""},
        ("price/__init__.py", "lib/a/__init__.py", "price.abi3.so"),
        ("price/data.py", "a/__init__.py", "cost/__init__.py", "new/__init__.py"),
    ),
    "no Python tool": ("make", {"price.py": ""}, (), ("price/__init__.py", "x.pth")),
    "names that are plain files elsewhere": (
        "pytest && python -m unittest",
        {"tests/test_a.py": TEST, "app/__init__.py": ""},
        ("pytest.py", "unittest/__init__.py", "x.pth"),
        ("models/weights.pth", "docs/pytest/guide.md", "tests/unittest/test_x.py", "app/pytest.py"),
    ),
    "a first Makefile": (
        "make test",
        {"docs/Makefile": "html:\n"},
        (),
        ("Makefile", "GNUmakefile", "test/test_a.py", "Makefile.sh"),
    ),
    "a first justfile": ("just ci", {"a.py": ""}, (), ("justfile", ".justfile")),
    "a second justfile": ("just ci", {"Justfile": "ci:\n"}, ("justfile",), ("sub/justfile",)),
    "a first tox.ini": ("tox", {"pyproject.toml": ""}, ("conftest.py",), ("tox.ini", "tox.toml")),
    "tox elsewhere": ("tox", {"pyproject.toml": "[tool.tox]\nx = 1\n"}, ("tox.ini",), ("a.py",)),
    "a first noxfile": ("nox", {"a.py": ""}, ("conftest.py",), ("noxfile.py",)),
    "another noxfile": ("nox", {"sub/noxfile.py": ""}, ("noxfile.py",), ("a.py",)),
    "settings of pytest": ("pytest", {"tox.ini": "[pytest]\n"}, ("pytest.ini",), ("a.py",)),
    "settings that nobody can read": ("pytest", {"setup.cfg": "x"}, ("pytest.ini",), ("a.py",)),
}


@pytest.mark.parametrize("story", STORIES)
def test_a_cheat_steers_and_its_honest_twin_does_not(story: str) -> None:
    line, files, cheats, honest = STORIES[story]
    steering = into(steering_of(objective(command(line))), files)
    assert [path for path in (*cheats, *honest) if steering.steers(path)] == [*cheats]


def test_a_module_that_becomes_a_package_is_work() -> None:
    steering = into(steering_of(objective(command("pytest"))), {"price.py": ""})
    assert steering.steers("price/__init__.py", lambda path: path == "price.py")
    assert not steering.steers("price/__init__.py", lambda _: False)


def test_what_make_builds_is_a_product_but_the_goal_is_not() -> None:
    steering = into(steering_of(objective(command("make test"))), {"Makefile": MAKE})
    paths = ("test", "test/a", "unit", "unit/conftest.py", "unit/a", "app.o", "app.c")
    assert [path for path in paths if steering.steers(path, products=False)] == [
        *("test", "test/a", "unit/conftest.py")
    ]


def test_first_settings_of_pytest_are_merged_where_there_are_none() -> None:
    harmless, cheat = b"[pytest]\npythonpath = src\n", b"[pytest]\naddopts = --co\n"
    first = into(steering_of(objective(command("pytest"))), {"pyproject.toml": "[project]\n"})
    assert not first.steers("pytest.ini")
    assert first.is_mixed("pytest.ini")
    assert first.merge("pytest.ini", None, harmless) == harmless
    assert first.merge("pytest.ini", None, cheat) != cheat
    assert first.merge("tox.ini", None, harmless) == harmless

    second = into(steering_of(objective(command("pytest"))), {"sub/pytest.ini": ""})
    assert second.merge("tox.ini", None, harmless) != harmless


def test_tables_of_tools_that_do_not_run_are_work() -> None:
    files = {"Makefile": "test:\n\tpytest\nlint:\n\truff check\n", "pyproject.toml": ""}
    table = b"[tool.ruff]\nline-length = 99\n"
    for goal, kept in {"test": table, "lint": b""}.items():
        steering = into(steering_of(objective(command(f"make {goal}"))), files)
        assert steering.merge("pyproject.toml", b"", table) == kept
