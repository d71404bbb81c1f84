"""Running the checks that need no judgement: commands and files.

A command is handed to `sh -c`, with both of its streams in one so that evidence reads in the order
in which it was printed. It runs in the tree, which it may write, inside the same containment as
agents. What no machine can decide comes back NOT_JUDGED: leaving it out is never a pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dwindle.adapters.checks.counting import reports_folder
from dwindle.adapters.checks.endings import Ending, Reply, ending
from dwindle.adapters.checks.known_tool import KnownTool, known_tool
from dwindle.adapters.checks.output import digest_of, end_of
from dwindle.adapters.checks.shell_line import program_of
from dwindle.adapters.checks.tally import ReportUnreadable, Tally
from dwindle.adapters.checks.tree_paths import look
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Check, CheckType
from dwindle.ports.checks import CheckResult
from dwindle.ports.process import Command, Containment, Ended

_SYNTAX = (b"yntax error", b"unexpected EOF")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSettings:
    timeout_seconds: float = 600.0
    """For a check that names none of its own; its control included."""
    network: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    """Besides what the containment lets through."""
    output_bytes: int = 1 << 20
    evidence_characters: int = 1500
    """How much of the end of the output goes into the evidence."""
    writable: tuple[Path, ...] = ()
    """Besides the tree."""
    hidden: tuple[Path, ...] = ()
    scratch: Path | None = None
    """Where reports of test runs are put meanwhile; the system's place for such things if None."""


class MechanicalChecks:
    """A `CheckRunner`."""

    def __init__(self, containment: Containment, settings: CheckSettings | None = None) -> None:
        self._containment = containment
        self._settings = settings or CheckSettings()

    async def run(self, check: Check, tree: Path) -> CheckResult:
        seconds = float(check.timeout_seconds or self._settings.timeout_seconds)
        if check.type in (CheckType.ASSERTION, CheckType.QUALITY):
            return CheckResult(
                check=check,
                verdict=Verdict.NOT_JUDGED,
                evidence=f"Not judged: no machine can decide a check of type {check.type}.",
            )
        if not (check.value or "").strip():
            return _could_not_run(check, "there is nothing to check")
        before = 0.0
        if check.control is not None:
            ended = await self._shell(check.control, tree, seconds)
            said = _said(check.control, ended, seconds)
            if said.reply is not Reply.YES:
                why = f"its control {_shown(check.control)} {said.sentence}, so it proves nothing"
                return self._result(check, Verdict.COULD_NOT_RUN, why, ended)
            before = ended.seconds
        if check.type in (CheckType.FILE, CheckType.NOT_FILE):
            return await self._look(check, tree, before)
        result = await self._command(check, tree, max(0.1, seconds - before))
        return replace(result, seconds=result.seconds + before) if before else result

    # --- files -----------------------------------------------------------------------------------

    async def _look(self, check: Check, tree: Path, before: float) -> CheckResult:
        pattern = (check.value or "").strip()
        seen = await asyncio.to_thread(look, tree, pattern)
        verdict, what = seen.verdict(pattern, wanted=check.type is CheckType.FILE)
        return CheckResult(
            check=check, verdict=verdict, evidence=_sentence(check, verdict, what), seconds=before
        )

    # --- commands --------------------------------------------------------------------------------

    async def _command(self, check: Check, tree: Path, seconds: float) -> CheckResult:
        line = check.value or ""
        tool = known_tool(line, tree)
        if tool is not None:
            with reports_folder(self._settings.scratch) as reports:
                ended = await self._shell(line, tree, seconds, (tool, reports))
                return self._counted(check, ended, seconds, tool, reports)
        ended = await self._shell(line, tree, seconds)
        said = _said(line, ended, seconds)
        if said.reply is Reply.NO and await self._is_nonsense(line, tree, ended):
            said = Ending(reply=Reply.NONE, sentence="is not understood by the shell")
        what = f"{_shown(line)} {said.sentence}"
        return self._result(check, _verdict(check, said.reply), what, ended)

    async def _is_nonsense(self, line: str, tree: Path, ended: Ended) -> bool:
        """A shell says 2 to a line it cannot read, which looks like a program that says no."""
        if not any(sign in ended.stdout.head + ended.stdout.tail for sign in _SYNTAX):
            return False
        command = Command(argv=("sh", "-n", "-c", line), cwd=tree, timeout_seconds=10.0)
        return not (await self._containment.run(command)).is_clean

    async def _shell(
        self,
        line: str,
        tree: Path,
        seconds: float,
        counting: tuple[KnownTool, Path] | None = None,
    ) -> Ended:
        settings = self._settings
        # What a check leaves behind might be taken for work: no compiled Python at least.
        environment = {"PYTHONDONTWRITEBYTECODE": "1", **settings.environment}
        writable = [tree, *settings.writable]
        readable: tuple[Path, ...] = ()
        if counting is not None:
            tool, reports = counting
            line = tool.line
            environment |= tool.given(environment, reports)
            writable.append(reports)
            readable = (reports.parent, *tool.readable)
        return await self._containment.run(
            Command(
                argv=("sh", "-c", f"exec 2>&1\n{line}"),
                cwd=tree,
                environment=environment,
                timeout_seconds=seconds,
                output_bytes=settings.output_bytes,
                writable=tuple(writable),
                readable=readable,
                hidden=settings.hidden,
                network=settings.network,
            )
        )

    # --- counts ----------------------------------------------------------------------------------

    def _counted(
        self, check: Check, ended: Ended, seconds: float, tool: KnownTool, reports: Path
    ) -> CheckResult:
        said = _said(check.value or "", ended, seconds)
        what = f"{_shown(check.value)} {said.sentence}"
        tally: Tally | None = None
        missing = "left no report of what it ran"
        try:
            tally = tool.tally(reports)
        except ReportUnreadable as problem:
            missing = f"left a report that {problem}"
        if said.reply is Reply.NONE:
            return self._result(check, Verdict.COULD_NOT_RUN, what, ended)
        if tally is None:
            if tool.missing in ended.stdout.head + ended.stdout.tail:
                what = f"{_shown(check.value)} did not find {tool.name}"
                return self._result(check, Verdict.COULD_NOT_RUN, what, ended)
            if not tool.must_report:
                return self._result(check, _verdict(check, said.reply), what, ended)
            if said.reply is Reply.YES:
                what = f"{what} but {missing}, so nothing shows that a test ran"
            return self._result(check, _unsaid(check), what, ended)
        counts = f"{tally.ran} tests ran, {tally.failed} failed, {tally.skipped} skipped"
        if tally.ran <= 0:
            verdict, what = _unsaid(check), f"{what} and no test ran"
        elif ended.exit_code == 0 and not tally.failed:
            verdict = _verdict(check, Reply.YES)
        elif ended.exit_code == tool.says_no:
            verdict = _verdict(check, Reply.NO)
        else:
            verdict = _unsaid(check)
        result = self._result(check, verdict, f"{what} ({counts})", ended)
        return replace(result, tests=max(0, tally.ran))

    def _result(self, check: Check, verdict: Verdict, what: str, ended: Ended) -> CheckResult:
        sentence = _sentence(check, verdict, what)
        output = end_of(ended.stdout.text(), self._settings.evidence_characters)
        return CheckResult(
            check=check,
            verdict=verdict,
            evidence=f"{sentence}\n{output}" if output else sentence,
            exit_code=ended.exit_code,
            seconds=ended.seconds,
            digest=digest_of(ended.stdout),
        )


