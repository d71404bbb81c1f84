"""The dialogue of `dwindle align`: ask the user until a machine can check the answers.

Every question says what its answer is for. The result is a draft that the user sees, may edit, and
accepts or not; nothing is written before. With a planner, the user answers two questions, the
planner asks back and proposes a draft. Without one, or if it fails, the user answers all questions.
"""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import TextIOWrapper
from pathlib import Path
from typing import Protocol

from dwindle.adapters.formats.graph.spelling import name, names, number, text
from dwindle.kernel.base_case import MECHANICAL
from dwindle.kernel.model import CheckType
from dwindle.text.escape import escape
from dwindle.text.terminal import one_line

VALUES = {
    CheckType.COMMAND: "command that exits with 0 when it holds",
    CheckType.FILE: "path that must exist",
    CheckType.NOT_COMMAND: "command that must run and fail",
    CheckType.NOT_FILE: "path that must not exist",
    CheckType.ASSERTION: "sentence that you will confirm in the end",
    CheckType.QUALITY: "what a reviewer should look for",
}
LOWEST, HIGHEST = 1, 5
HEED = 0.1
"""Seconds between two looks for a Ctrl-C that came at a bad moment."""
GOAL = "Goal: what should be true in the end?"
WHY = "Why: what is it for?"
HEADING = "# Change what is wrong. You may add every field that docs/state-file.md describes.\n"


class Terminal(Protocol):
    """The user's terminal. `ask` raises EOFError or KeyboardInterrupt when the user leaves."""

    @property
    def can_ask(self) -> bool:
        """Whether a user can answer."""
        ...

    def ask(self, prompt: str) -> str: ...
    def say(self, what: str) -> None: ...
    def edit(self, draft: str) -> str:
        """The draft after the user has edited it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckAnswer:
    type: CheckType
    value: str
    item: str
    threshold: float | None = None
    """For quality only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomAnswer:
    id: str
    description: str
    depends_on: tuple[str, ...] = ()
    instead_of: str | None = None
    """The atom that it is another way for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    goal: str = ""
    why: str = ""
    deliverables: str = ""
    done: str = ""
    checks: tuple[CheckAnswer, ...] = ()
    atoms: tuple[AtomAnswer, ...] = ()


class DraftPlanner(Protocol):
    """Makes a draft out of words. None: it failed, and has told the user why."""

    def propose(self, given: Answers) -> str | None: ...
    def revise(self, draft: str, words: str) -> str | None: ...


Judge = Callable[[str], Sequence[str]]
"""The problems of a draft, in lines for the user."""


def draft_text_from(terminal: Terminal, planner: DraftPlanner | None = None) -> str:
    """A draft, from the user's answers or from a planner, not accepted yet."""
    if planner is None:
        terminal.say("Five things have to be agreed on before anything starts. Ctrl-C leaves.\n")
        return document(ask_all(terminal))
    terminal.say("Two questions; then a planner asks back, or proposes the rest. Ctrl-C leaves.\n")
    given = Answers(goal=ask_until_answered(terminal, GOAL), why=ask_until_answered(terminal, WHY))
    proposed = planner.propose(given)
    return document(ask_all(terminal, given)) if proposed is None else proposed


def ask_all(terminal: Terminal, given: Answers | None = None) -> Answers:
    """Ask every question that has no answer yet."""
    given = given or Answers()
    answers = Answers(
        goal=given.goal or ask_until_answered(terminal, GOAL),
        why=given.why or ask_until_answered(terminal, WHY),
        deliverables=ask_until_answered(terminal, "Deliverables: what should exist afterwards?"),
        done=ask_until_answered(
            terminal, "Definition of done: how would you tell that it is done?"
        ),
    )
    answers = replace(answers, checks=_checks(terminal))
    return replace(answers, atoms=_atoms(terminal))


def review_draft(
    terminal: Terminal, draft: str, judge: Judge, planner: DraftPlanner | None = None
) -> str | None:
    """Let the user see, edit and accept the draft; None if they quit."""
    while True:
        terminal.say("\n" + escape(draft) + "\n")
        faults = judge(draft)
        if faults:
            terminal.say("\n".join([*faults, "This cannot be accepted yet."]))
        in_words = "" if planner is None else "say in [w]ords what to change, "
        word = terminal.ask(f"[a]ccept, [e]dit, {in_words}[q]uit? ").strip().lower()
        if word in ("a", "accept") and not faults:
            return draft
        if word in ("q", "quit"):
            return None
        if word in ("e", "edit"):
            draft = terminal.edit(draft)
        if word in ("w", "words") and planner is not None:
            words = ask_until_answered(terminal, "What should be different?")
            draft = planner.revise(draft, words) or draft


