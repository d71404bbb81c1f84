"""Which changes reach the branch, and what of a commit is laid over the judge's ground."""

from __future__ import annotations

import asyncio

import pytest
from tests.runner.fake_checks import checklist, command, named

from dwindle.kernel.model import (
    Aligned,
    Atom,
    AtomId,
    Check,
    CheckType,
    Control,
    Limits,
    Objective,
    Plan,
    Spent,
)
from dwindle.runner.gate.pins import pins_of
from dwindle.runner.gate.work_paths import (
    Claimed,
    OutsideWorkPaths,
    Overlay,
    WorkPaths,
    outside_work_paths,
    proposed_work_paths,
)

GROUND = (
    *("src/a.py", "src/test_inside.py", "src/conftest.py", "tests/test_a.py", "Makefile"),
    *("pyproject.toml", "docs/x.md", "check.sh"),
)


def objective(*work: str, check: str = "pytest -q", protected: tuple[str, ...] = ()) -> Objective:
    return Objective(
        goal="g",
        base_case=checklist(named("tests", command(check))),
        background_intent="b",
        deliverables="d",
        definition_of_done="d",
        protected_paths=protected,
        work_paths=work,
    )


def paths(*work: str, pins: tuple[str, ...] = (), **more: object) -> WorkPaths:
    wanted = objective(*work, **more)  # type: ignore[arg-type]
    return WorkPaths(wanted, Aligned(commit="c", pins=pins), GROUND)


@pytest.mark.parametrize(
    ("path", "reaches"),
    [
        ("src/a.py", True),
        ("src/new.py", True),
        ("src/deep/new.py", True),
        ("src/new_test.py", True),
        ("src/weights.pth", True),
        ("src/test_inside.py", False),
        ("src/conftest.py", False),
        ("src/.gitattributes", False),
        ("conftest.py", False),
        ("tests/__init__.py", False),
        ("Makefile", False),
        ("srcs/a.py", False),
    ],
)
def test_a_pattern_hands_over_no_tests_and_no_configuration_of_the_ground(
    path: str, *, reaches: bool
) -> None:
    assert paths("src/**").covers(path) is reaches


def test_a_literal_entry_hands_over_anything() -> None:
    given = paths("src/conftest.py", "Makefile", "check.sh", pins=("check.sh",))
    assert all(given.covers(path) for path in ("src/conftest.py", "Makefile", "check.sh"))


def test_a_literal_entry_takes_a_pin_out_and_a_protected_path_not() -> None:
    both = objective("check.sh", "src/a.py", check="sh check.sh src/a.py", protected=("src/a.py",))
    assert pins_of(both, GROUND) == ("src/a.py",)
    given = WorkPaths(both, Aligned(commit="c", pins=("src/a.py",)), GROUND)
    assert (given.covers("check.sh"), given.covers("src/a.py")) == (True, False)


def test_pins_and_protected_paths_need_a_literal_entry() -> None:
    given = paths("**", pins=("check.sh",), protected=("docs", "!docs/free.md"))
    assert not given.covers("check.sh")
    assert not given.covers("docs/new.md")
    assert given.covers("docs/free.md")
    assert given.covers("other.txt")


def test_an_entry_can_be_taken_out_again() -> None:
    given = paths("src", "!src/generated")
    assert given.covers("src/a.py")
    assert not given.covers("src/generated/x.py")


def test_a_change_is_sorted() -> None:
    given = paths("src/**", "pyproject.*")
    found = given.sort(("pyproject.toml", "src/a.py", "src/link", "stray"), {"src/link"})
    assert found == Claimed(
        kept=("pyproject.toml", "src/a.py"),
        merged=("pyproject.toml",),
        set_aside=("src/link", "stray"),
    )
    assert paths("pyproject.toml").sort(("pyproject.toml",)).merged == ()


def test_new_tests_wait_for_the_second_run() -> None:
    given = paths("src/**", "tests/**")
    changed = ("src/a.py", "src/new.py", "tests/test_new.py", "src/pytest.py", "stray")
    assert given.overlay(changed) == Overlay(
        outside=("stray",), later=("tests/test_new.py", "src/pytest.py")
    )


def test_a_module_in_the_place_of_a_standard_one_waits_too() -> None:
    given = paths("src/**", "*.py")
    changed = ("json.py", "src/re/__init__.py", "src/pkg/__init__.py", "src/pkg/types.py", "a.py")
    assert given.overlay(changed).later == ("json.py", "src/re/__init__.py")


def test_bytecode_is_no_work() -> None:
    found = paths("**").sort(("src/__pycache__/a.cpython-311.pyc", "b.pyc", "src/new.py"))
    assert found.kept == ("src/new.py",)


def test_a_test_that_was_agreed_on_decides_at_once() -> None:
    by_check = paths("tests/**", check="pytest -q tests/test_new.py::test_x")
    assert by_check.overlay(("tests/test_new.py", "tests/conftest.py")).later == (
        "tests/conftest.py",
    )
    by_name = paths("tests/test_new.py")
    assert by_name.overlay(("tests/test_new.py",)) == Overlay()


