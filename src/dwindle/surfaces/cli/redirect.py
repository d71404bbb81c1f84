"""dwindle redirect: change direction, while the loop runs or while it rests.

The user can say what should change in four ways: by options, in words that a planner turns into
edits, in an editor, or in the plan file itself, which is then adopted. All of them become
redirects, one for each scope. The effect is shown first, and the number of redirects is limited.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dwindle.app.agents.choice import agent_overrides
from dwindle.app.align.dialogue import Console, NoTerminal, Terminal, is_yes
from dwindle.app.console import complain, say
from dwindle.app.errors import JournalDamaged, Locked, OutOfStep, StoreFailed, WorkspaceFailed
from dwindle.app.plans.plan_files import refuse_for_tree, root_of_here
from dwindle.app.redirect import adopt as adoption
from dwindle.app.redirect.dialogue import (
    NOTHING,
    apply_change,
    change_in_dialogue,
    change_in_editor,
    effect_lines,
    redirects,
    show_effect,
    state_lines,
)
from dwindle.app.redirect.realign import unpinned
from dwindle.app.redirect.target import line_to, redirect_target, refusal_reason
from dwindle.app.refusal import Refused, refused_by
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AddAtom,
    ChangeObjective,
    Edit,
    ForceChoice,
    NewAtom,
    OverrideBinding,
    RemoveAtom,
    Retry,
    SetLimit,
)
from dwindle.kernel.model import (
    EXIT_CODES,
    ROOT,
    AtomId,
    BaseCase,
    Check,
    CheckType,
    GroupId,
    Plan,
    StopCode,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedirectRequest:
    """The options of `dwindle redirect`; only one way to say the change is used."""

    edits: tuple[Edit, ...] = ()
    words: str = ""
    edit: bool = False
    adopt: bool = False
    why: str = ""
    yes: bool = False
    agents: Mapping[str, object] = field(default_factory=dict)
    """The planner's agent, as `agent_overrides` reads it."""


VERIFICATION = "verification"
"""The name by which the base case is tried again."""
INSTEAD = "`dwindle stop`, edit .runner/tree.json or .runner/GOAL.md, commit, `dwindle run`"


def redirect(  # noqa: PLR0913 - one for each edit
    *words: str,
    goal: str | None = None,
    base_case: str | None = None,
    reopen: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    work_path: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    unpin: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    add_atom: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    depends_on: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    under: str | None = None,
    choice_of: str | None = None,
    remove_atom: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    select: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    retry: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative=())] = (),
    bind: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    edit: bool = False,
    adopt: bool = False,
    why: str = "",
    yes: bool = False,
    agent: Annotated[tuple[str, ...], Parameter(negative=())] = (),
) -> int:
    """Change direction.

    Args:
        words: What should change; a planner turns it into edits.
        goal: Another goal.
        base_case: Another base case: one command that has to succeed.
        reopen: With another goal: a resolved atom that must be done again.
        work_path: From now on workers may change files here, and nowhere else; repeat it for each.
        unpin: A pinned file that workers may change from now on; repeat it for each.
        add_atom: Add an atom: what is to be done.
        depends_on: What the added atoms depend on.
        under: Make the added atoms parts of this atom.
        choice_of: Make the added atoms choices of this group.
        remove_atom: Remove this atom.
        select: GROUP=ATOM: take this choice.
        retry: Try this atom, choice point or `verification` again, from your newest commit.
        set_: LIMIT=VALUE, such as max_iterations=40.
        bind: ATOM=SUMMARY: correct the summary of a resolved atom.
        edit: Open the plan in $VISUAL or $EDITOR.
        adopt: Take over what was edited in the plan file by hand.
        why: A sentence for the record.
        yes: Do not ask.
        agent: The agent that reads the words, such as claude or codex.
    """
    edits: tuple[Edit, ...] = (
        *_objective(goal, base_case, reopen, work_path, unpin),
        *(
            AddAtom(
                new=NewAtom(description=what, depends_on=depends_on),
                parent=AtomId(under) if under else None,
                group=GroupId(choice_of) if choice_of else None,
            )
            for what in add_atom
        ),
        *(RemoveAtom(atom=AtomId(name)) for name in remove_atom),
        *(ForceChoice(group=GroupId(g), choice=AtomId(c)) for g, c in _pairs(select, "--select")),
        *(Retry(node=name) for name in _retried(retry)),
        *(SetLimit(name=name, value=_value(text)) for name, text in _pairs(set_, "--set")),
        *(OverrideBinding(atom=AtomId(a), summary=s) for a, s in _pairs(bind, "--bind")),
    )
    ways = [bool(edits), bool(words), edit, adopt]
    if sum(ways) > 1:
        raise Refused("use one way at a time", hint="options, words, --edit or --adopt")
    if agent and (edits or edit or adopt):
        raise Refused(
            "--agent needs words to turn into edits, and there are none",
            hint="leave it out, or add words that say what should change",
        )
    if not add_atom and (depends_on or under or choice_of):
        raise Refused(
            "--depends-on, --under and --choice-of say where an --add-atom belongs",
            hint='add one, such as --add-atom "Write the manual", or leave them out',
        )
    console = Console()
    terminal = console if console.can_ask and (edit or not yes) else None
    request = RedirectRequest(
        edits=edits,
        words=" ".join(words),
        edit=edit,
        adopt=adopt,
        why=why,
        yes=yes,
        agents=agent_overrides(agent),
    )
    return answer(request, terminal)