def is_yes(terminal: Terminal, question: str) -> bool:
    """Anything but y or yes is a no."""
    return terminal.ask(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def document(answers: Answers) -> str:
    """The answers as a draft."""
    lines = [HEADING + "objective:"]
    lines += [f"  goal: {text(answers.goal)}", f"  background_intent: {text(answers.why)}"]
    lines += [f"  deliverables: {text(answers.deliverables)}"]
    lines += [f"  definition_of_done: {text(answers.done)}", "  base_case:", "    checklist:"]
    for check in answers.checks:
        lines += [f"      - item: {text(check.item)}", "        check:"]
        lines += [f"          type: {check.type}"]
        if check.type is CheckType.QUALITY:
            lines += [f"          criteria: {text(check.value)}"]
            lines += [f"          pass_threshold: {number(check.threshold or HIGHEST)}"]
        else:
            lines += [f"          value: {text(check.value)}"]
    lines += ["atoms:"]
    groups: dict[str, list[str]] = {}
    for atom in answers.atoms:
        lines += [f"  - id: {name(atom.id)}", f"    description: {text(atom.description)}"]
        lines += [f"    depends_on: {names(atom.depends_on)}"] if atom.depends_on else []
        if atom.instead_of is not None:
            groups.setdefault(atom.instead_of, [atom.instead_of]).append(atom.id)
    lines += ["or_groups:"] if groups else []
    for first, choices in groups.items():
        lines += [f"  {name(f'or_{first}')}:", f"    choices: {names(choices)}"]
    return "\n".join(lines) + "\n"


# --- questions -----------------------------------------------------------------------------------


def ask_until_answered(terminal: Terminal, question: str) -> str:
    while True:
        answer = terminal.ask(f"{question}\n> ").strip()
        if answer:
            return answer
        terminal.say("This question needs an answer.")


def _checks(terminal: Terminal) -> tuple[CheckAnswer, ...]:
    terminal.say(
        "\nBase case: the checks that decide. At least one must be for a machine:\n"
        f"  {', '.join(MECHANICAL)}\n"
        "An assertion is confirmed by you in the end, quality is judged by a reviewer."
    )
    found: list[CheckAnswer] = []
    while True:
        word = terminal.ask(f"Type of check {len(found) + 1} (Enter: no more)\n> ").strip()
        if not word and any(check.type in MECHANICAL for check in found):
            return tuple(found)
        if not word:
            terminal.say("At least one check has to be one that a machine can run.")
        elif word in list(CheckType):
            found.append(_check(terminal, CheckType(word)))
        else:
            terminal.say(f"{one_line(word)} is none of {', '.join(CheckType)}.")


def _check(terminal: Terminal, kind: CheckType) -> CheckAnswer:
    value = ask_until_answered(terminal, f"The {VALUES[kind]}:")
    threshold = None
    if kind is CheckType.QUALITY:
        threshold = _threshold(terminal)
    item = terminal.ask(f"What does it show? (Enter: {one_line(value)})\n> ").strip()
    return CheckAnswer(type=kind, value=value, item=item or value, threshold=threshold)


def _threshold(terminal: Terminal) -> float:
    while True:
        word = terminal.ask(f"Score that it needs, {LOWEST} to {HIGHEST}:\n> ").strip()
        try:
            score = float(word)
        except ValueError:
            score = 0.0
        if LOWEST <= score <= HIGHEST:
            return score
        terminal.say(f"A number from {LOWEST} to {HIGHEST}, such as 3.5.")


def _atoms(terminal: Terminal) -> tuple[AtomAnswer, ...]:
    terminal.say("\nAtoms: pieces of work, each for one agent. They may be split later.")
    found: list[AtomAnswer] = []
    while True:
        label = f"A{len(found) + 1}"
        description = terminal.ask(f"{label}: what is to be done? (Enter: no more)\n> ").strip()
        if not description and found:
            return tuple(found)
        if not description:
            terminal.say("At least one atom is needed.")
            continue
        needs = _needs(terminal, label, [a.id for a in found if a.instead_of is None])
        found.append(AtomAnswer(id=label, description=description, depends_on=needs))
        while other := terminal.ask("Another way, should this one fail? (Enter: none)\n> ").strip():
            way = AtomAnswer(
                id=f"A{len(found) + 1}", description=other, depends_on=needs, instead_of=label
            )
            found.append(way)


def _needs(terminal: Terminal, label: str, known: Sequence[str]) -> tuple[str, ...]:
    while known:
        asked = f"What must be done before {label}? Of {', '.join(known)} (Enter: nothing)\n> "
        words = terminal.ask(asked).replace(",", " ").split()
        unknown = [word for word in words if word not in known]
        if not unknown:
            return tuple(dict.fromkeys(words))
        terminal.say(f"There is no {one_line(', '.join(unknown))}.")
    return ()


# --- a real one ----------------------------------------------------------------------------------


class Console:
    """The terminal that the command was given on.

    Not `input()`: with or without readline, it loses a Ctrl-C that comes just as the prompt
    appears, and then waits for the end of the line. Here Ctrl-C works at once, or a fraction of a
    second later.
    """

    def __init__(self) -> None:
        # Half a character from a broken terminal must not lose the whole dialogue.
        for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "backslashreplace")):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors=errors)

    @property
    def can_ask(self) -> bool:
        return sys.stdin.isatty() and sys.stdout.isatty()

    def ask(self, prompt: str) -> str:
        print(escape(prompt), end="", flush=True)
        while not select.select([sys.stdin], [], [], HEED)[0]:
            pass
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line

    def say(self, what: str) -> None:
        print(escape(what), flush=True)

    def edit(self, draft: str) -> str:
        wanted = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        with tempfile.TemporaryDirectory(prefix="dwindle-align-") as folder:
            path = Path(folder) / "draft.yaml"
            path.write_text(draft, encoding="utf-8")
            try:
                code = subprocess.run([*shlex.split(wanted), str(path)], check=False).returncode
                edited = path.read_text(encoding="utf-8")
            except (OSError, ValueError) as error:
                self.say(f"{wanted} could not be used: {error}. Is EDITOR set?")
                return draft
        if code:
            self.say(f"{wanted} ended with {code}; the draft is as it was.")
            return draft
        return edited