def test_the_first_tests_of_a_project_decide() -> None:
    given = WorkPaths(objective("**"), Aligned(commit="c"), ("README.md",))
    assert given.overlay(("tests/test_a.py", "a.py")) == Overlay()


def test_what_stays_as_it_was_while_a_check_runs() -> None:
    given = paths("src/**", "Makefile", pins=("check.sh",))
    assert set(given.fixed) == {
        *("src/test_inside.py", "src/conftest.py", "tests/test_a.py", "pyproject.toml", "check.sh"),
    }


def test_a_manifest_is_merged() -> None:
    merged = paths("src/**").merge("sub/package.json", b'{"scripts": {}}', b'{"version": "2"}')
    assert merged == b'{\n  "version": "2",\n  "scripts": {}\n}\n'


def test_a_first_table_for_pytest_is_work_where_it_hides_no_other() -> None:
    first = b"[tool.pytest.ini_options]\npythonpath = ['src']\n"
    for others, is_taken in {
        (): True,
        ("pytest.ini",): True,
        ("setup.cfg",): False,
        ("tox.ini",): False,
        ("sub/pytest.ini",): False,
    }.items():
        given = WorkPaths(objective("**"), Aligned(commit="c"), ("pyproject.toml", *others))
        assert (given.merge("pyproject.toml", b"", first) == first) is is_taken
    given = paths("**")
    assert given.merge("package.json", b"{}", b'{"jest": {}}') == b"{}\n"


def test_a_proposal_names_what_the_plan_names() -> None:
    base_case = checklist(
        named("new", command("pytest tests/test_new.py::test_x -o cache_dir=/tmp/x 'a b'")),
        named("made", Check(type=CheckType.FILE, value="./dist/report.txt")),
        named("asked", Check(type=CheckType.ASSERTION, value="it is src/fine.py")),
    )
    atom = Atom(id=AtomId("A1"), description="d", touches=("lib/x.c",))
    plan = Plan(
        objective=Objective(
            goal="g",
            base_case=base_case,
            background_intent="b",
            deliverables="A `Makefile`, src/new.py; and more.",
            definition_of_done="d",
        ),
        limits=Limits(),
        spent=Spent(),
        control=Control(),
        atoms={atom.id: atom},
    )
    found = proposed_work_paths(plan, GROUND)
    assert found[-5:] == (
        *("lib/x.c", "tests/test_new.py", "dist/report.txt", "Makefile", "src/new.py"),
    )
    assert "src/**" in found


# --- the guard of a tree -------------------------------------------------------------------------


def outside(*work: str, deliverables: tuple[str, ...] = ()) -> OutsideWorkPaths:
    """The Makefile of the ground runs check.sh."""
    found = outside_work_paths(("make", "ci"), work, deliverables, ("c", GROUND))

    async def content(path: str) -> bytes | None:
        return b"ci:\n\tsh check.sh\n" if path == "Makefile" else b"" if path in GROUND else None

    return asyncio.run(found.follow_recipes(content, GROUND))


@pytest.mark.parametrize(
    ("path", "work", "steers"),
    [
        ("src/a.py", ("src/**",), False),
        ("docs/x.md", ("src/**",), True),
        ("src/test_inside.py", ("src/**",), True),
        ("src/test_inside.py", ("src/test_inside.py",), False),
        ("check.sh", ("*.sh",), True),
        ("check.sh", ("check.sh",), False),
        ("Makefile", ("**",), True),
        ("GNUmakefile", ("**",), True),
        ("Makefile.sh", ("**",), True),
        ("ci/new.py", ("**",), True),
        ("other/new.py", ("**",), False),
        ("pyproject.toml", ("src/**",), True),
        ("pyproject.toml", ("pyproject.*",), False),
        (".runner/tree.json", ("src/**",), False),
        (".runner", ("src/**",), False),
        (".runners/x", ("src/**",), True),
    ],
)
def test_what_agents_of_a_tree_may_not_change(
    path: str, work: tuple[str, ...], *, steers: bool
) -> None:
    assert outside(*work).steers(path) is steers


def test_deliverables_of_a_guard_are_work_wherever_they_lie() -> None:
    found = outside("src/**", "pyproject.*", deliverables=("check.sh", "docs", "pyproject.toml"))
    paths = ("check.sh", "docs/x.md", "pyproject.toml", "src/conftest.py")
    assert [found.steers(path) for path in paths] == [False, False, False, True]
    assert [found.is_mixed(path) for path in paths] == [False] * 4


def test_a_manifest_that_a_pattern_reaches_is_merged_with_that_of_the_base() -> None:
    found = outside("pyproject.*", "package.*")
    assert (found.is_mixed("pyproject.toml"), found.steers("pyproject.toml")) == (True, False)
    assert not outside("src/**").is_mixed("pyproject.toml")
    old, new = b"[tool.x]\na = 1\n", b"[project]\nname = 'x'\n[tool.x]\na = 2\n"
    assert found.merge("pyproject.toml", old, new) == b"[project]\nname = 'x'\n[tool.x]\na = 1\n"
    assert found.merge("package.json", None, b"no json") is None
