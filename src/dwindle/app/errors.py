"""What a command may fail with, besides `Refused`: for surfaces that turn it into an exit code."""

from __future__ import annotations

from dwindle.adapters.store.disk import ChangedByOthers, Locked
from dwindle.adapters.store.event_codec import EventUnfit
from dwindle.adapters.store.journal import JournalDamaged
from dwindle.ports.store import StoreFailed
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.ledger import EditedByHand, OutOfStep
from dwindle.runner.rollback import RolledBack

__all__ = [
    "ChangedByOthers",
    "EditedByHand",
    "EventUnfit",
    "JournalDamaged",
    "Locked",
    "OutOfStep",
    "RolledBack",
    "StoreFailed",
    "WorkspaceFailed",
]
