"""Running the checks that need no judgement: commands and files.

A command runs by `sh -c`, with stdout and stderr in one stream so that evidence reads in the order
in which it was printed. It runs in the tree, which it may write, inside the same containment as
agents. A check that no machine can decide comes back NOT_JUDGED, which is never a pass.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from dwindle.adapters.checks.counting import CountedRun, counted_run
from dwindle.adapters.checks.tree_paths import look
from dwindle.kernel.base_case import MECHANICAL, Verdict
from dwindle.kernel.model import Check, CheckType
from dwindle.ports.checks import CheckResult
from dwindle.ports.fixed_files import FixedFiles, fixed_in
from dwindle.ports.process import Captured, Command, Containment, Ended
from dwindle.text.escape import without_colours
from dwindle.toolchains.reports import (
    NOT_INSTALLED,
    Counts,
    ExitMeaning,
    Reply,
    ReportUnreadable,
    answer_of,
    no_answer,
    signal_name,
)
from dwindle.toolchains.shell import program_of

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
    """The folder for reports of test runs; the system's temporary folder if None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a check runs."""

    tree: Path
    fixed: FixedFiles
    """What it cannot change there, where the containment can see to that."""


class MechanicalChecks:
    """A `CheckRunner`."""

    def __init__(self, containment: Containment, settings: CheckSettings | None = None) -> None:
        self._containment = containment
        self._settings = settings or CheckSettings()

    async def run(self, check: Check, tree: Path, fixed: Sequence[str] = ()) -> CheckResult:
        place = _Place(tree=tree, fixed=fixed_in(tree, fixed))
        seconds = float(check.timeout_seconds or self._settings.timeout_seconds)
        if check.type not in MECHANICAL:
            return CheckResult(
                check=check,
                verdict=Verdict.NOT_JUDGED,
                evidence=f"Not judged: no machine can decide a check of type {check.type}.",
            )
        if not (check.value or "").strip():
            return _could_not_run(check, "there is nothing to check")
        before = 0.0
        if check.control is not None:
            ended = await self._shell(check.control, place, seconds)
            answer = _answer(check.control, ended, seconds)
            if answer.reply is not Reply.YES:
                why = f"its control {_shown(check.control)} {answer.sentence}, so it proves nothing"
                return self._result(check, Verdict.COULD_NOT_RUN, why, ended)
            before = ended.seconds
        if check.type in (CheckType.FILE, CheckType.NOT_FILE):
            return await self._look(check, tree, before)
        result = await self._command(check, place, max(0.1, seconds - before))
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

    async def _command(self, check: Check, place: _Place, seconds: float) -> CheckResult:
        line = check.value or ""
        with counted_run(line, place.tree, self._settings.scratch) as counted:
            ended = await self._shell(line, place, seconds, counted)
            if counted is not None:
                return self._counted_result(check, ended, seconds, counted)
        answer = _answer(line, ended, seconds)
        if answer.reply is Reply.NO and await self._is_nonsense(line, place.tree, ended):
            answer = no_answer("is not understood by the shell")
        what = f"{_shown(line)} {answer.sentence}"
        return self._result(check, _verdict(check, answer.reply), what, ended)

    async def _is_nonsense(self, line: str, tree: Path, ended: Ended) -> bool:
        """A shell that cannot parse a line exits with 2, which looks like a program's no."""
        if not any(sign in ended.stdout.head + ended.stdout.tail for sign in _SYNTAX):
            return False
        command = Command(argv=("sh", "-n", "-c", line), cwd=tree, timeout_seconds=10.0)
        return not (await self._containment.run(command)).is_clean

    async def _shell(
        self, line: str, place: _Place, seconds: float, counted: CountedRun | None = None
    ) -> Ended:
        settings = self._settings
        with tempfile.TemporaryDirectory(prefix="dwindle-pyc-", dir=settings.scratch) as compiled:
            # Compiled Python that a check leaves might be taken for work, and what a worker left
            # might not be what its source says: nothing is written, and what is there is not read.
            environment = {
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPYCACHEPREFIX": compiled,
                **settings.environment,
            }
            writable = [place.tree, *place.fixed.above, *settings.writable]
            readable = place.fixed.files
            if counted is not None:
                line = counted.line
                environment |= counted.variables(environment)
                writable.append(counted.reports)
                readable = (*readable, *counted.readable)
            return await self._containment.run(
                Command(
                    argv=("sh", "-c", f"exec 2>&1\n{line}"),
                    cwd=place.tree,
                    environment=environment,
                    timeout_seconds=seconds,
                    output_bytes=settings.output_bytes,
                    writable=tuple(writable),
                    readable=readable,
                    hidden=settings.hidden,
                    network=settings.network,
                    traces=False,
                )
            )

    # --- counts ----------------------------------------------------------------------------------

    def _counted_result(
        self, check: Check, ended: Ended, seconds: float, counted: CountedRun
    ) -> CheckResult:
        answer = _answer(check.value or "", ended, seconds)
        what = f"{_shown(check.value)} {answer.sentence}"
        counts: Counts | None = None
        missing = "left no report of what it ran"
        try:
            counts = counted.counts()
        except ReportUnreadable as problem:
            missing = f"left a report that {problem}"
        if answer.reply is Reply.NONE:
            return self._result(check, Verdict.COULD_NOT_RUN, what, ended)
        run = counted.run
        if counts is None:
            not_installed = NOT_INSTALLED.get(run.tool)
            if not_installed and not_installed in ended.stdout.head + ended.stdout.tail:
                what = f"{_shown(check.value)} did not find {run.tool}"
                return self._result(check, Verdict.COULD_NOT_RUN, what, ended)
            if not run.must_report:
                return self._result(check, _verdict(check, answer.reply), what, ended)
            if answer.reply is Reply.YES:
                what = f"{what} but {missing}, so nothing shows that a test ran"
            return replace(self._result(check, _undecided(check), what, ended), tests=0)
        sums = f"{counts.ran} tests ran, {counts.failed} failed, {counts.skipped} skipped"
        if counts.ran <= 0:
            verdict, what = _undecided(check), f"{what} and no test ran"
        elif ended.exit_code == 0 and not counts.failed:
            verdict = _verdict(check, Reply.YES)
        elif ended.exit_code == run.failure_code:
            verdict = _verdict(check, Reply.NO)
        else:
            verdict = _undecided(check)
        result = self._result(check, verdict, f"{what} ({sums})", ended)
        return replace(result, tests=max(0, counts.ran))

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


