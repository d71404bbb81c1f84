"""The verbs of `dwindle state`: what a host's session may do to the plan.

Every verb returns one JSON object. An illegal one is refused with the reason and changes nothing; a
legal one is charged, checked and recorded as in any other run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dwindle.adapters.agents.reports.report import decode
from dwindle.app.host.answers import judged_items, state, what_next
from dwindle.app.host.lease import LOCKED, current_lease, session_here
from dwindle.app.host.open_hosted import enter_hosted, open_hosted, plan_lock
from dwindle.app.open_run.graph import open_ledger
from dwindle.app.open_run.shared import NotReady
from dwindle.app.paths import PLAN_FILE
from dwindle.app.plans.load import load_graph
from dwindle.app.redirect.target import line_to
from dwindle.app.refusal import Refused
from dwindle.kernel.base_case import checks, items
from dwindle.kernel.decide import decide
from dwindle.kernel.events import NO_USAGE, AtomResolved, AttemptFailed, OverrideBinding
from dwindle.kernel.graph import view
from dwindle.kernel.model import (
    ROOT,
    AtomId,
    Check,
    Plan,
    Role,
    RunStatus,
    Session,
    Status,
    StopCode,
)
from dwindle.ports.agent import REPORT
from dwindle.ports.work import (
    NoReport,
    ProbeReport,
    Report,
    Result,
    Trouble,
    VerifierReport,
    WorkerReport,
)
from dwindle.runner.gate.judgement import Judge, is_judged
from dwindle.runner.modes.hosted import Concluded, Host, NotNow
from dwindle.runner.orders.work import order_to_judge
from dwindle.text.redact import redact_bytes

BINDING = "binding.json"
"""The file in a session's folder with the words for its result, until its claim."""

DETACHED_LOG = ".runner/headless.log"
BEGIN_SECONDS = 10.0
"""In which a run that can begin has begun."""


class UnusableInput(NotNow):
    """The input of a verb cannot be used; nothing was changed."""


def read(root: Path) -> dict[str, Any]:
    """The plan as JSON, also for other sessions; does not wait for the lock."""
    try:
        with plan_lock(root, patience=0), open_ledger(root) as (ledger, _):
            return state(ledger.plan)
    except (Refused, OSError) as error:
        if isinstance(error, Refused) and error.code != LOCKED:
            raise
        loaded = load_graph((root / PLAN_FILE).read_bytes())
        if loaded.plan is None:
            raise NotReady(PLAN_FILE, loaded.problems) from None
        return state(loaded.plan)


async def enter(root: Path) -> dict[str, Any]:
    async with enter_hosted(root, session_here()) as host:
        decision = await host.next()
        return {"success": True, **state(host.plan), "next": what_next(host.plan, decision)}


async def next_actions(root: Path) -> dict[str, Any]:
    """What the coordinator has to do now; or that the run is over."""
    if current_lease(root, session_here()) is None:
        with plan_lock(root), open_ledger(root) as (ledger, _):
            plan = ledger.plan
            if plan.control.status in (RunStatus.STOPPED, RunStatus.COMPLETED):
                return {"success": True, **state(plan), "next": what_next(plan, decide(plan))}
    async with open_hosted(root, session_here()) as host:
        decision = await host.next()
        return {"success": True, **state(host.plan), "next": what_next(host.plan, decision)}


# --- atoms ---------------------------------------------------------------------------------------


async def begin(root: Path, atom: AtomId) -> dict[str, Any]:
    async with open_hosted(root, session_here()) as host:
        handed = await host.start(atom)
        return {
            "success": True,
            "atom_id": atom,
            "status": str(Status.IN_PROGRESS),
            "nonce": handed.order.nonce,
            "attempt": handed.order.attempt,
            "agent": "aot-worker" if handed.order.role is Role.WORKER else "aot-probe",
            "worktree": str(handed.tree),
            "order": str(handed.folder / "order.json"),
            "prompt": str(handed.folder / "prompt.md"),
            "report": str(handed.folder / REPORT),
        }


async def resolve(
    root: Path,
    atom: AtomId,
    nonce: int | None = None,
    summary: str = "",
    artifacts: Sequence[str] = (),
) -> dict[str, Any]:
    """Claim success: the gate checks the evidence and integrates the work, or refuses it."""
    async with open_hosted(root, session_here()) as host:
        if host.in_flight(atom, nonce).role is not Role.WORKER:
            raise NotNow(f"{atom} is being probed: a probe finds out, and resolves nothing")
        noted = _binding_note(host, atom)
        summary = summary or str(noted.get("summary", ""))
        artifacts = artifacts or tuple(noted.get("artifacts", ()))
        found = host.report_of(atom)
        result = found or Result(report=WorkerReport(success=True), usage=NO_USAGE)
        if isinstance(result.report, WorkerReport):
            said = replace(
                result.report,
                summary=summary or result.report.summary,
                artifacts=tuple(artifacts) or result.report.artifacts,
            )
            result = replace(result, report=said)
        return await _conclusion(host, atom, await host.conclude(atom, result, nonce))


