"""What a verb returns to the coordinator: how the run stands, and what to do next."""

from __future__ import annotations

from typing import Any

from dwindle.kernel.actions import Decision, Probe, Verify, Work
from dwindle.kernel.base_case import checks, items
from dwindle.kernel.decide import in_order
from dwindle.kernel.graph import view
from dwindle.kernel.measure import gauge, session_bound
from dwindle.kernel.model import Atom, Plan, Status
from dwindle.kernel.winds import startable
from dwindle.runner.gate.judgement import is_judged

VERIFICATION = "verification"
"""What is in flight without being an atom's."""


def state(plan: Plan) -> dict[str, Any]:
    """The whole plan as a program reads it; the keys are a public contract."""
    atoms = [_atom(atom) for atom in plan.atoms.values()]
    ready = [_atom(atom) for atom in in_order(plan, startable(plan))]
    control = plan.control
    by_status = {s: sum(a.status is s for a in plan.atoms.values()) for s in Status}
    return {
        "exists": True,
        "status": str(control.status),
        "iteration": control.iteration,
        "stall_count": control.stall_count,
        "stop_requested": control.stop_requested,
        "redirect_requested": control.redirect_requested,
        "stop_reason": control.stop_reason,
        "goal": plan.objective.goal,
        "max_iterations": plan.limits.max_iterations,
        "max_parallel_agents": plan.limits.max_parallel_agents,
        "max_stall_count": plan.limits.max_stall_count,
        "atoms": atoms,
        "executable_atoms": ready,
        "in_flight": {
            str(name or VERIFICATION): {"nonce": s.nonce, "role": str(s.role)}
            for name, s in plan.sessions.items()
        },
        "bindings": {
            name: {"summary": b.summary, "artifacts": list(b.artifacts)}
            for name, b in plan.bindings.items()
        },
        "or_groups": {
            name: {
                "choices": list(group.choices),
                "selected": group.selected,
                "failed": list(group.failed),
            }
            for name, group in plan.groups.items()
        },
        "summary": {
            "total": len(atoms),
            "pending": by_status[Status.PENDING],
            "in_progress": by_status[Status.IN_PROGRESS],
            "resolved": by_status[Status.RESOLVED],
            "executable": len(ready),
            "open": view(plan).open_count,
            "gauge": gauge(plan),
            "bound": session_bound(plan),
        },
    }


def what_next(plan: Plan, decision: Decision) -> dict[str, Any]:
    """What the coordinator has to do now, and why."""
    if decision.stop is not None:
        return {
            "over": True,
            "stop_code": str(decision.stop.code),
            "reason": decision.stop.reason,
            "start": [],
            "verify": False,
        }
    starts = [a for a in decision.actions if isinstance(a, (Work, Probe))]
    verify = any(isinstance(a, Verify) for a in decision.actions)
    said = {
        "over": False,
        "start": [
            {
                "atom_id": a.atom,
                "agent": "aot-worker" if isinstance(a, Work) else "aot-probe",
                "because": a.because,
            }
            for a in starts
        ],
        "verify": verify,
        "in_flight": sorted(str(name or VERIFICATION) for name in plan.sessions),
        "open": view(plan).open_count,
    }
    if verify:
        said["to_judge"] = judged_items(plan)
    if decision.because:
        said["because"] = decision.because
    return said


def judged_items(plan: Plan) -> list[str]:
    """What of the base case no machine can decide."""
    found = checks(items(plan.objective.base_case))
    return [item for _, item, check in found if is_judged(check)]


def _atom(atom: Atom) -> dict[str, Any]:
    said: dict[str, Any] = {
        "id": atom.id,
        "description": atom.description,
        "status": str(atom.status),
        "depends_on": list(atom.depends_on),
    }
    if atom.or_group is not None:
        said["or_group"] = atom.or_group
    if atom.attempts:
        said["attempts"] = atom.attempts
    return said
