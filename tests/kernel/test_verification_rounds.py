"""When nothing is open: rounds, questions to a person, and what stands against another round."""

from __future__ import annotations

from dataclasses import replace

from tests.kernel.story import running, with_atoms

from dwindle.kernel.actions import Decision, Settle, Stop
from dwindle.kernel.decide import decide
from dwindle.kernel.model import Answer, Plan, Question, Status, StopCode, Verification

DONE = {"status": Status.RESOLVED, "attempts": 1}


def asked(answer: Answer, **limits: int) -> Plan:
    """Both questions have the same answer, and there is nothing else to do."""
    plan = with_atoms(running("A1", **limits), A1=DONE)
    questions = (Question(item="fast", answer=answer), Question(item="kind", answer=answer))
    return replace(plan, verification=Verification(passed=True, questions=questions))


def test_a_person_has_to_confirm_all_of_it() -> None:
    plan = asked(Answer.OPEN)
    reason = "a person has to confirm: fast; kind"
    stop = Stop(code=StopCode.AWAITING_CONFIRMATION, reason=reason)
    assert decide(plan) == Decision(plan=plan, stop=stop, because=reason)


def test_what_a_person_denied_is_mended_while_fuel_lasts() -> None:
    half = asked(Answer.NO)
    first, second = half.verification.questions
    mixed = (replace(first, answer=Answer.YES), second)
    half = replace(half, verification=Verification(passed=True, questions=mixed))
    assert decide(half).actions == (Settle(because="a person said no: kind"),)
    plan = asked(Answer.NO, max_atoms=1)
    settle = Settle(because="a person said no: fast; kind")
    assert decide(plan) == Decision(plan=plan, actions=(settle,))
    dry = asked(Answer.NO, max_atoms=0)
    reason = "a person said no to fast; kind and no fuel is left"
    stop = Stop(code=StopCode.VERIFICATION_EXHAUSTED, reason=reason)
    assert decide(dry) == Decision(plan=dry, stop=stop, because=reason)


def test_what_follows_is_written_down_first() -> None:
    """A file from elsewhere left two parents open whose children are done."""
    plan = with_atoms(running("A1[A2] A3[A4]"), A2=DONE, A4=DONE)
    why = "what follows for A1, A3 is not written into the plan yet"
    assert decide(plan) == Decision(plan=plan, actions=(Settle(because=why),))
