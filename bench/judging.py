"""What the strict form of the gate costs a check: a checkout, and a suite of tests in it.

A repository of 1,000 files with 200 tests. Timed is one round of the base case (a fresh checkout,
pytest in the sandbox, the checkout removed) on a commit that changed ten files: with work paths,
where the work is laid over the judge's ground and what decides is read-only, and, as the peer,
without them, where a list of files decides. The limit is 1.3. A worker that adds tests has the
checks run twice; that is not part of it.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script, only this folder is on it

from bench._runs import line, remark, scratch

from dwindle.adapters.formats.config.settings import Settings
from dwindle.adapters.git.repository import find
from dwindle.app.open_run.shared import site_of
from dwindle.app.verify import Leases
from dwindle.kernel.model import Aligned, BaseCase, Check, CheckType, Objective
from dwindle.runner.gate.verification import ALL_OF_IT, Jury, verify
from dwindle.runner.gate.work_paths import WorkPaths

FILES, TESTS, ROUNDS = 1_000, 200, 7
SUITE = f"{sys.executable} -m pytest -q -p no:cacheprovider"


def made(folder: Path) -> tuple[str, str]:
    """A repository, its commit of alignment, and one with the work."""

    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        said = subprocess.run(
            ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
        )
        return said.stdout.strip()

    git("init", "--quiet")
    for number in range(FILES):
        path = folder / f"src/package{number % 20}/module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"VALUE = {number}\n")
    for number in range(TESTS):
        path = folder / f"tests/test_{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("def test_it():\n    assert True\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    aligned = git("rev-parse", "HEAD")
    for number in range(10):
        (folder / f"src/package{number}/module{number}.py").write_text("VALUE = 0\n")
    git("commit", "--quiet", "-am", "work")
    return aligned, git("rev-parse", "HEAD")


def objective(*work_paths: str) -> Objective:
    check = Check(type=CheckType.COMMAND, value=SUITE)
    return Objective(
        goal="g",
        base_case=BaseCase(check=check),
        background_intent="b",
        deliverables="d",
        definition_of_done="d",
        work_paths=work_paths,
    )


async def seconds(folder: Path, aligned: str, commit: str, wanted: Objective) -> float:
    site = site_of(await find(folder), Settings())
    at = Aligned(commit=aligned)
    checkouts = site.checkouts(at, wanted)
    began = time.perf_counter()
    overlay, jury = ALL_OF_IT, Jury()
    if wanted.work_paths:
        paths = WorkPaths(wanted, at, await site.repository.files(aligned))
        overlay = paths.overlay(await checkouts.changed(commit))
        jury = Jury(fixed=paths.fixed)
    found = await verify(
        wanted.base_case, commit, Leases(checkouts), site.checks, jury, overlay=overlay
    )
    if not found.passed:
        raise SystemExit(f"the check did not pass: {found}")
    return time.perf_counter() - began


async def main() -> None:
    with scratch() as folder:
        aligned, commit = made(folder)
        strict, weaker = objective("src/**", "tests/**"), objective()
        await seconds(folder, aligned, commit, strict)
        times: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(ROUNDS):
            for wanted in (strict, weaker):
                taken = await seconds(folder, aligned, commit, wanted)
                times[bool(wanted.work_paths)].append(taken)
        ours, peer = min(times[True]), min(times[False])
        line("strict-check", ours * 1000, "ms", ours / peer, 1.3)
        remark(f"without work paths {peer * 1000:.0f} ms")


if __name__ == "__main__":
    asyncio.run(main())
