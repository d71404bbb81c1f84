"""The guard: the one command whose success lets a leaf of a tree pass.

Where it runs a test tool that we know, ending with 0 is not enough: the tool's own report, beside
the checkout, has to say that tests ran, that none failed, and that there are not fewer than before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from dwindle.ports.checks import Counter, Counting
from dwindle.ports.fixed_files import FixedFiles, fixed_in
from dwindle.ports.iteration import Guarded
from dwindle.ports.process import Command, Containment, Ended
from dwindle.runner.gate.steering import NOTHING_STEERS
from dwindle.runner.modes.tree.guard_files import GuardSteering
from dwindle.text import amounts
from dwindle.text.escape import without_colours

LAST_LINES = 20
NOTHING_FIXED = FixedFiles()
FEWER = "[guard] fewer_tests = true lets that pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The result of a run of the guard."""

    ended: Ended
    tests: int | None = None
    """How many ran, where that is known."""
    doubt: str = ""
    """Why exit code 0 is no pass."""

    @property
    def verdict(self) -> Guarded:
        return Guarded.PASS if self.ended.is_clean and not self.doubt else Guarded.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    command: tuple[str, ...]
    containment: Containment
    checkout: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    """Parts of the checkout that it may not change."""
    hidden: tuple[Path, ...] = ()
    network: bool = True
    output_bytes: int = 1 << 20
    steering: GuardSteering = NOTHING_STEERS
    """The files that steer it, which the runner restores."""
    counter: Counter | None = None
    fewer_tests: bool = False
    """Whether it may pass with fewer tests than before."""

    @property
    def line(self) -> str:
        """As a user would type it."""
        return " ".join(self.command)

    @property
    def is_countable(self) -> bool:
        """Whether its tests can be counted."""
        with self._counting(self._command(0.0, None)) as counting:
            return counting is not None

    @property
    def wants_a_count(self) -> bool:
        """Whether tests have to be counted, and can be."""
        return not self.fewer_tests and self.is_countable

    async def run(
        self,
        seconds: float,
        log: Path | None,
        least: int | None = None,
        fixed: Sequence[str] = (),
    ) -> Judgement:
        """`least` is how many tests there have to be; what it runs cannot change `fixed`."""
        command = self._command(seconds, log, fixed_in(self.checkout, fixed))
        with self._counting(command) as counting:
            if counting is None:
                return Judgement(ended=await self.containment.run(command))
            ended = await self.containment.run(counting.command)
            found = counting.ran(ended)
        tests, doubt = found.tests, found.doubt
        if least and not self.fewer_tests and not doubt and (tests or 0) < least:
            doubt = f"{tests or 0} tests ran, and {least} before; {FEWER}"
        return Judgement(ended=ended, tests=tests, doubt=doubt)

    def _counting(self, command: Command) -> AbstractContextManager[Counting | None]:
        return nullcontext() if self.counter is None else self.counter.counting(command)

    def _command(
        self, seconds: float, log: Path | None, fixed: FixedFiles = NOTHING_FIXED
    ) -> Command:
        return Command(
            argv=self.command,
            cwd=self.checkout,
            environment=self.environment,
            timeout_seconds=seconds,
            output_bytes=self.output_bytes,
            writable=(self.checkout, *fixed.above, *self.writable),
            readable=(*fixed.files, *self.readable),
            hidden=self.hidden,
            network=self.network,
            traces=False,
            log=log,
        )


def words(guard: Guard, judgement: Judgement) -> str:
    """Why it is red, in a sentence and its last lines."""
    ended = judgement.ended
    if ended.error:
        how = ended.error
    elif ended.timed_out:
        how = f"it was still running after {amounts.duration(round(ended.seconds))}"
    elif ended.exit_code is None:
        how = f"it was ended by signal {ended.signal}"
    elif ended.is_clean:
        how = f"it ended with exit code 0, but {judgement.doubt}"
    else:
        how = f"it ended with exit code {ended.exit_code}"
    said = (ended.stdout.text().rstrip() + "\n" + ended.stderr.text().rstrip()).strip()
    lines = "\n".join(without_colours(said).splitlines()[-LAST_LINES:])
    return f"{guard.line} is red: {how}" + (f"\n{lines}" if lines else "")
