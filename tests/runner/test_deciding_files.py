"""Files that decide and that agents wrote: the certificate says so, and a person confirms them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dwindle.kernel.model import BaseCase, Check, CheckType, Objective
from dwindle.runner.gate.deciding_files import WrittenJudge, pinned_work, written_judges

GROUND = ("README.md", "tests/test_old.py")


def objective(line: str, deliverables: str = "all of it", control: str | None = None) -> Objective:
    check = Check(type=CheckType.COMMAND, value=line, control=control)
    return Objective(
        goal="",
        base_case=BaseCase(check=check),
        background_intent="",
        deliverables=deliverables,
        definition_of_done="",
    )


@pytest.mark.parametrize(
    ("line", "changed", "paths"),
    [
        ("pytest tests/test_new.py", ["tests/test_new.py"], ["tests/test_new.py"]),
        ("pytest tests/test_new.py", ["src/a.py"], []),
        ("pytest tests/test_old.py", ["tests/test_old.py"], []),
        ("pytest tests", ["tests/test_new.py"], []),
        ("pytest spec", ["spec/a.py", "spec/b.py"], ["spec"]),
        ("pytest spec", ["spec/a.py"], ["spec/a.py"]),
        ("test -f report.md", ["report.md"], []),
        ("grep -q x a.py && sh a.sh && sh a.sh", ["a.py", "a.sh"], ["a.sh"]),
    ],
)
def test_what_was_written_and_decides(line: str, changed: list[str], paths: list[str]) -> None:
    found = written_judges(objective(line), GROUND, changed)
    assert [judge.path for judge in found] == paths
    assert not any(judge.is_delivered for judge in found)


@pytest.mark.parametrize("named", ["Write `spec/a.py`.", "spec and code", "spec/a.py, spec/b.py"])
def test_a_deliverable_was_asked_for(named: str) -> None:
    changed = ["spec/a.py"] if "b.py" not in named else ["spec/a.py", "spec/b.py"]
    (judge,) = written_judges(objective("pytest spec", named), GROUND, changed)
    assert judge.is_delivered


def test_a_tool_that_is_run_asks_for_its_first_recipe() -> None:
    found = written_judges(objective("make test"), GROUND, ["makefile"])
    assert found == (WrittenJudge(path="makefile", is_delivered=True),)


def test_a_control_decides_as_well() -> None:
    found = written_judges(objective("test -f a", control="sh control.sh"), (), ["control.sh"])
    assert found == (WrittenJudge(path="control.sh", is_delivered=False),)
    assert found[0].question.startswith("control.sh decides, and an agent wrote it")


def test_pins_that_may_be_the_work() -> None:
    asked = objective("grep -q X src/m.py tests/a.py pyproject.toml && sh check.sh src/p.py")
    pins = ("check.sh", "pyproject.toml", "src/m.py", "src/p.py", "tests/a.py")
    assert pinned_work(asked, pins) == ("src/m.py", "src/p.py")
    meant = replace(asked, protected_paths=("src/m.py",))
    assert pinned_work(meant, pins) == ("src/p.py",)
