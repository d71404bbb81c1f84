"""A certificate for people: 80 columns, what matters first."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Answer
from dwindle.ports.process import Strength
from dwindle.runner.certificate import Certificate, Charge, CheckRecord, Contained

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
    ("forgiven", "max_forgiven"),
    ("redirects", "max_redirects"),
    ("seconds", "max_wall_seconds"),
    ("tokens", "max_tokens"),
    ("usd", "max_cost_usd"),
)


def certificate_text(of: Certificate) -> str:
    return "\n".join(line.rstrip() for line in _lines(of)) + "\n"


def _lines(of: Certificate) -> Iterator[str]:
    yield f"CERTIFICATE: {_headline(of)}"
    yield "=" * COLUMNS
    yield from _field("goal", of.goal)
    yield from _field("run", of.run)
    yield from _field("checked at", of.at)
    yield from _field("commit", of.commit)
    yield from _field("tree", of.tree)
    yield from _field("aligned at", of.aligned_commit)
    yield from _field("contained", _contained(of))
    yield from _let_have(of.containment)
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
    yield "SPENT"
    for name, limit in LIMITS:
        most = of.limits.get(limit) if limit else None
        spent = of.spent.get(name, 0)
        yield f"  {name:<14} {spent:>12g}" + (f" of {most}" if most is not None else "")
    for charge in of.charges:
        yield from _wrapped(f"by {charge.role}: {_charge(charge)}", "  ", "    ")
    if of.not_needed:
        yield ""
        yield from _wrapped(f"OPEN AND NOT NEEDED: {', '.join(of.not_needed)}", "", "  ")
    if of.trail:
        yield ""
        yield f"TRAIL ({len(of.trail)})"
        for entry in of.trail:
            about = f"{entry.or_group} -> {entry.selected}" if entry.or_group else str(entry.atom)
            what = f"{entry.type} {about}: {entry.reason}"
            yield from _wrapped(textwrap.shorten(what, 300, placeholder=" [...]"), "  ", "    ")


def _charge(of: Charge) -> str:
    parts = [f"{of.sessions} session{'s' * (of.sessions != 1)}", f"{of.seconds:.0f} s"]
    parts += [f"{of.tokens:,} tokens"] if of.tokens else []
    # More digits than are shown as a rule: a little money is not none.
    parts += [f"{'about ' * of.estimated}{of.usd:.4f} USD"] if of.usd else []
    if of.usd and of.unpriced:
        parts.append(f"{of.unpriced:,} tokens of unknown price")
    return ", ".join(parts)


def _headline(of: Certificate) -> str:
    if of.holds:
        return "the base case holds"
    if of.verdict is Verdict.PASSED:
        return "the base case holds if a person confirms it"
    return f"the base case does not hold ({of.verdict})"


def _contained(of: Certificate) -> str:
    weak = of.containment.strength is Strength.WEAK
    warning = ": a process that forks fast enough might have escaped" if weak else ""
    return f"{of.containment.strength} ({of.containment.mechanism}){warning}"


def _let_have(contained: Contained) -> Iterator[str]:
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
    gib = 1 << 30
    said = []
    if contained.processes is not None:
        said.append(f"{contained.processes} processes")
    if contained.memory_bytes is not None:
        said.append(f"{contained.memory_bytes / gib:.1f} GiB of memory")
    if contained.file_bytes is not None:
        said.append(f"files of {contained.file_bytes / gib:.1f} GiB")
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
        facts.append(f"{record.tests} tests")
    facts.append(f"{record.seconds:.3g} s")
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
