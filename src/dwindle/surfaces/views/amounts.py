"""Numbers for people: times, prices, shares."""

from __future__ import annotations

from dwindle.surfaces.board import clock
from dwindle.surfaces.views.shapes import BudgetView


def money(usd: float) -> str:
    return f"{usd:,.2f} USD" if usd >= 0.01 or not usd else f"{usd:.4f} USD"


def thousands(number: float) -> str:
    """Short enough for a column: 950, 12.3k, 4.1M."""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if number >= size:
            unit = 1000 if letter == "k" else size
            return f"{number / unit:.1f}{letter}"
    return f"{number:,.0f}"


def price(tokens: int, usd: float, *, estimated: bool = False) -> str:
    """What is known of a cost; nothing where nothing was said."""
    about = "about " if estimated else ""
    parts = [f"{about}{money(usd)}"] if usd else []
    parts += [f"{thousands(tokens)} tokens"] if tokens else []
    return ", ".join(parts)


def budget(one: BudgetView) -> tuple[str, str]:
    """How much is spent, and of how much."""
    form = {"seconds": clock, "usd": _cents}.get(one["name"], _whole)
    limit = one["limit"]
    return form(one["spent"]), "no limit" if limit is None else form(limit)


def share(one: BudgetView) -> float | None:
    """Between 0 and 1; None without a limit."""
    limit = one["limit"]
    if limit is None:
        return None
    return min(1.0, one["spent"] / limit) if limit > 0 else 1.0


def _cents(usd: float) -> str:
    return f"{usd:,.2f}"


def _whole(number: float) -> str:
    return f"{number:,.0f}"
