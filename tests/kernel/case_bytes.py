"""Tell every case and print what came of it: each decision, and the plan file after each step.

Run as `python -m tests.kernel.case_bytes`, in whatever environment is to be tried. Nothing is
compared here; what is printed must be the same bytes wherever it is printed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from tests.kernel.cases import all_cases, load, steps
from tests.kernel.plan_data import plain

from dwindle.adapters.formats.graph.plan import GraphWriter
from dwindle.kernel.decide import decide
from dwindle.kernel.explain import waiting as waiting_of
from dwindle.kernel.measure import gauge, measure, session_bound
from dwindle.kernel.model import Plan
from dwindle.kernel.problems import validate


def told() -> Iterator[bytes]:
    for path in all_cases():
        case = load(path)
        writer = GraphWriter(f"# {case.name}\n{case.story}\n".encode())
        yield f"=== {case.name}\n".encode()
        yield from shown(case.start, writer)
        for step in steps(case):
            yield f"--- {step.event} {step.refused or ''}\n".encode()
            yield from shown(step.after, writer)


def shown(plan: Plan, writer: GraphWriter) -> Iterator[bytes]:
    decision = decide(plan)
    facts = {
        "actions": [{type(a).__name__: plain(a)} for a in decision.actions],
        "stop": plain(decision.stop),
        "because": decision.because,
        "waiting": plain(waiting_of(decision)),
        "measure": [*measure(plan), gauge(plan), session_bound(plan)],
        "problems": plain(validate(plan)),
    }
    yield json.dumps(facts, ensure_ascii=False, indent=1).encode()
    yield b"\n"
    yield writer.encode(plan)


if __name__ == "__main__":
    for line in told():
        sys.stdout.buffer.write(line)
