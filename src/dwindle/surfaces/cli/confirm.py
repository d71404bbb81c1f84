"""dwindle confirm: a person answers the questions that no machine can judge."""

from __future__ import annotations

from collections.abc import Sequence

from dwindle.app.confirm import ANSWERS, Word, record_answer
from dwindle.app.console import complain, say
from dwindle.app.errors import JournalDamaged, Locked, OutOfStep, StoreFailed
from dwindle.app.plans.plan_files import root_of_here
from dwindle.app.refusal import Refused
from dwindle.kernel.model import EXIT_CODES, StopCode


def confirm(*item_and_answer: str, words: str = "") -> int:
    """Record a person's word, or list what is asked.

    Args:
        item_and_answer: The item, or its number in the list, and yes or no.
        words: Why; kept in the plan.
    """
    word = _parse_words(item_and_answer)
    try:
        return say("\n".join(record_answer(root_of_here(), word, words)))
    except Locked as error:
        complain(f"dwindle: {error}\n  a run is using this plan; it asks when it has stopped")
        return EXIT_CODES[StopCode.LOCKED]
    except (StoreFailed, JournalDamaged, OutOfStep) as error:
        complain(f"dwindle: {error}")
        return EXIT_CODES[StopCode.IO_ERROR]


def _parse_words(words: Sequence[str]) -> Word:
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
