"""The proof of a run: its base case, and the certificate of the last round."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dwindle.app.paths import certificate_path
from dwindle.kernel.model import Check, ChecklistItem, Plan
from dwindle.runner.gate.certificate import Certificate, CheckRecord, NotACertificate
from dwindle.text.escape import excerpt
from dwindle.views.read_model.nodes import check_line
from dwindle.views.read_model.shapes import CheckView

LARGEST = 16 << 20


def base_case_of(plan: Plan) -> list[CheckView]:
    """Every line of the checklist; one that has others below it has no check of its own."""
    base = plan.objective.base_case
    if base.check is not None:
        return [_unjudged_view("The base case", base.check, 0)]
    return [view for item in base.checklist for view in _lines(item, 0)]


def _lines(item: ChecklistItem, depth: int) -> Iterator[CheckView]:
    yield _unjudged_view(item.item, item.check, depth, "any of" if item.any_of else "all of")
    for below in (*item.group, *item.any_of):
        yield from _lines(below, depth + 1)


def _unjudged_view(item: str, check: Check | None, depth: int, otherwise: str = "") -> CheckView:
    kind, _, command = ("", "", "") if check is None else check_line(check).partition(": ")
    return CheckView(
        item=excerpt(item),
        type=kind or otherwise,
        command=command,
        depth=depth,
        verdict="",
        judged_by="",
        exit_code=None,
        seconds=0.0,
        tests=None,
        evidence="",
    )


def certificate_of(root: Path, run: str) -> tuple[dict[str, Any] | None, str]:
    """The certificate, if there is one; and what is wrong with it, if something is."""
    path = certificate_path(root, run)
    try:
        if path.stat().st_size > LARGEST:
            return None, "the certificate is too large"
        found = Certificate.from_json(path.read_bytes())
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"the certificate cannot be read: {error.strerror}"
    except NotACertificate as error:
        return None, excerpt(str(error))
    return {
        "holds": found.holds,
        "verdict": found.verdict.value,
        "at": found.at,
        "commit": excerpt(found.commit),
        "tree": excerpt(found.tree),
        "aligned_commit": excerpt(found.aligned_commit),
        "pins": [excerpt(pin) for pin in found.pins],
        "checks": [_judged_view(record) for record in found.checks],
        "questions": [
            {"item": excerpt(q.item), "answer": q.answer.value, "words": excerpt(q.words)}
            for q in found.questions
        ],
        "containment": {
            "strength": found.containment.strength.value,
            "mechanism": excerpt(found.containment.mechanism),
        },
        "not_needed": [excerpt(atom) for atom in found.not_needed],
        "parked": [
            {"name": excerpt(one.name), "reason": excerpt(one.reason), "holds_up": [*one.holds_up]}
            for one in found.parked
        ],
    }, ""


def _judged_view(record: CheckRecord) -> CheckView:
    return CheckView(
        item=excerpt(record.item),
        type=record.type.value,
        command=excerpt(record.command),
        depth=max(0, len(record.place) - 1),
        verdict=record.verdict.value,
        judged_by=record.judged_by.value,
        exit_code=record.exit_code,
        seconds=record.seconds,
        tests=record.tests,
        evidence=excerpt(record.evidence),
    )
