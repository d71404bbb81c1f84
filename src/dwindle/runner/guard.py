"""The guard: the one command whose success lets a leaf of a tree pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dwindle.ports.iteration import Guarded
from dwindle.ports.process import Command, Containment, Ended

LAST_LINES = 20


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

    @property
    def line(self) -> str:
        """As a person would type it."""
        return " ".join(self.command)

    async def run(self, seconds: float, log: Path) -> Ended:
        return await self.containment.run(
            Command(
                argv=self.command,
                cwd=self.checkout,
                environment=self.environment,
                timeout_seconds=seconds,
                output_bytes=self.output_bytes,
                writable=(self.checkout, *self.writable),
                readable=self.readable,
                hidden=self.hidden,
                network=self.network,
                log=log,
            )
        )


def verdict(ended: Ended) -> Guarded:
    return Guarded.PASS if ended.is_clean else Guarded.FAIL


def words(guard: Guard, ended: Ended) -> str:
    """Why it is red, in a sentence and its last lines."""
    if ended.error:
        how = ended.error
    elif ended.timed_out:
        how = f"it was still running after {ended.seconds:.0f} s"
    elif ended.exit_code is None:
        how = f"it was ended by signal {ended.signal}"
    else:
        how = f"it ended with exit code {ended.exit_code}"
    said = (ended.stdout.text().rstrip() + "\n" + ended.stderr.text().rstrip()).strip()
    lines = "\n".join(said.splitlines()[-LAST_LINES:])
    return f"{guard.line} is red: {how}" + (f"\n{lines}" if lines else "")
