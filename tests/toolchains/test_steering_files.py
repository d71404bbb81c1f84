"""What a command leads to: recipes, scripts, and the tools that they name."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from dwindle.toolchains.steering_files import (
    MOST_FILES,
    Ground,
    Reach,
    named_files,
    reach_of,
    steers,
)
from dwindle.toolchains.tools import Tool, tools_in


@pytest.mark.parametrize(
    ("line", "tools"),
    [
        ("pytest -q", (Tool.PYTEST,)),
        (".venv/bin/pytest tests", (Tool.PYTEST,)),
        ("uv run --with x python -m pytest | tail", (Tool.PYTEST,)),
        ("sh -c 'cd a && python -m pytest'", (Tool.PYTEST,)),
        ("tox -e py311", (Tool.PYTEST, Tool.TOX)),
        ("python -m unittest", (Tool.UNITTEST,)),
        ("node --test && cargo test", (Tool.NODE, Tool.CARGO)),
        ("npm test", (Tool.NODE,)),
        ("make test", (Tool.MAKE,)),
        ("just ci", (Tool.JUST,)),
        ("pytest --cov=src --cov-fail-under=90", (Tool.PYTEST, Tool.COVERAGE)),
        ("python3 -m mypy src && .venv/bin/ruff check", (Tool.MYPY, Tool.RUFF)),
        ("./test.sh", ()),
        ("grep -r pytesting .", ()),
    ],
)
def test_tools_are_looked_for_in_every_word(line: str, tools: tuple[Tool, ...]) -> None:
    assert tools_in((line,)) == tools


STEERING = {
    "pytest": (
        *("conftest.py", "tests/deep/conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml"),
        *("sitecustomize.py", "src/usercustomize.py", "x.pth", "env/site-packages/x.pth"),
        *("pytest.py", "pytest/__main__.py", "_pytest/__init__.py", "src/pluggy.py"),
    ),
    "tox": ("tox.ini", "sub/tox.toml"),
    "python -m unittest": ("sitecustomize.py", "unittest.py", "unittest/__init__.py", "a.pth"),
    "npm test": (
        *(".npmrc", ".yarnrc.yml", "jest.config.js", "web/vitest.config.ts", "vite.config.mjs"),
        *("babel.config.json", ".babelrc", "web/.babelrc.js", ".swcrc", ".mocharc.yml", ".taprc"),
        *("ava.config.js", ".nycrc", ".nycrc.json", "nyc.config.js", ".c8rc.json"),
        *("tsconfig.json", "web/tsconfig.test.json", "node_modules/.bin/jest"),
        *("web/node_modules/jest/index.js", "vitest.workspace.ts", "node.config.json"),
    ),
    "coverage run app.py": (".coveragerc", "coverage.py", "sitecustomize.py"),
    "mypy src": ("mypy.ini", ".mypy.ini", "mypy/__init__.py"),
    "ruff check": ("ruff.toml", "src/.ruff.toml", "ruff/__main__.py"),
    "cargo test": (".cargo/config.toml", "rust-toolchain", ".config/nextest.toml"),
}
OTHERS = (
    *("src/app.py", "tests/test_app.py", "conftest.py.md", "my_conftest.py", "Cargo.toml"),
    *("models/weights.pth", "docs/pytest/guide.md", "tests/unittest/test_x.py", "next.config.js"),
    *("docs/pytest/conf.py", "unittest/helper.py", "docs/ruff.md", "tests/__init__.py"),
)


@pytest.mark.parametrize("line", STEERING)
def test_the_files_that_steer_each_tool_are_known(line: str) -> None:
    tools = tools_in((line,))
    assert [path for path in (*STEERING[line], *OTHERS) if steers(path, tools)] == [*STEERING[line]]


def test_without_a_known_tool_nothing_steers() -> None:
    assert not any(steers(path, ()) for paths in STEERING.values() for path in paths)


def test_a_module_in_a_package_shadows_nothing_and_a_part_of_a_vendored_tool_steers() -> None:
    ground = Ground.of(("app/__init__.py", "lib/_pytest/__init__.py"))
    paths = ("app/pytest.py", "app/pytest/__init__.py", "lib/_pytest/config.py", "lib/pytest.py")
    assert [path for path in paths if steers(path, (PYTEST,), ground)] == [*paths[2:]]
    run_there = replace(ground, run_in=frozenset({"app"}))
    assert steers("app/pytest.py", (PYTEST,), run_there)


# --- files that a command leads to ---------------------------------------------------------------

MAKEFILES = {"GNUmakefile", "makefile", "Makefile"}
JUSTFILES = {"justfile", "Justfile", "JUSTFILE", ".justfile", ".Justfile"}
PYTEST, UNITTEST, NODE, CARGO, TOX, NOX, MAKE, JUST, COVERAGE, MYPY, RUFF = Tool


def looked(line: str, **files: str) -> Reach:
    """Underscores stand for what a name in Python cannot have: `a__b_c` is a/b.c."""
    return seen(line, {n.replace("__", "/").replace("_", "."): t for n, t in files.items()})


def seen(line: str, files: dict[str, str]) -> Reach:
    async def content(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    return asyncio.run(reach_of((line,), content, files))


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
        {"my.mk", "sub/my.mk", "sub/rules.mk", *MAKEFILES} | {f"sub/{name}" for name in MAKEFILES},
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
    "linters count where they run": (
        "make test",
        {"Makefile": "test: unit\nunit:\n\tpytest --cov\nlint:\n\truff check\n\tmypy\n"},
        (MAKE, PYTEST, COVERAGE),
        {*MAKEFILES, "test"},
    ),
    "a linter behind make and just": (
        "make",
        {"Makefile": "RUFF = bin/ruff\nall:\n\t$(MAKE) lint\n\tjust types\nlint: ; $(RUFF)\n"}
        | {"justfile": "types: (one 'x')\none x:\n  @mypy {{x}}\n"},
        (MAKE, JUST, RUFF, MYPY),
        {*MAKEFILES, *JUSTFILES, "lint"},
    ),
    "a macro could run anything": (
        "make test",
        {"Makefile": "define run\n\truff\nendef\n.PHONY: test\ntest:\n\t$(call run)\n"},
        (MAKE, RUFF),
        MAKEFILES,
    ),
    "settings that use coverage": (
        "pytest",
        {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--cov=src"\n'},
        (PYTEST, COVERAGE),
        set(),
    ),
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


# --- files that a command names ------------------------------------------------------------------

NAMED = {
    "justfile": b"ci: lint\n    @sh check.sh\nlint:\n    @ruff check --config=ruff.toml src\n",
    "check.sh": b"true\n",
    "ruff.toml": b"\n",
    "src/a.py": b"1\n",
    "Makefile": b"ci:\n\tsh check.sh\n",
    "tools/ci.py": b"print()\n",
}


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (("just", "ci"), ["justfile", "check.sh", "ruff.toml"]),
        (("make", "ci"), ["Makefile", "check.sh"]),
        (("sh", "check.sh"), ["check.sh"]),
        (("sh", "-c", "cd . && python tools/ci.py --all"), ["tools/ci.py"]),
        (("./check.sh",), ["check.sh"]),
        (("true",), []),
        (("sh", "-c", "unbalanced 'quote; sh check.sh"), ["check.sh"]),
    ],
)
def test_the_files_that_a_command_and_its_recipe_files_name(
    command: tuple[str, ...], found: list[str]
) -> None:
    assert [path for path, _ in named_files(command, NAMED.get)] == found
