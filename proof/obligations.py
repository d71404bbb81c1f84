"""Every row of the transition table, checked by a solver for all limits and all counters.

For each row: it can happen at all; it leaves natural numbers; it lowers the measure; it lowers the
gauge by at least one; without T, the gauge does not rise and a session start lowers it. The last
three hold for the row followed by any number of settling steps, which is the form in which
`row_admits` compares a kernel with the table.

A checker that cannot say no proves nothing. So wrong rows are planted, each one a rule that looks
harmless, and each must be refuted; and each weight of the gauge is tried one smaller, which must
be refuted too: the weights are the smallest that will do.

    python proof/obligations.py        one line an obligation; exit 1 unless all are as expected
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import z3

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # it is run as a script

from proof.table import (
    ROWS,
    RUN_AGAIN,
    TABLE,
    TREE_TABLE,
    Clause,
    Constants,
    Counters,
    Row,
    Span,
    Term,
    at_most,
    event_admits,
    exactly,
    row_admits,
    settled,
)

PATIENCE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What the gauge charges for one redirect, wind, unit of fuel and backjump."""

    redirect: Term
    wind: Term
    fuel: Term
    jump: Term


def weights(limits: Constants) -> Weights:
    fuel = 2 * (limits.a + limits.p) + 3
    jump = 2 * limits.N * (limits.a + limits.p + 1) + 1
    refilled = jump * limits.J0 + 2 * limits.V0
    wind = limits.N * (2 * (limits.a + limits.p) + 3) + refilled + 2
    redirect = (fuel + 1) * limits.N + refilled + wind * limits.W0 + 2 * limits.L0 + 3
    return Weights(redirect=redirect, wind=wind, fuel=fuel, jump=jump)


def tree_weights(limits: Constants) -> Weights:
    """A planning session gives back what one leaf may have, and a new node brings p of them."""
    usual, jump = weights(limits), 2 * limits.a
    return replace(usual, jump=jump, fuel=usual.fuel + jump * limits.p)


def gauge(s: Counters, weigh: Weights) -> Term:
    bought = s.E * weigh.redirect + s.W * weigh.wind + s.F * weigh.fuel + s.J * weigh.jump
    return bought + 2 * s.L + 2 * s.V + s.C + 2 * s.A + s.Q + s.I + s.T


def is_below(after: Counters, before: Counters) -> Clause:
    """The order of the measure, from the left."""
    less: Clause = z3.BoolVal(val=False)
    for new, old in zip(reversed(after), reversed(before), strict=True):
        less = z3.Or(new < old, z3.And(new == old, less))
    return less


# --- one row, in symbols -----------------------------------------------------------------------

BEFORE, MIDDLE, AFTER = (
    Counters(*(z3.Int(n + tag) for n in Counters._fields)) for tag in ("", "°", "'")
)
LIMITS = Constants(*(z3.Int(f"max_{n}") for n in Constants._fields))
PARAMETER, WRITES = z3.Int("parameter"), z3.Int("writes")
NATURAL: list[Clause] = [x >= 0 for x in (*BEFORE, *LIMITS, WRITES)]


def instance(row: Row, *, with_settling: bool = False) -> list[Clause]:
    """All that is known when the row has taken BEFORE to AFTER."""
    spans = row.spans(BEFORE, LIMITS, PARAMETER)
    settling: list[Clause] = []
    if with_settling:
        spans = settled(spans, LIMITS, WRITES, loose=True)
        settling = [x >= 0 for x in AFTER]  # shown for every single step
    within = [
        clause
        for name, (low, high) in spans.items()
        for clause in (low <= getattr(AFTER, name), getattr(AFTER, name) <= high)
    ]
    least = PARAMETER == 0 if not row.parameter else int(row.parameter != "n") <= PARAMETER
    pools = {"k": [BEFORE.F >= PARAMETER], "r": [BEFORE.J >= PARAMETER]}
    fuel = pools.get(row.parameter, [])
    return [*NATURAL, *row.guard(BEFORE), least, *fuel, *within, *settling]


def stays_natural() -> Clause:
    return z3.And(*(x >= 0 for x in AFTER))


def lowers_measure() -> Clause:
    return is_below(AFTER, BEFORE)


def lowers_gauge(weigh: Weights | None = None) -> Clause:
    weigh = weigh or weights(LIMITS)
    return gauge(AFTER, weigh) + 1 <= gauge(BEFORE, weigh)


def pays_for_start(row: Row, weigh: Weights) -> Clause:
    """Without T, which `run again` lifts: a start lowers the gauge, nothing raises it."""
    paid = gauge(AFTER, weigh) - AFTER.T + int(row.is_start)
    return paid <= gauge(BEFORE, weigh) - BEFORE.T


