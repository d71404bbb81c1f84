"""The paths that a command names, and which of them decide its answer."""

from __future__ import annotations

import pytest

from dwindle.toolchains.named_paths import NamedPath, named_paths

MAKEFILES = ("makefile", "GNUmakefile")


@pytest.mark.parametrize(
    ("line", "decides", "looked_at"),
    [
        ("pytest -q tests/test_x.py", ["tests/test_x.py"], []),
        ("pytest -q tests", ["tests"], []),
        ("pytest --cov=src tests/ --cov-report xml -k total -m slow", ["tests"], []),
        ("python -W error -m pytest a/b.py::test_c > out.txt 2>&1", ["a/b.py"], []),
        ("uv run --quiet pytest tests/a.py", ["tests/a.py"], []),
        ("coverage run -m pytest tests/a.py", ["tests/a.py"], []),
        ("python -m coverage run tools/a.py", ["tools/a.py"], []),
        ("python -m unittest -k it t.test_a.TestSum t/b.py", ["t/test_a.py", "t/b.py"], []),
        ("python -m unittest discover", [], []),
        ("python -m unittest Sum", [], []),
        ("python -c 'import a.b'", [], []),
        ("env A=1 timeout 60 python -X dev tools/run.py in.csv", ["tools/run.py"], ["in.csv"]),
        ("sh -o errexit check.sh done.txt", ["check.sh"], ["done.txt"]),
        ("bash -ec 'pytest t/a.py'", ["t/a.py"], []),
        ("sh -c 'test -f done.txt'", [], ["done.txt"]),
        ("./check.sh", ["check.sh"], []),
        ("../check.sh && /bin/check.sh && ~/check.sh", [], []),
        (".venv/bin/pytest tests/a.py", [".venv/bin/pytest", "tests/a.py"], []),
        ("node --test test/a.test.js", ["test/a.test.js"], []),
        ("npx jest src/a.test.ts total", ["src/a.test.ts"], []),
        ("npm test -- a/b.test.js", ["package.json", "a/b.test.js"], []),
        ("make -f x.mk && just --justfile=y.just", ["x.mk", "y.just"], []),
        ("grep -q 'def x' src/m.py", [], ["src/m.py"]),
        ("! grep x b.txt || (cat c.txt; ls d.txt)", [], ["x", "b.txt", "c.txt", "d.txt"]),
        ("diff --from-file=a.txt b.txt", [], ["a.txt", "b.txt"]),
        ("pytest 'a b.py' $X/c.py tests/*.py", [], []),
        ("sh 'check.sh", [], []),
        ("FOO=1", [], []),
        ("exec", [], []),
    ],
)
def test_what_a_command_names(line: str, decides: list[str], looked_at: list[str]) -> None:
    found = named_paths(line)
    assert [named.path for named in found if named.decides] == decides
    assert [named.path for named in found if not named.decides] == looked_at


def test_a_recipe_is_in_one_of_several_files_and_folders() -> None:
    assert named_paths("make test") == (
        NamedPath(path="Makefile", others=MAKEFILES, decides=True, is_implied=True),
    )
    (inside,) = named_paths("make -C sub test")
    assert (inside.path, "sub/GNUmakefile" in inside.others) == ("sub/Makefile", True)
    (tox,) = named_paths("tox")
    assert tox.is_in(["pyproject.toml"])


def test_a_folder_that_was_changed_to_comes_first() -> None:
    named = named_paths("cd sub && pytest tests/a.py")
    assert named == (NamedPath(path="sub/tests/a.py", others=("tests/a.py",), decides=True),)
    assert list(named[0].found_in(["tests/a.py", "sub/tests/a.py/x"])) == [
        "sub/tests/a.py/x",
        "tests/a.py",
    ]
    assert not named[0].is_in(["sub/tests/b.py"])
