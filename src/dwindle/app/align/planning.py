"""Planning with the user: a planner asks back, proposes, and proposes again after changes.

A conversation is a sequence of fresh sessions that know only what was said so far. It is bounded:
five rounds of questions, five changes, and one chance to fix a proposal that is refused. The result
is only a proposal: a draft is checked like one that a user wrote, and edits are tried on the plan
before the user sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dwindle.adapters.formats.draft.text import draft_text
from dwindle.app.align.answers import HEADING, Answers, base_case_of, document
from dwindle.app.align.dialogue import LEAVING, Terminal
from dwindle.app.align.kept_draft import KeptDraft
from dwindle.app.align.planner import PlannerAgent, planner_at
from dwindle.app.plans.load import load_draft
from dwindle.app.plans.problem_list import where_text
from dwindle.app.redirect.planned_edits import edit_lines, refusals, with_ids
from dwindle.app.refusal import Refused
from dwindle.kernel.events import Edit
from dwindle.kernel.model import Plan
from dwindle.ports.work import (
    Failure,
    NoReport,
    Occasion,
    PlannerDraft,
    PlannerEdits,
    PlannerQuestions,
    PlanningOrder,
    Report,
    Said,
    Speaker,
    Trouble,
)
from dwindle.runner.orders.planning import frontier_of
from dwindle.text import amounts
from dwindle.text.escape import escape
from dwindle.text.terminal import one_line

ROUNDS = 5
"""Of questions, in one conversation."""
CHANGES = 5
"""Times that the user may say in words what should be different."""
FIXABLE = (Trouble.MALFORMED, Trouble.NO_REPORT)
"""Failures that another session may avoid, once it knows of them."""
OPEN = "(no answer; decide as you think best)"
TYPED = "`dwindle redirect --help` has the edits that need no planner"

Proposal = PlannerDraft | PlannerEdits
Faults = Callable[[Proposal], Sequence[str]]


class NoProposal(Exception):
    """The planner failed, and why."""


class Talk:
    """One conversation: from the first words to a proposal, and on to changed ones."""

    def __init__(
        self,
        planner: PlannerAgent,
        terminal: Terminal,
        order: PlanningOrder,
        record: Callable[[Sequence[Said]], None] = lambda _: None,
    ) -> None:
        self.planner = planner
        self.terminal = terminal
        self.order = order
        self.record = record
        self.rounds = 0
        self.changes = 0

    def proposal(self, faults_of: Faults) -> tuple[Proposal, Sequence[str]]:
        """The proposal, and the faults left after one chance to fix them."""
        was_sent_back = False
        while True:
            order = replace(self.order, may_ask=self.rounds < ROUNDS)
            report = self.planner.answer(order)
            self.order = replace(self.order, session=order.session + 1, failures=())
            if isinstance(report, PlannerQuestions):
                self._ask(report)
                continue
            faults = self._faults(report, faults_of)
            if faults and not was_sent_back:
                was_sent_back = True
                self._send_back(order.session, faults)
            elif isinstance(report, (PlannerDraft, PlannerEdits)):
                if report.note.strip():
                    self.terminal.say(f"The planner says: {escape(report.note.strip())}")
                return report, faults
            else:
                raise NoProposal("\n".join(faults))

    def change(self, draft: str, words: str) -> None:
        """The user wants the proposal changed."""
        self.changes += 1
        said = (*self.order.transcript, Said(by=Speaker.PERSON, text=words))
        self.record(said)
        self.order = replace(self.order, draft=draft, transcript=said, failures=())

    def _faults(self, report: Report, faults_of: Faults) -> Sequence[str]:
        match report:
            case PlannerDraft() | PlannerEdits():
                return faults_of(report)
            case NoReport(trouble=trouble, reason=reason) if trouble in FIXABLE:
                return (reason,)
            case NoReport(reason=reason):
                raise NoProposal(reason)
            case _:
                return ("the report is not that of a planner",)

    def _send_back(self, session: int, faults: Sequence[str]) -> None:
        listed = "\n".join(f"  {escape(fault)}" for fault in faults)
        self.terminal.say(f"What the planner reported cannot be taken:\n{listed}")
        self.terminal.say("The planner gets one more try.")
        failure = Failure(attempt=session, reason="\n".join(faults))
        self.order = replace(self.order, failures=(failure,))

    def _ask(self, report: PlannerQuestions) -> None:
        if not self.terminal.can_ask:
            asked = "\n".join(f"  - {one_line(question)}" for question in report.questions)
            raise Refused(
                f"the planner has questions, and there is no terminal to ask them on:\n{asked}",
                hint=f"repeat the command with the answers in your words; {TYPED}",
            )
        self.rounds += 1
        if report.note.strip():
            self.terminal.say(f"The planner says: {escape(report.note.strip())}")
        several = amounts.count(len(report.questions), "question")
        self.terminal.say(f"The planner has {several}; Enter leaves one open.")
        lines: list[Said] = []
        for question in report.questions:
            answer = self.terminal.ask(f"{one_line(question)}\n> ").strip()
            lines += [
                Said(by=Speaker.PLANNER, text=question),
                Said(by=Speaker.PERSON, text=answer or OPEN),
            ]
            self.record((*self.order.transcript, *lines))
        self.order = replace(self.order, transcript=(*self.order.transcript, *lines))


# --- a draft -------------------------------------------------------------------------------------


class Drafting:
    """A planner that helps to align: words in, drafts out."""

    def __init__(self, planner: PlannerAgent, terminal: Terminal, kept: KeptDraft) -> None:
        self.planner = planner
        self.terminal = terminal
        self.fixed: dict[str, Any] = {}
        """What the user has decided of the objective, whatever the planner proposes."""
        self.kept = kept
        order = PlanningOrder(purpose=Occasion.ALIGN, words="", timeout_seconds=planner.timeout())
        self.talk = Talk(planner, terminal, order, kept.record)
        if not terminal.can_ask:
            self.talk.rounds = ROUNDS

    def propose(self, given: Answers) -> str | None:
        """A draft; None if the planner failed."""
        self.talk.order = replace(
            self.talk.order, words=given.goal, why=given.why, transcript=self.kept.transcript
        )
        if given.checks:
            self.fixed = {"goal": given.goal, "base_case": base_case_of(given.checks)}
            self.fixed |= {"background_intent": given.why} if given.why else {}
            self.talk.order = replace(self.talk.order, draft=document(given))
        try:
            return self._draft()
        except NoProposal as failure:
            self.terminal.say(f"The planner failed: {escape(str(failure))}")
        return None

    def revise(self, draft: str, words: str) -> str | None:
        """Another draft; None if it stays as it is."""
        if self.talk.changes >= CHANGES:
            self.terminal.say(f"It was changed {CHANGES} times already; edit it, or start again.")
            return None
        if not self.talk.order.words and (plan := load_draft(draft.encode())[0].plan):
            # The draft is that of an earlier dialogue.
            said = replace(self.talk.order, transcript=self.kept.transcript)
            wanted = plan.objective
            self.talk.order = replace(said, words=wanted.goal, why=wanted.background_intent)
        self.talk.change(draft, words)
        try:
            return self._draft()
        except NoProposal as failure:
            self.terminal.say(f"The planner failed: {escape(str(failure))}")
            return None

    def _draft(self) -> str:
        proposal, _ = self.talk.proposal(self._faults)
        return self._text(proposal)  # its faults are shown with it

    def _text(self, proposal: Proposal) -> str:
        """As a state file, so that the plan keeps the user's own words."""
        values = dict(proposal.draft) if isinstance(proposal, PlannerDraft) else {}
        if self.fixed and isinstance(objective := values.get("objective"), Mapping):
            values["objective"] = {**objective, **self.fixed}
        order = self.talk.order
        prompt = f"# Original Prompt\n\n{order.words}\n\n{order.why}".rstrip()
        return f"---\n{HEADING}{draft_text(values)}---\n\n{prompt}\n"

    def _faults(self, proposal: Proposal) -> Sequence[str]:
        _, problems = load_draft(self._text(proposal).encode())
        return [
            f"{where_text(problem.where)}: {problem.what}"
            + (f" ({problem.hint})" if problem.hint else "")
            for problem in problems
            if not problem.warning
        ]