def keeps_ten() -> Clause:
    return z3.And(*(x == y for x, y in zip(BEFORE[:-1], AFTER[:-1], strict=True)))


# --- obligations -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligation:
    """A query and the answer expected: unsat, there is no counter-example; sat, there is one."""

    name: str
    query: list[Clause]
    expected: str = "unsat"

    def verdict(self) -> str:
        solver = z3.Solver()
        solver.set("timeout", PATIENCE_MS)
        solver.add(*self.query)
        return str(solver.check())


def proves(name: str, known: list[Clause], goal: Clause) -> Obligation:
    return Obligation(name=name, query=[*known, z3.Not(goal)])


def refutes(name: str, known: list[Clause], goal: Clause) -> Obligation:
    return Obligation(name=name, query=[*known, z3.Not(goal)], expected="sat")


def obligations_of(row: Row, weigh: Weights, of: str = "") -> Iterator[Obligation]:
    alone, event = instance(row), instance(row, with_settling=True)
    weighed = [*event, *products(row)]
    name = f"{of}{row.name}"
    yield Obligation(name=f"{name} can happen", query=alone, expected="sat")
    yield proves(f"{name} leaves natural numbers", alone, stays_natural())
    yield proves(f"{name} lowers the measure", event, lowers_measure())
    yield proves(f"{name} lowers the gauge", weighed, lowers_gauge(weigh))
    yield proves(f"{name} and the gauge without T", weighed, pays_for_start(row, weigh))


def products(row: Row) -> list[Clause]:
    """Products of a weight and a counter that the row bounds by its limit, for a linear solver.

    Instances of "a product grows with its factor", which is an obligation of its own.
    """
    weigh, spans = weights(LIMITS), row.spans(BEFORE, LIMITS, PARAMETER)
    bounded = ((weigh.wind, "W", LIMITS.W0), (weigh.jump, "J", LIMITS.J0))
    return [
        weight * getattr(AFTER, name) <= weight * limit
        for weight, name, limit in bounded
        if spans[name].high is limit
    ]


def general_obligations() -> Iterator[Obligation]:
    weight, factor, limit = z3.Ints("weight factor limit")
    known = [weight >= 0, factor >= 0, factor <= limit]
    yield proves("a product grows with its factor", known, weight * factor <= weight * limit)
    both = [is_below(AFTER, MIDDLE), is_below(MIDDLE, BEFORE)]
    yield proves("falls compose", both, is_below(AFTER, BEFORE))
    again = instance(RUN_AGAIN)
    yield Obligation(name="run_again can happen", query=again, expected="sat")
    yield proves("run_again leaves the other ten alone", again, keeps_ten())
    raising = raised_redirect()
    yield proves("a redirect that raises limits lowers the measure", raising, lowers_measure())


def raised_redirect() -> list[Clause]:
    """E falls; anything may have become of the rest."""
    return [*NATURAL, BEFORE.E >= 1, AFTER.E == BEFORE.E - 1, *(x >= 0 for x in AFTER)]


# --- rows that must be refuted -----------------------------------------------------------------


def without(row: Row, *names: str, **instead: Callable[[Counters, Constants, Term], Span]) -> Row:
    """The row, but these counters keep their value, or go where `instead` says."""

    def after(b: Counters, c: Constants, x: Term) -> dict[str, Span]:
        spans = {n: s for n, s in row.after(b, c, x).items() if n not in names}
        return {**spans, **{n: to(b, c, x) for n, to in instead.items()}}

    return replace(row, after=after)


def unguarded(row: Row) -> Row:
    return replace(row, guard=lambda _: [])


_PLANNED = next(row for row in TREE_TABLE if row.name == "tree_planned")


