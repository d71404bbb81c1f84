"""The suites of the model checker: which limits and which events are combined.

The full product of everything is out of reach, so each suite turns on what may interact. Together
they cover width 1 and 2, both dispatches, 1 and 2 attempts, 0 and 1 probes, 1 and 2 rounds, fuel
0 to 2, races, unwritten alternatives, every scope of redirect, stalls and iteration limits.
"""

from __future__ import annotations

from dwindle.kernel.model import Dispatch
from dwindle.testing.world import Suite

WAVE = Dispatch.WAVE

SUITES: tuple[Suite, ...] = (
    Suite(
        name="backjumps",
        happens=("infeasible", "late", "interrupt", "stop"),
        backjumps=2,
        dependencies=2,
    ),
    Suite(name="two attempts, two at once", attempts=2, width=2, backjumps=2),
    Suite(name="wave", attempts=2, width=2, dispatch=WAVE, happens=("interrupt",), forgiven=1),
    Suite(name="growth and fixes", probes=1, rounds=2, fuel=2, happens=("grow", "gaps")),
    Suite(name="workers propose", fuel=1, width=2, depth=1, happens=("worker_grow", "infeasible")),
    Suite(name="workers propose much", at_most=3, fuel=2, happens=("worker_grow",)),
    Suite(name="growth in a wave", probes=1, fuel=1, width=2, dispatch=WAVE, happens=("grow",)),
    Suite(
        name="races",
        speculative=True,
        width=2,
        backjumps=2,
        dependencies=2,
        happens=("infeasible", "interrupt"),
    ),
    Suite(name="races that grow", speculative=True, width=2, probes=1, fuel=1, happens=("grow",)),
    Suite(name="unwritten", unwritten=True, probes=1, fuel=2, rounds=2, happens=("grow", "gaps")),
    Suite(name="unwritten races", unwritten=True, speculative=True, width=2, fuel=2, backjumps=2),
    Suite(name="forgiven", width=2, forgiven=2, happens=("rate", "stop")),
    Suite(
        name="forgiven probes and rounds",
        probes=1,
        fuel=1,
        forgiven=1,
        happens=("grow", "rate", "interrupt"),
    ),
    Suite(
        name="verification",
        rounds=2,
        fuel=1,
        forgiven=1,
        happens=("gaps", "nothing_judged", "ask", "stop"),
    ),
    Suite(name="early verification", width=2, happens=("early", "stop")),
    Suite(name="lost commits", width=2, backjumps=2, only_groups=True, happens=("lost",)),
    Suite(name="lost commits in races", width=2, backjumps=2, speculative=True, happens=("lost",)),
    Suite(name="stalls", runner_first=True, attempts=2, width=2, stalls=2),
    Suite(name="stalls soon", runner_first=True, attempts=2, width=2, stalls=1),
    Suite(name="stalls in a wave", runner_first=True, attempts=2, width=2, stalls=2, dispatch=WAVE),
    Suite(
        name="stalls with probes",
        runner_first=True,
        width=2,
        stalls=1,
        probes=1,
        fuel=1,
        forgiven=1,
        happens=("grow", "interrupt"),
        at_most=3,
    ),
    Suite(name="few iterations", attempts=2, width=2, iterations=2, happens=("stop",)),
    Suite(
        name="few iterations in waves",
        attempts=2,
        width=2,
        iterations=2,
        dispatch=WAVE,
        happens=("stop",),
    ),
    Suite(
        name="own attempts, probe first",
        own_attempts=True,
        probe_first=True,
        probes=1,
        fuel=1,
        happens=("grow", "infeasible"),
    ),
    Suite(name="probe first without fuel", probe_first=True, probes=1, backjumps=2),
    Suite(name="force and override", redirects=1, width=2, happens=("force", "override")),
    Suite(name="force, stop and resume", redirects=1, only_groups=True, happens=("force", "stop")),
    Suite(
        name="force and override races",
        redirects=1,
        width=2,
        speculative=True,
        happens=("force", "override"),
    ),
    Suite(name="force unwritten", redirects=1, unwritten=True, fuel=2, happens=("force",)),
    Suite(
        name="force unwritten that grow",
        at_most=3,
        redirects=1,
        unwritten=True,
        probes=1,
        fuel=2,
        happens=("force", "grow"),
    ),
    Suite(
        name="two redirects",
        redirects=2,
        at_most=3,
        only_groups=True,
        happens=("force", "override"),
    ),
    Suite(name="add and remove", redirects=1, fuel=1, happens=("add", "remove")),
    Suite(
        name="add, remove, stop",
        at_most=3,
        redirects=1,
        fuel=1,
        only_groups=True,
        happens=("add", "remove", "stop"),
    ),
    Suite(name="rewrite", at_most=3, redirects=1, fuel=1, happens=("rewrite",)),
    Suite(
        name="rewrite races",
        at_most=3,
        redirects=1,
        fuel=2,
        width=2,
        speculative=True,
        unwritten=True,
        only_groups=True,
        happens=("rewrite",),
    ),
    Suite(
        name="limits and growth",
        at_most=2,
        redirects=1,
        probes=1,
        fuel=1,
        forgiven=1,
        width=2,
        happens=("limits", "grow"),
    ),
    Suite(name="limits", redirects=1, happens=("limits",)),
    Suite(
        name="another objective",
        redirects=1,
        fuel=1,
        happens=("objective", "gaps", "stop"),
    ),
    Suite(name="pause", redirects=1, width=2, only_groups=True, happens=("pause", "force", "stop")),
)