def answer(request: RedirectRequest, terminal: Terminal | None) -> int:
    """Carry it out and report every error; returns the exit code."""
    root = root_of_here()
    refuse_for_tree(root, "a tree is not redirected", INSTEAD)
    try:
        if request.adopt:
            return _by_adoption(root, terminal, request.why or "edited in the plan file by hand")
        if request.edits:
            return _by_options(root, request.edits, terminal, request.why or " ".join(sys.argv[2:]))
        if request.words:
            return _by_words(root, request, terminal)
        if terminal is None:
            raise Refused(
                "cannot ask: this is not a terminal",
                hint="use options to say what should change: `dwindle redirect --help`",
            )
        return _by_dialogue(root, terminal, request)
    except IllegalEvent as refusal:
        raise Refused(refusal_reason(refusal)) from None
    except WorkspaceFailed as error:
        raise refused_by(error) from None
    except (EOFError, KeyboardInterrupt):
        raise Refused(NOTHING) from None
    except Locked as error:
        complain(f"dwindle: {error}\n  a run is using this plan; stop it first: `dwindle stop`")
        return EXIT_CODES[StopCode.LOCKED]
    except (StoreFailed, JournalDamaged, OutOfStep) as error:
        complain(f"dwindle: {error}")
        return EXIT_CODES[StopCode.IO_ERROR]


def _by_options(root: Path, edits: tuple[Edit, ...], terminal: Terminal | None, why: str) -> int:
    """Try the edits first; then, with a terminal, pause the run and ask."""
    events = redirects(edits, why)
    with redirect_target(root, complain, pause=False) as direct:
        _show_state(direct.plan)
        if terminal is None:
            return _say_result(apply_change(root, direct, events, None, complain))
        list(effect_lines(direct.plan, events))
    with redirect_target(root, complain) as quiet:
        return _say_result(apply_change(root, quiet, events, terminal, complain))


def _by_words(root: Path, request: RedirectRequest, terminal: Terminal | None) -> int:
    with redirect_target(root, complain, pause=terminal is not None) as quiet:
        _show_state(quiet.plan)
        edits = _planner(request, root, quiet.plan, request.words, terminal or NoTerminal())
        if edits is None:
            raise Refused(NOTHING)
        events = redirects(edits, request.why or request.words)
        return _say_result(apply_change(root, quiet, events, terminal, complain))


def _by_dialogue(root: Path, terminal: Terminal, request: RedirectRequest) -> int:
    with redirect_target(root, terminal.say) as quiet:
        for line in state_lines(quiet.plan):
            terminal.say(line)
        if request.edit:
            why = request.why or "edited by hand"
            return _say_result(change_in_editor(root, quiet, terminal, why, yes=request.yes))
        return _say_result(change_in_dialogue(root, quiet, terminal, partial(_planner, request)))


def _planner(
    request: RedirectRequest, root: Path, plan: Plan, words: str, terminal: Terminal
) -> tuple[Edit, ...] | None:
    from dwindle.app.align.planning import edits_from_words  # noqa: PLC0415 - brings agents along

    return edits_from_words(root, plan, words, terminal, request.agents)


def _by_adoption(root: Path, terminal: Terminal | None, why: str) -> int:
    line = line_to(root)
    if line is not None:
        line.close()
        hint = "the runner restores its plan file while it runs; stop it first: `dwindle stop`"
        raise Refused("a run is using this plan", hint=hint)
    found = adoption.adoption_of(root, why)
    _show_state(found.plan)
    events = found.events
    if events:
        events = show_effect(root, found.plan, events, complain, at_rest=True)
    if terminal is not None and not is_yes(terminal, "Go on?"):
        raise Refused(NOTHING)
    asyncio.run(adoption.adopt(root, found, events))
    if not events:
        return say("the plan is unchanged; your text is kept in the plan file")
    return say("adopted; `dwindle run` continues from here")


def _show_state(plan: Plan) -> None:
    for line in state_lines(plan):
        complain(line)


def _say_result(said: str | None) -> int:
    if said is None:
        raise Refused(NOTHING)
    return say(said)


# --- from options to edits -----------------------------------------------------------------------


def _objective(
    goal: str | None,
    base_case: str | None,
    reopen: tuple[str, ...],
    work_paths: tuple[str, ...],
    unpin: tuple[str, ...],
) -> Iterator[ChangeObjective]:
    if goal is None and base_case is None and not reopen and not work_paths and not unpin:
        return
    check = None
    if base_case is not None:
        check = BaseCase(check=Check(type=CheckType.COMMAND, value=base_case))
    yield ChangeObjective(
        goal=goal,
        base_case=check,
        reopen=tuple(AtomId(name) for name in reopen),
        work_paths=work_paths or None,
        protected_paths=unpinned(root_of_here(), unpin) if unpin else None,
    )


def _pairs(texts: tuple[str, ...], option: str) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, found, value = text.partition("=")
        if not found or not name.strip() or not value.strip():
            hint = "for example --set max_iterations=40, or --select GROUP=ATOM"
            raise Refused(f"{text!r} is not NAME=VALUE", where=option, hint=hint)
        yield name.strip(), value.strip()


def _retried(texts: tuple[str, ...]) -> Iterator[str]:
    for name in (name.strip() for text in texts for name in text.split(",")):
        if not name:
            hint = "for example --retry A3,A4, or --retry verification"
            raise Refused("there is no name", where="--retry", hint=hint)
        yield ROOT if name == VERIFICATION else name


def _value(text: str) -> int | float | str | bool:
    kinds: tuple[Callable[[str], int | float], ...] = (int, float)
    for kind in kinds:
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)
