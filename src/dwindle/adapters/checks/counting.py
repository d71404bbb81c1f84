"""Counting the tests of a command that is run by somebody else: the guard of a tree.

What a check gets is given to the command: the request for a report beside the checkout, and the
tool imported before the checkout is on the path. Whether it passed is for its runner to say.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.adapters.checks.known_tool import KnownTool, known_tool
from dwindle.adapters.checks.recipes import SHELLS
from dwindle.adapters.checks.tally import ReportUnreadable
from dwindle.ports.checks import Counting, Ran
from dwindle.ports.process import Command, Ended


@contextmanager
def reports_folder(scratch: Path | None) -> Iterator[Path]:
    """Where a tool may leave its reports, in a folder that it cannot write to."""
    folder = Path(tempfile.mkdtemp(prefix="dwindle-check-", dir=scratch))
    try:
        reports = Path(os.path.realpath(folder)) / "reports"
        reports.mkdir()
        yield reports
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedCommand:
    """A `Counting`."""

    tool: KnownTool
    command: Command
    reports: Path

    def ran(self, ended: Ended) -> Ran:
        try:
            tally = self.tool.tally(self.reports)
        except ReportUnreadable as problem:
            return Ran(doubt=f"its report of what it ran {problem}")
        if tally is None:
            is_doubtful = ended.is_clean and self.tool.must_report
            return Ran(doubt="nothing shows that a test ran" if is_doubtful else "")
        if tally.ran <= 0:
            return Ran(tests=0, doubt="no test ran")
        failed = f"{tally.failed} of {tally.ran} tests failed" if tally.failed else ""
        return Ran(tests=tally.ran, doubt=failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCounter:
    """A `Counter`."""

    scratch: Path | None = None

    @contextmanager
    def counting(self, command: Command) -> Iterator[Counting | None]:
        shell = command.argv[0] in SHELLS and command.argv[1:2] == ("-c",)
        line = command.argv[2] if shell else shlex.join(command.argv)
        tool = known_tool(line, command.cwd)
        if tool is None:
            yield None
            return
        with reports_folder(self.scratch) as reports:
            argv = command.argv
            if tool.line != line:
                argv = (*argv[:2], tool.line, *argv[3:]) if shell else ("sh", "-c", tool.line)
            given = {**command.environment, **tool.given(command.environment, reports)}
            # Whoever wrote the checkout wrote its compiled modules, too: they are made anew.
            given["PYTHONPYCACHEPREFIX"] = str(reports / "compiled")
            asked = replace(
                command,
                argv=argv,
                environment=given,
                writable=(*command.writable, reports),
                readable=(*command.readable, reports.parent, *tool.readable),
            )
            yield CountedCommand(tool=tool, command=asked, reports=reports)
