"""Running a command whose test tool is known, with a request for a report beside the checkout."""

from __future__ import annotations

import os
import platform
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dwindle.ports.checks import Counting, Ran
from dwindle.ports.process import Command, Ended
from dwindle.ports.removal import remove
from dwindle.toolchains.countable_run import CountableRun, countable_run
from dwindle.toolchains.recipes import MOST_BYTES, Read
from dwindle.toolchains.reports import (
    CARGO_RUNNER,
    GATED,
    REPORT_FILES,
    Counts,
    ReportRequest,
    ReportUnreadable,
    counts_in,
)
from dwindle.toolchains.shell import quoted_line
from dwindle.toolchains.tools import Tool

GATE: Final = Path(__file__).with_name("gate")
"""The folder of our `sitecustomize`."""
REPORT_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRun:
    """One run of a known tool, and the folder that it leaves its reports in."""

    run: CountableRun
    line: str
    """The command, with what its tool needs to find our gate."""
    reports: Path
    request: ReportRequest

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        return self.request.variables(self.run.tool, environment)

    @property
    def readable(self) -> tuple[Path, ...]:
        """The folder of the reports is writable, the one around it is not."""
        return (self.reports.parent, *((GATE,) if self.run.tool in GATED else ()))

    def counts(self) -> Counts | None:
        """Raises ReportUnreadable."""
        paths = sorted(self.reports.glob(REPORT_FILES[self.run.tool]))
        found = (_report_content(path) for path in paths)
        return counts_in(self.run.tool, [content for content in found if content is not None])


@contextmanager
def counted_run(line: str, tree: Path, scratch: Path | None) -> Iterator[CountedRun | None]:
    """None if the tests of the command cannot be counted. The reports are removed at the end."""
    run = countable_run(line, _reader(tree))
    if run is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="dwindle-check-", dir=scratch))
    try:
        reports = Path(os.path.realpath(folder)) / "reports"
        reports.mkdir()
        cargo_runner = reports.parent / "runner"
        if run.tool is Tool.CARGO:
            cargo_runner.write_text(CARGO_RUNNER, encoding="ascii")
            cargo_runner.chmod(0o755)
        request = ReportRequest(
            reports=str(reports),
            gate=str(GATE) if run.tool in GATED and not run.is_isolated else "",
            cargo_runner=str(cargo_runner),
            machine=platform.machine().upper(),
        )
        yield CountedRun(run=run, line=request.line(line), reports=reports, request=request)
    finally:
        with suppress(OSError):
            remove(folder)


def _reader(tree: Path) -> Read:
    def read(name: str) -> str | None:
        path = tree / name
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        return path.read_text("utf-8", "replace")

    return read


def _report_content(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            content = file.read(REPORT_BYTES + 1)
    except OSError:
        return None
    if len(content) > REPORT_BYTES:
        raise ReportUnreadable(f"is larger than {REPORT_BYTES} bytes")
    return content


# --- the guard of a tree -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedCommand:
    """A `Counting`."""

    counted: CountedRun
    command: Command

    def ran(self, ended: Ended) -> Ran:
        try:
            counts = self.counted.counts()
        except ReportUnreadable as problem:
            return Ran(doubt=f"its report of what it ran {problem}")
        if counts is None:
            is_doubtful = ended.is_clean and self.counted.run.must_report
            return Ran(doubt="nothing shows that a test ran" if is_doubtful else "")
        if counts.ran <= 0:
            return Ran(tests=0, doubt="no test ran")
        failed = f"{counts.failed} of {counts.ran} tests failed" if counts.failed else ""
        return Ran(tests=counts.ran, doubt=failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCounter:
    """A `Counter`."""

    scratch: Path | None = None

    @contextmanager
    def counting(self, command: Command) -> Iterator[Counting | None]:
        argv = command.argv
        quoted = quoted_line(argv)
        line = shlex.join(argv) if quoted is None else quoted
        with counted_run(line, command.cwd, self.scratch) as counted:
            if counted is None:
                yield None
                return
            if counted.line != line:
                shell = ("sh", "-c") if quoted is None else argv[:2]
                argv = (*shell, counted.line, *(() if quoted is None else argv[3:]))
            environment = {**command.environment, **counted.variables(command.environment)}
            # The agent that wrote the checkout may have written compiled modules: make them anew.
            environment["PYTHONPYCACHEPREFIX"] = str(counted.reports / "compiled")
            asked = replace(
                command,
                argv=argv,
                environment=environment,
                writable=(*command.writable, counted.reports),
                readable=(*command.readable, *counted.readable),
            )
            yield CountedCommand(counted=counted, command=asked)
