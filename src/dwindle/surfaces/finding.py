"""One thing that was looked at before a run, and how it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"
    """It keeps a run from starting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    name: str
    state: State
    what: str
    hint: str = ""
