"""A worker says that it succeeded: when that is believed."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.checks.plain_containment import PlainContainment

from dwindle.adapters.checks.mechanical import MechanicalChecks
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Atom, AtomId, Check, CheckType
from dwindle.ports.work import NoReport, VerifierReport, WorkerReport
from dwindle.ports.workspace import Change
from dwindle.runner.gate.evidence import Evidence, Rules, SessionWork, judge_work
from dwindle.runner.gate.steering import ToolSteering
from dwindle.toolchains.tools import Tool

CHECKS = MechanicalChecks(PlainContainment())
NOTHING = Change(paths=())
SUCCESS = WorkerReport(success=True, summary="done")
NOTHING_TO_SHOW = Evidence(
    holds=False,
    reason="success was reported, but no file changed and none is new\nThe report said: done",
)


def atom(check: Check | None = None) -> Atom:
    return Atom(id=AtomId("A1"), description="do it", check=check)


def command(value: str) -> Check:
    return Check(type=CheckType.COMMAND, value=value)


def judge(
    tree: Path,
    *,
    report: WorkerReport = SUCCESS,
    check: Check | None = None,
    changed: tuple[str, ...] = (),
    rules: Rules | None = None,
    began_ns: int | None = None,
) -> Evidence:
    began = None if began_ns is None else lambda: began_ns
    work = SessionWork(tree=tree, change=Change(paths=changed), began_ns=began)
    return asyncio.run(judge_work(atom(check), report, work, CHECKS, rules or Rules()))


def claims(*artifacts: str) -> WorkerReport:
    return WorkerReport(success=True, summary="done", artifacts=artifacts)


async def everything_is_ignored(path: str) -> bool:
    assert not path.startswith("/")
    return True


async def nothing_is_ignored(path: str) -> bool:
    assert not path.startswith("/")
    return False


# --- with nothing but words ----------------------------------------------------------------------


def test_a_claim_with_nothing_to_show_is_a_failure(tmp_path: Path) -> None:
    assert judge(tmp_path) == NOTHING_TO_SHOW


def test_a_difference_is_something_to_show(tmp_path: Path) -> None:
    assert judge(tmp_path, changed=("a.py", "b é.py")) == Evidence(
        holds=True, reason="changed a.py, b é.py"
    )


def test_many_changed_files_are_told_in_few_words(tmp_path: Path) -> None:
    changed = tuple(f"{n}.py" for n in range(10_000))

    assert judge(tmp_path, changed=changed).reason == (
        "changed 0.py, 1.py, 2.py, 3.py, 4.py and 9995 more"
    )


def test_a_report_of_failure_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    report = WorkerReport(success=False, reason="the API is gone")

    assert judge(tmp_path, report=report, changed=("a.py",)) == Evidence(
        holds=False, reason="the API is gone"
    )


def test_a_change_that_is_not_plain_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    work = SessionWork(tree=tmp_path, change=Change(paths=("a",), trouble="history was rewritten"))

    seen = asyncio.run(judge_work(atom(), SUCCESS, work, CHECKS, Rules()))

    assert seen == Evidence(holds=False, reason="history was rewritten")


# --- pins ----------------------------------------------------------------------------------------


def test_a_worker_that_touches_a_pin_has_failed_even_if_its_check_holds(tmp_path: Path) -> None:
    rules = Rules(pins=("ci/check.sh",), protected_paths=("tests", "!tests/new"))
    changed = ("src/a.py", "ci/check.sh", "tests/new/ok.py", "tests/conftest.py")

    assert judge(tmp_path, check=command("touch ran"), changed=changed, rules=rules) == Evidence(
        holds=False,
        reason="changed protected files: ci/check.sh, tests/conftest.py\n"
        "(If the work has to change it, a person allows that: "
        "`dwindle redirect --unpin ci/check.sh --unpin tests/conftest.py`.)",
    )


def test_a_worker_that_steers_the_tests_has_failed(tmp_path: Path) -> None:
    """Of a file that only steers in part, that part counts; deleting it is changing it."""
    before = b'[project]\nname = "x"\n[tool.pytest]\nx = 1\n'

    async def at_alignment(path: str) -> bytes | None:
        return before if path.endswith("pyproject.toml") else None

    rules = Rules(steering=ToolSteering(tools=(Tool.PYTEST,)), at_alignment=at_alignment)
    for folder, content in {
        "honest": before.replace(b'"x"', b'"y"'),
        "cheat": before.replace(b"x = 1", b"x = 2"),
    }.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pyproject.toml").write_bytes(content)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "pyproject.toml").symlink_to("../honest/pyproject.toml")
    changed = (
        *("a.py", "new/conftest.py", "honest/pyproject.toml", "cheat/pyproject.toml"),
        *("gone/pyproject.toml", "link/pyproject.toml"),
    )

    assert judge(tmp_path, changed=changed, rules=rules) == Evidence(
        holds=False,
        reason="changed files that steer the tests: new/conftest.py, cheat/pyproject.toml, "
        "gone/pyproject.toml, link/pyproject.toml; what tests need belongs into the test files "
        "themselves",
    )
    assert judge(tmp_path, changed=("a.py", "honest/pyproject.toml"), rules=rules).holds
    assert not (tmp_path / "ran").exists()


def test_a_worker_that_changes_what_a_command_leads_to_has_failed(tmp_path: Path) -> None:
    """And it is looked for once, however many sessions there are."""
    then = {"Makefile": b"test:\n\tsh run.sh\n", "run.sh": b"pytest\n"}
    asked: list[str] = []

    async def at_alignment(path: str) -> bytes | None:
        asked.append(path)
        return then.get(path)

    async def aligned_files() -> tuple[str, ...]:
        return tuple(then)

    rules = Rules(
        steering=ToolSteering(tools=(Tool.MAKE,), lines=("make test",)),
        at_alignment=at_alignment,
        aligned_files=aligned_files,
    )
    for path in ("Makefile", "GNUmakefile", "run.sh", "test", "sub/conftest.py"):
        assert judge(tmp_path, changed=("a.py", path), rules=rules) == Evidence(
            holds=False,
            reason=f"changed files that steer the tests: {path}; what tests need belongs into the "
            "test files themselves",
        )
    often = len(asked)
    assert judge(tmp_path, changed=("a.py", "docs/Makefile"), rules=rules).holds
    assert len(asked) == often
    blind = replace(rules, at_alignment=None)
    assert judge(tmp_path, changed=("Makefile",), rules=blind).holds


# --- checks --------------------------------------------------------------------------------------


def test_a_check_that_holds_is_enough_without_any_change(tmp_path: Path) -> None:
    seen = judge(tmp_path, check=command("echo fine"))

    assert (seen.holds, seen.reason) == (
        True,
        "its check holds. Passed: `echo fine` exited with 0.\nfine",
    )
    assert seen.check is not None
    assert seen.check.verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("line", "verdict", "said"),
    [
        ("echo 3 wrong; false", Verdict.FAILED, "Failed: `echo 3 wrong; false` exited with 1."),
        ("no-such-thing", Verdict.COULD_NOT_RUN, "Could not run: `no-such-thing` exited with 127"),
    ],
)
def test_a_check_that_does_not_hold_outweighs_any_change(
    line: str, verdict: Verdict, said: str, tmp_path: Path
) -> None:
    seen = judge(tmp_path, check=command(line), changed=("a.py",))

    assert not seen.holds
    assert seen.reason.startswith(f"success was reported, but its check does not hold. {said}")
    assert seen.check is not None
    assert seen.check.verdict is verdict


def test_a_reason_is_bounded_however_much_a_check_prints(tmp_path: Path) -> None:
    assert len(judge(tmp_path, check=command("seq 100000; false")).reason) <= 1506


@pytest.mark.parametrize("passed", [True, False])
def test_a_check_that_needs_judgement_is_put_to_the_verifier(passed: bool, tmp_path: Path) -> None:
    async def verifier(check: Check, tree: Path) -> VerifierReport | NoReport:
        assert (check, tree) == (nice, tmp_path)
        return VerifierReport(passed=passed, evidence="looked")

    nice = Check(type=CheckType.ASSERTION, value="it is nice")

    assert judge(tmp_path, check=nice, rules=Rules(judge=verifier)).holds is passed


def test_without_a_verifier_such_a_check_does_not_hold(tmp_path: Path) -> None:
    nice = Check(type=CheckType.ASSERTION, value="it is nice")

    assert judge(tmp_path, check=nice, changed=("a.py",)).reason == (
        "success was reported, but its check does not hold. Not judged: no verifier was asked\n"
        "The report said: done"
    )


# --- artifacts -----------------------------------------------------------------------------------


def test_artifacts_that_do_not_exist_are_a_failure_even_if_something_changed(
    tmp_path: Path,
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "beside").write_text("x", encoding="utf-8")
    (tree / "real").write_text("x", encoding="utf-8")
    (tree / "out").symlink_to(tmp_path / "beside")
    report = claims("real", "gone", "../beside", "out", "/etc/passwd", "nul\0", ".")

    assert judge(tree, report=report, changed=("a",), check=command("true")) == Evidence(
        holds=False,
        reason=(
            "reported artifacts that do not exist: gone, nul\\x00;"
            " reported artifacts outside of its tree: ../beside, out, /etc/passwd, ."
        ),
    )


def test_artifacts_are_kept_relative_to_the_tree(tmp_path: Path) -> None:
    for name in ("a b.txt", "sub"):
        (tmp_path / name).mkdir()
    report = claims("./a b.txt", f"{tmp_path}/sub/", "sub")

    assert judge(tmp_path, report=report, changed=("x",)) == Evidence(
        holds=True, reason="changed x", artifacts=("a b.txt", "sub")
    )


def test_a_file_outside_of_version_control_counts_if_it_was_made_since(tmp_path: Path) -> None:
    began = time.time_ns() - 1_000_000_000
    (tmp_path / "dist.bin").write_bytes(b"x")
    rules = Rules(is_ignored=everything_is_ignored)

    assert judge(tmp_path, report=claims("dist.bin"), rules=rules, began_ns=began) == Evidence(
        holds=True, reason="made dist.bin", artifacts=("dist.bin",)
    )


def test_a_file_that_was_there_before_is_nothing_to_show(tmp_path: Path) -> None:
    (tmp_path / "dist.bin").write_bytes(b"x")
    os.utime(tmp_path / "dist.bin", (2**33, 2**33))  # a date in the future is easily set
    began = time.time_ns() + 1_000_000_000
    rules = Rules(is_ignored=everything_is_ignored)

    assert (
        judge(tmp_path, report=claims("dist.bin"), rules=rules, began_ns=began) == NOTHING_TO_SHOW
    )


def test_a_tracked_file_that_was_only_touched_is_nothing_to_show(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_bytes(b"x")
    rules = Rules(is_ignored=nothing_is_ignored)

    assert judge(tmp_path, report=claims("README.md"), rules=rules, began_ns=0) == NOTHING_TO_SHOW
    assert judge(tmp_path, report=claims("README.md"), began_ns=0) == NOTHING_TO_SHOW


def test_a_link_out_of_the_tree_is_no_work(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("x\n", "utf-8")
    (tmp_path / "alias.txt").symlink_to("in.txt")
    (tmp_path / "out.txt").symlink_to("/etc/passwd")
    assert judge(tmp_path, changed=("alias.txt",)).holds
    found = judge(tmp_path, changed=("alias.txt", "out.txt"))
    assert (found.holds, found.reason) == (
        False,
        "links that lead out of its tree are no work: out.txt",
    )
