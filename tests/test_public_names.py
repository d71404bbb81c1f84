"""The public surface is one short list, and importing it does nothing."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import dwindle
from dwindle import _HOMES

PUBLIC = [
    *("Action", "Atom", "Binding", "Check", "Decision", "Decomposition", "Event", "IllegalEvent"),
    *("Limits", "Measure", "NotDwindling", "Objective", "OrGroup", "Plan", "PlanKind", "Problem"),
    *("Status", "Stop", "StopCode", "__version__", "apply", "decide", "gauge", "measure"),
    *("session_bound", "validate"),
]


def test_the_list_is_what_it_is() -> None:
    assert sorted(dwindle.__all__) == PUBLIC
    assert dir(dwindle) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_is_the_one_from_its_home(name: str) -> None:
    home = import_module(f"dwindle.{_HOMES[name]}")
    assert getattr(dwindle, name) is getattr(home, name)


def test_there_are_no_other_names() -> None:
    with pytest.raises(AttributeError, match=r"^module 'dwindle' has no attribute 'Manager'$"):
        dwindle.Manager  # noqa: B018


def test_importing_does_nothing() -> None:
    script = (
        "import sys; before = {*sys.modules}; import dwindle;"
        "print(*sorted({*sys.modules} - before - {'__future__'}))"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    assert (said.stdout, said.stderr) == ("dwindle\n", "")
