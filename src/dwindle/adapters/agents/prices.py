"""What tokens cost, for sessions whose program does not say, or says something absurd.

An estimate is marked as one wherever it is shown. Prices are those of a pay-as-you-go account in
US dollars per million tokens. A subscription is not billed by the token; there the figure says what
the same work would have cost.

Those of Anthropic's models are as claude 2.1.325 calculates them (read off by giving it a million
tokens of each kind, November 2026). A model that is not listed costs as much as the dearest one: a
limit on money should rather end a run early than late.

Those of OpenAI's models were published in November 2026, for requests of up to 272,000 tokens.
Longer ones, and faster or slower service, are priced otherwise, and codex does not tell which it
used. A model that is not listed has no price: its tokens are counted, its dollars are not.
"""

from __future__ import annotations

import re
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

    def cost(self, *, read: int = 0, cached: int = 0, stored: int = 0, written: int = 0) -> float:
        """US dollars for these tokens; each token is in one of the four counts."""
        return (
            read * self.read + cached * self.cached + stored * self.stored + written * self.written
        ) / MILLION


CLAUDE: Final[Mapping[str, Price]] = {
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

_DEAREST: Final = max(CLAUDE.values(), key=lambda price: price.written)


def claude_price(model: str) -> Price:
    fits = [name for name in CLAUDE if model.startswith(name)]
    return CLAUDE[max(fits, key=len)] if fits else _DEAREST


def _openai(read: float, cached: float, written: float, *, stored: float | None = None) -> Price:
    """Where nothing is charged for putting tokens into the cache, they are read like others."""
    return Price(
        read=read, cached=cached, stored=read if stored is None else stored, written=written
    )


OPENAI: Final[Mapping[str, Price]] = {
    "gpt-6.1-sol": _openai(2, 0.1, 10, stored=2.5),
    "gpt-6.1-terra": _openai(1, 0.05, 5, stored=1.25),
    "gpt-6-astra": _openai(10, 1, 50, stored=12.5),
    "gpt-6-sol": _openai(2, 0.2, 10, stored=2.5),
    "gpt-6-luna": _openai(0.1, 0.01, 0.5, stored=0.125),
    "gpt-5.6-sol": _openai(4, 0.4, 20, stored=5),
    "gpt-5.6-terra": _openai(2, 0.2, 12, stored=2.5),
    "gpt-5.6-luna": _openai(0.2, 0.02, 1.2, stored=0.25),
    "gpt-5.5": _openai(5, 0.5, 30),
    "gpt-5.4": _openai(2.5, 0.25, 15),
    "gpt-5.4-mini": _openai(0.75, 0.075, 4.5),
    "gpt-5.4-nano": _openai(0.2, 0.02, 1.25),
    "gpt-5.3-codex": _openai(1.75, 0.175, 14),
}
"""By the whole name. That gpt-6.1-sol and gpt-5.6 charge a quarter more for what goes into the
cache is taken over from their siblings."""

_DATE: Final = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def openai_price(model: str) -> Price | None:
    """Also of a model with the date of its making behind its name."""
    return OPENAI.get(_DATE.sub("", model))
