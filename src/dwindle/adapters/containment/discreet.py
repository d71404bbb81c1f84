"""Contained, and discreet: the values of variables with a telling name are kept out of all output.

A person may let NPM_TOKEN through to agents and checks. Whatever prints its environment would put
it into logs, evidence and prompts; here is the one place that all output passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dwindle.ports.process import Command, Containment, Ended, Secret, Strength, secret_names


@dataclass(frozen=True, slots=True)
class Discreet:
    containment: Containment

    @property
    def strength(self) -> Strength:
        return self.containment.strength

    @property
    def mechanism(self) -> str:
        return self.containment.mechanism

    async def run(
        self, command: Command, watch: Callable[[bytes], str | None] | None = None
    ) -> Ended:
        return await self.containment.run(replace(command, secrets=_secrets(command)), watch)


def _secrets(command: Command) -> tuple[Secret, ...]:
    """Those that are known already, and those that their names give away; the longest first."""
    known = {secret.value for secret in command.secrets}
    found = list(command.secrets)
    for name in secret_names(command.environment):
        value = command.environment[name].strip().encode("utf-8", "surrogateescape")
        if value not in known:
            known.add(value)
            found.append(Secret(value, f"[{name}]".encode()))
    return tuple(sorted(found, key=lambda secret: -len(secret.value)))
