"""What a session inside of a host may do to the plan: the verbs of `dwindle state`.

Every one of them answers with one JSON object, and so does every refusal. What is illegal is
refused with the reason and changes nothing; what is legal is charged, checked and recorded just as
in any other run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dwindle import wiring
from dwindle.adapters.agents.report import decode
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
from dwindle.ports.secrecy import told_bytes
from dwindle.ports.work import (
    NoReport,
    ProbeReport,
    Report,
    Result,
    Trouble,
    VerifierReport,
    WorkerReport,
)
from dwindle.runner.hosting import REPORT, Concluded, Host, NotNow
from dwindle.runner.judgement import Judge, is_judged
from dwindle.runner.orders import order_to_judge
from dwindle.surfaces.host.answers import judged_items, state, what_next
from dwindle.surfaces.host.hosted import books, entered, hosted, locked
from dwindle.surfaces.host.tenancy import LOCKED, session_here, tenancy
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.running import PLAN_FILE, NotReady

BINDING = "binding.json"
"""What a session says of its result before the result is looked at, in its folder."""


class Unfit(NotNow):
    """What was given cannot be used; nothing was changed."""


def read(root: Path) -> dict[str, Any]:
    """Anybody may, at any time; whoever has the plan is not waited for."""
    try:
        with locked(root, patience=0), books(root) as (ledger, _):
            return state(ledger.plan)
    except (Refused, OSError) as error:
        if isinstance(error, Refused) and error.code != LOCKED:
            raise
        loaded = wiring.load_graph((root / PLAN_FILE).read_bytes())
        if loaded.plan is None:
            raise NotReady(loaded.problems) from None
        return state(loaded.plan)


async def enter(root: Path) -> dict[str, Any]:
    async with entered(root, session_here()) as host:
        decision = await host.next()
        return {"success": True, **state(host.plan), "next": what_next(host.plan, decision)}


async def coming(root: Path) -> dict[str, Any]:
    """What there is to do now; of a run that is over, that it is."""
    if tenancy(root, session_here()) is None:
        with locked(root), books(root) as (ledger, _):
            plan = ledger.plan
            if plan.control.status in (RunStatus.STOPPED, RunStatus.COMPLETED):
                return {"success": True, **state(plan), "next": what_next(plan, decide(plan))}
    async with hosted(root, session_here()) as host:
        decision = await host.next()
        return {"success": True, **state(host.plan), "next": what_next(host.plan, decision)}


# --- atoms ---------------------------------------------------------------------------------------


async def begin(root: Path, atom: AtomId) -> dict[str, Any]:
    async with hosted(root, session_here()) as host:
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
    """A claim of success: its evidence is looked at, its work integrated; or it is refused."""
    async with hosted(root, session_here()) as host:
        if host.in_flight(atom, nonce).role is not Role.WORKER:
            raise NotNow(f"{atom} is being probed: a probe finds out, and resolves nothing")
        noted = _noted(host, atom)
        summary = summary or str(noted.get("summary", ""))
        artifacts = artifacts or tuple(noted.get("artifacts", ()))
        found = host.reported(atom)
        result = found or Result(report=WorkerReport(success=True), usage=NO_USAGE)
        if isinstance(result.report, WorkerReport):
            said = replace(
                result.report,
                summary=summary or result.report.summary,
                artifacts=tuple(artifacts) or result.report.artifacts,
            )
            result = replace(result, report=said)
        return await _concluded(host, atom, await host.conclude(atom, result, nonce))


async def report(root: Path, atom: AtomId, data: bytes, nonce: int | None = None) -> dict[str, Any]:
    """What a session has to say, in full: findings, a decomposition, alternatives, a failure."""
    async with hosted(root, session_here()) as host:
        host.in_flight(atom, nonce)
        result = host.read(atom, data)
        return await _concluded(host, atom, await host.conclude(atom, result, nonce))


async def fail(
    root: Path, atom: AtomId, nonce: int | None = None, reason: str = ""
) -> dict[str, Any]:
    """Back to pending: the attempt that is in flight has failed."""
    async with hosted(root, session_here()) as host:
        held = host.plan.atoms.get(atom)
        if held is not None and held.status is Status.PENDING:
            return {"success": True, "atom_id": atom, "status": str(Status.PENDING)}
        if held is not None and held.status is Status.RESOLVED:
            raise NotNow(f"{atom} is resolved; only a redirect opens it again: /redirect")
        session = host.in_flight(atom, nonce)
        result = host.reported(atom)
        if result is None or _claims(result.report):
            result = Result(report=_given_up(session, reason), usage=NO_USAGE)
        event = await host.conclude(atom, result, nonce)
        said = await _concluded(host, atom, event)
        return {**said, "success": said["status"] == str(Status.PENDING)}


async def bind(root: Path, atom: AtomId, summary: str, artifacts: Sequence[str]) -> dict[str, Any]:
    """Words for the result: kept for the claim that is to come, or put in place of others."""
    said = {"success": True, "atom_id": atom, "artifacts_count": len(artifacts)}
    if not summary.strip():
        raise Unfit("a binding needs a summary")
    async with hosted(root, session_here()) as host:
        plan = host.plan
        if atom in plan.sessions:
            note = host.told({"summary": summary, "artifacts": list(artifacts)})
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
    """Other words undo what was built upon a result, and end what runs; nobody means that here."""
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
    """The base case is run; the run is completed if it holds, and not otherwise."""
    verdicts: dict[Check, VerifierReport] = {}

    async def judge(check: Check, _tree: Path) -> VerifierReport | NoReport:
        reason = "nobody has judged it"
        return verdicts.get(check) or NoReport(trouble=Trouble.NO_REPORT, reason=reason)

    handed: Judge = judge
    async with hosted(root, session_here(), handed) as host:
        said_of = _verdicts(host.plan, None if judged is None else told_bytes(judged, host.secrets))
        verdicts.update({check: host.told(said) for check, said in said_of.items()})
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
    async with hosted(root, session_here()) as host:
        decision = await host.stop(reason or "stopped by hand")
        said = {"success": True, "status": str(host.plan.control.status)}
        said["reason"] = host.told(reason)
        return {**said, "next": what_next(host.plan, decision)}


async def pause(root: Path, *, active: bool) -> dict[str, Any]:
    """Somebody is about to redirect: what is in flight is void, nothing starts; or they left."""
    async with hosted(root, session_here()) as host:
        decision = await host.pause(active=active)
        return {"success": True, **state(host.plan), "next": what_next(host.plan, decision)}


def _verdicts(plan: Plan, judged: bytes | None) -> dict[Check, VerifierReport]:
    """Each judgement, read as the report of a verifier who was given that check."""
    if judged is None:
        return {}
    try:
        found = json.loads(judged)
    except ValueError as error:
        raise Unfit(f"the judgements are no JSON: {error}") from None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise Unfit('the judgements have to be a list of {"item", "passed", "evidence"}')
    by_item = {item: c for _, item, c in checks(items(plan.objective.base_case)) if is_judged(c)}
    said: dict[Check, VerifierReport] = {}
    for one in found:
        item = one.pop("item", None)
        if item not in by_item:
            known = ", ".join(map(repr, by_item)) or "nothing"
            raise Unfit(f"nobody has to judge {item!r}; what has to be judged: {known}")
        session = Session(nonce=plan.control.revision, number=0, role=Role.VERIFIER)
        order = order_to_judge(plan, session, by_item[item], item=item, atom=ROOT)
        read_as = decode(order, json.dumps(one).encode()).report
        if not isinstance(read_as, VerifierReport):
            reason = read_as.reason if isinstance(read_as, NoReport) else "not a verdict"
            raise Unfit(f"the judgement of {item!r}: {reason}")
        said[by_item[item]] = read_as
    return said


def _refuse_unjudged(plan: Plan, verdicts: dict[Check, VerifierReport]) -> None:
    """Before a round is charged for it."""
    if not verdicts and (missing := judged_items(plan)):
        raise NotNow(
            f"a verifier has to judge first: {'; '.join(missing)}. Give what it said as --judged "
            '\'[{"item": ..., "passed": ..., "evidence": ...}]\''
        )


# --- tools ---------------------------------------------------------------------------------------


def _noted(host: Host, atom: AtomId) -> dict[str, Any]:
    try:
        found = json.loads((host.folder_of(atom) / BINDING).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _claims(said: Report) -> bool:
    """A claim of success is not taken for one when it is given up."""
    return isinstance(said, WorkerReport) and said.success


def _given_up(session: Session, reason: str) -> Report:
    reason = reason or "it was put back to pending without a word on why"
    if session.role is Role.PROBE:
        return ProbeReport(feasible=True, findings=reason)
    return WorkerReport(success=False, reason=reason)


async def _concluded(host: Host, atom: AtomId, event: Concluded) -> dict[str, Any]:
    decision = await host.next()
    held = host.plan.atoms.get(atom)
    status = str(held.status) if held is not None else "removed"
    said: dict[str, Any] = {"success": True, "atom_id": atom, "status": status}
    if isinstance(event, AttemptFailed):
        said |= {"success": False, "error": event.reason}
    elif not isinstance(event, AtomResolved):
        said["came_to"] = type(event).__name__
    return {**said, "next": what_next(host.plan, decision)}


def refused(error: Refused) -> dict[str, Any]:
    return {"success": False, "error": error.what, "hint": error.hint}
