"""Each kind of amount is written in one way."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dwindle.text import amounts


@pytest.mark.parametrize(
    ("usd", "estimated", "shown"),
    [
        (0.0, False, "0.00 USD"),
        (0.0042, True, "about 0.0042 USD"),
        (0.1, False, "0.10 USD"),
        (1234.5, False, "1,234.50 USD"),
    ],
)
def test_money(usd: float, estimated: bool, shown: str) -> None:
    assert amounts.money(usd, estimated=estimated) == shown


def test_counts() -> None:
    said = [amounts.count(number, "atom") for number in (0, 1, 1.0, 1234)]
    assert said == ["0 atoms", "1 atom", "1 atom", "1,234 atoms"]
    assert amounts.count(10**20 + 1) == "100,000,000,000,000,000,001"


@pytest.mark.parametrize(
    ("seconds", "shown", "on_a_clock"),
    [
        (-1, "0 s", "0:00"),
        (0, "0 s", "0:00"),
        (0.352, "0.35 s", "0:00"),
        (7.94, "7.9 s", "0:07"),
        (9.99, "10 s", "0:09"),
        (59.9, "59 s", "0:59"),
        (60, "1 min", "1:00"),
        (3599, "59 min 59 s", "59:59"),
        (3605, "1 h 5 s", "1:00:05"),
        (86_400, "24 h", "24:00:00"),
    ],
)
def test_time(seconds: float, shown: str, on_a_clock: str) -> None:
    assert (amounts.duration(seconds), amounts.clock(seconds)) == (shown, on_a_clock)


def test_sizes() -> None:
    said = [amounts.size(number) for number in (700, 1536, 512 << 20, 3 << 29, 1 << 60)]
    assert said == ["700 B", "1.5 KiB", "512 MiB", "1.5 GiB", "1,073,741,824 GiB"]


@dataclass(frozen=True, kw_only=True)
class Sum:
    sessions: int = 2
    seconds: float = 75
    tokens: int = 0
    usd: float = 0.0
    estimated: bool = False
    unpriced: int = 0


@pytest.mark.parametrize(
    ("of", "shown"),
    [
        (Sum(), "2 sessions, 1 min 15 s"),
        (Sum(tokens=3000), "2 sessions, 1 min 15 s, 3,000 tokens"),
        (Sum(tokens=1, usd=0.5, estimated=True), "2 sessions, 1 min 15 s, 1 token, about 0.50 USD"),
        (
            Sum(tokens=30, usd=0.5, unpriced=20),
            "2 sessions, 1 min 15 s, 30 tokens, 0.50 USD, 20 tokens of unknown price",
        ),
    ],
)
def test_spending(of: Sum, shown: str) -> None:
    assert amounts.spending(of) == shown


@pytest.mark.parametrize(
    ("name", "spent", "limit", "shown"),
    [
        ("seconds", 750.0, 28_800, "12 min 30 s of 8 h"),
        ("tokens", 1200, 5000, "1,200 of 5,000 tokens"),
        ("tokens", 1200, None, "1,200 tokens"),
        ("usd", 0.004, 5.0, "0.004 of 5.00 USD"),
        ("usd", 1.5, None, "1.50 USD"),
        ("redirects", 1, 3, "1 of 3 redirects"),
    ],
)
def test_budgets(name: str, spent: float, limit: float | None, shown: str) -> None:
    assert amounts.budget(name, spent, limit) == shown
    assert amounts.budget(name, spent, limit, estimated=True) == f"about {shown}"


def test_shares() -> None:
    found = [amounts.share(spent, limit) for spent, limit in ((1, 4), (9, 4), (1, 0), (1, None))]
    assert found == [0.25, 1.0, 1.0, None]
