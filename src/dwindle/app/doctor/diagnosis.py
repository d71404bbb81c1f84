"""One thing that `dwindle doctor` examined, and its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"
    """It keeps a run from starting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    name: str
    state: Severity
    what: str
    hint: str = ""
    command: tuple[str, ...] = ()
    """What would be run, without what is secret."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What would be added to its environment, as above."""
