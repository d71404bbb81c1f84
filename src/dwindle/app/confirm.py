"""Record a person's word on what no machine can judge."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from dwindle.adapters.store.disk import DurableFile, RealDisk
from dwindle.app.console import complain
from dwindle.app.errors import EditedByHand
from dwindle.app.open_run.graph import locked_plan, open_ledger
from dwindle.app.paths import PLAN_FILE, certificate_path, journal_path
from dwindle.app.plans.plan_files import refuse_for_tree
from dwindle.app.refusal import Refused
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import Confirmed
from dwindle.kernel.model import Answer, Plan, Question
from dwindle.runner.gate.certificate import Certificate, NotACertificate
from dwindle.runner.gate.certificate_text import certificate_text
from dwindle.text.terminal import one_line

ANSWERS = {"yes": Answer.YES, "no": Answer.NO}
SHOWN = {Answer.OPEN: "open", Answer.YES: "yes", Answer.NO: "no"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What was typed: about which item, if it was said, and the answer, if there is one."""

    item: str | None
    answer: Answer | None


def record_answer(root: Path, word: Word, words: str) -> list[str]:
    """Record the word, or list what is asked if there is none; what to tell the person."""
    refuse_for_tree(
        root,
        "a tree has no questions to confirm: its guard decides",
        "answer the questions in .runner/HUMAN_QUESTIONS.md, commit, and `dwindle run`",
    )
    try:
        with (
            locked_plan(root),
            open_ledger(root, look=partial(_refuse_unbegun, root)) as (ledger, _),
        ):
            asked = _questions(ledger.plan)
            if word.answer is None:
                return _question_lines(asked)
            item = _item_meant(asked, word.item)
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


def _refuse_unbegun(root: Path, plan: Plan) -> None:
    run = plan.control.run_id
    if run is None or not journal_path(root, run).exists():
        raise Refused("no run has begun", where=PLAN_FILE, hint="`dwindle run` starts one")


def _questions(plan: Plan) -> tuple[Question, ...]:
    if not plan.verification.questions:
        hint = "`dwindle status` says where the run stands"
        raise Refused("no question waits for your answer", where=PLAN_FILE, hint=hint)
    return plan.verification.questions


def _item_meant(asked: tuple[Question, ...], item: str | None) -> str:
    """The item that the answer is about."""
    known = [question.item for question in asked]
    if item is None:
        waiting = [question.item for question in asked if question.answer is Answer.OPEN]
        if len(waiting) == 1:
            return waiting[0]
        what = f"{len(waiting)} questions are open" if waiting else "every question is answered"
        raise Refused(what, hint="\n  ".join(["name one of them:", *_question_lines(asked)]))
    if item in known:
        return item
    if item.isdecimal() and 1 <= int(item) <= len(known):
        return known[int(item) - 1]
    hint = "\n  ".join(["there are:", *_question_lines(asked)])
    raise Refused(f"there is no question {item!r}", hint=hint)


def _question_lines(asked: tuple[Question, ...]) -> list[str]:
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
    return ["`dwindle run` goes on and fixes what you said no to, within the limits."]


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
