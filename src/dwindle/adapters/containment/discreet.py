"""Contained, and discreet: the values of variables with a telling name are kept out of all output.

A person may let NPM_TOKEN through to agents and checks. Whatever prints its environment would put
it into logs, evidence and prompts; here is the one place that all output passes. A program may also
print what it was not given: a check shows a file that an agent wrote, an agent looks into the
environment of the runner where nothing hides that. So what is known to be secret is kept out of the
output of everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dwindle.ports.process import Command, Containment, Ended, Secret, Strength, secret_names
from dwindle.ports.secrecy import longest_first, spelt


@dataclass(frozen=True, slots=True)
class Discreet:
    containment: Containment
    known: tuple[Secret, ...] = ()
    """What is secret, whoever says it."""

    @property
    def strength(self) -> Strength:
        return self.containment.strength

    @property
    def mechanism(self) -> str:
        return self.containment.mechanism

    async def run(
        self, command: Command, watch: Callable[[bytes], str | None] | None = None
    ) -> Ended:
        return await self.containment.run(replace(command, secrets=self._secrets(command)), watch)

    def _secrets(self, command: Command) -> tuple[Secret, ...]:
        """Those that are known already, and those that their names give away."""
        given = command.environment
        named = spelt((name, given[name]) for name in secret_names(given))
        return longest_first((*command.secrets, *self.known, *named))
