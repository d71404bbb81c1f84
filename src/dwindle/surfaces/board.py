"""How a run stands at this moment, as lines for a terminal of any width.

A pure function of the plan, the tally and the time: whoever shows it decides where, and how often.
Everything that a plan or an agent may have written goes through `shortened`, so that it can neither
drive a terminal nor be longer than its line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dwindle.kernel.decide import WAITS_BEFORE_VERIFYING
from dwindle.kernel.events import Usage
from dwindle.kernel.graph import max_attempts, view
from dwindle.kernel.measure import gauge, session_bound
from dwindle.kernel.model import ROOT, AtomId, Plan, Role, Session, Status
from dwindle.surfaces.cli.text import columns, counted, shortened
from dwindle.surfaces.tally import Tally, work_left

BETWEEN: Final = " | "
BAR: Final = 10
NARROW: Final = 60
"""Below this the limits of sessions are left out, for the sake of what the atoms are."""
NAME: Final = 20
"""No more columns for the name of an atom, which may have 64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    text: str
    colour: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A session, in the columns that all of them share."""

    name: str
    role: str
    turn: str
    elapsed: str
    limit: str
    words: str


def board(plan: Plan, tally: Tally, now: float, *, width: int, height: int) -> tuple[Line, ...]:
    """At most `height` lines of at most `width` columns; what matters most comes first."""
    lines = [Line(text=text, colour="bold") for text in summary(plan, tally, now, width=width)]
    lines += [Line(text=text, colour="yellow") for text in waits(plan, width=width)]
    sessions = session_lines(plan, tally, now, width=width)
    room = height - len(lines)
    if len(sessions) > room > 0:
        hidden = len(sessions) - room + 1
        lines += [Line(text=text) for text in sessions[: room - 1]]
        lines.append(Line(text=cut(f"  +{hidden} more", width), colour="dim"))
    else:
        lines += [Line(text=text) for text in sessions]
    return tuple(lines[:height])


# --- the run -------------------------------------------------------------------------------------


def summary(plan: Plan, tally: Tally, now: float, *, width: int) -> tuple[str, ...]:
    """Atoms, iteration, time, gauge, bound and cost: on one line, or on as many as it takes."""
    limits, height = plan.limits, gauge(plan)
    cost, *more_cost = _cost(plan, tally)
    done = (
        _atoms(plan),
        f"iteration {plan.control.iteration}/{limits.max_iterations}",
        f"{clock(tally.elapsed(plan, now))} of {_limit(limits.max_wall_seconds)}",
        cost,
    )
    to_do = (
        f"gauge {height:,} {bar(plan, tally)} down {tally.first_gauge - height:,}",
        f"at most {counted(session_bound(plan), 'more session')}",
        *more_cost,
    )
    whole = packed((*done, *to_do), width)
    return whole if len(whole) == 1 else (*packed(done, width), *packed(to_do, width))


def _atoms(plan: Plan) -> str:
    seen = view(plan)
    resolved = sum(atom.status is Status.RESOLVED for atom in plan.atoms.values())
    given_up = sum(name in seen.buried for name in plan.atoms)
    said = f"{seen.open_count} of {len(plan.atoms)} open, {resolved} resolved"
    return f"{said}, {given_up} given up" if given_up else said


def bar(plan: Plan, tally: Tally) -> str:
    """How much of the work is behind us; falls back when the plan grows or turns back."""
    done = tally.most_work - work_left(plan)
    filled = BAR * done // tally.most_work if tally.most_work else BAR
    return f"[{'#' * filled}{'.' * (BAR - filled)}]"


def _cost(plan: Plan, tally: Tally) -> tuple[str, ...]:
    """Where nothing was reported and nothing is limited, 0 would be a claim."""
    running = [tally.using[s.nonce] for s in plan.sessions.values() if s.nonce in tally.using]
    tokens = plan.spent.tokens + sum(usage.tokens for usage in running)
    usd = plan.spent.usd + sum(usage.usd for usage in running)
    most_tokens, most_usd = plan.limits.max_tokens, plan.limits.max_cost_usd
    parts = []
    if usd or most_usd is not None:
        parts.append(f"{usd:,.2f}{_of(most_usd, ',.2f')} USD")
    if tokens or most_tokens is not None:
        parts.append(f"{tokens:,}{_of(most_tokens, ',')} tokens")
    return tuple(parts) or ("no cost reported",)


def _of(limit: float | None, form: str) -> str:
    return "" if limit is None else f" of {limit:{form}}"


def packed(parts: Iterable[str], width: int) -> tuple[str, ...]:
    lines: list[str] = []
    for part in parts:
        if lines and columns(lines[-1] + BETWEEN + part) <= width:
            lines[-1] += BETWEEN + part
        else:
            lines.append(cut(shortened(part, width), width))
    return tuple(lines)


# --- what it waits for ---------------------------------------------------------------------------


def waits(plan: Plan, *, width: int) -> tuple[str, ...]:
    """Why nothing new starts, if somebody asked for that."""
    control, left = plan.control, len(plan.sessions)
    ending = f"; {counted(left, 'session')} to end" if left else ""
    if control.stop_requested:
        why = shortened(control.stop_reason or "no reason was given", max(8, width - 40))
        return (cut(f"a stop was asked for: {why}{ending}", width),)
    if control.redirect_requested:
        return (cut(f"paused: a person is about to redirect{ending}", width),)
    return ()


# --- the sessions --------------------------------------------------------------------------------


def session_lines(plan: Plan, tally: Tally, now: float, *, width: int) -> tuple[str, ...]:
    """One for each session in flight, the one that began first on top."""
    in_flight = sorted(plan.sessions.items(), key=lambda found: found[1].nonce)
    rows = [_row(plan, tally, now, name, session) for name, session in in_flight]
    name, role, turn, elapsed = (
        max((columns(getattr(row, column)) for row in rows), default=0)
        for column in ("name", "role", "turn", "elapsed")
    )
    lines = []
    for row in rows:
        limit = row.limit if width >= NARROW else ""
        padding = " " * (name - columns(row.name))
        begun = f"  {row.name}{padding}  {row.role:<{role}} {row.turn:<{turn}}"
        begun += f"  {row.elapsed:>{elapsed}}{limit}  "
        room = width - columns(begun)
        words = shortened(row.words, room) if room > 3 else ""
        lines.append(cut(begun + words, width))
    return tuple(lines)


def _row(plan: Plan, tally: Tally, now: float, name: AtomId, session: Session) -> _Row:
    passed = now - tally.began.get(session.nonce, now)
    limits = plan.limits
    if name == ROOT:
        return _Row(
            name="base case",
            role=session.role,
            turn=f"{plan.spent.verifications}/{limits.max_verifications}",
            elapsed=clock(passed),
            limit="",
            words=_verifying(plan, passed),
        )
    atom = plan.atoms[name]
    if session.role is Role.PROBE:
        turn = f"{atom.probes}/{limits.max_probes}"
    else:
        turn = f"{atom.attempts}/{max_attempts(plan, atom, view(plan).shape)}"
    return _Row(
        name=shortened(name, NAME),
        role=session.role,
        turn=turn,
        elapsed=clock(passed),
        limit=f" of {_limit(limits.session_timeout_seconds)}",
        words=_waiting(tally, session, now)
        or _price(tally.usage_of(plan, name)) + atom.description[:1000],
    )


def _verifying(plan: Plan, passed: float) -> str:
    last = len(WAITS_BEFORE_VERIFYING) - 1
    wait = WAITS_BEFORE_VERIFYING[min(plan.verification.rounds_without_gaps, last)]
    if passed < wait:
        return f"begins in {wait - int(passed)} s; the last round could not run everything"
    return "every check, in a fresh checkout"


def _waiting(tally: Tally, session: Session, now: float) -> str:
    until, why = tally.until.get(session.nonce, (now, ""))
    return f"begins again in {clock(until - now)}: {why}" if until > now else ""


def _price(usage: Usage) -> str:
    if usage.usd:
        return f"({usage.usd:,.2f} USD) "
    return f"({usage.tokens:,} tokens) " if usage.tokens else ""


def cut(text: str, width: int) -> str:
    """Cut to the width, its columns of blanks kept; every part of it is printable already."""
    while text and columns(text) > width:
        text = text[:-1]
    return text.rstrip()


def clock(seconds: float) -> str:
    """As on a stopwatch: 0:07, 12:30, 24:00:00."""
    whole = max(0, int(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _limit(seconds: int) -> str:
    return f"{seconds // 3600} h" if seconds % 3600 == 0 else clock(seconds)
