"""The bound on sessions of `Sessions.v`, on numbers: what a kernel's own bound can be held against.

Two readings of `refill` and `fewest` are sound, so the smaller result holds:

- `refill`: the sum, over written leaves that are not buried, of the attempts that each may have;
  `fewest`: the least of these, or of what a new atom will have if there is fuel;
- `refill`: the number of these leaves times `a`; `fewest`: `a`.
"""

from __future__ import annotations

from typing import NamedTuple

from proof.table import Constants, Counters


class Shade(NamedTuple):
    """What the bound needs to know of a plan beside the eleven counters."""

    untried: int
    """Over groups that are not buried: choices that have not failed, but for one."""
    refill: int
    """Attempts that all written leaves that are not buried would have if none were used."""
    dormant: int
    """Probes left on resolved leaves that are not buried: they count again when reopened."""


def jumps_left(now: Counters, shade: Shade) -> int:
    """Backjumps that can still happen, and switches that lose the work of others.

    Proposing k alternatives gains k - 1 untried choices, because the proposer is given up.
    """
    return min(int(now.J), shade.untried + max(0, int(now.F) - 1))


def sessions_left(now: Counters, shade: Shade, limits: Constants, fewest: int) -> int:
    """Sessions that can still start, unless a person redirects."""
    jumps = jumps_left(now, shade)
    pool = shade.refill + int(limits.a * now.F)
    refilled = sum(max(0, pool - j * fewest) for j in range(1, jumps + 1))
    asleep = shade.dormant if jumps else 0
    paid = int(now.A + (limits.a + limits.p) * now.F + now.V + now.L)
    return paid + asleep + refilled + int(now.W) * sessions_of_wind(limits, fewest)


def sessions_of_wind(limits: Constants, fewest: int) -> int:
    """What one wind can bring at most: every atom there may be, all rounds, all backjumps."""
    jumps = range(1, int(limits.J0) + 1)
    refilled = sum(max(0, int(limits.a * limits.N) - j * fewest) for j in jumps)
    return int((limits.a + limits.p) * limits.N + limits.V0) + refilled
