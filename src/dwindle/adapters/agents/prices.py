"""What tokens cost, for sessions whose program does not say, or says something absurd.

An estimate from here is marked as one wherever it is shown. The prices are those of a pay-as-you-go
account in US dollars per million tokens, as claude 2.1.325 reckons them itself (read off by giving
it a million tokens of each kind, November 2026). A subscription is not billed by the token; there
the figure says what the same work would have cost.

A model that is not listed is reckoned at the highest price that is: a limit on money should rather
end a run early than late.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens."""

    read: float
    cached: float
    """Read again from the service's cache."""
    stored: float
    """Read, and put into that cache."""
    written: float


PRICES: Final[Mapping[str, Price]] = {
    "claude-fable-5": Price(read=10, cached=1, stored=12.5, written=50),
    "claude-opus-5": Price(read=4, cached=0.2, stored=5, written=20),
    "claude-opus-4": Price(read=5, cached=0.5, stored=6.25, written=25),
    "claude-sonnet-5": Price(read=2, cached=0.2, stored=2.5, written=10),
    "claude-sonnet-4": Price(read=3, cached=0.3, stored=3.75, written=15),
    "claude-3-7-sonnet": Price(read=3, cached=0.3, stored=3.75, written=15),
    "claude-haiku-4": Price(read=1, cached=0.1, stored=1.25, written=5),
    "claude-3-5-haiku": Price(read=0.8, cached=0.08, stored=1, written=4),
}
"""By the beginning of a model's name; of two that fit, the longer one counts."""


def price_of(model: str) -> Price:
    fits = [name for name in PRICES if model.startswith(name)]
    return PRICES[max(fits, key=len)] if fits else _DEAREST


def estimate(
    model: str, *, read: int = 0, cached: int = 0, stored: int = 0, written: int = 0
) -> float:
    """US dollars for these tokens; each token is in one of the four counts."""
    price = price_of(model)
    return (
        read * price.read + cached * price.cached + stored * price.stored + written * price.written
    ) / MILLION


_DEAREST: Final = max(PRICES.values(), key=lambda price: price.written)
