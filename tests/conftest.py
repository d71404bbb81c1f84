"""What all tests share: how a missing tool is treated, and how hard properties are tried.

A test that needs a program asks `require_tool` for it and is skipped where it is missing, so that
the suite runs on any machine. On the machine that decides, a skip would be an unseen hole:
with DWINDLE_REQUIRE_ALL=1 every skip that `allowed_skips.txt` does not list is a failure, however
it came about (a fixture, `pytest.skip`, a `skipif` mark, `importorskip` while collecting).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Started in the background by a shell, we were told to ignore Ctrl-C, and so would be every program
# that the tests start and then press Ctrl-C on.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ALLOWED_SKIPS = Path(__file__).parent / "allowed_skips.txt"

# Quick runs try the same examples every time, so that a red test is red for everybody; a long run
# (DWINDLE_FUZZ = examples per property) looks for new ones.
settings.register_profile(
    "quick",
    max_examples=100,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long",
    max_examples=int(os.environ.get("DWINDLE_FUZZ") or 100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("long" if os.environ.get("DWINDLE_FUZZ") else "quick")


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedSkip:
    pattern: str
    why: str

    def covers(self, test_id: str, reason: str) -> bool:
        regex = ".*".join(re.escape(part) for part in self.pattern.split("*"))
        return any(re.fullmatch(regex, text, re.DOTALL) for text in (test_id, reason))


def allowed_skips(path: Path = ALLOWED_SKIPS) -> tuple[AllowedSkip, ...]:
    allowed = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, _, why = (part.strip() for part in line.partition(" -- "))
        if not pattern or not why:
            message = f"{path.name}:{number}: expected `pattern -- why it may skip`, got {line!r}"
            raise pytest.UsageError(message)
        allowed.append(AllowedSkip(pattern=pattern, why=why))
    return tuple(allowed)


def forbid_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure, unless it is allowed or DWINDLE_REQUIRE_ALL is not set."""
    if os.environ.get("DWINDLE_REQUIRE_ALL") != "1" or not report.skipped:
        return
    if hasattr(report, "wasxfail"):  # an expected failure is reported as a skip, but ran
        return
    longrepr = report.longrepr
    reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    reason = reason.removeprefix("Skipped: ")
    if any(skip.covers(report.nodeid, reason) for skip in allowed_skips()):
        return
    report.outcome = "failed"
    report.longrepr = (
        f"skipped although DWINDLE_REQUIRE_ALL=1: {reason}\n"
        f"install what is missing, or list the skip with its reason in {ALLOWED_SKIPS.name}"
    )


def pytest_configure() -> None:
    allowed_skips()  # a list that cannot be read is said at once, not at the first skip


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    forbid_skip(report)
    return report


@pytest.fixture(scope="session")
def require_tool() -> Callable[[str], Path]:
    """The path of a program on PATH; the test is skipped where there is none."""

    def find(name: str) -> Path:
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed")
        return Path(found)

    return find
