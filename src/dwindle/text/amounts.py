"""Amounts for people: counts, money, durations, shares, sizes. One function for each.

`duration` is for sentences and tables, `clock` for displays that tick and for axes. Callers import
this module, not its names: `amounts.money(usd)`.
"""

from __future__ import annotations

from typing import Final, Protocol

FEW_DOLLARS: Final = 0.1
"""Below this, two decimals say too little."""
FEW_SECONDS: Final = 10
"""Below this, whole seconds say too little."""
SIZES: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


class Spending(Protocol):
    """What sessions used, added up."""

    @property
    def sessions(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def tokens(self) -> int: ...
    @property
    def usd(self) -> float: ...
    @property
    def estimated(self) -> bool: ...
    @property
    def unpriced(self) -> int:
        """Tokens of unknown price."""
        ...


def count(number: float, noun: str = "") -> str:
    """1 session, 1,200 sessions."""
    figure = f"{round(number):,}"
    if not noun:
        return figure
    return f"{figure} {noun}" if number == 1 else f"{figure} {noun}s"


def dollars(usd: float) -> str:
    """1,234.50 without the unit; up to four decimals where it is little: 0.004."""
    if not 0 < usd < FEW_DOLLARS:
        return f"{usd:,.2f}"
    figure = f"{usd:.4f}"
    return figure[:4] + figure[4:].rstrip("0")


def money(usd: float, *, estimated: bool = False) -> str:
    return f"about {dollars(usd)} USD" if estimated else f"{dollars(usd)} USD"


def duration(seconds: float) -> str:
    """0.35 s, 7 s, 12 min 30 s, 8 h."""
    seconds = max(0.0, seconds)
    if seconds < FEW_SECONDS:
        return f"{round(seconds, 2 if seconds < 1 else 1):g} s"
    whole = int(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def clock(seconds: float) -> str:
    """As on a stopwatch: 0:07, 12:30, 24:00:00."""
    whole = max(0, int(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size(of_bytes: float) -> str:
    """700 B, 512 MiB, 1.5 GiB."""
    for unit, name in SIZES:
        if of_bytes >= unit:
            return f"{f'{of_bytes / unit:,.1f}'.removesuffix('.0')} {name}"
    return f"{of_bytes:.0f} B"


def cost(
    tokens: int, usd: float, *, estimated: bool = False, unpriced: int = 0, between: str = ", "
) -> str:
    """Tokens and money, as far as agents reported them; empty if they reported nothing."""
    parts = [count(tokens, "token")] if tokens else []
    parts += [money(usd, estimated=estimated)] if usd else []
    parts += [f"{count(unpriced, 'token')} of unknown price"] if usd and unpriced else []
    return between.join(parts)


def spending(of: Spending) -> str:
    """Sessions, time and cost, in one line."""
    used = cost(of.tokens, of.usd, estimated=of.estimated, unpriced=of.unpriced)
    parts = (count(of.sessions, "session"), duration(of.seconds), used)
    return ", ".join(part for part in parts if part)


# --- budgets -------------------------------------------------------------------------------------


def amount(name: str, number: float) -> str:
    """Of a budget by its name; money without its unit."""
    if name == "seconds":
        return duration(number)
    return dollars(number) if name == "usd" else count(number)


def budget(name: str, spent: float, limit: float | None, *, estimated: bool = False) -> str:
    """12 min of 8 h; 1,200 of 5,000 tokens; about 0.004 of 5.00 USD; 3 redirects."""
    unit = {"seconds": "", "usd": " USD"}.get(name, f" {name}")
    of = "" if limit is None else f" of {amount(name, limit)}"
    return f"{'about ' if estimated else ''}{amount(name, spent)}{of}{unit}"


def share(spent: float, limit: float | None) -> float | None:
    """Between 0 and 1; None without a limit."""
    if limit is None:
        return None
    return min(1.0, spent / limit) if limit > 0 else 1.0
