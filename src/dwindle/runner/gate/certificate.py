"""The certificate: what was checked, on which commit, with which result.

It has everything that is needed to run the checks again and to compare. As JSON it has exactly one
spelling, and any other is refused on reading, so an edited certificate does not pass for ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

import msgspec

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.events import NO_USAGE, Usage
from dwindle.kernel.graph import view
from dwindle.kernel.model import Answer, Check, CheckType, Plan, Question, Role, Status, TrailEntry
from dwindle.kernel.winds import parked
from dwindle.ports.process import Strength
from dwindle.runner.gate.steering import exempt_files
from dwindle.runner.gate.verification import By, CheckFinding, Round

Amount = int | float | str | bool | None


class NotACertificate(Exception):
    """The bytes are not a certificate as we write it, and why."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"this is not a certificate as it was written: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRecord:
    """One check of the base case and its verdict."""

    place: tuple[int, ...]
    """Where it stands in the checklist."""
    item: str
    type: CheckType
    command: str
    """Or the path, the pattern, the sentence, the criteria."""
    control: str | None = None
    verdict: Verdict
    judged_by: By
    exit_code: int | None = None
    seconds: float = 0.0
    digest: str = ""
    """sha256 of all that the command printed."""
    tests: int | None = None
    evidence: str = ""

    @property
    def claim(self) -> tuple[object, ...]:
        """What is checked, without the result."""
        return (self.place, self.item, self.type, self.command, self.control)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contained:
    """The sandbox of agents and checks, and what the user allowed besides."""

    strength: Strength
    mechanism: str
    network: bool = True
    writable: tuple[str, ...] = ()
    """Besides a session's own folders."""
    env: tuple[str, ...] = ()
    """Names of variables, besides the usual ones."""
    processes: int | None = None
    memory_bytes: int | None = None
    file_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What the sessions of one role took, up to the end of the round."""

    role: str
    sessions: int
    seconds: float
    tokens: int
    read: int
    cached: int
    written: int
    usd: float
    estimated: bool
    """Part of the price is an estimate from our price table."""
    unpriced: int
    """Tokens of sessions without a known price."""

    def plus(self, usage: Usage) -> Charge:
        return replace(
            self,
            tokens=self.tokens + usage.tokens,
            read=self.read + usage.read,
            cached=self.cached + usage.cached,
            written=self.written + usage.written,
            usd=self.usd + usage.usd,
            estimated=self.estimated or usage.estimated,
            unpriced=self.unpriced + (0 if usage.usd else usage.tokens),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftParked:
    """An atom, or a group, for which nothing was left to try when the round ended."""

    name: str
    reason: str
    """Why the last attempt failed; empty if the Trail does not say."""
    holds_up: tuple[str, ...] = ()
    """Open atoms that waited for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    format: Literal["dwindle-certificate-1"] = "dwindle-certificate-1"
    run: str
    goal: str
    at: str
    """When the round ended."""
    commit: str
    tree: str
    """The hash of the tree that was checked."""
    aligned_commit: str
    pins: tuple[str, ...]
    verdict: Verdict
    checks: tuple[CheckRecord, ...]
    questions: tuple[Question, ...] = ()
    """What a person was asked, and what they said."""
    limits: dict[str, Amount]
    spent: dict[str, int | float]
    charges: tuple[Charge, ...] = ()
    """By role; empty without a journal."""
    containment: Contained
    trail: tuple[TrailEntry, ...] = ()
    not_needed: tuple[str, ...] = ()
    """Atoms that were still open: the base case held without them."""
    parked: tuple[LeftParked, ...] = ()
    """Of the atoms that were still open, those that had been given up for the time being."""
    work_paths: tuple[str, ...] = ()
    """With these, the commit was laid over the judge's ground; without, a list of files decided."""
    as_aligned: tuple[str, ...] = ()
    """Changed outside of the work paths, and not part of what was checked."""
    new_tests: tuple[str, ...] = ()
    """Left out of the run that decided; the checks held with them too."""
    exempt: tuple[str, ...] = ()
    """Without work paths: files that the plan asks for, which therefore do not steer."""
    written_judges: tuple[str, ...] = ()
    """Files that decided a check, that were not there at alignment, and that agents wrote."""

    @property
    def holds(self) -> bool:
        """Every check passed and every question was answered yes."""
        return self.verdict is Verdict.PASSED and all(
            question.answer is Answer.YES for question in self.questions
        )

    def with_answers(self, questions: Sequence[Question]) -> Certificate:
        """With the answers of a person, who now decides those checks."""
        said = {q.item: q for q in questions if q.answer is not Answer.OPEN}
        asked = tuple(said.get(q.item, q) for q in self.questions)
        checks = tuple(_with_answer(record, said) for record in self.checks)
        return replace(self, questions=asked, checks=checks)

    def to_json(self) -> bytes:
        """Two-space indentation, fields in the order above, a newline at the end.

        What was added later is not mentioned where it is empty, so that certificates from before
        are read.
        """
        content = asdict(self)
        for name in ("parked", "work_paths", "as_aligned", "new_tests", "exempt", "written_judges"):
            if not content[name]:
                del content[name]
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
        return f"{text}\n".encode("utf-8", "replace")

    @classmethod
    def from_json(cls, content: bytes) -> Certificate:
        """Raise NotACertificate unless these are the bytes that `to_json` writes."""
        try:
            found = msgspec.json.decode(content, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise NotACertificate(str(problem)) from problem
        if found.to_json() != content:
            raise NotACertificate("it was changed, has unknown fields, or is written another way")
        return found


def _with_answer(record: CheckRecord, said: Mapping[str, Question]) -> CheckRecord:
    if record.type is not CheckType.ASSERTION or record.item not in said:
        return record
    answer = said[record.item].answer
    verdict = Verdict.PASSED if answer is Answer.YES else Verdict.FAILED
    return replace(record, verdict=verdict, judged_by=By.PERSON)


def certificate(  # noqa: PLR0913 - what a certificate is made of
    plan: Plan,
    seen: Round,
    *,
    tree: str,
    contained: Contained,
    at: str,
    charges: Sequence[Charge] = (),
    judging: Usage = NO_USAGE,
) -> Certificate:
    """The certificate of a round, for the plan as it was when the round ended.

    `charges` are what the journal has; `judging` is what the verifiers of this round used, which is
    not on record yet.
    """
    aligned = plan.control.aligned
    spent = replace(
        plan.spent, tokens=plan.spent.tokens + judging.tokens, usd=plan.spent.usd + judging.usd
    )
    return Certificate(
        run=plan.control.run_id or "",
        goal=plan.objective.goal,
        at=at,
        commit=seen.commit,
        tree=tree,
        aligned_commit=aligned.commit if aligned else "",
        pins=aligned.pins if aligned else (),
        verdict=seen.verdict,
        checks=tuple(map(_record, seen.findings)),
        questions=tuple(Question(item=item) for item in seen.questions),
        limits={
            field.name: getattr(plan.limits, field.name)
            for field in fields(plan.limits)
            if field.name != "stated"
        },
        spent=asdict(spent),
        charges=tuple(
            charge.plus(judging) if charge.role == Role.VERIFIER else charge for charge in charges
        ),
        containment=contained,
        trail=plan.trail,
        not_needed=open_atoms(plan),
        parked=tuple(
            LeftParked(name=one.name, reason=one.reason, holds_up=one.holds_up)
            for one in parked(plan)
        ),
        work_paths=plan.objective.work_paths,
        as_aligned=seen.overlay.outside,
        new_tests=seen.overlay.later,
        exempt=() if plan.objective.work_paths else exempt_files(plan.objective),
        written_judges=tuple(judge.path for judge in seen.written),
    )


def open_atoms(plan: Plan) -> tuple[str, ...]:
    live = view(plan).live
    return tuple(
        atom.id
        for atom in plan.atoms.values()
        if atom.id in live and atom.status is not Status.RESOLVED
    )


def _record(finding: CheckFinding) -> CheckRecord:
    result = finding.result
    return CheckRecord(
        place=finding.place,
        item=finding.item,
        type=result.check.type,
        command=_claim_text(result.check),
        control=result.check.control,
        verdict=result.verdict,
        judged_by=finding.by,
        exit_code=result.exit_code,
        seconds=round(result.seconds, 3),
        digest=result.digest,
        tests=result.tests,
        evidence=result.evidence,
    )


def _claim_text(check: Check) -> str:
    if check.type is not CheckType.QUALITY:
        return check.value or ""
    lines = "; ".join(f"{line.criterion} x {line.weight:g}" for line in check.rubric)
    scope = f" in {check.scope}" if check.scope else ""
    return f"{check.criteria or lines} >= {check.pass_threshold:g}{scope}"


# --- comparing -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    holds: bool
    because: str
    differences: tuple[str, ...] = ()


def compare(old: Certificate, new: Certificate) -> Comparison:
    """Does what was certified still hold, as `new` (the same checks, run again) has it?

    Fewer tests or another commit are said, but do not break it: every check still has to pass by
    itself, and that is what a certificate says. What a check that passes prints is no difference:
    test tools print how long they took.
    """
    differences = [*_headings(old, new), *_claims(old, new)]
    before = {record.claim: record for record in old.checks}
    for record in new.checks:
        if record.claim in before:
            differences += _changes(before[record.claim], record)
    if [record.claim for record in old.checks] != [record.claim for record in new.checks]:
        return Comparison(
            holds=False,
            because="the base case is not the one that was certified",
            differences=tuple(differences),
        )
    if not new.holds:
        missing = [r.item for r in new.checks if r.verdict is not Verdict.PASSED]
        missing += [q.item for q in new.questions if q.answer is not Answer.YES]
        return Comparison(
            holds=False,
            because=f"not passed now: {', '.join(dict.fromkeys(missing))}",
            differences=tuple(differences),
        )
    return Comparison(
        holds=True, because="every check passed again", differences=tuple(differences)
    )


def _headings(old: Certificate, new: Certificate) -> list[str]:
    pairs: list[tuple[str, Any, Any]] = [
        ("the commit", old.commit, new.commit),
        ("the tree", old.tree, new.tree),
        ("the commit of alignment", old.aligned_commit, new.aligned_commit),
        ("the pins", ", ".join(old.pins), ", ".join(new.pins)),
        ("the work paths", ", ".join(old.work_paths), ", ".join(new.work_paths)),
        ("the containment", old.containment.strength, new.containment.strength),
    ]
    return [
        f"{what}: {before or 'none'} then, {after or 'none'} now"
        for what, before, after in pairs
        if before != after
    ]


def _claims(old: Certificate, new: Certificate) -> list[str]:
    then, now = {r.claim for r in old.checks}, {r.claim for r in new.checks}
    gone = [f"{r.item}: no longer checked: {r.command}" for r in old.checks if r.claim not in now]
    return gone + [
        f"{r.item}: was not checked then: {r.command}" for r in new.checks if r.claim not in then
    ]


def _changes(old: CheckRecord, new: CheckRecord) -> list[str]:
    found = []
    if old.verdict is not new.verdict:
        found.append(f"{new.item}: {old.verdict} then, {new.verdict} now")
    if old.exit_code != new.exit_code:
        found.append(f"{new.item}: exit code {old.exit_code} then, {new.exit_code} now")
    if old.tests != new.tests:
        found.append(f"{new.item}: {old.tests} tests then, {new.tests} now")
    if old.digest != new.digest and new.verdict is not Verdict.PASSED:
        found.append(f"{new.item}: printed something else")
    return found
