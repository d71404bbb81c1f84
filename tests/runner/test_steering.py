"""Files that steer a test tool, as a whole or in part, and those that do not."""

from __future__ import annotations

import pytest
from tests.runner.test_pins import command, objective

from dwindle.kernel.model import Check, CheckType
from dwindle.runner.judging_tools import Tool
from dwindle.runner.steering import Steering, steering_of, tools_of


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
        ("./test.sh", ()),
        ("grep -r pytesting .", ()),
    ],
)
def test_tools_are_looked_for_in_every_word(line: str, tools: tuple[Tool, ...]) -> None:
    assert tools_of(objective(command(line)).base_case) == tools


STEERING = {
    "pytest": (
        *("conftest.py", "tests/deep/conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml"),
        *("sitecustomize.py", "src/usercustomize.py", "lib/x.pth", "pytest.py"),
        *("pytest/__main__.py", "_pytest/config.py", "src/pluggy.py"),
    ),
    "tox": ("tox.ini", "sub/tox.toml"),
    "python -m unittest": ("sitecustomize.py", "unittest.py", "unittest/__init__.py", "a.pth"),
    "npm test": (".npmrc", "jest.config.js", "web/vitest.config.ts", ".mocharc.yml"),
    "cargo test": (".cargo/config.toml", "rust-toolchain", ".config/nextest.toml"),
}
OTHERS = ("src/app.py", "tests/test_app.py", "conftest.py.md", "my_conftest.py", "Cargo.toml")


@pytest.mark.parametrize("line", STEERING)
def test_the_files_that_steer_each_tool_are_known(line: str) -> None:
    steering = steering_of(objective(command(line)))
    assert [path for path in (*STEERING[line], *OTHERS) if steering.steers(path)] == [
        *STEERING[line]
    ]


def test_without_a_known_tool_nothing_steers() -> None:
    steering = steering_of(objective(command("./test")))
    assert not any(steering.steers(path) for paths in STEERING.values() for path in paths)
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


# --- in part -------------------------------------------------------------------------------------

PYTEST = Steering(tools=(Tool.PYTEST, Tool.NODE))
THEN = '[project]\nname = "x"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n\n[tool.ruff]\nx = 1\n'


def mended(path: str, then: str | None, now: str) -> str | None:
    found = PYTEST.mended(path, None if then is None else then.encode(), now.encode())
    return None if found is None else found.decode()


def test_of_pyproject_only_the_table_of_pytest_is_held() -> None:
    honest = THEN.replace('name = "x"', 'name = "x"\ndependencies = ["requests"]')
    cheat = honest.replace('"-q"', '"--collect-only"')

    assert mended("pyproject.toml", THEN, honest) == honest
    assert mended("pyproject.toml", THEN, cheat) == (
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
    ],
)
def test_a_rare_spelling_is_no_way_around(spelling: str) -> None:
    found = mended("sub/pyproject.toml", THEN, spelling)
    assert found is not None
    assert "collect-only" not in found
    assert 'addopts = "-q"' in found
    assert "collect-only" not in (mended("pyproject.toml", None, spelling) or "")


def test_a_new_file_may_say_what_does_not_steer() -> None:
    assert mended("pyproject.toml", None, '[project]\nname = "y"\n') == '[project]\nname = "y"\n'
    cheat = "[metadata]\nname = x\n[tool:pytest]\naddopts = --co\n"
    assert mended("setup.cfg", None, cheat) == "[metadata]\nname = x\n"
    assert mended("tox.ini", "[tox]\n[pytest]\nx = 1\n", "[tox]\n[pytest]\nx = 2\n") == (
        "[tox]\n[pytest]\nx = 1\n"
    )
    assert mended("tox.ini", None, "no ini at all") is None


def test_what_is_as_it_was_but_for_what_steers_comes_back_to_the_letter() -> None:
    assert mended("pyproject.toml", THEN, THEN.replace('"-q"', '"--co"')) == THEN


def test_of_entry_points_only_plugins_of_pytest_are_held() -> None:
    """Python takes a heading for one wherever it stands in its line."""
    scripts = "[console_scripts]\napp = app:main\n"
    for heading in ("[pytest11]", "  [pytest11]", "\t[ pytest11 ]"):
        cheat = f"{scripts}{heading}\nhider = hider\n"
        assert mended("x.egg-info/entry_points.txt", None, cheat) == scripts
    plugin = f"{scripts}[pytest11]\nmine = app.plugin\n"
    assert mended("entry_points.txt", plugin, plugin.replace("app:main", "app:run")) == (
        plugin.replace("app:main", "app:run")
    )
    assert mended("entry_points.txt", plugin, scripts) == plugin


def test_what_makes_environments_for_tests_is_held_too() -> None:
    tox = "[tool.tox]\nenv_list = []\n"
    assert (
        mended("pyproject.toml", None, f"[project]\nname = 'x'\n{tox}") == "[project]\nname = 'x'\n"
    )
    assert mended("setup.cfg", None, "[metadata]\nname = x\n[testenv:a]\ncommands = true\n") == (
        "[metadata]\nname = x\n"
    )


def test_of_package_json_scripts_that_were_there_are_held() -> None:
    then = '{"scripts": {"test": "node --test", "lint": "eslint"}, "jest": {"bail": 1}}'
    honest = (
        '{"scripts": {"test": "node --test", "lint": "eslint", "build": "tsc"}, '
        '"jest": {"bail": 1}, "dependencies": {"a": "1"}}'
    )
    cheat = (
        '{"scripts": {"test": "true", "pretest": "rm -r test", "prelint": "x", "lint": "eslint"},'
        ' "jest": {"testMatch": []}, "dependencies": {"a": "1"}}'
    )
    assert mended("package.json", then, honest) == honest
    assert mended("package.json", then, cheat) == (
        '{\n  "scripts": {\n    "test": "node --test",\n    "lint": "eslint"\n  },\n'
        '  "dependencies": {\n    "a": "1"\n  },\n  "jest": {\n    "bail": 1\n  }\n}\n'
    )
    for before in (None, '{"scripts": {"lint": "eslint"}}'):
        first = '{"scripts": {"lint": "eslint", "test": "node --test"}}'
        assert mended("package.json", before, first) == first
    assert mended("package.json", then, "[]") == then
    assert mended("package.json", then, '{"scripts": []}') == then
