"""Every contract of an agent at once, and all that is wrong with it."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dwindle.ports.process import Containment
from dwindle.testing.agents import CONTRACTS, AgentScene, Contract, Stage
from dwindle.testing.bare_process import BareProcess


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenContract:
    contract: Contract
    how: str

    def __str__(self) -> str:
        return f"{self.contract}\n    {self.how}"


class NotConforming(AssertionError):
    """The agent does not keep to these contracts."""

    def __init__(self, broken: tuple[BrokenContract, ...]) -> None:
        super().__init__(broken)
        self.broken = broken

    def __str__(self) -> str:
        kept = len(CONTRACTS) - len(self.broken)
        head = f"{kept} of {len(CONTRACTS)} contracts hold; broken are:"
        return "\n".join([head, *(f"  {one}" for one in self.broken)])


def checked(
    stage: Stage, folder: Path | None = None, containment: Containment | None = None
) -> None:
    """Raises NotConforming; see `dwindle.testing.check_agent`."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="dwindle-agent-") as made:
            checked(stage, Path(made), containment)
            return
    asyncio.run(_checked(stage, folder, containment or BareProcess()))


async def _checked(stage: Stage, folder: Path, containment: Containment) -> None:
    broken: list[BrokenContract] = []
    for contract in CONTRACTS:
        room = folder / f"{contract.number:02}"
        room.mkdir()
        try:
            await contract.check(AgentScene(stage=stage, folder=room, containment=containment))
        except Exception as error:  # noqa: BLE001 - an agent may raise anything
            broken.append(BrokenContract(contract=contract, how=_said(error)))
    if broken:
        raise NotConforming(tuple(broken))


def _said(error: Exception) -> str:
    if isinstance(error, AssertionError) and str(error):
        return str(error)
    return f"{type(error).__name__}: {error}"
