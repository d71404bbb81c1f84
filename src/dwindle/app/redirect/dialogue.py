"""The dialogue of a redirect: the state of the run, the effect of a change, and the user's consent.

Nothing is changed before the user has seen the effect: what happens to the Trail, which atoms are
done again and, for a new objective, what its base case says now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from dwindle.adapters.formats.draft.plan import decode_draft
from dwindle.adapters.formats.graph.edited_part import edited_part
from dwindle.app.align.dialogue import Terminal, is_yes
from dwindle.app.plans.problem_list import problem_lines
from dwindle.app.plans.standing import open_atoms, standings
from dwindle.app.redirect.plan_edits import edits_between
from dwindle.app.redirect.planned_edits import ORDER
from dwindle.app.redirect.realign import realign
from dwindle.app.redirect.target import RedirectTarget, refusal_reason
from dwindle.app.refusal import Refused
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import Edit, Redirected
from dwindle.kernel.graph import view
from dwindle.kernel.measure import gauge, measure
from dwindle.kernel.model import CorrectionType, Plan, TrailType
from dwindle.kernel.redirects import SCOPES
from dwindle.runner.redirect import preview, undone
from dwindle.text import amounts
from dwindle.text.terminal import listed, one_line, shortened

SHOWN = 12
"""Open atoms that are listed, and failures."""
FAILURES = 3
EFFECT = {
    CorrectionType.OBJECTIVE_CHANGE: "the Trail is cleared and every budget but the redirects "
    "is refilled",
    CorrectionType.DAG_ADJUSTMENT: "the Trail is kept and a correction is added to it",
    CorrectionType.CONSTRAINT_CHANGE: "the Trail is kept",
    CorrectionType.BINDINGS_OVERRIDE: "the Trail is kept",
}
NOTHING = "nothing was changed"
HEADING = """\
# The part of the plan that is yours. Change it, save it, leave the editor; nothing is done before
# you have seen what it would do. An empty file leaves everything as it is.
# - a resolved atom that says something else, or is set to pending, is done again with all that
#   was built upon it; an atom cannot be set to resolved by hand
# - a new atom needs an id and a description, and is paid from max_atoms
# - counters and the Trail belong to the runner and are not here
"""

Say = Callable[[str], None]
Words = Callable[[Path, Plan, str, Terminal], tuple[Edit, ...] | None]


def redirects(edits: Sequence[Edit], why: str) -> tuple[Redirected, ...]:
    """One for each scope."""
    scoped = ((scope, tuple(e for e in edits if type(e) in SCOPES[scope])) for scope in ORDER)
    return tuple(
        Redirected(type=scope, edits=mine, description=why) for scope, mine in scoped if mine
    )


# --- what is said --------------------------------------------------------------------------------


def state_lines(plan: Plan) -> Iterator[str]:
    """Objective, open atoms, progress, recent failures."""
    opened, how = open_atoms(plan), standings(plan)
    yield f"goal: {one_line(plan.objective.goal)}"
    yield (
        f"open: {view(plan).open_count} of {amounts.count(len(plan.atoms), 'atom')}; "
        f"iteration {plan.control.iteration}; gauge {amounts.count(gauge(plan))}; "
        f"{amounts.count(measure(plan).redirects, 'redirect')} left"
    )
    for name in opened[:SHOWN]:
        yield f"  {name} ({how[name]}): {shortened(plan.atoms[name].description, 60)}"
    if len(opened) > SHOWN:
        yield f"  and {len(opened) - SHOWN} more"
    failures = [e for e in plan.trail if e.type is TrailType.FAILURE][-FAILURES:]
    for entry in failures:
        yield f"  {entry.atom} failed: {shortened(entry.reason, 60)}"


def effect_lines(plan: Plan, events: Sequence[Redirected]) -> Iterator[str]:
    """The effect of each redirect; raises the IllegalEvent of the first that the kernel refuses."""
    for event in events:
        after = preview(plan, event)
        again = undone(plan, after)
        new = [name for name in after.atoms if name not in plan.atoms]
        gone = [name for name in plan.atoms if name not in after.atoms]
        yield f"{event.type}: {EFFECT[event.type]}"
        if new:
            yield f"  new: {listed(new, width=70)}"
        if gone:
            yield f"  removed: {listed(gone, width=70)}"
        if again:
            yield f"  done again, and taken off the branch: {listed(again, width=40)}"
        plan = after


def show_effect(
    root: Path, plan: Plan, events: tuple[Redirected, ...], say: Say, *, at_rest: bool
) -> tuple[Redirected, ...]:
    """Show the effect; returns the redirects, with new pins where they need them."""
    if not events:
        raise Refused(NOTHING, hint="the plan is like that already")
    try:
        lines = list(effect_lines(plan, events))
    except IllegalEvent as refusal:
        raise Refused(refusal_reason(refusal)) from None
    for line in lines:
        say(line)
    return asyncio.run(realign(root, plan, events, say, at_rest=at_rest))


# --- with a person -------------------------------------------------------------------------------


def apply_change(
    root: Path,
    target: RedirectTarget,
    events: tuple[Redirected, ...],
    terminal: Terminal | None,
    say: Say,
) -> str | None:
    """Show the effect, ask if there is a terminal, and apply it; None if the user says no."""
    ready = show_effect(root, target.plan, events, say, at_rest=target.at_rest)
    if terminal is not None and not is_yes(terminal, "Go on?"):
        return None
    return target.apply(ready)


def change_in_editor(
    root: Path, target: RedirectTarget, terminal: Terminal, why: str, *, yes: bool = False
) -> str | None:
    """Open the editor until the edit is valid and accepted; None if the user leaves."""
    text = HEADING + edited_part(target.plan)
    while True:
        text = terminal.edit(text)
        if not text.strip():
            return None
        events, faults = redirects_in_text(target.plan, text, why)
        if not events and not faults:
            terminal.say("The plan is like that already.")
            return None
        if faults:
            terminal.say("\n".join([*faults, "This cannot be taken yet."]))
        else:
            try:
                asked = None if yes else terminal
                said = apply_change(root, target, events, asked, terminal.say)
            except Refused as refusal:
                terminal.say(str(refusal))
            else:
                if said is not None:
                    return said
        word = terminal.ask("[e]dit again, or leave it as it was? [e/L] ").strip().lower()
        if word not in ("e", "edit"):
            return None


def redirects_in_text(plan: Plan, text: str, why: str) -> tuple[tuple[Redirected, ...], list[str]]:
    """The redirects that an edited text asks for, or everything that is wrong with it."""
    draft = decode_draft(text.encode(errors="surrogateescape"))
    if draft.readable is None:
        return (), list(problem_lines("the draft", draft.problems))
    made = edits_between(plan, draft.readable, plan, why)
    same = draft.readable.objective.base_case == plan.objective.base_case
    problems = [
        problem
        for problem in draft.judged(made.problems)
        # A base case without a mechanical check may stay: the user agreed to it before.
        if not (same and problem.unaligned and problem.where == ("objective", "base_case"))
    ]
    return tuple(made.events), list(problem_lines("the draft", problems))


def change_in_dialogue(root: Path, target: RedirectTarget, terminal: Terminal, words: Words) -> str:
    """Ask for a change, in words or in the editor, until one is made; Refused if they leave."""
    while True:
        said = terminal.ask("What should change? In words; or `edit`; Enter: nothing\n> ").strip()
        if not said or said in ("q", "quit"):
            raise Refused(NOTHING)
        if said in ("e", "edit"):
            done = change_in_editor(root, target, terminal, "edited by hand")
        else:
            done = _change_in_words(root, target, terminal, words, said)
        if done is not None:
            return done


def _change_in_words(
    root: Path, target: RedirectTarget, terminal: Terminal, words: Words, said: str
) -> str | None:
    try:
        edits = words(root, target.plan, said, terminal)
        if edits is None:
            return None
        return apply_change(root, target, redirects(edits, said), terminal, terminal.say)
    except Refused as refusal:
        terminal.say(str(refusal))
        return None