async def report(root: Path, atom: AtomId, data: bytes, nonce: int | None = None) -> dict[str, Any]:
    """A full report of an agent: findings, a decomposition, alternatives, a failure."""
    async with open_hosted(root, session_here()) as host:
        host.in_flight(atom, nonce)
        result = host.read(atom, data)
        return await _conclusion(host, atom, await host.conclude(atom, result, nonce))


async def fail(
    root: Path, atom: AtomId, nonce: int | None = None, reason: str = ""
) -> dict[str, Any]:
    """Back to pending: the attempt that is in flight has failed."""
    async with open_hosted(root, session_here()) as host:
        held = host.plan.atoms.get(atom)
        if held is not None and held.status is Status.PENDING:
            return {"success": True, "atom_id": atom, "status": str(Status.PENDING)}
        if held is not None and held.status is Status.RESOLVED:
            raise NotNow(f"{atom} is resolved; only a redirect opens it again: /redirect")
        session = host.in_flight(atom, nonce)
        result = host.report_of(atom)
        if result is None or _is_success(result.report):
            result = Result(report=_failure_report(session, reason), usage=NO_USAGE)
        event = await host.conclude(atom, result, nonce)
        said = await _conclusion(host, atom, event)
        return {**said, "success": said["status"] == str(Status.PENDING)}


async def bind(root: Path, atom: AtomId, summary: str, artifacts: Sequence[str]) -> dict[str, Any]:
    """Words for the result: kept for the coming claim, or put in place of earlier ones."""
    said = {"success": True, "atom_id": atom, "artifacts_count": len(artifacts)}
    if not summary.strip():
        raise UnusableInput("a binding needs a summary")
    async with open_hosted(root, session_here()) as host:
        plan = host.plan
        if atom in plan.sessions:
            note = host.redacted({"summary": summary, "artifacts": list(artifacts)})
            path = host.folder_of(atom) / BINDING
            path.write_text(json.dumps(note, ensure_ascii=False) + "\n", encoding="utf-8")
            return {**said, "status": str(Status.IN_PROGRESS)}
        host_atom = plan.atoms.get(atom)
        if host_atom is None or host_atom.status is not Status.RESOLVED:
            raise NotNow(f"{atom} is neither in progress nor resolved")
        old = plan.bindings.get(atom)
        if old is not None and (old.summary, old.artifacts) == (summary, tuple(artifacts)):
            return {**said, "status": str(Status.RESOLVED)}
        _refuse_to_undo(plan, atom)
        edit = OverrideBinding(atom=atom, summary=summary, artifacts=tuple(artifacts))
        await host.override(edit, why=f"what {atom} came to, in other words")
        return {**said, "status": str(Status.RESOLVED)}


def _refuse_to_undo(plan: Plan, atom: AtomId) -> None:
    """Refuse where new words would undo dependent results or end sessions in flight."""
    from dwindle.kernel.branches import dependents  # noqa: PLC0415 - rarely asked for

    begun = [
        name
        for name in dependents(plan, (atom,))
        if plan.atoms[name].status is not Status.PENDING and name not in view(plan).shape.kids
    ]
    if plan.sessions:
        raise NotNow(
            f"{atom} has its binding, and another would end the sessions in flight "
            f"({', '.join(plan.sessions)}); say it with the claim: update_atom {atom} resolved "
            "--summary ..."
        )
    if begun:
        raise NotNow(
            f"{', '.join(begun)} was built upon {atom} already; `dwindle redirect --bind "
            f"{atom}=...` changes it and does that again"
        )


# --- the run -------------------------------------------------------------------------------------


async def complete(root: Path, judged: bytes | None = None) -> dict[str, Any]:
    """Run the base case; the run is completed if it holds, and not otherwise."""
    verdicts: dict[Check, VerifierReport] = {}

    async def judge(check: Check, _tree: Path) -> VerifierReport | NoReport:
        reason = "no verifier has judged it"
        return verdicts.get(check) or NoReport(trouble=Trouble.NO_REPORT, reason=reason)

    handed: Judge = judge
    async with open_hosted(root, session_here(), handed) as host:
        said_of = _verdicts(
            host.plan, None if judged is None else redact_bytes(judged, host.secrets)
        )
        verdicts.update({check: host.redacted(said) for check, said in said_of.items()})
        decision = await host.next()
        if decision.stop is None:
            _refuse_unjudged(host.plan, verdicts)
            decision = await host.verify()
        plan = host.plan
        said = {"success": False, "status": str(plan.control.status)}
        if decision.stop is not None and decision.stop.code is StopCode.COMPLETED:
            return {**said, "success": True, "next": what_next(plan, decision)}
        why = decision.stop.reason if decision.stop else "the base case does not hold"
        gaps = [entry.reason for entry in plan.trail[-3:]]
        return {**said, "error": why, "trail": gaps, "next": what_next(plan, decision)}


