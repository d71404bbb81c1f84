"""What tokens of OpenAI's models cost, because codex does not say what a session did.

An estimate from here is marked as one wherever it is shown. The prices are the standard ones of a
pay-as-you-go account in US dollars per million tokens, as they were published in November 2026, for
requests of up to 272,000 tokens. Longer ones, and faster or slower service, are priced otherwise,
and codex does not tell which it used. A subscription is not billed by the token; there the figure
says what the same work would have cost.

A model that is not listed has no price here: its tokens are counted, its dollars are not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dwindle.adapters.agents.prices import MILLION, Price


def _price(read: float, cached: float, written: float, *, stored: float | None = None) -> Price:
    """Where nothing is asked for putting tokens into the cache, they are read like others."""
    return Price(
        read=read, cached=cached, stored=read if stored is None else stored, written=written
    )


PRICES: Final[Mapping[str, Price]] = {
    "gpt-6.1-sol": _price(2, 0.1, 10, stored=2.5),
    "gpt-6.1-terra": _price(1, 0.05, 5, stored=1.25),
    "gpt-6-astra": _price(10, 1, 50, stored=12.5),
    "gpt-6-sol": _price(2, 0.2, 10, stored=2.5),
    "gpt-6-luna": _price(0.1, 0.01, 0.5, stored=0.125),
    "gpt-5.6-sol": _price(4, 0.4, 20, stored=5),
    "gpt-5.6-terra": _price(2, 0.2, 12, stored=2.5),
    "gpt-5.6-luna": _price(0.2, 0.02, 1.2, stored=0.25),
    "gpt-5.5": _price(5, 0.5, 30),
    "gpt-5.4": _price(2.5, 0.25, 15),
    "gpt-5.4-mini": _price(0.75, 0.075, 4.5),
    "gpt-5.4-nano": _price(0.2, 0.02, 1.25),
    "gpt-5.3-codex": _price(1.75, 0.175, 14),
}
"""By the whole name. That gpt-6.1-sol and gpt-5.6 ask a quarter more for what goes into the cache
is taken over from their siblings."""


def price_of(model: str) -> Price | None:
    """Also of a model with the date of its making behind its name."""
    return PRICES.get(_DATE.sub("", model))


def estimate(
    model: str, *, read: int = 0, cached: int = 0, stored: int = 0, written: int = 0
) -> float | None:
    """US dollars for these tokens, each in one of the four counts; None for an unknown model."""
    price = price_of(model)
    if price is None:
        return None
    return (
        read * price.read + cached * price.cached + stored * price.stored + written * price.written
    ) / MILLION


_DATE: Final = re.compile(r"-\d{4}-\d{2}-\d{2}$")
