"""Files of which only a part steers a tool: the old part, and all the rest of the new file."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from dwindle.toolchains.mixed_files import is_mixed, merge
from dwindle.toolchains.tools import Tool

OLD = '[project]\nname = "x"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n\n[tool.ruff]\nx = 1\n'


def merged(
    name: str, old: str | None, new: str, tools: Collection[Tool] = tuple(Tool)
) -> str | None:
    found = merge(name, None if old is None else old.encode(), new.encode(), tools)
    return None if found is None else found.decode()


def test_it_depends_on_the_tool_which_files_are_mixed() -> None:
    names = ("pyproject.toml", "setup.cfg", "tox.ini", "entry_points.txt", "package.json", "app.py")
    mixed = {tool: [name for name in names if is_mixed(name, (tool,))] for tool in Tool}
    assert {tool: found for tool, found in mixed.items() if found} == {
        Tool.PYTEST: ["pyproject.toml", "setup.cfg", "tox.ini", "entry_points.txt"],
        Tool.TOX: ["pyproject.toml", "setup.cfg"],
        Tool.NODE: ["package.json"],
        Tool.COVERAGE: ["pyproject.toml", "setup.cfg", "tox.ini"],
        Tool.MYPY: ["pyproject.toml", "setup.cfg"],
        Tool.RUFF: ["pyproject.toml"],
    }


def test_of_pyproject_only_the_table_of_pytest_is_protected() -> None:
    honest = OLD.replace('name = "x"', 'name = "x"\ndependencies = ["requests"]')
    cheat = honest.replace('"-q"', '"--collect-only"')

    assert merged("pyproject.toml", OLD, honest) == honest
    assert merged("pyproject.toml", OLD, cheat, (Tool.PYTEST,)) == (
        '[project]\nname = "x"\ndependencies = ["requests"]\n\n[tool.ruff]\nx = 1\n'
        '[tool.pytest.ini_options]\naddopts = "-q"\n'
    )


@pytest.mark.parametrize(
    "spelling",
    [
        '[tool]\npytest.ini_options.addopts = "--collect-only"\n',
        'tool = { pytest = { ini_options = { addopts = "--collect-only" } } }\n',
        '[tool."pytest"."ini_options"]\naddopts = "--collect-only"\n',
        '[ tool . pytest . ini_options ]\naddopts = """\n[tool.pytest]\n"""\n',
        "this is no toml [",
        'tool = "pytest"\n',
    ],
)
def test_a_rare_spelling_is_no_way_around(spelling: str) -> None:
    found = merged("pyproject.toml", OLD, spelling)
    assert found is not None
    assert "collect-only" not in found
    assert 'addopts = "-q"' in found
    assert "collect-only" not in (merged("pyproject.toml", None, spelling) or "")


@pytest.mark.parametrize(
    ("tool", "name", "part"),
    [
        (Tool.PYTEST, "pyproject.toml", '[tool.pytest.ini_options]\naddopts = "--co"\n'),
        (Tool.COVERAGE, "pyproject.toml", "[tool.coverage.report]\nfail_under = 0\n"),
        (Tool.COVERAGE, "setup.cfg", "[coverage:run]\nomit = *\n"),
        (Tool.COVERAGE, "tox.ini", "[coverage:report]\nfail_under = 0\n"),
        (Tool.MYPY, "pyproject.toml", "[[tool.mypy.overrides]]\nignore_errors = true\n"),
        (Tool.MYPY, "setup.cfg", "[mypy-price.*]\nignore_errors = true\n"),
        (Tool.RUFF, "pyproject.toml", "[tool.ruff.lint]\nselect = []\n"),
        (Tool.TOX, "pyproject.toml", "[tool.tox]\nenv_list = []\n"),
        (Tool.TOX, "setup.cfg", "[testenv]\ncommands = true\n"),
    ],
)
def test_only_tables_of_tools_that_run_are_protected(tool: Tool, name: str, part: str) -> None:
    old = '[project]\nname = "x"\n'
    others = tuple(one for one in Tool if one is not tool)
    assert merged(name, old, old + part, (tool,)) == old
    assert merged(name, old, old + part, others) == old + part


def test_what_follows_the_bracket_of_a_section_is_no_way_around() -> None:
    cheat = "[tox]\n[pytest] # ]\naddopts = --co\n"
    assert merged("tox.ini", "[tox]\n", cheat) == "[tox]\n"


HARMLESS = (
    '[tool.pytest.ini_options]\npythonpath = ["src"]\nmarkers = ["slow"]\nminversion = "8"\n'
    'asyncio_mode = "auto"\nxfail_strict = true\nlog_cli = true\n'
)


def test_first_settings_of_pytest_are_work_if_they_are_harmless() -> None:
    def begun(name: str, old: str | None, new: str) -> str | None:
        before = None if old is None else old.encode()
        found = merge(name, before, new.encode(), (Tool.PYTEST,), may_begin=True)
        return None if found is None else found.decode()

    old = '[project]\nname = "x"\n'
    assert begun("pyproject.toml", old, old + HARMLESS) == old + HARMLESS
    assert merged("pyproject.toml", old, old + HARMLESS) == old
    assert begun("pyproject.toml", OLD, OLD.replace('"-q"', '"-q"\nlog_cli = true')) == OLD
    ini = "[pytest]\npythonpath = src\n"
    assert begun("pytest.ini", None, ini) == ini
    assert begun("setup.cfg", "", ini.replace("[", "[tool:")) == ini.replace("[", "[tool:")
    for line in (
        *("addopts = '--co'", "testpaths = ['x']", "python_files = 'x'", "norecursedirs = 'x'"),
        *("filterwarnings = 'x'", "required_plugins = 'x'", "confcutdir = 'x'", "log_file = 'x'"),
    ):
        assert begun("pyproject.toml", old, f"{old}{HARMLESS}{line}\n") == old
        assert begun("pytest.ini", None, f"{ini}{line}\n") is None
        assert begun("setup.cfg", None, f"[tool:pytest]\n{line}\n") is None


def test_a_new_file_may_say_what_does_not_steer() -> None:
    assert merged("pyproject.toml", None, '[project]\nname = "y"\n') == '[project]\nname = "y"\n'
    cheat = "[metadata]\nname = x\n[tool:pytest]\naddopts = --co\n"
    assert merged("setup.cfg", None, cheat) == "[metadata]\nname = x\n"
    assert merged("tox.ini", "[tox]\n[pytest]\nx = 1\n", "[tox]\n[pytest]\nx = 2\n") == (
        "[tox]\n[pytest]\nx = 1\n"
    )
    assert merged("tox.ini", None, "no ini at all") is None


def test_what_is_as_it_was_but_for_what_steers_comes_back_to_the_letter() -> None:
    assert merged("pyproject.toml", OLD, OLD.replace('"-q"', '"--co"')) == OLD


def test_of_entry_points_only_plugins_of_pytest_are_protected() -> None:
    """Python takes a heading for one wherever it stands in its line."""
    scripts = "[console_scripts]\napp = app:main\n"
    for heading in ("[pytest11]", "  [pytest11]", "\t[ pytest11 ]"):
        cheat = f"{scripts}{heading}\nhider = hider\n"
        assert merged("entry_points.txt", None, cheat) == scripts
    plugin = f"{scripts}[pytest11]\nmine = app.plugin\n"
    assert merged("entry_points.txt", plugin, plugin.replace("app:main", "app:run")) == (
        plugin.replace("app:main", "app:run")
    )
    assert merged("entry_points.txt", plugin, scripts) == plugin


def test_what_makes_environments_for_tests_is_protected_too() -> None:
    tox = "[tool.tox]\nenv_list = []\n"
    assert (
        merged("pyproject.toml", None, f"[project]\nname = 'x'\n{tox}") == "[project]\nname = 'x'\n"
    )
    assert merged("setup.cfg", None, "[metadata]\nname = x\n[testenv:a]\ncommands = true\n") == (
        "[metadata]\nname = x\n"
    )


def test_of_package_json_scripts_that_were_there_are_protected() -> None:
    then = '{"scripts": {"test": "node --test", "lint": "eslint"}, "jest": {"bail": 1}}'
    honest = (
        '{"scripts": {"test": "node --test", "lint": "eslint", "build": "tsc"}, '
        '"jest": {"bail": 1}, "dependencies": {"a": "1"}}'
    )
    cheat = (
        '{"scripts": {"test": "true", "pretest": "rm -r test", "prelint": "x", "lint": "eslint"},'
        ' "jest": {"testMatch": []}, "dependencies": {"a": "1"}}'
    )
    assert merged("package.json", then, honest) == honest
    assert merged("package.json", then, cheat) == (
        '{\n  "scripts": {\n    "test": "node --test",\n    "lint": "eslint"\n  },\n'
        '  "dependencies": {\n    "a": "1"\n  },\n  "jest": {\n    "bail": 1\n  }\n}\n'
    )
    for before in (None, '{"scripts": {"lint": "eslint"}}'):
        first = '{"scripts": {"lint": "eslint", "test": "node --test"}}'
        assert merged("package.json", before, first) == first
    assert merged("package.json", then, "[]") == then
    assert merged("package.json", then, '{"scripts": []}') == then
