"""What in a plan file belongs to the machine, and who changed it all the same.

Counters are what a run is bounded by, the Trail is what it turns back along, and the rest of
`control` is where it stands. Nobody sets those by hand: each can be had by an edit that the kernel
judges and pays for. Requests (`stop_requested` and the like) ask a run that is over for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from dwindle.kernel.model import Plan
from dwindle.kernel.problem import Problem

REQUESTS = ("stop_requested", "stop_reason", "redirect_requested")
INSTEAD = {
    "status": "`dwindle run` goes on, `dwindle stop` ends it",
    "iteration": "`dwindle redirect --set max_iterations=N` allows more",
    "stall_count": "any redirect begins to count anew",
    "created": "`dwindle redirect --set max_atoms=N` allows more",
    "backjumps": "`dwindle redirect --set max_backjumps=N` allows more",
    "forgiven": "`dwindle redirect --set max_forgiven=N` allows more",
    "verifications": "`dwindle redirect --set max_verifications=N` allows more",
    "seconds": "`dwindle redirect --set max_wall_seconds=N` allows more",
    "tokens": "`dwindle redirect --set max_tokens=N` allows more",
    "usd": "`dwindle redirect --set max_cost_usd=N` allows more",
    "attempts": "`dwindle redirect --set max_attempts=N`, or max_attempts of the atom, allows more",
    "probes": "`dwindle redirect --set max_probes=N` allows more",
    "aligned": "another base case takes its pins anew: `dwindle redirect --base-case`",
}
PUT_BACK = "put it back as it was"
WHOLE = {
    "trail": ("trail",),
    "corrections": ("corrections",),
    "sessions": ("control", "in_flight"),
    "pace": ("control", "pace"),
    "verification": ("control", "verification"),
}
"""Parts of the plan that are the machine's as a whole, and where the file has them."""


def owned_problems(ours: Plan, found: Plan) -> Iterator[Problem]:
    """What was changed in the file that nobody may change; `ours` is what the machine wrote."""
    for one in fields(ours.control):
        now, then = getattr(found.control, one.name), getattr(ours.control, one.name)
        if one.name not in REQUESTS and now != then:
            yield _owned(("control", one.name), one.name)
    for one in fields(ours.spent):
        now, then = getattr(found.spent, one.name), getattr(ours.spent, one.name)
        if now == then or (one.name == "created" and now == len(found.atoms)):
            continue  # a file that does not say how many were created has as many as it lists
        yield _owned(("control", "spent", one.name), one.name)
    for index, (name, atom) in enumerate(found.atoms.items()):
        was = ours.atoms.get(name)
        for counter in ("attempts", "probes"):
            if getattr(atom, counter) != (getattr(was, counter) if was else 0):
                yield _owned(("atoms", index, counter), f"{counter} of {name}", counter)
    for part, where in WHOLE.items():
        if getattr(ours, part) != getattr(found, part):
            yield _owned(where, where[-1])


def _owned(where: tuple[str | int, ...], what: str, name: str | None = None) -> Problem:
    return Problem(
        where=where,
        what=f"{what} belongs to the machine and was changed",
        hint=INSTEAD.get(name or what, PUT_BACK),
    )
