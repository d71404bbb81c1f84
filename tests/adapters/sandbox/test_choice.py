"""Which containment is taken, on machines that lack one thing or another."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dwindle.adapters.sandbox import (
    MechanismTrial,
    NoContainment,
    choose,
    kinds,
    survey,
)
from dwindle.ports.process import Containment, Strength

BWRAP = MechanismTrial(mechanism="bubblewrap", strength=Strength.STRONG)
UNSHARE = MechanismTrial(mechanism="unshare (files not restricted)", strength=Strength.STRONG)
SUBREAPER = MechanismTrial(mechanism="subreaper (files not restricted)", strength=Strength.WEAK)

ASK = """
from dwindle.adapters.sandbox import NoContainment, choose, survey
from dwindle.ports.process import Strength
print(choose().mechanism)
try:
    print(choose(Strength.STRONG).mechanism)
except NoContainment as problem:
    print(problem)
"""


def test_the_strongest_that_works_is_taken(require_tool: Callable[[str], Path]) -> None:
    for program in ("bwrap", "unshare", "setpriv"):
        require_tool(program)
    assert survey() == (BWRAP, UNSHARE, SUBREAPER)
    assert [kind.strength for kind in kinds()] == ["strong", "strong", "weak"]
    assert choose().mechanism == choose(Strength.STRONG).mechanism == "bubblewrap"


def answers(folder: Path, programs: dict[str, str]) -> list[str]:
    """What is chosen where PATH has these programs and no others."""
    folder.mkdir()
    for name, target in programs.items():
        if target.startswith("#!"):
            (folder / name).write_text(target)
            (folder / name).chmod(0o755)
        else:
            (folder / name).symlink_to(target)
    source = str(Path(__file__).parents[3] / "src")
    done = subprocess.run(
        (sys.executable, "-c", ASK),
        env={"PATH": str(folder), "HOME": os.environ.get("HOME", "/"), "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return done.stdout.splitlines()


def no_strong(bwrap: str, unshare: str) -> str:
    return (
        f"no strong containment works here (bubblewrap: {bwrap}; "
        f"unshare (files not restricted): {unshare}); install bubblewrap"
    )


def test_what_is_not_installed_is_not_taken(
    require_tool: Callable[[str], Path], tmp_path: Path
) -> None:
    tools = {name: str(require_tool(name)) for name in ("unshare", "setpriv")}
    assert answers(tmp_path / "a", tools) == [UNSHARE.mechanism, UNSHARE.mechanism]
    assert answers(tmp_path / "b", {}) == [
        SUBREAPER.mechanism,
        no_strong("bwrap is not installed", "unshare is not installed"),
    ]


def test_what_is_installed_and_does_not_work_is_not_taken(tmp_path: Path) -> None:
    """A bwrap that may not, and an unshare that runs the program in no namespace at all."""
    true = str(shutil.which("true"))
    programs = {
        "bwrap": "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n",
        "setpriv": "#!/bin/sh\necho 4711\n",
        "unshare": true,
    }
    assert answers(tmp_path / "a", programs) == [
        SUBREAPER.mechanism,
        no_strong(
            "bwrap: No permissions to create new namespace",
            "a trial was not in a PID namespace of its own",
        ),
    ]


def test_no_containment_carries_what_was_tried() -> None:
    broken = MechanismTrial(mechanism="a wall", strength=Strength.STRONG, problem="has a hole")
    problem = NoContainment(Strength.STRONG, (broken, SUBREAPER))
    assert (problem.required, problem.findings) == (Strength.STRONG, (broken, SUBREAPER))
    assert str(problem) == (
        "no strong containment works here (a wall: has a hole); install bubblewrap"
    )


@pytest.mark.parametrize("name", ["unshare", "subreaper"])
def test_what_does_not_restrict_files_says_so(
    named: Callable[[str], Containment], name: str
) -> None:
    kind = named(name)
    assert kind.mechanism == f"{name} (files not restricted)"
