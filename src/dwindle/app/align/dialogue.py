"""The dialogue of `dwindle align`: ask the user until a machine can check the answers.

Every question says what its answer is for. The result is a draft that the user sees, may edit, and
accepts or not; no plan is written before. With a planner, the user answers two questions, the
planner asks back and proposes a draft. Without one, or if it fails, the user answers all questions.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Protocol

from dwindle.app.align.answers import HIGHEST, Answers, AtomAnswer, CheckAnswer, document
from dwindle.app.align.kept_draft import without_transcript
from dwindle.app.console import complain
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
LOWEST = 1
HEED = 0.1
"""Seconds between two looks for a Ctrl-C that came at a bad moment."""
GOAL = "Goal: what should be true in the end?"
WHY = "Why: what is it for?"
LEAVING = ("q", "quit")


class Terminal(Protocol):
    """The user's terminal. `ask` raises EOFError or KeyboardInterrupt when the user leaves."""

    @property
    def can_ask(self) -> bool:
        """Whether a user can answer."""
        ...

    def ask(self, prompt: str) -> str: ...
    def say(self, what: str) -> None: ...
    def edit(self, draft: str, path: Path | None = None) -> str:
        """The draft after the user has edited it: in the file that has it, or in a passing one."""
        ...


class DraftPlanner(Protocol):
    """Makes a draft out of words. None: it failed, and has told the user why."""

    def propose(self, given: Answers) -> str | None: ...
    def revise(self, draft: str, words: str) -> str | None: ...


Lines = Callable[[str], Sequence[str]]
"""About a draft, for the user."""
Keep = Callable[[str], None]
"""Writes the draft into a file."""


def draft_text_from(
    terminal: Terminal, planner: DraftPlanner | None, keep: Keep, given: Answers | None = None
) -> str:
    """A draft, from the user's answers or from a planner, not accepted yet.

    `given` was answered in an earlier dialogue.
    """
    asked = Questions(terminal, given or Answers(), keep)
    if planner is None:
        terminal.say("Five things have to be agreed on before anything starts. Ctrl-C leaves.\n")
        return document(asked.all())
    terminal.say("Two questions; then a planner asks back, or proposes the rest. Ctrl-C leaves.\n")
    proposed = planner.propose(asked.goal_and_why())
    if proposed is not None:
        return proposed
    if terminal.ask("Enter goes on by hand, q leaves: ").strip().lower() in LEAVING:
        raise EOFError
    return document(asked.all())


def review_draft(  # noqa: PLR0913 - one for each thing that the user can do with it
    terminal: Terminal,
    draft: str,
    faults_of: Lines,
    planner: DraftPlanner | None = None,
    *,
    outlook: Lines = lambda _: (),
    keep: Keep = lambda _: None,
    path: Path | None = None,
) -> str | None:
    """Let the user see, edit and accept the draft; None if they quit.

    `outlook` says what a sound draft may take; `path` is the file that `keep` writes.
    """
    while True:
        terminal.say("\n" + escape(draft) + "\n")
        faults = faults_of(draft)
        if faults:
            terminal.say("\n".join([*faults, "This cannot be accepted yet."]))
        elif expected := outlook(draft):
            terminal.say("\n".join(expected))
        in_words = "" if planner is None else "say in [w]ords what to change, "
        word = terminal.ask(f"[a]ccept, [e]dit, {in_words}[q]uit? ").strip().lower()
        if word in ("a", "accept") and not faults:
            return draft
        if word in LEAVING:
            return None
        if word in ("e", "edit"):
            draft = terminal.edit(draft, path)
        if word in ("w", "words") and planner is not None:
            words = ask_until_answered(terminal, "What should be different?")
            draft = planner.revise(draft, words) or draft
        keep(draft)


def is_yes(terminal: Terminal, question: str) -> bool:
    """Anything but y or yes is a no."""
    return terminal.ask(f"{question} [y/N] ").strip().lower() in ("y", "yes")


# --- questions -----------------------------------------------------------------------------------


def ask_until_answered(terminal: Terminal, question: str) -> str:
    while True:
        answer = terminal.ask(f"{question}\n> ").strip()
        if answer:
            return answer
        terminal.say("This question needs an answer.")


