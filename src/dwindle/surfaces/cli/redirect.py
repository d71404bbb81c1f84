"""dwindle redirect: change direction, while the loop runs or while it rests.

There are four ways to say what should change: by options, in words that a planner turns into edits,
in an editor, or in the plan file itself, which is then adopted. All of them end in redirects, one
for each scope; what they do is said first, and there is a limited number of them.
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

from dwindle.adapters.disk import Locked
from dwindle.adapters.journals.jsonl import JournalDamaged
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AddAtom,
    ChangeObjective,
    Edit,
    ForceChoice,
    NewAtom,
    OverrideBinding,
    RemoveAtom,
    SetLimit,
)
from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.model import AtomId, BaseCase, Check, CheckType, GroupId, Plan, StopCode
from dwindle.ports.store import StoreFailed
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.ledger import OutOfStep
from dwindle.surfaces import adoption
from dwindle.surfaces.agent_choice import agent_overrides
from dwindle.surfaces.cli.output import complain, say
from dwindle.surfaces.dialogue import Console, Terminal, is_yes
from dwindle.surfaces.held import held, line_to, refused_because
from dwindle.surfaces.history import root_of_here
from dwindle.surfaces.redirection import (
    NOTHING,
    changed_by,
    effect_lines,
    in_editor,
    in_words,
    redirects,
    state_lines,
    tried,
)
from dwindle.surfaces.refusal import Refused, refused_by
from dwindle.surfaces.tree_only import refuse_for_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for on the command line; at most one way to say it."""

    edits: tuple[Edit, ...] = ()
    words: str = ""
    edit: bool = False
    adopt: bool = False
    why: str = ""
    yes: bool = False
    agents: Mapping[str, object] = field(default_factory=dict)
    """Who turns words into edits, as `agent_overrides` reads it."""


class Nobody:
    """A terminal without a person."""

    can_ask = False

    def ask(self, prompt: str) -> str:
        raise EOFError(prompt)

    def say(self, what: str) -> None:
        complain(what)

    def edit(self, draft: str) -> str:
        return draft


INSTEAD = "`dwindle stop`, edit .runner/tree.json or .runner/GOAL.md, commit, `dwindle run`"