async def stop(root: Path, reason: str) -> dict[str, Any]:
    async with open_hosted(root, session_here()) as host:
        decision = await host.stop(reason or "stopped by hand")
        said = {"success": True, "status": str(host.plan.control.status)}
        said["reason"] = host.redacted(reason)
        return {**said, "next": what_next(host.plan, decision)}


async def pause(root: Path, *, active: bool) -> dict[str, Any]:
    """Pause for a redirect: sessions in flight are void and none starts; or resume."""
    async with open_hosted(root, session_here()) as host:
        decision = await host.pause(active=active)
        return {"success": True, **state(host.plan), "next": what_next(host.plan, decision)}


def _verdicts(plan: Plan, judged: bytes | None) -> dict[Check, VerifierReport]:
    """Each judgement, read as the report of a verifier who was given that check."""
    if judged is None:
        return {}
    try:
        found = json.loads(judged)
    except (ValueError, RecursionError) as error:
        raise UnusableInput(f"the judgements are no JSON: {error}") from None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise UnusableInput('the judgements have to be a list of {"item", "passed", "evidence"}')
    by_item = {item: c for _, item, c in checks(items(plan.objective.base_case)) if is_judged(c)}
    said: dict[Check, VerifierReport] = {}
    for one in found:
        item = one.pop("item", None)
        if item not in by_item:
            known = ", ".join(map(repr, by_item)) or "nothing"
            raise UnusableInput(f"{item!r} is not to be judged; what has to be judged: {known}")
        session = Session(nonce=plan.control.revision, number=0, role=Role.VERIFIER)
        order = order_to_judge(plan, session, by_item[item], item=item, atom=ROOT)
        read_as = decode(order, json.dumps(one).encode()).report
        if not isinstance(read_as, VerifierReport):
            reason = read_as.reason if isinstance(read_as, NoReport) else "not a verdict"
            raise UnusableInput(f"the judgement of {item!r}: {reason}")
        said[by_item[item]] = read_as
    return said


def _refuse_unjudged(plan: Plan, verdicts: dict[Check, VerifierReport]) -> None:
    """Before a round is charged for it."""
    if not verdicts and (missing := judged_items(plan)):
        raise NotNow(
            f"a verifier has to judge first: {'; '.join(missing)}. Give what it said as --judged "
            '\'[{"item": ..., "passed": ..., "evidence": ...}]\''
        )


# --- outside of the session ----------------------------------------------------------------------


def run_detached(root: Path) -> dict[str, Any]:
    """Start `dwindle run`, which goes on when the session is gone."""
    if current_lease(root) is not None:
        hint = "end it first: /exit-recursion"
        raise Refused("the loop runs inside of a session", hint=hint, code=LOCKED)
    log = root / DETACHED_LOG
    log.parent.mkdir(exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if k != "CLAUDECODE"}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "dwindle", "run", "--plan", "graph"],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    end = time.monotonic() + BEGIN_SECONDS
    while time.monotonic() < end and process.poll() is None:
        line = line_to(root)
        if line is not None:
            line.close()
            return {
                "success": True,
                "pid": process.pid,
                "log": str(log),
                "reason": "running; `dwindle status` says how it goes, `dwindle stop` ends it",
            }
        time.sleep(0.05)
    said = log.read_text(encoding="utf-8", errors="replace")[-2000:].strip()
    if process.poll() == 0:
        return {"success": True, "pid": process.pid, "log": str(log), "reason": said}
    return {"success": False, "error": said or "the run did not begin", "log": str(log)}


# --- tools ---------------------------------------------------------------------------------------


def _binding_note(host: Host, atom: AtomId) -> dict[str, Any]:
    try:
        found = json.loads((host.folder_of(atom) / BINDING).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_success(said: Report) -> bool:
    """`fail` ignores such a report."""
    return isinstance(said, WorkerReport) and said.success


def _failure_report(session: Session, reason: str) -> Report:
    reason = reason or "it was put back to pending without a word on why"
    if session.role is Role.PROBE:
        return ProbeReport(feasible=True, findings=reason)
    return WorkerReport(success=False, reason=reason)


async def _conclusion(host: Host, atom: AtomId, event: Concluded) -> dict[str, Any]:
    decision = await host.next()
    held = host.plan.atoms.get(atom)
    status = str(held.status) if held is not None else "removed"
    said: dict[str, Any] = {"success": True, "atom_id": atom, "status": status}
    if isinstance(event, AttemptFailed):
        said |= {"success": False, "error": event.reason}
    elif not isinstance(event, AtomResolved):
        said["came_to"] = type(event).__name__
    return {**said, "next": what_next(host.plan, decision)}
