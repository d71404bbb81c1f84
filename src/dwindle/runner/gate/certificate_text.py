"""A certificate for people: 80 columns, what matters first."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Answer, TrailEntry, TrailType
from dwindle.ports.process import Strength
from dwindle.runner.gate.certificate import Certificate, CheckRecord, Contained
from dwindle.runner.gate.deciding_files import question_about
from dwindle.text import amounts

COLUMNS = 80
MARKS = {
    Verdict.PASSED: "[pass]",
    Verdict.FAILED: "[FAIL]",
    Verdict.COULD_NOT_RUN: "[????]",
    Verdict.NOT_JUDGED: "[----]",
}
ANSWERS = {Answer.OPEN: "not answered yet", Answer.YES: "yes", Answer.NO: "no"}
LIMITS = (
    ("sessions", None),
    ("created", "max_atoms"),
    ("verifications", "max_verifications"),
    ("backjumps", "max_backjumps"),
    ("winds", "max_winds"),
    ("forgiven", "max_forgiven"),
    ("redirects", "max_redirects"),
    ("seconds", "max_wall_seconds"),
    ("tokens", "max_tokens"),
    ("usd", "max_cost_usd"),
)
LABELS = {"seconds": "time"}


def certificate_text(of: Certificate) -> str:
    return "\n".join(line.rstrip() for line in _lines(of)) + "\n"


def _lines(of: Certificate) -> Iterator[str]:
    yield f"CERTIFICATE: {_headline(of)}"
    yield from _written_judges(of)
    yield "=" * COLUMNS
    yield from _field("goal", of.goal)
    yield from _field("run", of.run)
    yield from _field("checked at", of.at)
    yield from _field("commit", of.commit)
    yield from _field("tree", of.tree)
    yield from _field("aligned at", of.aligned_commit)
    yield from _field("contained", _containment_text(of))
    yield from _sandbox_lines(of.containment)
    yield ""
    passed = sum(record.verdict is Verdict.PASSED for record in of.checks)
    yield f"CHECKS ({passed} of {len(of.checks)} passed)"
    for record in of.checks:
        yield from _check(record)
    if of.questions:
        yield ""
        yield "A PERSON'S WORD"
        for question in of.questions:
            words = f' "{question.words}"' if question.words else ""
            yield from _wrapped(f"{question.item}: {ANSWERS[question.answer]}{words}", "  ", "    ")
    yield ""
    yield f"PINS ({len(of.pins)})"
    for pin in of.pins:
        yield from _wrapped(pin, "  ", "    ")
    yield ""
    yield from _ground_lines(of)
    yield "SPENT"
    for name, limit in LIMITS:
        most = of.limits.get(limit) if limit else None
        spent = amounts.amount(name, of.spent.get(name, 0))
        of_limit = f" of {amounts.amount(name, most)}" if isinstance(most, int | float) else ""
        yield f"  {LABELS.get(name, name):<14} {spent:>12}{of_limit}"
    for charge in of.charges:
        yield from _wrapped(f"by {charge.role}: {amounts.spending(charge)}", "  ", "    ")
    if of.not_needed:
        yield ""
        yield from _wrapped(f"OPEN AND NOT NEEDED: {', '.join(of.not_needed)}", "", "  ")
    yield from _parked_lines(of)
    if of.trail:
        yield ""
        yield f"TRAIL ({len(of.trail)})"
        for entry in of.trail:
            what = f"{entry.type} {_about(entry)}: {entry.reason}"
            yield from _wrapped(_short(what), "  ", "    ")


def _written_judges(of: Certificate) -> Iterator[str]:
    """What decided and did not exist when the person agreed to be judged by it."""
    if not of.written_judges:
        return
    names = ", ".join(of.written_judges)
    asked = {question.item: question.answer for question in of.questions}
    answers = [asked.get(question_about(path)) for path in of.written_judges]
    if Answer.NO in answers:
        how = "a person said no to that"
    elif Answer.OPEN in answers:
        how = "no person has confirmed that yet"
    elif Answer.YES in answers:
        how = "a person confirmed that"
    else:
        how = "the plan asks for that"
    yield from _wrapped(f"DECIDED BY WHAT AGENTS WROTE: {names}; {how}", "", "  ")


def _ground_lines(of: Certificate) -> Iterator[str]:
    """What the commit was judged on, and which files were left to the workers."""
    if of.work_paths:
        yield "JUDGED BY: work paths, laid over the commit of alignment"
        yield from _wrapped(f"workers could change {', '.join(of.work_paths)}", "  ", "    ")
    else:
        yield "JUDGED BY: the list of files that steer tools (no work paths: the weaker form)"
    lists = (
        ("changed elsewhere and not judged", of.as_aligned),
        ("new tests, left out of the run that decided and green in a second one", of.new_tests),
        ("files that the plan asks for, and so did not count as steering", of.exempt),
    )
    for label, paths in lists:
        if paths:
            yield from _wrapped(f"{label}: {', '.join(paths)}", "  ", "    ")
    yield ""


def _parked_lines(of: Certificate) -> Iterator[str]:
    if not of.parked:
        return
    yield ""
    yield f"PARKED ({len(of.parked)})"
    for one in of.parked:
        last = f"last: {_short(one.reason)}" if one.reason else "no reason is on record"
        holds_up = f"; it holds up {_short(', '.join(one.holds_up))}" if one.holds_up else ""
        yield from _wrapped(f"{one.name}: {last}{holds_up}", "  ", "    ")


def _about(entry: TrailEntry) -> str:
    if entry.type is TrailType.WIND:
        return str(entry.attempt)
    return f"{entry.or_group} -> {entry.selected}" if entry.or_group else str(entry.atom)


def _short(text: str) -> str:
    return textwrap.shorten(text, 300, placeholder=" [...]")


def _headline(of: Certificate) -> str:
    if of.holds:
        return "the base case holds"
    if of.verdict is Verdict.PASSED:
        return "the base case holds if a person confirms it"
    return f"the base case does not hold ({of.verdict})"


def _containment_text(of: Certificate) -> str:
    weak = of.containment.strength is Strength.WEAK
    warning = ": a process that forks fast enough might have escaped" if weak else ""
    return f"{of.containment.strength} ({of.containment.mechanism}){warning}"


def _sandbox_lines(contained: Contained) -> Iterator[str]:
    """What a person widened on purpose, and what was bounded."""
    yield from _field("network", "open" if contained.network else "none")
    if contained.writable:
        yield from _field("writable", ", ".join(contained.writable))
    if contained.env:
        yield from _field("env", ", ".join(contained.env))
    if bounds := bounds_text(contained):
        yield from _field("bounds", bounds)


def bounds_text(contained: Contained) -> str:
    """How much of the machine one program could take."""
    said = []
    if contained.processes is not None:
        said.append(f"{contained.processes} processes")
    if contained.memory_bytes is not None:
        said.append(f"{amounts.size(contained.memory_bytes)} of memory")
    if contained.file_bytes is not None:
        said.append(f"files of {amounts.size(contained.file_bytes)}")
    return ", ".join(said)


def _check(record: CheckRecord) -> Iterator[str]:
    yield from _wrapped(f"{MARKS[record.verdict]} {record.item}", "  ", " " * 9)
    yield from _wrapped(f"{record.type}: {record.command}", " " * 9, " " * 11)
    if record.control:
        yield from _wrapped(f"control: {record.control}", " " * 9, " " * 11)
    facts = [f"by {record.judged_by}"]
    if record.exit_code is not None:
        facts.append(f"exit {record.exit_code}")
    if record.tests is not None:
        facts.append(amounts.count(record.tests, "test"))
    facts.append(amounts.duration(record.seconds))
    if record.digest:
        facts.append(f"output {record.digest[:16]}")
    yield from _wrapped(", ".join(facts), " " * 9, " " * 11)
    if record.verdict is not Verdict.PASSED and record.evidence:
        yield from _wrapped(record.evidence.splitlines()[0], " " * 9, " " * 11)


def _field(name: str, value: str) -> Iterator[str]:
    yield from _wrapped(value or "none", f"{name:<12}", " " * 12)


def _wrapped(text: str, first: str, further: str) -> list[str]:
    flat = " ".join(text.split())
    return textwrap.wrap(
        flat, COLUMNS, initial_indent=first, subsequent_indent=further, break_on_hyphens=False
    ) or [first]
