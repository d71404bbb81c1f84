"""Files of an older contract: read as they were meant, written as v1.3."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwindle.adapters.formats.graph.plan import Decoded, decode
from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Binding,
    Check,
    CheckType,
    Control,
    Correction,
    CorrectionType,
    GroupId,
    Limits,
    Objective,
    OrGroup,
    Plan,
    RunStatus,
    Spent,
    Status,
)

DATA = Path(__file__).parent / "data" / "graph"


def plan_of(data: bytes) -> Plan:
    decoded = decode(data)
    assert decoded.problems == ()
    assert decoded.plan is not None
    return decoded.plan


def read(name: str) -> bytes:
    return (DATA / name).read_bytes()


def test_an_older_file_is_brought_up_to_date() -> None:
    decoded = decode(read("older_contract.md"))
    assert decoded == Decoded(
        plan=Plan(
            objective=Objective(
                goal="Ship the bundle",
                base_case=BaseCase(check=Check(type=CheckType.FILE, value="./dist/bundle.js")),
                background_intent="The page loads forty scripts",
                deliverables="One bundle",
                definition_of_done="The bundle is there",
            ),
            limits=Limits(max_atoms=51),
            spent=Spent(created=1),
            control=Control(status=RunStatus.STOPPED, iteration=4),
            atoms={
                AtomId("A1"): Atom(
                    id=AtomId("A1"),
                    description="Choose a tool",
                    status=Status.RESOLVED,
                    or_group=GroupId("tool"),
                )
            },
            groups={
                GroupId("tool"): OrGroup(
                    id=GroupId("tool"), choices=(AtomId("A1"),), selected=AtomId("A1")
                )
            },
            bindings={AtomId("A1"): Binding(summary="12:30 on the clock, NO surprises")},
            corrections=(
                Correction(
                    timestamp="2025-01-15T10:30:00Z",
                    type=CorrectionType.DAG_ADJUSTMENT,
                    description="Bundle with another tool",
                    trail_cleared=False,
                ),
            ),
        ),
        body=b"Body without a heading\n",
    )


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (b'"exists: ./dist/bundle.js"', "./dist/bundle.js"),
        (b"{exists: ./dist/bundle.js}", "./dist/bundle.js"),
        (b"./dist/bundle.js", "./dist/bundle.js"),
    ],
)
def test_older_files_may_say_exists(value: bytes, path: str) -> None:
    data = read("older_contract.md").replace(b'"exists: ./dist/bundle.js"', value)
    assert plan_of(data).objective.base_case.check == Check(type=CheckType.FILE, value=path)
