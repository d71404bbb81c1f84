"""Which environment a manifest asks for, what programs print that miss it, editable installs."""

from __future__ import annotations

import json

import pytest

from dwindle.toolchains.environments import (
    Missed,
    Toolchain,
    missed_in,
    sources_in_finder,
    sources_in_pth,
    sources_in_record,
    toolchains_of,
)

VENV = "python3 -m venv .venv && .venv/bin/pip install"
EXTRA = '[project]\nname = "x"\n[project.optional-dependencies]\ntest = []\n'


@pytest.mark.parametrize(
    ("files", "setup"),
    [
        ({"pyproject.toml": '[project]\nname = "x"\n'}, f"{VENV} -e ."),
        ({"pyproject.toml": EXTRA}, f"{VENV} -e '.[test]'"),
        ({"pyproject.toml": "[dependency-groups]\ndev = []\n"}, f"{VENV} --group dev"),
        ({"pyproject.toml": "no toml", "requirements.txt": ""}, f"{VENV} -r requirements.txt"),
        ({"pyproject.toml": ""}, f"{VENV} pytest"),
        ({"setup.py": ""}, f"{VENV} -e ."),
        ({"pyproject.toml": "", "uv.lock": ""}, "uv sync --frozen"),
        ({"package.json": '{"devDependencies": {"a": "1"}}'}, "npm install --no-package-lock"),
        ({"package.json": "no json", "package-lock.json": ""}, "npm ci"),
        ({"package.json": "{}"}, ""),
        ({"Cargo.toml": ""}, ""),
        ({"go.mod": ""}, ""),
    ],
)
def test_a_manifest_proposes_a_setup(files: dict[str, str], setup: str) -> None:
    (found,) = toolchains_of(files, lambda name: files[name].encode())
    assert found.setup == setup
    assert bool(found.folders) == bool(setup)


def test_several_toolchains_and_none() -> None:
    files = ("Cargo.toml", "go.mod", "src/package.json")
    assert toolchains_of(files, lambda _: b"") == (
        Toolchain(name="cargo", manifest="Cargo.toml"),
        Toolchain(name="go", manifest="go.mod"),
    )


@pytest.mark.parametrize(
    ("line", "missed"),
    [
        ("ModuleNotFoundError: No module named 'yaml.x'", {"module": "yaml.x"}),
        ("Error: Cannot find module 'left-pad'", {"module": "left-pad"}),
        ("sh: 1: tool: not found", {"program": "tool"}),
        ("bash: line 1: a/tool: command not found", {"program": "a/tool"}),
        ("sh: 0: cannot open check.sh: No such file", {}),
        ("bash: check.sh: No such file or directory", {}),
        ("python: can't open file 'x.py': [Errno 2]", {}),
        ("ERROR: file or directory not found: tests/a.py", {}),
        ("make: *** [Makefile:2: test] Error 127", {}),
        ('npm error Missing script: "test"', {}),
    ],
)
def test_what_was_not_found(line: str, missed: dict[str, str]) -> None:
    assert missed_in(f"before\n  {line}\n") == (Missed(line=line, **missed),)


def test_a_test_that_fails_has_found_everything() -> None:
    said = "E  assert 1 == 2\ncat: out.txt: No such file or directory\nCannot find module './a'\n"
    assert missed_in(said) == ()


def test_where_an_editable_install_leads() -> None:
    record = {"url": "file:///home/me/my%20lib", "dir_info": {"editable": True}}
    assert list(sources_in_record(json.dumps(record).encode())) == ["/home/me/my lib"]
    for other in (b"no json", b"[]", b'{"url": "file:///a", "dir_info": {}}'):
        assert list(sources_in_record(other)) == []
    assert list(sources_in_pth("import x\n/home/me/src\n# no\n")) == ["/home/me/src"]
    finder = (
        "MAPPING: dict[str, str] = {'x': '/home/me/src/x'}\n"
        "NAMESPACES: dict[str, list[str]] = {'n': ['/home/me/n']}\nMAPPING = {broken}\n"
    )
    assert list(sources_in_finder(finder)) == ["/home/me/src/x", "/home/me/n"]
