"""dwindle confirm: a person's word on what no machine can judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dwindle.adapters.disk import DurableFile, Locked, RealDisk
from dwindle.adapters.journals.jsonl import JournalDamaged
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import Confirmed
from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.model import Answer, Plan, Question, StopCode
from dwindle.ports.store import StoreFailed
from dwindle.runner.certificate import Certificate, NotACertificate
from dwindle.runner.certificate_text import certificate_text
from dwindle.runner.ledger import EditedByHand, OutOfStep
from dwindle.surfaces.certificates import certificate_path
from dwindle.surfaces.cli.output import complain, say
from dwindle.surfaces.cli.text import one_line
from dwindle.surfaces.history import root_of_here
from dwindle.surfaces.plan_place import PLAN_FILE
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.taken_up import taken_up
from dwindle.surfaces.tree_only import refuse_for_tree

ANSWERS = {"yes": Answer.YES, "no": Answer.NO}
SHOWN = {Answer.OPEN: "open", Answer.YES: "yes", Answer.NO: "no"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What was typed: about which item, if it was said, and the answer, if there is one."""

    item: str | None
    answer: Answer | None


def confirm(*item_and_answer: str, words: str = "") -> int:
    """Record a person's word, or list what is asked.

    Args:
        item_and_answer: The item, as it is listed or its number, and yes or no.
        words: Why; kept in the plan.
    """
    word = _understood(item_and_answer)
    try:
        return say("\n".join(answered(root_of_here(), word, words)))
    except Locked as error:
        complain(f"dwindle: {error}\n  a run has this plan; it asks when it has stopped")
        return EXIT_CODES[StopCode.LOCKED]
    except (StoreFailed, JournalDamaged, OutOfStep) as error:
        complain(f"dwindle: {error}")
        return EXIT_CODES[StopCode.IO_ERROR]


def answered(root: Path, word: Word, words: str) -> list[str]:
    """Record the word, or list what is asked if there is none; what to tell the person."""
    refuse_for_tree(
        root,
        "a tree asks for nobody's word: its guard decides",
        "answer what stands in .runner/HUMAN_QUESTIONS.md, commit, and `dwindle run`",
    )
    try:
        with taken_up(root) as ledger:
            asked = _asked(ledger.plan)
            if word.answer is None:
                return _listed(asked)
            item = _meant(asked, word.item)
            event = Confirmed(item=item, answer=word.answer, words=words, at=_now())
            plan = ledger.record(event)
            ledger.flush()
            _certify(root, plan)
            said = f"{SHOWN[word.answer]}: {one_line(item)}"
            return [said, *_next(plan.verification.questions)]
    except IllegalEvent as error:
        hint = "`dwindle status` says where the run stands"
        raise Refused(f"too late: {error.reason}", where=PLAN_FILE, hint=hint) from None
    except EditedByHand as error:
        hint = "`dwindle redirect --adopt` takes the edit over; or put the file back as it was"
        raise Refused(str(error), where=PLAN_FILE, hint=hint) from None


def _understood(words: Sequence[str]) -> Word:
    match tuple(words):
        case ():
            return Word(item=None, answer=None)
        case (answer,) if answer in ANSWERS:
            return Word(item=None, answer=ANSWERS[answer])
        case (item, answer) if answer in ANSWERS:
            return Word(item=item, answer=ANSWERS[answer])
    raise Refused(
        "the answer has to be yes or no",
        hint="for example: dwindle confirm ITEM yes; `dwindle confirm` lists the items",
    )


def _asked(plan: Plan) -> tuple[Question, ...]:
    if not plan.verification.questions:
        hint = "`dwindle status` says where the run stands"
        raise Refused("nobody asked for a person's word", where=PLAN_FILE, hint=hint)
    return plan.verification.questions


def _meant(asked: tuple[Question, ...], item: str | None) -> str:
    """The item that the answer is about."""
    known = [question.item for question in asked]
    if item is None:
        waiting = [question.item for question in asked if question.answer is Answer.OPEN]
        if len(waiting) == 1:
            return waiting[0]
        what = f"{len(waiting)} questions are open" if waiting else "every question is answered"
        raise Refused(what, hint="\n  ".join(["say which one is meant:", *_listed(asked)]))
    if item in known:
        return item
    if item.isdecimal() and 1 <= int(item) <= len(known):
        return known[int(item) - 1]
    hint = "\n  ".join(["there are:", *_listed(asked)])
    raise Refused(f"nobody asked about {item!r}", hint=hint)


def _listed(asked: tuple[Question, ...]) -> list[str]:
    lines = []
    for number, question in enumerate(asked, 1):
        words = f" ({one_line(question.words)})" if question.words else ""
        lines.append(f"{number}  {SHOWN[question.answer]:<4}  {one_line(question.item)}{words}")
    return lines


def _next(asked: tuple[Question, ...]) -> list[str]:
    waiting = [one_line(question.item) for question in asked if question.answer is Answer.OPEN]
    if waiting:
        return [f"still open: {item}" for item in waiting]
    if all(question.answer is Answer.YES for question in asked):
        return ["`dwindle run` completes the run."]
    return ["`dwindle run` goes on and mends what you said no to, as far as the limits allow."]


def _certify(root: Path, plan: Plan) -> None:
    """The certificate says whose word it is; the plan has it anyway."""
    path = certificate_path(root, plan.control.run_id or "")
    file = DurableFile(RealDisk(), path)
    try:
        made = Certificate.from_json(file.read()) if file.exists() else None
    except NotACertificate as error:
        complain(f"dwindle: {path.relative_to(root)}: {error}; it was left as it is")
        return
    if made is not None:
        made = made.with_answers(plan.verification.questions)
        file.replace(made.to_json())
        text = DurableFile(RealDisk(), path.with_suffix(".txt"))
        text.replace(certificate_text(made).encode())


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
