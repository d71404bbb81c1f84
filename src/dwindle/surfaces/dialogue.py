"""Asking a person what they want, until it is something that a machine can check.

Every question says what its answer is for. Nothing is written while questions are asked: what comes
out is a draft, which is shown, may be edited, and is accepted or not. A planner, where there is
one, is told the goal and the reason, asks back, and proposes the rest; its word is a draft like any
other. Whoever has none, or is not helped by it, answers all the questions.
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

from dwindle.adapters.formats.graph_text import name, names, number, text
from dwindle.kernel.model import CheckType
from dwindle.ports.legible import legible
from dwindle.surfaces.cli.text import one_line

MECHANICAL = (CheckType.COMMAND, CheckType.FILE, CheckType.NOT_COMMAND, CheckType.NOT_FILE)
VALUES = {
    CheckType.COMMAND: "command that ends with 0 when it holds",
    CheckType.FILE: "path that must be there",
    CheckType.NOT_COMMAND: "command that must say no",
    CheckType.NOT_FILE: "path that must not be there",
    CheckType.ASSERTION: "sentence that you will confirm in the end",
    CheckType.QUALITY: "what a reviewer should look for",
}
LOWEST, HIGHEST = 1, 5
HEED = 0.1
"""Seconds after which Ctrl-C is looked for, should it have come at a bad moment."""
GOAL = "Goal: what should be true in the end?"
WHY = "Why: what is it for?"
HEADING = "# Edit what is not right. Everything that docs/state-file.md knows may be added.\n"


class Terminal(Protocol):
    """Where a person sits. `ask` raises EOFError or KeyboardInterrupt when they leave."""

    @property
    def can_ask(self) -> bool:
        """Whether anybody is there to answer."""
        ...

    def ask(self, prompt: str) -> str: ...
    def say(self, what: str) -> None: ...
    def edit(self, draft: str) -> str:
        """What the person made of it in their editor."""
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


class Planner(Protocol):
    """Somebody who makes a draft out of words. None: it has nothing, and has said why."""

    def proposed(self, given: Answers) -> str | None: ...
    def changed(self, draft: str, words: str) -> str | None: ...


Judge = Callable[[str], Sequence[str]]
"""What is wrong with a draft, in lines for a person; empty if nothing is."""


def drafted(terminal: Terminal, planner: Planner | None = None) -> str:
    """A draft, from the answers or from a planner; nobody has agreed to it yet."""
    if planner is None:
        terminal.say("Five things have to be agreed on before anything starts. Ctrl-C leaves.\n")
        return document(converse(terminal))
    terminal.say("Two questions; then a planner asks back, or proposes the rest. Ctrl-C leaves.\n")
    given = Answers(goal=_needed(terminal, GOAL), why=_needed(terminal, WHY))
    proposed = planner.proposed(given)
    return document(converse(terminal, given)) if proposed is None else proposed


def converse(terminal: Terminal, given: Answers | None = None) -> Answers:
    """All questions that have no answer yet, in the order in which one thinks about them."""
    given = given or Answers()
    answers = Answers(
        goal=given.goal or _needed(terminal, GOAL),
        why=given.why or _needed(terminal, WHY),
        deliverables=_needed(terminal, "Deliverables: what should be there afterwards?"),
        done=_needed(terminal, "Definition of done: how would you tell that it is done?"),
    )
    answers = replace(answers, checks=_checks(terminal))
    return replace(answers, atoms=_atoms(terminal))


def agreed(
    terminal: Terminal, draft: str, judge: Judge, planner: Planner | None = None
) -> str | None:
    """Show, edit, accept: the draft that a person said yes to; None if they did not."""
    while True:
        terminal.say("\n" + visible(draft) + "\n")
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
            words = _needed(terminal, "What should be different?")
            draft = planner.changed(draft, words) or draft


def is_yes(terminal: Terminal, question: str) -> bool:
    """Only a yes is one."""
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


def visible(text: str) -> str:
    """What comes from anybody, line by line: nothing in it drives the terminal."""
    return "\n".join(
        "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
        for line in text.splitlines()
    )


# --- questions -----------------------------------------------------------------------------------


def _needed(terminal: Terminal, question: str) -> str:
    while True:
        answer = terminal.ask(f"{question}\n> ").strip()
        if answer:
            return answer
        terminal.say("This one cannot be left out.")


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
            terminal.say("There must be one that a machine can run.")
        elif word in list(CheckType):
            found.append(_check(terminal, CheckType(word)))
        else:
            terminal.say(f"{one_line(word)} is none of {', '.join(CheckType)}.")


def _check(terminal: Terminal, kind: CheckType) -> CheckAnswer:
    value = _needed(terminal, f"The {VALUES[kind]}:")
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
            terminal.say("There must be one at least.")
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
    appears, and then waits for the line to end before it looks again. Here somebody who wants to
    leave is heard at once, or a fraction of a second later.
    """

    def __init__(self) -> None:
        # Half a character from a broken terminal is no reason to lose everything that was said.
        for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "backslashreplace")):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors=errors)

    @property
    def can_ask(self) -> bool:
        return sys.stdin.isatty() and sys.stdout.isatty()

    def ask(self, prompt: str) -> str:
        print(legible(prompt), end="", flush=True)
        while not select.select([sys.stdin], [], [], HEED)[0]:
            pass
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line

    def say(self, what: str) -> None:
        print(legible(what), flush=True)

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
