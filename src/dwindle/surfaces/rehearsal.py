"""What an agent would be started with, without starting it.

The agent is asked for the command of a session in a folder that is thrown away, so that what a
person is shown is what is run, word for word. Paths that only a real session has stand as WORKSPACE
and OUTBOX. What is secret is not shown: neither values that the agent itself keeps out of its
words, nor variables and options whose names say so.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dwindle.kernel.model import AtomId, Role
from dwindle.ports.agent import Agent, Place
from dwindle.ports.process import Command, is_secret_name
from dwindle.ports.work import PLANNER, Occasion, Order, PlanningOrder, Purpose, WorkOrder

HIDDEN: Final = "[...]"
PURPOSES: Final = {
    Role.WORKER: Purpose.WORK,
    Role.PROBE: Purpose.LOOK,
    Role.VERIFIER: Purpose.JUDGE,
}
_OPTION: Final = re.compile(r"(-{1,2}[A-Za-z0-9_-]+|[A-Za-z_][A-Za-z0-9_]*)(=?)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    """Besides what every contained program gets to see."""


def rehearsed(agent: Agent, role: str) -> Rehearsal:
    """What a session of this role would run."""
    with tempfile.TemporaryDirectory(prefix="dwindle-doctor-") as name:
        folder = Path(name)
        place = Place(workspace=folder / "workspace", outbox=folder / "outbox")
        for path in (place.workspace, place.outbox):
            path.mkdir()
        place.order.write_bytes(b"{}")
        place.prompt.write_bytes(b"")
        command = agent.session(_order(role), place).command
        shown = {str(place.workspace): "WORKSPACE", str(place.outbox): "OUTBOX"}
        return Rehearsal(
            argv=masked([_told(word, command, shown) for word in command.argv]),
            environment={
                key: HIDDEN if is_secret_name(key) else _told(value, command, shown)
                for key, value in sorted(command.environment.items())
            },
        )


def masked(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a command, without what stands behind an option such as --api-key."""
    return tuple(_masked(words))


def _masked(words: Sequence[str]) -> Iterator[str]:
    hide_next = False
    for word in words:
        found = _OPTION.fullmatch(word)
        named = found is not None and is_secret_name(found[1].replace("-", "_"))
        if hide_next and not word.startswith("-"):
            yield HIDDEN
        elif found is not None and named and found[2]:
            yield f"{found[1]}={HIDDEN}"
        else:
            yield word
        hide_next = bool(found and named and not found[2] and not found[3] and word[0] == "-")


def _told(text: str, command: Command, shown: Mapping[str, str]) -> str:
    text = command.told(text.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")
    for path, name in shown.items():
        text = text.replace(path, name)
    return text


def _order(role: str) -> Order:
    if role == PLANNER:
        return PlanningOrder(purpose=Occasion.ALIGN, words="")
    asked = Role(role)
    return WorkOrder(
        role=asked,
        purpose=PURPOSES[asked],
        run="",
        atom=AtomId("A1"),
        description="",
        goal="",
        attempt=1,
        nonce=1,
    )