def redirect(  # noqa: PLR0913 - one for each edit
    *words: str,
    goal: str | None = None,
    base_case: str | None = None,
    reopen: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    add_atom: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    depends_on: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    under: str | None = None,
    choice_of: str | None = None,
    remove_atom: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    select: Annotated[tuple[str, ...], Parameter(negative=())] = (),
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
        add_atom: A further atom: what is to be done.
        depends_on: What the added atoms depend on.
        under: The atom of which the added ones become a part.
        choice_of: The group of which the added ones become a choice.
        remove_atom: An atom that is not wanted any more.
        select: GROUP=ATOM: take this choice.
        set_: LIMIT=VALUE, such as max_iterations=40.
        bind: ATOM=SUMMARY: what a resolved atom really came to.
        edit: Open the plan in $VISUAL or $EDITOR.
        adopt: Take over what was edited in the plan file by hand.
        why: A sentence for the record.
        yes: Do not ask.
        agent: Who turns words into edits, such as claude or codex.
    """
    edits: tuple[Edit, ...] = (
        *_objective(goal, base_case, reopen),
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
        *(SetLimit(name=name, value=_value(text)) for name, text in _pairs(set_, "--set")),
        *(OverrideBinding(atom=AtomId(a), summary=s) for a, s in _pairs(bind, "--bind")),
    )
    ways = [bool(edits), bool(words), edit, adopt]
    if sum(ways) > 1:
        raise Refused(
            "one way at a time", hint="say it by options, in words, with --edit, or with --adopt"
        )
    if agent and (edits or edit or adopt):
        raise Refused(
            "--agent says who turns words into edits, and here are no words",
            hint="leave it out; or say in words, after the command, what should change",
        )
    if not add_atom and (depends_on or under or choice_of):
        raise Refused(
            "--depends-on, --under and --choice-of say where an --add-atom belongs",
            hint='add one, such as --add-atom "Write the manual", or leave them out',
        )
    console = Console()
    terminal = console if console.can_ask and (edit or not yes) else None
    wish = Wish(
        edits=edits,
        words=" ".join(words),
        edit=edit,
        adopt=adopt,
        why=why,
        yes=yes,
        agents=agent_overrides(agent),
    )
    return answer(wish, terminal)


def answer(wish: Wish, terminal: Terminal | None) -> int:
    """The exit code; every way to end that is not a success is told here."""
    root = root_of_here()
    refuse_for_tree(root, "a tree is not redirected", INSTEAD)
    try:
        if wish.adopt:
            return _adopted(root, terminal, wish.why or "edited in the plan file by hand")
        if wish.edits:
            return _typed(root, wish.edits, terminal, wish.why or " ".join(sys.argv[2:]))
        if wish.words:
            return _worded(root, wish, terminal)
        if terminal is None:
            raise Refused(
                "there is nobody to ask: this is no terminal",
                hint="say what should change by options; `dwindle redirect --help` has them",
            )
        return _talked(root, terminal, wish)
    except IllegalEvent as refusal:
        raise Refused(refused_because(refusal)) from None
    except WorkspaceFailed as error:
        raise refused_by(error) from None
    except (EOFError, KeyboardInterrupt):
        raise Refused(NOTHING) from None
    except Locked as error:
        complain(f"dwindle: {error}\n  a run has this plan; stop it first: `dwindle stop`")
        return EXIT_CODES[StopCode.LOCKED]
    except (StoreFailed, JournalDamaged, OutOfStep) as error:
        complain(f"dwindle: {error}")
        return EXIT_CODES[StopCode.IO_ERROR]


def _typed(root: Path, edits: tuple[Edit, ...], terminal: Terminal | None, why: str) -> int:
    """Tried before anything is ended; then, if there is somebody to ask, held up and asked."""
    events = redirects(edits, why)
    with held(root, complain, pause=False) as direct:
        _shown(direct.plan)
        if terminal is None:
            return _done(changed_by(root, direct, events, None, complain))
        list(effect_lines(direct.plan, events))
    with held(root, complain) as quiet:
        return _done(changed_by(root, quiet, events, terminal, complain))


def _worded(root: Path, wish: Wish, terminal: Terminal | None) -> int:
    with held(root, complain, pause=terminal is not None) as quiet:
        _shown(quiet.plan)
        edits = _planner(wish, root, quiet.plan, wish.words, terminal or Nobody())
        if edits is None:
            raise Refused(NOTHING)
        events = redirects(edits, wish.why or wish.words)
        return _done(changed_by(root, quiet, events, terminal, complain))


def _talked(root: Path, terminal: Terminal, wish: Wish) -> int:
    with held(root, terminal.say) as quiet:
        for line in state_lines(quiet.plan):
            terminal.say(line)
        if wish.edit:
            why = wish.why or "edited by hand"
            return _done(in_editor(root, quiet, terminal, why, yes=wish.yes))
        return _done(in_words(root, quiet, terminal, partial(_planner, wish)))


def _planner(
    wish: Wish, root: Path, plan: Plan, words: str, terminal: Terminal
) -> tuple[Edit, ...] | None:
    from dwindle.surfaces.planning import edits_from_words  # noqa: PLC0415 - brings agents along

    return edits_from_words(root, plan, words, terminal, wish.agents)


def _adopted(root: Path, terminal: Terminal | None, why: str) -> int:
    line = line_to(root)
    if line is not None:
        line.close()
        hint = "what is changed in its file meanwhile is put back; stop it first: `dwindle stop`"
        raise Refused("a run has this plan", hint=hint)
    found = adoption.looked_at(root, why)
    _shown(found.plan)
    events = tried(root, found.plan, found.events, complain) if found.events else ()
    if terminal is not None and not is_yes(terminal, "Go on?"):
        raise Refused(NOTHING)
    asyncio.run(adoption.adopt(root, found, events))
    if not events:
        return say("the plan itself is as it was; the file is ours again, with your text in it")
    return say("adopted; `dwindle run` goes on from here")


def _shown(plan: Plan) -> None:
    for line in state_lines(plan):
        complain(line)


def _done(said: str | None) -> int:
    if said is None:
        raise Refused(NOTHING)
    return say(said)


# --- from words to edits -------------------------------------------------------------------------


def _objective(
    goal: str | None, base_case: str | None, reopen: tuple[str, ...]
) -> Iterator[ChangeObjective]:
    if goal is None and base_case is None and not reopen:
        return
    check = None
    if base_case is not None:
        check = BaseCase(check=Check(type=CheckType.COMMAND, value=base_case))
    yield ChangeObjective(goal=goal, base_case=check, reopen=tuple(AtomId(name) for name in reopen))


def _pairs(texts: tuple[str, ...], option: str) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, found, value = text.partition("=")
        if not found or not name.strip() or not value.strip():
            hint = "for example --set max_iterations=40, or --select GROUP=ATOM"
            raise Refused(f"{text!r} is not NAME=VALUE", where=option, hint=hint)
        yield name.strip(), value.strip()


def _value(text: str) -> int | float | str | bool:
    kinds: tuple[Callable[[str], int | float], ...] = (int, float)
    for kind in kinds:
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)