class Questions:
    """Asks every question that has no answer yet, and keeps every answer."""

    def __init__(self, terminal: Terminal, given: Answers, keep: Keep) -> None:
        self.terminal = terminal
        self.answers = given
        self.keep = keep

    def all(self) -> Answers:
        self.goal_and_why()
        given = self.answers
        self._set(
            deliverables=given.deliverables
            or self._ask("Deliverables: what should exist afterwards?")
        )
        self._set(
            done=given.done or self._ask("Definition of done: how would you tell that it is done?")
        )
        self._checks()
        self._atoms()
        return self.answers

    def goal_and_why(self) -> Answers:
        self._set(goal=self.answers.goal or self._ask(GOAL))
        self._set(why=self.answers.why or self._ask(WHY))
        return self.answers

    def _ask(self, question: str) -> str:
        return ask_until_answered(self.terminal, question)

    def _set(self, **answers: Any) -> None:
        self.answers = replace(self.answers, **answers)
        self.keep(document(self.answers))

    def _checks(self) -> None:
        terminal = self.terminal
        terminal.say(
            "\nBase case: the checks that decide. At least one must be for a machine:\n"
            f"  {', '.join(MECHANICAL)}\n"
            "An assertion is confirmed by you in the end, quality is judged by a reviewer."
        )
        while True:
            found = self.answers.checks
            word = terminal.ask(f"Type of check {len(found) + 1} (Enter: no more)\n> ").strip()
            if not word and any(check.type in MECHANICAL for check in found):
                return
            if not word:
                terminal.say("At least one check has to be one that a machine can run.")
            elif word in list(CheckType):
                self._check(CheckType(word), found)
            else:
                terminal.say(f"{one_line(word)} is none of {', '.join(CheckType)}.")

    def _check(self, kind: CheckType, found: tuple[CheckAnswer, ...]) -> None:
        check = CheckAnswer(type=kind, value="", item="")
        self._set(checks=(*found, check))
        value = self._ask(f"The {VALUES[kind]}:")
        check = replace(check, value=value, item=value)
        self._set(checks=(*found, check))
        if kind is CheckType.QUALITY:
            check = replace(check, threshold=_threshold(self.terminal))
            self._set(checks=(*found, check))
        item = self.terminal.ask(f"What does it show? (Enter: {one_line(value)})\n> ").strip()
        self._set(checks=(*found, replace(check, item=item or value)))

    def _atoms(self) -> None:
        terminal = self.terminal
        terminal.say("\nAtoms: pieces of work, each for one agent. They may be split later.")
        while True:
            found = self.answers.atoms
            label = f"A{len(found) + 1}"
            description = terminal.ask(f"{label}: what is to be done? (Enter: no more)\n> ").strip()
            if not description and found:
                return
            if not description:
                terminal.say("At least one atom is needed.")
                continue
            atom = AtomAnswer(id=label, description=description)
            self._set(atoms=(*found, atom))
            needs = _needs(terminal, label, [a.id for a in found if a.instead_of is None])
            self._set(atoms=(*found, replace(atom, depends_on=needs)))
            self._other_ways(label, needs)

    def _other_ways(self, label: str, needs: tuple[str, ...]) -> None:
        question = "Another way, should this one fail? (Enter: none)\n> "
        while other := self.terminal.ask(question).strip():
            found = self.answers.atoms
            way = AtomAnswer(
                id=f"A{len(found) + 1}", description=other, depends_on=needs, instead_of=label
            )
            self._set(atoms=(*found, way))


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
        try:
            line = sys.stdin.readline()
        except OSError:  # the terminal was closed
            line = ""
        if not line:
            raise EOFError
        return line

    def say(self, what: str) -> None:
        print(escape(what), flush=True)

    def edit(self, draft: str, path: Path | None = None) -> str:
        if path is not None:
            return self._edited(draft, path)
        with tempfile.TemporaryDirectory(prefix="dwindle-align-") as folder:
            path = Path(folder) / "draft.yaml"
            path.write_text(draft, encoding="utf-8")
            return self._edited(draft, path)

    def _edited(self, draft: str, path: Path) -> str:
        wanted = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        try:
            code = subprocess.run([*shlex.split(wanted), str(path)], check=False).returncode
            edited = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            self.say(f"{wanted} could not be used: {error}. Is EDITOR set?")
            return draft
        if code:
            self.say(f"{wanted} ended with {code}; the draft is as it was.")
            return draft
        return without_transcript(edited)


class NoTerminal:
    """For a planner without a terminal: it can speak, but not ask."""

    can_ask = False

    def ask(self, prompt: str) -> str:
        raise EOFError(prompt)

    def say(self, what: str) -> None:
        complain(what)

    def edit(self, draft: str, path: Path | None = None) -> str:  # noqa: ARG002 - as above
        return draft


@contextlib.contextmanager
def hangups_interrupt() -> Iterator[None]:
    """A terminal that is closed, and a request to end, work like Ctrl-C."""
    numbers = (signal.SIGHUP, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if before[number] is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, before[number])
