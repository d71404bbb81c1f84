"""Orders to report on, and shorthands for reading what is reported."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from dwindle.adapters.agents.reports.report import DecodedReport, decode
from dwindle.kernel.model import ROOT, AtomId, Check, CheckType, Criterion, Role
from dwindle.ports.work import NoReport, Purpose, Report, Trouble, WorkOrder

WORK = WorkOrder(
    role=Role.WORKER,
    purpose=Purpose.WORK,
    run="01RUN",
    atom=AtomId("A1"),
    description="do it",
    goal="a goal",
    attempt=4,
    nonce=9,
)
LOOK = replace(WORK, role=Role.PROBE, purpose=Purpose.LOOK)
JUDGE = replace(WORK, role=Role.VERIFIER, purpose=Purpose.JUDGE, atom=ROOT)
RUBRIC = Check(
    type=CheckType.QUALITY,
    pass_threshold=3.5,
    rubric=(Criterion(criterion="clear", weight=2), Criterion(criterion="short", weight=1)),
)
DONE = {"success": True, "summary": "done", "artifacts": ["a.py"]}


def read(order: WorkOrder, found: Any) -> Report:
    return decode(order, json.dumps(found).encode()).report


def fault(order: WorkOrder, found: Any) -> str:
    return refusal(decode(order, found if isinstance(found, bytes) else json.dumps(found).encode()))


def refusal(decoded: DecodedReport) -> str:
    report = decoded.report
    assert isinstance(report, NoReport)
    assert report.trouble is Trouble.MALFORMED
    assert report.reason.startswith("the report is malformed: ")
    return report.reason.removeprefix("the report is malformed: ")
