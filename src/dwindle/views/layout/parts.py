"""The types of a drawing: nodes go in, boxes and lines come out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BoxKind(StrEnum):
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
class LayoutNode:
    id: str
    parent: str | None = None
    """What it is a part or a choice of."""
    needs: tuple[str, ...] = ()
    kind: BoxKind = BoxKind.ATOM


@dataclass(frozen=True, slots=True)
class Box:
    id: str
    kind: BoxKind
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Polyline:
    source: str
    target: str
    link: Link
    points: tuple[tuple[float, float], ...]
    """Corners of a line whose pieces are all level or upright."""


@dataclass(frozen=True, slots=True)
class Layout:
    boxes: tuple[Box, ...]
    lines: tuple[Polyline, ...]
    width: float
    height: float
