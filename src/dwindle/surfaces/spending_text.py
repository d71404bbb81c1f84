"""What was spent, in words and as the documented objects of `--json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dwindle.surfaces.cli.text import counted, money_text, row, time_text
from dwindle.surfaces.spending import FIELDS, SessionSpending, Spending, Total

if TYPE_CHECKING:
    from dwindle.kernel.events import Usage

    Used = Usage | Total

MARGIN: Final = 14


def used_text(of: Used, between: str = ", ") -> str:
    """Tokens and money, as far as anybody said; empty if nobody said anything."""
    parts = [f"{of.tokens:,} tokens"] if of.tokens else []
    parts += [money_text(of.usd, estimated=of.estimated)] if of.usd else []
    return between.join(parts)


def amounts_text(of: Total) -> str:
    """All of a total, in one line."""
    parts = [counted(of.sessions, "session"), time_text(of.seconds), used_text(of)]
    if of.usd and of.unpriced:
        parts.append(f"{of.unpriced:,} tokens of unknown price")
    return ", ".join(part for part in parts if part)


def spending_text(spending: Spending) -> str:
    """Every session, atom and role, and the run: one line each, wrapped under itself."""
    told = [
        (f"session {one.nonce}", f"{_atom(one.atom)} ({one.role})", one.total, one.running)
        for one in spending.sessions
    ]
    told += [("atom", _atom(name), total, False) for name, total in spending.by_atom.items()]
    told += [("role", name, total, False) for name, total in spending.by_role.items()]
    told += [("run", "", spending.run, False)]
    return "\n".join(_line(*one) for one in told)


def _line(label: str, about: str, total: Total, running: bool) -> str:  # noqa: FBT001
    going_on = ", still running" if running else ""
    text = f"{amounts_text(total)}{_parts(total)}{going_on}"
    return row(label, f"{about}: {text}" if about else text, margin=MARGIN)


def _parts(total: Total) -> str:
    named = (("read", total.read), ("cached", total.cached), ("written", total.written))
    known = ", ".join(f"{number:,} {name}" for name, number in named if number)
    return f"; tokens: {known}" if known else ""


def _atom(name: str) -> str:
    return name or "the base case"


def total_data(total: Total) -> dict[str, Any]:
    """The documented object; sums of floats are rounded to what can be meant."""
    data = {name: getattr(total, name) for name in FIELDS}
    return data | {"usd": round(total.usd, 6), "seconds": round(total.seconds, 3)}


def spending_data(spending: Spending) -> dict[str, Any]:
    """The documented object: the run, and each role that had a session."""
    return {
        "run": total_data(spending.run),
        "by_role": {name: total_data(total) for name, total in spending.by_role.items()},
    }


def spending_in_full(spending: Spending) -> dict[str, Any]:
    """The same, with every atom and every session."""
    return spending_data(spending) | {
        "by_atom": [
            {"atom": name or None} | total_data(total) for name, total in spending.by_atom.items()
        ],
        "by_session": [session_data(one) for one in spending.sessions],
    }


def session_data(one: SessionSpending) -> dict[str, Any]:
    named = {"nonce": one.nonce, "atom": one.atom or None, "role": one.role}
    return named | {"running": one.running} | total_data(one.total)