def _verdict(check: Check, reply: Reply) -> Verdict:
    if reply is Reply.NONE:
        return Verdict.COULD_NOT_RUN
    wanted = Reply.YES if check.type is CheckType.COMMAND else Reply.NO
    return Verdict.PASSED if reply is wanted else Verdict.FAILED


def _said(line: str, ended: Ended, seconds: float) -> Ending:
    """Only a no depends on which program says it."""
    program = "" if ended.is_clean else program_of(line)
    return ending(ended, seconds=seconds, program=program)


def _unsaid(check: Check) -> Verdict:
    """Neither the yes of tests that ran nor the no of one that failed.

    It is a failure where yes is wanted, because somebody can be sent to mend it. It is no evidence
    where no is wanted.
    """
    return Verdict.FAILED if check.type is CheckType.COMMAND else Verdict.COULD_NOT_RUN


def _could_not_run(check: Check, what: str) -> CheckResult:
    verdict = Verdict.COULD_NOT_RUN
    return CheckResult(check=check, verdict=verdict, evidence=_sentence(check, verdict, what))


_WORDS: Mapping[Verdict, str] = {
    Verdict.PASSED: "Passed",
    Verdict.FAILED: "Failed",
    Verdict.COULD_NOT_RUN: "Could not run",
    Verdict.NOT_JUDGED: "Not judged",
}


def _shown(line: str | None) -> str:
    """A command in a sentence; the whole of it is in the check."""
    flat = " ".join((line or "").split())
    return f"`{flat}`" if len(flat) <= 200 else f"`{flat[:200]}...`"


def _sentence(check: Check, verdict: Verdict, what: str) -> str:
    about = f" ({check.type} {check.value})" if check.type.endswith("file") else ""
    return f"{_WORDS[verdict]}{about}: {what}."
