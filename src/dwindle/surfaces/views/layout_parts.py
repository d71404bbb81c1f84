"""The nouns of a drawing: nodes go in, boxes and lines come out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Of a box."""

    ATOM = "atom"
    GROUP = "group"


class Link(StrEnum):
    """Of a line: what the node at its end is to the one at its beginning."""

    PART = "part"
    CHOICE = "choice"
    NEED = "need"
    """It waits for it."""


@dataclass(frozen=True, slots=True)
class Node:
    id: str
    parent: str | None = None
    """What it is a part or a choice of."""
    needs: tuple[str, ...] = ()
    kind: Kind = Kind.ATOM


@dataclass(frozen=True, slots=True)
class Box:
    id: str
    kind: Kind
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Line:
    source: str
    target: str
    link: Link
    points: tuple[tuple[float, float], ...]
    """Corners of a line whose pieces are all level or upright."""


@dataclass(frozen=True, slots=True)
class Layout:
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    width: float
    height: float
