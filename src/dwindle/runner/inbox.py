"""What reaches the loop from outside: the ends of sessions, and what people ask for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import Event, Redirected, Waited
from dwindle.ports.work import Order
from dwindle.runner.session import AgentRunner, Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An event for the loop to record, and how to tell the sender that it is on record."""

    event: Event
    also: tuple[Redirected, ...] = ()
    """Further redirects of the same change: the loop takes all of them, or none."""
    may_be_refused: bool = False
    done: asyncio.Future[IllegalEvent | None] | None = None

    def answer(self, refusal: IllegalEvent | None) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_result(refusal)


Inbox = asyncio.Queue[Message | None]
"""None wakes the loop, which then decides again."""


def reporting_to(agents: AgentRunner, inbox: Inbox) -> AgentRunner:
    """The same, but it tells the loop when a session waits or another agent takes over."""

    def waits(order: Order, wait: Wait) -> None:
        event = Waited(note=wait.words, atom=order.atom, seconds=wait.seconds)
        inbox.put_nowait(Message(event=event))

    def switches(order: Order, why: str) -> None:
        inbox.put_nowait(Message(event=Waited(note=why, atom=order.atom, agent=order.agent)))

    return replace(agents, on_wait=waits, on_switch=switches)


async def deliver(
    inbox: Inbox,
    event: Event,
    also: tuple[Redirected, ...] = (),
    *,
    may_be_refused: bool = False,
) -> IllegalEvent | None:
    """Send an event and wait until it is on record; why the kernel refused it, if it did."""
    done: asyncio.Future[IllegalEvent | None] = asyncio.get_running_loop().create_future()
    await inbox.put(Message(event=event, also=also, may_be_refused=may_be_refused, done=done))
    return await done
