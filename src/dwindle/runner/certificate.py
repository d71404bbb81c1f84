"""The certificate: what was checked, on which commit, and what came of it.

It is what a run leaves behind for people who were not there: enough to run everything again, and to
say afterwards what is different. As JSON it has exactly one spelling; anything else is refused when
it is read, so that a certificate that was edited, even harmlessly, does not pass for ours.
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
from dwindle.ports.process import Strength
from dwindle.runner.verification import By, Finding, Round

Amount = int | float | str | bool | None


class NotACertificate(Exception):
    """The bytes are no certificate of ours; `why` says what gave them away."""

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
        """What is checked, without what came of it."""
        return (self.place, self.item, self.type, self.command, self.control)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contained:
    """What agents and checks were kept from, and what a person let them have all the same."""

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
    """Some of the price was worked out from a table of ours."""
    unpriced: int
    """Tokens of sessions of which nobody knows what they cost."""

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
    """By role; empty where nobody kept a journal."""
    containment: Contained
    trail: tuple[TrailEntry, ...] = ()
    not_needed: tuple[str, ...] = ()
    """Atoms that were still open: the base case held without them."""

    @property
    def holds(self) -> bool:
        """Every check passed and every question was answered yes."""
        return self.verdict is Verdict.PASSED and all(
            question.answer is Answer.YES for question in self.questions
        )

    def with_answers(self, questions: Sequence[Question]) -> Certificate:
        """A person has spoken; the word on those checks is theirs from now on."""
        said = {q.item: q for q in questions if q.answer is not Answer.OPEN}
        asked = tuple(said.get(q.item, q) for q in self.questions)
        checks = tuple(_confirmed(record, said) for record in self.checks)
        return replace(self, questions=asked, checks=checks)

    def to_json(self) -> bytes:
        """Two-space indentation, fields in the order above, a newline at the end."""
        text = json.dumps(asdict(self), indent=2, ensure_ascii=False, allow_nan=False)
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


def _confirmed(record: CheckRecord, said: Mapping[str, Question]) -> CheckRecord:
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
    """Say what a round found, for the plan as it was when the round ended.

    `charges` are what is on record; `judging`, what the judges of this very round have used, is
    not there yet.
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
    )


def open_atoms(plan: Plan) -> tuple[str, ...]:
    live = view(plan).live
    return tuple(
        atom.id
        for atom in plan.atoms.values()
        if atom.id in live and atom.status is not Status.RESOLVED
    )


def _record(finding: Finding) -> CheckRecord:
    result = finding.result
    return CheckRecord(
        place=finding.place,
        item=finding.item,
        type=result.check.type,
        command=_claimed(result.check),
        control=result.check.control,
        verdict=result.verdict,
        judged_by=finding.by,
        exit_code=result.exit_code,
        seconds=round(result.seconds, 3),
        digest=result.digest,
        tests=result.tests,
        evidence=result.evidence,
    )


def _claimed(check: Check) -> str:
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

    Fewer tests, another commit or other output are said, but do not break it: every check still
    has to pass by itself, and that is what a certificate says.
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
    if old.digest != new.digest:
        found.append(f"{new.item}: printed something else")
    return found
