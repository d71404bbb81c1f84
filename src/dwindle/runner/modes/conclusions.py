"""The one event that ends a session, from its report.

A claim of success is the exception: it counts only after its evidence was judged and its work is on
the branch, so the mode does that first.
"""

from __future__ import annotations

from typing import Final

from dwindle.kernel.events import (
    NO_USAGE,
    AlternativesProposed,
    AttemptFailed,
    DeclaredInfeasible,
    Decomposed,
    ProbeEnded,
    Usage,
)
from dwindle.kernel.model import Role
from dwindle.ports.work import NoReport, ProbeReport, Proposal, Report, WorkerReport, WorkOrder
from dwindle.runner.gate.evidence import REASON_CHARACTERS
from dwindle.runner.gate.judgement import bounded

End = AttemptFailed | DeclaredInfeasible | Decomposed | AlternativesProposed | ProbeEnded

NOT_FEASIBLE: Final = "the probe says that it is not feasible"


def event_of(order: WorkOrder, report: Report, usage: Usage) -> End | None:
    """None for a worker that claims success or admits failure: the mode has to judge its work."""
    match report:
        case NoReport():
            return failed_attempt(order, usage, report.reason)
        case WorkerReport() if order.role is Role.WORKER:
            return _of_worker(order, report, usage)
        case ProbeReport() if order.role is Role.PROBE:
            return _of_probe(order, report, usage)
        case _:
            return failed_attempt(order, usage, f"the report is not that of a {order.role}")


def failed_attempt(
    order: WorkOrder, usage: Usage, reason: str, judging: Usage = NO_USAGE
) -> AttemptFailed:
    """`judging` is the part of the usage that verifiers had."""
    return AttemptFailed(
        atom=order.atom,
        nonce=order.nonce,
        usage=usage,
        judging=judging,
        reason=bounded(reason, REASON_CHARACTERS),
    )


def _of_worker(order: WorkOrder, report: WorkerReport, usage: Usage) -> End | None:
    if report.decomposition is not None:
        return _decomposition(order, report.decomposition, usage)
    if report.alternatives is not None:
        return _alternatives(order, report.alternatives, usage)
    if report.infeasible:
        return DeclaredInfeasible(
            atom=order.atom, nonce=order.nonce, usage=usage, reason=report.reason
        )
    return None


def _of_probe(order: WorkOrder, report: ProbeReport, usage: Usage) -> End:
    if report.decomposition is not None:
        return _decomposition(order, report.decomposition, usage)
    if report.alternatives is not None:
        return _alternatives(order, report.alternatives, usage)
    if not report.feasible:
        return DeclaredInfeasible(
            atom=order.atom, nonce=order.nonce, usage=usage, reason=report.findings or NOT_FEASIBLE
        )
    return ProbeEnded(atom=order.atom, nonce=order.nonce, usage=usage, findings=report.findings)


def _decomposition(order: WorkOrder, split: Proposal, usage: Usage) -> Decomposed:
    return Decomposed(
        atom=order.atom,
        nonce=order.nonce,
        usage=usage,
        children=split.new,
        reason=split.reason,
    )


def _alternatives(order: WorkOrder, ways: Proposal, usage: Usage) -> AlternativesProposed:
    return AlternativesProposed(
        atom=order.atom,
        nonce=order.nonce,
        usage=usage,
        alternatives=ways.new,
        reason=ways.reason,
    )
