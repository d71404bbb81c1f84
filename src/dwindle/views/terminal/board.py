"""How a run stands at this moment, as lines for a terminal of any width.

A pure function of the plan, the live statistics and the time: the caller decides where it is shown,
and how often. `shortened` escapes everything that a plan or an agent may have written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dwindle.kernel.decide import WAITS_BEFORE_VERIFYING
from dwindle.kernel.events import Usage
from dwindle.kernel.graph import max_attempts, view
from dwindle.kernel.measure import gauge, session_bound
from dwindle.kernel.model import ROOT, AtomId, Plan, Role, Session, Status
from dwindle.text import amounts
from dwindle.text.terminal import columns, cut, packed, shortened
from dwindle.views.read_model.live_stats import LiveStats, work_left

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


def board(  # noqa: PLR0913 - what is shown, and where
    plan: Plan, stats: LiveStats, now: float, *, width: int, height: int, verbose: bool = False
) -> tuple[Line, ...]:
    """At most `height` lines of at most `width` columns; what matters most comes first."""
    whole = summary(plan, stats, now, width=width, verbose=verbose)
    lines = [Line(text=text, colour="bold") for text in whole]
    lines += [Line(text=text, colour="yellow") for text in waits(plan, width=width)]
    sessions = session_lines(plan, stats, now, width=width)
    room = height - len(lines)
    if len(sessions) > room > 0:
        hidden = len(sessions) - room + 1
        lines += [Line(text=text) for text in sessions[: room - 1]]
        lines.append(Line(text=cut(f"  +{hidden} more", width), colour="dim"))
    else:
        lines += [Line(text=text) for text in sessions]
    return tuple(lines[:height])


# --- the run -------------------------------------------------------------------------------------


def summary(
    plan: Plan, stats: LiveStats, now: float, *, width: int, verbose: bool = False
) -> tuple[str, ...]:
    """Atoms, iteration, time, work, bound and cost: on one line, or on as many as it takes."""
    limits, height = plan.limits, gauge(plan)
    measured = f"gauge {amounts.count(height)}, down {amounts.count(stats.first_gauge - height)}"
    cost, *more_cost = _cost(plan, stats)
    done = (
        _atoms(plan),
        f"iteration {plan.control.iteration}/{limits.max_iterations}",
        f"{amounts.clock(stats.elapsed(plan, now))} of {amounts.duration(limits.max_wall_seconds)}",
        cost,
    )
    to_do = (
        bar(plan, stats),
        f"at most {amounts.count(session_bound(plan), 'more session')}",
        *[measured] * verbose,
        *more_cost,
    )
    all_parts = packed((*done, *to_do), width)
    return all_parts if len(all_parts) == 1 else (*packed(done, width), *packed(to_do, width))


def _atoms(plan: Plan) -> str:
    seen = view(plan)
    resolved = sum(atom.status is Status.RESOLVED for atom in plan.atoms.values())
    given_up = sum(name in seen.buried for name in plan.atoms)
    said = f"{seen.open_count} of {len(plan.atoms)} open, {resolved} resolved"
    return f"{said}, {given_up} given up" if given_up else said


def bar(plan: Plan, stats: LiveStats) -> str:
    """How much of the work is done; falls back when the plan grows or turns back."""
    done = stats.most_work - work_left(plan)
    filled = BAR * done // stats.most_work if stats.most_work else BAR
    return f"[{'#' * filled}{'.' * (BAR - filled)}]"


def _cost(plan: Plan, stats: LiveStats) -> tuple[str, ...]:
    """Without usage and limits, say that no cost was reported rather than 0."""
    running = [stats.using[s.nonce] for s in plan.sessions.values() if s.nonce in stats.using]
    tokens = plan.spent.tokens + sum(usage.tokens for usage in running)
    usd = plan.spent.usd + sum(usage.usd for usage in running)
    most_tokens, most_usd = plan.limits.max_tokens, plan.limits.max_cost_usd
    parts = []
    if usd or most_usd is not None:
        parts.append(amounts.budget("usd", usd, most_usd))
    if tokens or most_tokens is not None:
        parts.append(amounts.budget("tokens", tokens, most_tokens))
    return tuple(parts) or ("no cost reported",)


# --- what it waits for ---------------------------------------------------------------------------


def waits(plan: Plan, *, width: int) -> tuple[str, ...]:
    """Why no session starts: a stop or a redirect was requested."""
    control, left = plan.control, len(plan.sessions)
    ending = f"; {amounts.count(left, 'session')} to end" if left else ""
    if control.stop_requested:
        why = shortened(control.stop_reason or "no reason was given", max(8, width - 40))
        return (cut(f"a stop was asked for: {why}{ending}", width),)
    if control.redirect_requested:
        return (cut(f"paused: a person is redirecting{ending}", width),)
    return ()


# --- the sessions --------------------------------------------------------------------------------


def session_lines(plan: Plan, stats: LiveStats, now: float, *, width: int) -> tuple[str, ...]:
    """One for each session in flight, the one that began first on top."""
    in_flight = sorted(plan.sessions.items(), key=lambda found: found[1].nonce)
    rows = [_row(plan, stats, now, name, session) for name, session in in_flight]
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


def _row(plan: Plan, stats: LiveStats, now: float, name: AtomId, session: Session) -> _Row:
    passed = now - stats.began.get(session.nonce, now)
    limits = plan.limits
    if name == ROOT:
        return _Row(
            name="base case",
            role=session.role,
            turn=f"{plan.spent.verifications}/{limits.max_verifications}",
            elapsed=amounts.clock(passed),
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
        elapsed=amounts.clock(passed),
        limit=f" of {amounts.duration(limits.session_timeout_seconds)}",
        words=_waiting(stats, session, now)
        or _price(stats.usage_of(plan, name)) + atom.description[:1000],
    )


def _verifying(plan: Plan, passed: float) -> str:
    last = len(WAITS_BEFORE_VERIFYING) - 1
    wait = WAITS_BEFORE_VERIFYING[min(plan.verification.rounds_without_gaps, last)]
    if passed < wait:
        begins = amounts.duration(wait - int(passed))
        return f"begins in {begins}; the last round could not run everything"
    return "every check, in a fresh checkout"


def _waiting(stats: LiveStats, session: Session, now: float) -> str:
    until, why = stats.until.get(session.nonce, (now, ""))
    return f"tries again in {amounts.clock(until - now)}: {why}" if until > now else ""


def _price(usage: Usage) -> str:
    if usage.usd:
        return f"({amounts.money(usage.usd)}) "
    return f"({amounts.count(usage.tokens, 'token')}) " if usage.tokens else ""
