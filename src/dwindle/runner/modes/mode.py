"""What the loop asks of a mode. A mode overrides what differs, and inherits the plain answers."""

from __future__ import annotations

from collections.abc import Iterable

from dwindle.kernel.actions import Probe, Work
from dwindle.kernel.events import Event, StopRequested
from dwindle.kernel.model import AtomId, Plan
from dwindle.runner.inbox import Inbox


class Mode:
    """Starts and ends sessions for the loop. Their events arrive in the inbox."""

    inbox: Inbox

    async def quiet(self) -> None:
        """Return when the loop may decide; a mode may have to close an iteration first."""

    async def trouble(self, action: Work | Probe) -> StopRequested | None:  # noqa: ARG002
        """Why this session cannot even begin; asked before its start is charged."""
        return None

    def agent_for(self, plan: Plan, action: Work | Probe) -> str:  # noqa: ARG002
        """The label of the agent that takes it, where the settings name several; else ""."""
        return ""

    def start(self, plan: Plan, action: Work | Probe, agent: str) -> None:
        """Begin a session whose start is on disk."""

    def verify(self, plan: Plan, after: int) -> None:
        """Begin a round of the base case, in so many seconds."""

    def check_early(self, plan: Plan) -> bool:  # noqa: ARG002
        """Run the base case beside the work; False, because the plan has not changed yet."""
        return False

    async def end(self, atoms: Iterable[AtomId]) -> None:
        """When this returns, these sessions have ended and their work is kept."""

    async def end_all(self) -> None:
        """The same for all of them."""

    async def rebuild(self, without: tuple[AtomId, ...]) -> tuple[AtomId, ...]:
        """Take these atoms off the branch; returns the others whose work was lost by that."""
        raise NotImplementedError(f"there is no branch to take {', '.join(without)} off")

    def admit(self, event: Event) -> None:
        """Raise IllegalEvent for a request that this kind of run does not accept."""

    def recorded(self, plan: Plan, event: Event) -> None:
        """Called after every event, when it is on disk."""