# --- edits ---------------------------------------------------------------------------------------


def edits_from_words(
    root: Path,
    plan: Plan,
    words: str,
    terminal: Terminal,
    overrides: Mapping[str, object] | None = None,
) -> tuple[Edit, ...] | None:
    """Words turned into edits that the kernel accepts; None if the user gives up.

    `overrides` take precedence over the settings of the repository: which agent plans.

    Raises Refused if there is no planner, if it fails, or if it has questions and there is no
    terminal.
    """
    if not words.strip():
        raise Refused("there are no words to turn into edits", hint=TYPED)
    planner = planner_at(root, overrides)
    order = PlanningOrder(
        purpose=Occasion.REDIRECT,
        words=words,
        run=plan.control.run_id or "",
        frontier=frontier_of(plan),
        timeout_seconds=planner.timeout(plan.limits),
    )
    try:
        return _agreed_edits(Talk(planner, terminal, order), plan)
    except (EOFError, KeyboardInterrupt):
        return None
    except NoProposal as failure:
        raise Refused(f"the planner failed: {escape(str(failure))}", hint=TYPED) from None


def _agreed_edits(talk: Talk, plan: Plan) -> tuple[Edit, ...] | None:
    def faults_of(proposal: Proposal) -> Sequence[str]:
        return refusals(plan, _edits(plan, proposal))

    while True:
        proposal, faults = talk.proposal(faults_of)
        if faults:
            raise Refused("the plan does not take it: " + "; ".join(faults), hint=TYPED)
        edits = _edits(plan, proposal)
        listed = "\n".join(f"  {line}" for line in edit_lines(edits))
        talk.terminal.say(f"The planner proposes to\n{listed}")
        if not talk.terminal.can_ask:
            return edits
        ways = "Enter takes it; or say what should be different; q gives up"
        said = talk.terminal.ask(f"{ways}\n> ").strip()
        if not said:
            return edits
        if said.lower() in LEAVING:
            return None
        if talk.changes >= CHANGES:
            raise Refused(f"it was changed {CHANGES} times already", hint=TYPED)
        talk.change(listed, said)


def _edits(plan: Plan, proposal: Proposal) -> tuple[Edit, ...]:
    return with_ids(plan, proposal.edits if isinstance(proposal, PlannerEdits) else ())