def _answer(line: str, ended: Ended, seconds: float) -> ExitMeaning:
    """What the end of a command says about the claim that it checks."""
    if ended.error:
        return no_answer(f"could not be started: {ended.error}")
    if ended.timed_out:
        return no_answer(f"did not end within {seconds:g} s")
    if ended.signal is not None:
        return no_answer(f"was ended by {signal_name(ended.signal)}")
    if ended.exit_code is None:
        return no_answer("ended without an exit code")
    return answer_of(ended.exit_code, program_of(line) if ended.exit_code else "")


def _undecided(check: Check) -> Verdict:
    """For a run that shows neither that tests passed nor that one failed.

    Where the check wants yes, it failed, because an agent can repair that. Where it wants no, there
    is no evidence.
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


# --- output -------------------------------------------------------------------------------------


def end_of(text: str, characters: int) -> str:
    """The last whole lines that fit, without colours and control characters."""
    plain = without_colours(text)
    plain = "".join(c if c.isprintable() or c in "\n\t" else " " for c in plain).strip("\n")
    if len(plain) <= characters:
        return plain
    kept = plain[-characters:]
    _, line_break, whole_lines = kept.partition("\n")
    return f"[...]\n{whole_lines if line_break else kept}"


def digest_of(captured: Captured) -> str:
    """Empty where part of the output was dropped before it was digested."""
    if captured.digest or not captured.is_whole:
        return captured.digest
    return sha256(captured.head + captured.tail).hexdigest()
