"""Manifests, laid over by table."""

from __future__ import annotations

import json
import tomllib

import pytest

from dwindle.toolchains.manifests import lay_over

GROUND = """\
[build-system]
requires = ["hatchling"]

[project]
name = "price"
version = "0.1"
dependencies = []

[project.scripts]
price = "price:main"

[tool.pytest.ini_options]
pythonpath = ["src"]
"""


def laid(ground: str, work: str, name: str = "pyproject.toml") -> str:
    return lay_over(name, ground.encode(), work.encode()).decode()


def test_dependencies_and_version_come_from_the_worker_and_tools_from_the_ground() -> None:
    work = (
        GROUND.replace('"0.1"', '"0.2"')
        .replace("dependencies = []", "dependencies = [\"requests>=2; python_version > '3'\"]")
        .replace('["src"]', '["src"]\naddopts = "--deselect tests"')
        .replace("price:main", "price:other")
        .replace('"hatchling"', '"evil"')
    )
    now = tomllib.loads(laid(GROUND, work))
    before = tomllib.loads(GROUND)
    assert now["project"]["version"] == "0.2"
    assert now["project"]["dependencies"] == ["requests>=2; python_version > '3'"]
    assert now["project"]["scripts"] == before["project"]["scripts"]
    assert (now["tool"], now["build-system"]) == (before["tool"], before["build-system"])


def test_groups_of_dependencies_may_be_new() -> None:
    work = (
        f'{GROUND}\n[dependency-groups]\ntest = ["hypothesis", {{include-group = "x"}}]\nx = []\n'
    )
    assert "hypothesis" in laid(GROUND, work)


@pytest.mark.parametrize(
    "entry",
    [
        "evil @ file:///tmp/evil",
        "evil @ https://example.org/evil.whl",
        "./evil",
        "-r requirements.txt",
        "git+ssh://example.org/evil",
    ],
)
def test_a_dependency_that_is_no_name_of_the_index_leaves_the_ground(entry: str) -> None:
    work = GROUND.replace("dependencies = []", f'dependencies = ["{entry}"]')
    assert laid(GROUND, work) == GROUND


@pytest.mark.parametrize(
    "work",
    [
        "no toml",
        "project = 3\n",
        GROUND.replace('[project.scripts]\nprice = "price:main"', "").replace(
            "dependencies = []", 'dependencies = []\nscripts = {price = "evil:main"}'
        ),
    ],
)
def test_what_cannot_be_put_together_is_the_ground(work: str) -> None:
    assert laid(GROUND, work) == GROUND


def test_the_same_file_and_an_unknown_one_stay_the_ground() -> None:
    assert laid(GROUND, GROUND) == GROUND
    assert laid("a", "b", "Makefile") == "a"
    assert lay_over("pyproject.toml", b"\xff", b"") == b"\xff"


FIRST = '[tool.pytest.ini_options]\npythonpath = ["src"]\nmarkers = ["slow"]\n'


def test_a_first_table_for_pytest_is_taken_if_it_is_harmless() -> None:
    ground = GROUND.partition("[tool.pytest")[0]
    assert laid(ground, ground + FIRST) == ground + FIRST
    more = ground.replace('"0.1"', '"0.2"').replace("price:main", "price:other") + FIRST
    now = tomllib.loads(laid(ground, more))
    assert now["tool"] == tomllib.loads(FIRST)["tool"]
    assert (now["project"]["version"], now["project"]["scripts"]) == (
        "0.2",
        {"price": "price:main"},
    )

    for cheat in (FIRST + 'addopts = "--co"\n', FIRST + "[tool.ruff]\nselect = []\n"):
        assert "addopts" not in laid(ground, ground + cheat)
        assert "ruff" not in laid(ground, ground + cheat)
    second = laid(GROUND, GROUND.replace('["src"]', '["src"]\nmarkers = ["slow"]'))
    assert tomllib.loads(second) == tomllib.loads(GROUND)
    hiding = lay_over("pyproject.toml", ground.encode(), (ground + FIRST).encode(), may_begin=False)
    assert tomllib.loads(hiding.decode()) == tomllib.loads(ground)


def test_a_package_keeps_its_scripts_and_tools() -> None:
    ground = {"name": "x", "scripts": {"test": "vitest"}, "jest": {"a": 1}, "version": "1.0.0"}
    work = {
        "name": "y",
        "version": "1.1.0",
        "scripts": {"test": "true"},
        "dependencies": {"left-pad": "^1.0.0"},
        "babel": {},
    }
    now = json.loads(laid(json.dumps(ground), json.dumps(work), "package.json"))
    assert now == {**ground, "version": "1.1.0", "dependencies": {"left-pad": "^1.0.0"}}


@pytest.mark.parametrize("where", ["file:../evil", "git+ssh://x", "user/repository", 3])
def test_a_package_from_elsewhere_leaves_the_ground(where: object) -> None:
    ground = json.dumps({"name": "x"})
    work = json.dumps({"name": "x", "devDependencies": {"evil": where}})
    assert laid(ground, work, "package.json") == ground
    assert laid(ground, "[]", "package.json") == ground


CRATE = (
    '[package]\nname = "x"\nversion = "0.1.0"\n\n[dependencies]\n\n[profile.test]\ndebug = true\n'
)


def test_a_crate_takes_dependencies_by_version_only() -> None:
    work = CRATE.replace(
        "[dependencies]\n", '[dependencies]\nserde = "1"\nrand = {version = "0.8"}\n'
    ).replace("debug = true", "debug = false")
    now = tomllib.loads(laid(CRATE, work, "Cargo.toml"))
    assert now["dependencies"] == {"serde": "1", "rand": {"version": "0.8"}}
    assert now["profile"] == {"test": {"debug": True}}
    for entry in ('evil = {path = "../evil"}', 'evil = {git = "x", version = "1"}', "evil = 3"):
        bad = CRATE.replace("[dependencies]\n", f"[dependencies]\n{entry}\n")
        assert laid(CRATE, bad, "Cargo.toml") == CRATE
    built = CRATE.replace('version = "0.1.0"', 'version = "0.1.0"\nbuild = "evil.rs"')
    assert laid(CRATE, built, "Cargo.toml") == CRATE


CONFIG = """\
[metadata]
name = x
version = 1

[options]
install_requires =

[tool:pytest]
addopts = -q
"""


def test_setup_cfg_takes_metadata_and_requirements() -> None:
    work = (
        CONFIG.replace("version = 1", "version = 2")
        .replace("install_requires =\n", "install_requires =\n    requests\n")
        .replace("addopts = -q", "addopts = --co")
    )
    now = laid(CONFIG, work, "setup.cfg")
    assert "version = 2" in now
    assert "    requests" in now
    assert "addopts = -q" in now
    assert "--co" not in now
    for line in ("cmdclass = evil.Build", "install_requires =\n    ./evil"):
        assert laid(CONFIG, CONFIG.replace("install_requires =", line), "setup.cfg") == CONFIG
    assert laid(CONFIG, "no section", "setup.cfg") == CONFIG
    ground = CONFIG.partition("[tool:pytest]")[0]
    first = "[tool:pytest]\npythonpath = src\n"
    assert laid(ground, ground + first, "setup.cfg") == ground + first
    assert "--co" not in laid(ground, f"{ground}{first}addopts = --co\n", "setup.cfg")
