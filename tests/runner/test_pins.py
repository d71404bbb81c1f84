"""What a worker may not touch, and how it is found out."""

from __future__ import annotations

import pytest

from dwindle.kernel.model import BaseCase, Check, ChecklistItem, CheckType, Objective
from dwindle.runner.gate.pins import pins_of, protected_changes

TRACKED = (
    "Makefile",
    "README.md",
    "a b/check me.sh",
    "ci/check.sh",
    "ci/deep/rules.ini",
    "ci/notes.md",
    "src/app.py",
    "tests/test_app.py",
    "tests/test_ü.py",
)


def objective(*checks: Check, protected: tuple[str, ...] = ()) -> Objective:
    listed = tuple(ChecklistItem(item=f"check {n}", check=c) for n, c in enumerate(checks))
    return Objective(
        goal="g",
        base_case=BaseCase(checklist=listed),
        background_intent="i",
        deliverables="d",
        definition_of_done="d",
        protected_paths=protected,
    )


def command(value: str) -> Check:
    return Check(type=CheckType.COMMAND, value=value)


@pytest.mark.parametrize(
    ("line", "pins"),
    [
        ("ci/check.sh", ["ci/check.sh"]),
        ("./ci/check.sh --fast", ["ci/check.sh"]),
        ("sh ci/../ci/check.sh", ["ci/check.sh"]),
        ("pytest tests", []),
        ("pytest tests/test_app.py::test_x -q", ["tests/test_app.py"]),
        ("pytest -c=ci/deep/rules.ini", ["ci/deep/rules.ini"]),
        ("RULES=ci/deep/rules.ini make", ["ci/deep/rules.ini"]),
        ("make -f Makefile && ci/check.sh|grep x", ["Makefile", "ci/check.sh"]),
        ("(ci/check.sh);cat<README.md", ["README.md", "ci/check.sh"]),
        ("'a b/check me.sh'", ["a b/check me.sh"]),
        (r"a\ b/check\ me.sh", ["a b/check me.sh"]),
        ("sh -c 'cd ci && sh -c \"./check.sh x\"'", ["ci/check.sh"]),
        ("cd ci && ./check.sh", ["ci/check.sh"]),
        ("python tests/test_ü.py", ["tests/test_ü.py"]),
        ("echo it's here: $(ci/check.sh)", ["ci/check.sh"]),
        ("x=$(ci/check.sh) `cat README.md`", ["README.md", "ci/check.sh"]),
        ("cat notes.md src", []),
        ("../ci/check.sh", []),
    ],
)
def test_tracked_files_that_a_command_names_are_pinned(line: str, pins: list[str]) -> None:
    assert pins_of(objective(command(line)), TRACKED) == tuple(pins)


def test_controls_and_nested_items_count_and_values_of_file_checks_do_not() -> None:
    made = Check(type=CheckType.FILE, value="README.md", control="ci/check.sh")
    gone = Check(type=CheckType.NOT_FILE, value="src/app.py")
    clean = Check(type=CheckType.NOT_COMMAND, value="grep x Makefile", control="cat ci/notes.md")
    nested = ChecklistItem(item="either", any_of=(ChecklistItem(item="clean", check=clean),))
    whole = objective(made, gone)
    base_case = BaseCase(checklist=(*whole.base_case.checklist, nested))

    both = Objective(
        goal="g",
        base_case=base_case,
        background_intent="i",
        deliverables="d",
        definition_of_done="d",
    )

    assert pins_of(both, TRACKED) == ("Makefile", "ci/check.sh", "ci/notes.md")


def test_the_single_check_of_an_older_file_counts_too() -> None:
    alone = objective()
    legacy = Objective(
        goal="g",
        base_case=BaseCase(check=command("ci/check.sh")),
        background_intent="i",
        deliverables="d",
        definition_of_done=alone.definition_of_done,
    )

    assert pins_of(legacy, TRACKED) == ("ci/check.sh",)


@pytest.mark.parametrize(
    ("protected", "pins"),
    [
        (("ci",), ["ci/check.sh", "ci/deep/rules.ini", "ci/notes.md"]),
        (("ci/",), ["ci/check.sh", "ci/deep/rules.ini", "ci/notes.md"]),
        (("./ci/**",), ["ci/check.sh", "ci/deep/rules.ini", "ci/notes.md"]),
        (("ci/*.md",), ["ci/notes.md"]),
        (("**/*.ini",), ["ci/deep/rules.ini"]),
        (("**/deep",), ["ci/deep/rules.ini"]),
        (("**/Makefile",), ["Makefile"]),
        (("c",), []),
        (("ci/check",), []),
        (("!ci/deep", "ci"), ["ci/check.sh", "ci/notes.md"]),
        (("ci", "!ci/notes.md"), ["ci/check.sh", "ci/deep/rules.ini"]),
        ((".",), list(TRACKED)),
        (("nothing/yet",), []),
    ],
)
def test_protected_paths_are_pinned_with_all_below_them(
    protected: tuple[str, ...], pins: list[str]
) -> None:
    assert pins_of(objective(protected=protected), TRACKED) == tuple(pins)


def test_an_exception_also_takes_out_what_a_command_names() -> None:
    agreed = objective(command("python src/app.py && ci/check.sh"), protected=("!src/app.py",))

    assert pins_of(agreed, TRACKED) == ("ci/check.sh",)


def test_a_new_file_below_a_protected_folder_is_a_touch() -> None:
    changed = (
        "ci/new.sh",
        "ci/notes.md",
        "src/app.py",
        "Makefile",
        "circle/x",
        "tests/conftest.py",
    )

    assert protected_changes(
        ("Makefile", "ci/check.sh"), ("ci", "!ci/notes.md", "**/conftest.py"), changed
    ) == (
        "ci/new.sh",
        "Makefile",
        "tests/conftest.py",
    )
    assert protected_changes((), (), changed) == ()
