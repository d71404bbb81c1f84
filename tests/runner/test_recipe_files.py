"""What a command leads to: recipes, scripts, and the tools that they name."""

from __future__ import annotations

import asyncio

import pytest

from dwindle.runner.judging_tools import Tool
from dwindle.runner.recipe_files import MOST_FILES, Found, look_into
from dwindle.runner.steering import Steering, steering_of_guard

MAKEFILES = {"GNUmakefile", "makefile", "Makefile"}
JUSTFILES = {"justfile", "Justfile", "JUSTFILE", ".justfile", ".Justfile"}
PYTEST, UNITTEST, NODE, CARGO, TOX, NOX, MAKE, JUST = Tool


def looked(line: str, **files: str) -> Found:
    """Underscores stand for what a name in Python cannot have: `a__b_c` is a/b.c."""
    return seen(line, {n.replace("__", "/").replace("_", "."): t for n, t in files.items()})


def seen(line: str, files: dict[str, str]) -> Found:
    async def content(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    return asyncio.run(look_into((line,), content))


STORIES: dict[str, tuple[str, dict[str, str], tuple[Tool, ...], set[str]]] = {
    "a recipe": (
        "make test",
        {"Makefile": "PYTEST:=.venv/bin/pytest\ntest:\n\t$(PYTEST) -q\n"},
        (MAKE, PYTEST),
        {*MAKEFILES, "test"},
    ),
    "what it includes": (
        "make -C sub -f my.mk",
        {"sub/my.mk": "include ci/*.mk rules.mk\n", "sub/rules.mk": "t:\n\tcargo test\n"},
        (MAKE, CARGO),
        {"my.mk", "sub/my.mk", "sub/ci/*.mk", "sub/rules.mk", *MAKEFILES}
        | {f"sub/{name}" for name in MAKEFILES},
    ),
    "scripts of a recipe": (
        "make",
        {"Makefile": "all:\n\tsh tools/ci.sh && python app.py\n", "tools/ci.sh": "npm test\n"}
        | {"app.py": "1\n", "package.json": '{"scripts": {"test": "vitest"}}'},
        (MAKE, NODE),
        {*MAKEFILES, "tools/ci.sh"},
    ),
    "just": (
        "just ci",
        {"justfile": "import 'x.just'\nmod web\nset dotenv-load\nci:\n  python -m unittest\n"},
        (JUST, UNITTEST),
        {*JUSTFILES, "x.just", "web.just", "web/mod.just", "web/justfile", ".env"},
    ),
    "a package": (
        "cd web && npm run ci",
        {"web/package.json": '{"scripts": {"ci": "sh ci.sh"}}', "web/ci.sh": "pytest\n"},
        (NODE, PYTEST),
        {"web/ci.sh"},
    ),
    "tox": (
        "tox -e unit",
        {"tox.ini": "[testenv]\ncommands = python -m unittest\n"},
        (PYTEST, TOX, UNITTEST),
        {"tox.ini", "tox.toml"},
    ),
    "nox": (
        "nox",
        {"noxfile.py": 'def t(session):\n    session.run("cargo", "test")\n'},
        (PYTEST, NOX, CARGO),
        {"noxfile.py"},
    ),
    "a script": (
        "./run-tests",
        {"run-tests": "#!/bin/sh\nset -e\n. ./env.sh\npy.test\n", "env.sh": "A=1\n"},
        (PYTEST,),
        {"run-tests", "env.sh"},
    ),
    "a script of another language": (
        "env CI=1 python tools/check.py --all",
        {"tools/check.py": 'run(["pytest"])\n'},
        (PYTEST,),
        {"tools/check.py"},
    ),
    "a test": ("python tests/test_a.py", {"tests/test_a.py": "import unittest\n"}, (), set()),
    "quoted": ("bash -c 'cd a && sh b.sh'", {"a/b.sh": "node --test\n"}, (NODE,), {"a/b.sh"}),
    "a comment": ("sh a.sh", {"a.sh": "# pytest would be nice\ntrue\n"}, (), {"a.sh"}),
    "a target that is there": ("make app", {"app": "x", "Makefile": "app:\n"}, (MAKE,), MAKEFILES),
    "nothing": ("test -f a.txt && grep -r x .", {"a.txt": "pytest"}, (), set()),
}


@pytest.mark.parametrize("story", STORIES)
def test_it_is_followed_to_where_it_leads(story: str) -> None:
    line, files, tools, paths = STORIES[story]

    found = seen(line, files)

    assert (set(found.tools), found.files) == (set(tools), frozenset(paths))


def test_what_leads_in_a_circle_or_without_end_comes_to_an_end() -> None:
    assert looked("sh a.sh", a_sh="sh b.sh\n", b_sh="sh a.sh\n").files == {"a.sh", "b.sh"}
    endless = {f"{n}.sh": f"sh {n + 1}.sh\n" for n in range(200)}
    assert len(seen("sh 0.sh", endless).files) == MOST_FILES


def test_nothing_outside_is_looked_for_and_nothing_odd_is_read() -> None:
    assert looked("sh ../x.sh && sh /etc/x.sh && sh ''").files == set()
    assert seen("sh a.sh", {"a.sh": "\0pytest\n"}).tools == ()
    assert seen("npm test", {"package.json": "[1"}).tools == (NODE,)
    assert seen("npm test", {"package.json": '{"scripts": ["pytest"]}'}).tools == (NODE,)


# --- as it is asked for --------------------------------------------------------------------------


def into(steering: Steering, files: dict[str, str]) -> Steering:
    async def content(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    return asyncio.run(steering.looked_into(content))


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