def planted() -> Iterator[Obligation]:
    """Plausible rules that would make a run endless, negative, or longer than its gauge."""
    measure, bar, natural = lowers_measure(), lowers_gauge(), stays_natural()
    for name, row, goal in (
        ("a start that is charged when it ends", without(ROWS["session_started"], "A"), measure),
        ("a start with no attempt left", unguarded(ROWS["session_started"]), natural),
        ("a verification that costs no round", without(ROWS["verification_started"], "V"), measure),
        ("an interruption forgiven for nothing", without(ROWS["session_forgiven"], "L"), measure),
        ("forgiveness from an empty pool", unguarded(ROWS["session_forgiven"]), natural),
        ("a decomposition without fuel", without(ROWS["decomposed"], "F"), measure),
        ("alternatives without fuel", without(ROWS["alternatives_grouped"], "F"), measure),
        ("a named choice written without fuel left", unguarded(ROWS["written"]), natural),
        ("a race that refills its losers", _race_with_refill(), measure),
        ("a backjump that fails no choice", without(ROWS["backjumped"], *"JC"), measure),
        ("a backjump that is free", without(ROWS["backjumped"], "J"), bar),
        ("a switch that reopens others for nothing", _reopening_switch(), bar),
        ("a wind that is free", without(ROWS["wind_began"], "W"), measure),
        ("a wind when none is left", unguarded(ROWS["wind_began"]), natural),
        ("a wind that refills the pool of forgiven sessions", _wind_with_pool(), bar),
        ("a wind that pays with a round and refills backjumps", _wind_for_a_round(), bar),
        ("a wind that stands right of what it refills", _wind_to_the_right(), measure),
        ("a redirect that is free", without(ROWS["redirected"], "E"), measure),
        ("run again, taken for a step", RUN_AGAIN, measure),
        ("a person's no that adds nothing but opens the root", _empty_no(), measure),
        ("a leaf of a tree that is rewritten for nothing", without(_PLANNED, "J"), measure),
    ):
        yield refutes(f"planted: {name}", instance(row), goal)
    refilled = without(RUN_AGAIN, L=lambda _b, c, _: at_most(c.L0))
    yield refutes("planted: run again refills the pool", instance(refilled), keeps_ten())
    yield refutes("planted: raised limits, same gauge", raised_redirect(), lowers_gauge())
    least = weights(LIMITS)
    for name, row_name, smaller in (
        ("fuel", "fixes_added_by_person", replace(least, fuel=least.fuel - 1)),
        ("jump", "backjumped", replace(least, jump=least.jump - 1)),
        ("wind", "wind_began", replace(least, wind=least.wind - 1)),
        ("redirect", "redirected", replace(least, redirect=least.redirect - 1)),
    ):
        known = instance(ROWS[row_name])
        yield refutes(f"planted: the weight of {name} one smaller", known, lowers_gauge(smaller))
    least = tree_weights(LIMITS)
    smaller = replace(least, jump=least.jump - 1)
    what = "planted: the weight of a planning session one smaller"
    yield refutes(what, instance(_PLANNED), lowers_gauge(smaller))


def _race_with_refill() -> Row:
    return without(ROWS["joined"], A=lambda b, c, _: exactly(b.A + c.a))


def _wind_with_pool() -> Row:
    return without(ROWS["wind_began"], L=lambda _b, c, _: at_most(c.L0))


def _wind_for_a_round() -> Row:
    """Paid from V, which it does not refill: it falls, but not by what its refill weighs."""
    row = without(ROWS["wind_began"], "W", V=lambda b, _c, _: exactly(b.V - 1))
    return replace(row, guard=lambda b: [b.T == 1, b.V >= 1])


def _wind_to_the_right() -> Row:
    """As if it were paid from A: everything that it refills stands left of that."""
    row = without(ROWS["wind_began"], "W", A=lambda b, _c, _: exactly(b.A - 1))
    return replace(row, guard=lambda b: [b.T == 1, b.A >= 1])


def _reopening_switch() -> Row:
    return without(
        ROWS["choice_failed"], A=lambda b, c, _: at_most(b.A + c.a), Q=lambda b, _c, _: at_most(b.Q)
    )


def _empty_no() -> Row:
    return Row(name="empty_no", after=lambda b, _c, _: {"Q": at_most(b.Q + 1)})


def all_obligations() -> list[Obligation]:
    usual, trees = weights(LIMITS), tree_weights(LIMITS)
    rows = [obligation for row in TABLE for obligation in obligations_of(row, usual)]
    rows += [one for row in TREE_TABLE for one in obligations_of(row, trees, "tree: ")]
    return [*rows, *general_obligations(), *planted()]


def main() -> int:
    begun, wrong = time.perf_counter(), 0
    known = all_obligations()
    for obligation in known:
        since, verdict = time.perf_counter(), obligation.verdict()
        good = verdict == obligation.expected
        wrong += not good
        word = "ok" if good else f"FAILED, {verdict} instead of {obligation.expected}"
        print(f"{obligation.name:62} {time.perf_counter() - since:6.3f} s  {word}")
    seconds = time.perf_counter() - begun
    print(f"{len(known)} obligations, {len(known) - wrong} as expected, {seconds:.1f} s")
    return 1 if wrong else 0


__all__ = ["all_obligations", "event_admits", "gauge", "main", "row_admits", "weights"]

if __name__ == "__main__":
    sys.exit(main())
