from __future__ import annotations

import re
from pathlib import Path

import pytest

from dwindle.adapters.agents.prices import CLAUDE, Price, claude_price

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("claude-opus-4-8[1m]", Price(read=5, cached=0.5, stored=6.25, written=25)),
        ("claude-opus-5-5", Price(read=4, cached=0.2, stored=5, written=20)),
        ("claude-sonnet-5", Price(read=2, cached=0.2, stored=2.5, written=10)),
        ("claude-sonnet-4-5", Price(read=3, cached=0.3, stored=3.75, written=15)),
        ("claude-haiku-4-5-20251001", Price(read=1, cached=0.1, stored=1.25, written=5)),
    ],
)
def test_a_model_is_known_by_the_beginning_of_its_name(model: str, price: Price) -> None:
    assert claude_price(model) == price


def test_a_model_that_nobody_knows_costs_as_much_as_the_dearest() -> None:
    assert claude_price("x-9") == max(CLAUDE.values(), key=lambda price: price.read)
    assert claude_price("") == claude_price("x-9")


def test_each_kind_of_token_has_its_price() -> None:
    model = "claude-opus-4-8"
    assert (
        claude_price(model).cost(read=MILLION),
        claude_price(model).cost(cached=MILLION),
        claude_price(model).cost(stored=MILLION),
        claude_price(model).cost(written=MILLION),
        claude_price(model).cost(),
    ) == (5, 0.5, 6.25, 25, 0)
    assert claude_price(model).cost(read=100, written=20) == pytest.approx(0.001)


def test_no_price_is_nothing() -> None:
    for price in CLAUDE.values():
        assert min(price.read, price.cached, price.stored, price.written) > 0
        assert price.cached < price.read < price.stored < price.written


DOCS = Path(__file__).parents[3] / "docs" / "claude.md"


def test_the_manual_has_the_same_prices() -> None:
    found: dict[str, Price] = {}
    for names, *numbers in re.findall(
        r"^\| (`claude-[^|]*) \|" + r" ([\d.]+) \|" * 4 + "$", DOCS.read_text("utf-8"), re.MULTILINE
    ):
        read, cached, stored, written = map(float, numbers)
        price = Price(read=read, cached=cached, stored=stored, written=written)
        found |= dict.fromkeys(re.findall(r"`(.*?)`", names), price)
    assert found == CLAUDE
