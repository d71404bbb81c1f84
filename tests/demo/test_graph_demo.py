"""dwindle demo: what it says has to have happened, by the journal and by git."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.surfaces.command import GRAPH_FILE, PLAIN, Ended, dwindle

from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.journal import read_journal
from dwindle.app.plans.load import load
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    ChoiceFailed,
    DeclaredInfeasible,
    Decomposed,
    Event,
    RunEnded,
    SessionStarted,
    VerificationEnded,
)
from dwindle.kernel.model import GroupId, Plan, PlanKind, RunStatus, StopCode
from dwindle.runner.gate.certificate import Certificate
from dwindle.surfaces.cli.app import COMMANDS

pytestmark = pytest.mark.slow

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A demo that has been given, and what it left."""

    said: Ended
    root: Path
    plan: Plan
    run: str
    events: tuple[Event, ...]


def asked(folder: Path, *words: str) -> str:
    git = subprocess.run(
        ["git", *words], cwd=folder, env=PLAIN, check=True, capture_output=True, text=True
    )
    return git.stdout.strip()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """One demo for all tests, in a folder that is no easy name."""
    above = tmp_path_factory.mktemp("demo")
    said = dwindle(above, "demo", "--dir", "söme where/till")
    root = above / "söme where" / "till"
    assert said.code == 0, said.out + said.err
    plan = load(PlanKind.GRAPH, (root / GRAPH_FILE).read_bytes()).plan
    assert plan is not None
    run = plan.control.run_id
    assert run is not None
    journal = read_journal(RealDisk(), root / ".runner" / "journal", run)
    return Shown(said=said, root=root, plan=plan, run=run, events=tuple(journal.events(0)))


def at(events: tuple[Event, ...], kind: type[Event], atom: str = "") -> int:
    """Where in the journal this happened first."""
    return next(
        number
        for number, event in enumerate(events)
        if isinstance(event, kind) and (not atom or getattr(event, "atom", "") == atom)
    )


def test_it_ends_well(shown: Shown) -> None:
    assert shown.plan.control.status is RunStatus.COMPLETED
    last = shown.events[-1]
    assert isinstance(last, RunEnded)
    assert last.code is StopCode.COMPLETED


def test_two_workers_are_at_work_at_once(shown: Shown) -> None:
    first, second = at(shown.events, SessionStarted, "A1"), at(shown.events, SessionStarted, "A2")
    assert max(first, second) < at(shown.events, AtomResolved, "A1")
    assert max(first, second) < at(shown.events, AttemptFailed, "A2")


def test_a_red_check_turns_green(shown: Shown) -> None:
    failed = shown.events[at(shown.events, AttemptFailed, "A2")]
    assert isinstance(failed, AttemptFailed)
    assert "success was reported" in failed.reason
    assert "rye" in failed.reason
    assert at(shown.events, AttemptFailed, "A2") < at(shown.events, AtomResolved, "A2")


def test_a_decomposed_choice_is_given_up_with_its_files(shown: Shown) -> None:
    story = (
        at(shown.events, Decomposed, "A3"),
        at(shown.events, AtomResolved, "A6"),
        at(shown.events, DeclaredInfeasible, "A7"),
        at(shown.events, ChoiceFailed),
        at(shown.events, AtomResolved, "A4"),
    )
    assert story == tuple(sorted(story))
    assert shown.plan.groups[GroupId("store")].failed == ("A3",)
    # What was given up was on the branch once, and git still has it.
    kept = f"refs/dwindle/attempts/{shown.run}/branch/1"
    once = asked(shown.root, "ls-tree", "-r", "--name-only", kept, "till/")
    now = asked(shown.root, "ls-tree", "-r", "--name-only", f"runner/{shown.run}", "till/")
    assert once.splitlines() == [
        "till/__init__.py",
        "till/amount.py",
        "till/line.py",
        "till/schema.sql",
    ]
    assert now.splitlines() == [
        "till/__init__.py",
        "till/amount.py",
        "till/line.py",
        "till/store.py",
        "till/total.py",
    ]


def test_what_is_shown_of_the_branch_is_what_was_on_it(shown: Shown) -> None:
    lists = re.findall(r"the branch has (.+)", shown.said.out, re.IGNORECASE)
    assert lists == [
        "till/__init__.py till/amount.py till/line.py till/schema.sql",
        "till/__init__.py till/amount.py till/line.py",
    ]


def test_the_certificate_is_about_what_was_landed(shown: Shown) -> None:
    folder = shown.root / ".runner" / "iterations" / shown.run
    certificate = Certificate.from_json((folder / "certificate.json").read_bytes())
    assert certificate.holds
    assert certificate.commit == asked(shown.root, "rev-parse", "main")
    verified = shown.events[at(shown.events, VerificationEnded)]
    assert isinstance(verified, VerificationEnded)
    assert verified.passed


def test_the_persons_branch_has_a_commit_for_each_resolved_atom(shown: Shown) -> None:
    subjects = asked(shown.root, "log", "--reverse", "--format=%s", "main").splitlines()
    assert [subject.partition(":")[0] for subject in subjects] == [
        "What the till should do",
        "A1",
        "A2",
        "A4",
        "A5",
    ]
    # The checkout went along, and holds nothing else but the plan.
    assert asked(shown.root, "status", "--porcelain", "--untracked-files=all").splitlines() == [
        f"?? {GRAPH_FILE}"
    ]
    tests = subprocess.run(
        ["python3", "-m", "unittest"], cwd=shown.root, env=PLAIN, capture_output=True, check=False
    )
    assert tests.returncode == 0, tests.stderr


def test_every_command_that_is_shown_exists(shown: Shown) -> None:
    typed = re.findall(r"^(?:\$|  ) ?dwindle ([a-z]+)", shown.said.out, re.MULTILINE)
    assert {"align", "run", "status", "explain"} <= set(typed)
    assert set(typed) <= {name for name, *_ in COMMANDS}


def test_a_second_one_in_the_same_folder_is_refused(shown: Shown) -> None:
    before = asked(shown.root, "rev-parse", "main")
    assert dwindle(shown.root.parent, "demo", "--dir", "till") == Ended(
        code=2, err="dwindle: till: it is not empty\n  name a new folder\n"
    )
    assert asked(shown.root, "rev-parse", "main") == before


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    assert dwindle(tmp_path, "demo", "--dir", ".").code == 2
    assert dwindle(tmp_path, "demo", "--dir", "mine") == Ended(
        code=2, err="dwindle: mine: it is not a folder\n  name a new folder\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("plan", ["graph", "tree"])
def test_without_a_folder_nothing_is_left(tmp_path: Path, plan: str) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    # What a person has set for all their repositories does not disturb it.
    settings = tmp_path / "gitconfig"
    settings.write_text("[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n")
    around = {"TMPDIR": str(temporary), "GIT_CONFIG_GLOBAL": str(settings), "GIT_DIR": "nowhere"}
    said = dwindle(tmp_path, "demo", "--plan", plan, **around)
    assert (said.code, list(temporary.iterdir())) == (0, []), said


def test_a_demo_that_fails_says_what_and_where(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text("#!/bin/sh\necho no such luck >&2\nexit 1\n")
    git.chmod(0o755)
    path = os.pathsep.join((str(git.parent), PLAIN["PATH"]))
    said = dwindle(tmp_path, "demo", TMPDIR=str(temporary), PATH=path)
    (kept,) = temporary.iterdir()
    assert said.code == 1
    assert said.err.splitlines() == [
        f"dwindle: the repository of the demo is in {kept}",
        "dwindle: the demo went wrong: git init --quiet --initial-branch=main: no such luck",
    ]
