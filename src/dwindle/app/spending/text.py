"""What was spent, in words and as the documented objects of `--json`."""

from __future__ import annotations

from typing import Any, Final

from dwindle.app.spending.account import FIELDS, RunSpending, SessionSpending, Total
from dwindle.text import amounts
from dwindle.text.terminal import row

MARGIN: Final = 14


def spending_text(spending: RunSpending) -> str:
    """Every session, atom and role, and the run: one line each, wrapped under itself."""
    rows = [
        (f"session {one.nonce}", f"{_atom(one.atom)} ({one.role})", one.total, one.running)
        for one in spending.sessions
    ]
    rows += [("atom", _atom(name), total, False) for name, total in spending.by_atom.items()]
    rows += [("role", name, total, False) for name, total in spending.by_role.items()]
    rows += [("run", "", spending.run, False)]
    return "\n".join(_line(*one) for one in rows)


def _line(label: str, about: str, total: Total, running: bool) -> str:  # noqa: FBT001
    going_on = ", still running" if running else ""
    text = f"{amounts.spending(total)}{_parts(total)}{going_on}"
    return row(label, f"{about}: {text}" if about else text, margin=MARGIN)


def _parts(total: Total) -> str:
    named = (("read", total.read), ("cached", total.cached), ("written", total.written))
    known = ", ".join(f"{amounts.count(number)} {name}" for name, number in named if number)
    return f"; tokens: {known}" if known else ""


def _atom(name: str) -> str:
    return name or "the base case"


def total_data(total: Total) -> dict[str, Any]:
    """The documented object; sums of floats are rounded to what can be meant."""
    data = {name: getattr(total, name) for name in FIELDS}
    return data | {"usd": round(total.usd, 6), "seconds": round(total.seconds, 3)}


def spending_data(spending: RunSpending) -> dict[str, Any]:
    """The documented object: the run, and each role that had a session."""
    return {
        "run": total_data(spending.run),
        "by_role": {name: total_data(total) for name, total in spending.by_role.items()},
    }


def spending_in_full(spending: RunSpending) -> dict[str, Any]:
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
