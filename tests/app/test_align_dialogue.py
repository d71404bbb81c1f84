"""The dialogue, with a user at the terminal who gives the answers that are written here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.surfaces.on_a_terminal import Played

from dwindle.app.align.answers import Answers, AtomAnswer, CheckAnswer, answers_in, document
from dwindle.app.align.dialogue import (
    GOAL,
    Console,
    Questions,
    draft_text_from,
    is_yes,
    review_draft,
)
from dwindle.app.plans.load import load_draft
from dwindle.kernel.model import AtomId, CheckType, GroupId


def played(*words: str) -> Played:
    return Played(iter(words))


def forget(_: str) -> None:
    """No file is written."""


def ask_all(terminal: Played) -> Answers:
    return Questions(terminal, Answers(), forget).all()


FOUR = ("Log in", "They cannot", "A page", "Tests pass")


def test_every_question_is_asked_until_it_is_answered() -> None:
    terminal = played(
        *("", "  Log in ", "They cannot", " ", "A page", "Tests pass"),
        *("", "comand", "assertion", "It is nice", "Nice", ""),
        *("quality", "Names tell", "6", "much", "3.5", ""),
        *("command", "", "make test", "", "not_file", "TODO", "No notes", ""),
        *("", "User model", ""),
        *("Tokens", "A9, A1", "A1 A1", "Sessions", "Cookies", ""),
        *("Page", "A2,A1", "", ""),
    )
    assert ask_all(terminal) == Answers(
        goal="Log in",
        why="They cannot",
        deliverables="A page",
        done="Tests pass",
        checks=(
            CheckAnswer(type=CheckType.ASSERTION, value="It is nice", item="Nice"),
            CheckAnswer(
                type=CheckType.QUALITY, value="Names tell", item="Names tell", threshold=3.5
            ),
            CheckAnswer(type=CheckType.COMMAND, value="make test", item="make test"),
            CheckAnswer(type=CheckType.NOT_FILE, value="TODO", item="No notes"),
        ),
        atoms=(
            AtomAnswer(id="A1", description="User model"),
            AtomAnswer(id="A2", description="Tokens", depends_on=("A1",)),
            AtomAnswer(id="A3", description="Sessions", depends_on=("A1",), instead_of="A2"),
            AtomAnswer(id="A4", description="Cookies", depends_on=("A1",), instead_of="A2"),
            AtomAnswer(id="A5", description="Page", depends_on=("A2", "A1")),
        ),
    )
    replies = [line for line in terminal.shown if line.endswith(".")]
    assert replies[:2] == ["This question needs an answer.", "This question needs an answer."]
    assert replies[3:] == [
        "At least one check has to be one that a machine can run.",
        "comand is none of command, file, not_command, not_file, assertion, quality.",
        "At least one check has to be one that a machine can run.",
        "A number from 1 to 5, such as 3.5.",
        "A number from 1 to 5, such as 3.5.",
        "This question needs an answer.",
        "\nAtoms: pieces of work, each for one agent. They may be split later.",
        "At least one atom is needed.",
        "There is no A9.",
    ]


def test_the_base_case_needs_something_for_a_machine() -> None:
    terminal = played(*FOUR, "assertion", "It is nice", "", "", "file", "out", "", "", "Do it")
    with pytest.raises(EOFError):
        ask_all(terminal)
    assert terminal.shown.count("At least one check has to be one that a machine can run.") == 1


@dataclass
class Helping:
    """A planner that has one draft, or none, and says in capitals what should be different."""

    draft: str | None
    asked: list[object] = field(default_factory=list)

    def propose(self, given: Answers) -> str | None:
        self.asked.append(given)
        return self.draft

    def revise(self, draft: str, words: str) -> str | None:
        self.asked.append((draft, words))
        return None if self.draft is None else words


def test_a_planner_is_told_goal_and_reason_and_proposes_the_rest() -> None:
    planner = Helping("a draft")
    assert draft_text_from(played("", *FOUR), planner, forget) == "a draft"
    assert planner.asked == [Answers(goal="Log in", why="They cannot")]


def test_a_planner_without_an_idea_leaves_the_rest_of_the_questions_to_the_person() -> None:
    words = (*FOUR, "file", "out", "", "", "Make it", "", "")
    terminal = played(*words[:2], "", *words[2:])
    by_hand = document(ask_all(played(*words)))
    assert draft_text_from(terminal, Helping(None), forget) == by_hand
    assert draft_text_from(played(*words), None, forget) == by_hand
    assert terminal.shown.count(f"{GOAL}\n> ") == 1


def test_a_draft_may_be_changed_in_words() -> None:
    planner = Helping("")
    terminal = played("w", "", "Softer", "words", "Softer still", "a")
    assert review_draft(terminal, "quiet", faults, planner) == "Softer still"
    assert planner.asked == [("quiet", "Softer"), ("Softer", "Softer still")]
    menu = "[a]ccept, [e]dit, say in [w]ords what to change, [q]uit? "
    assert terminal.shown.count(menu) == 3


def test_what_a_planner_cannot_change_stays_as_it_is() -> None:
    assert review_draft(played("w", "Softer", "a"), "quiet", faults, Helping(None)) == "quiet"


def test_without_a_planner_nothing_is_changed_in_words() -> None:
    terminal = played("w", "a")
    assert review_draft(terminal, "quiet", faults) == "quiet"
    assert terminal.shown.count("[a]ccept, [e]dit, [q]uit? ") == 2


def test_a_planner_without_an_idea_may_be_the_end_of_it() -> None:
    with pytest.raises(EOFError):
        draft_text_from(played("Log in", "They cannot", "q"), Helping(None), forget)


WORDS = (
    *(*FOUR, "quality", "Names tell", "3.5", "", "command", "make test", "Green", ""),
    *("User model", "", "Tokens", "A1", "Cookies", "", ""),
)
WITHIN_A_CHECK = {5: 4, 6: 8, 7: 8, 9: 8, 10: 11}
"""A check that has no value yet is asked for again; one that has a value is complete."""


@pytest.mark.parametrize("answered", range(1, len(WORDS)))
def test_every_answer_is_kept_and_asked_for_only_once(answered: int) -> None:
    """Leave after any answer: a second dialogue that goes on from the draft needs the others."""
    kept: list[str] = []
    with pytest.raises(EOFError):
        draft_text_from(played(*WORDS[:answered]), None, kept.append)
    typed = [word for word in WORDS[:answered] if word not in ("", "A1", "3.5")]
    assert [word for word in typed if word not in kept[-1]] == []
    given = answers_in(kept[-1])
    if given is None:  # it came to the atoms, and goes on in the editor
        assert answered > WORDS.index("User model")
        return
    rest = WORDS[WITHIN_A_CHECK.get(answered, answered) :]
    text = draft_text_from(played(*rest), None, kept.append, given)
    whole = answers_in(text.partition("atoms:")[0])
    assert whole is not None
    assert (whole.goal, whole.why, whole.deliverables, whole.done) == FOUR
    assert [check.value for check in whole.checks] == ["Names tell", "make test"]
    assert kept[-1] == text


def test_a_draft_that_was_edited_by_hand_is_for_the_editor() -> None:
    draft = document(Answers(goal="Log in"))
    assert answers_in(draft) == Answers(goal="Log in")
    assert answers_in("objective:\n") == Answers()
    for other in ("  constraints: {max_cost_usd: 5}\n", "  base_case: [1]\n", "  why: [\n"):
        assert answers_in(draft + other) is None
    for other in ("[]", "objective: []", "goal: Log in\n", "atoms: []\n", draft + "atoms: []\n"):
        assert answers_in(other) is None


# --- the draft -----------------------------------------------------------------------------------


def test_the_answers_are_a_draft_without_problems() -> None:
    answers = Answers(
        goal='Say "no": # really',
        why="yes",
        deliverables="- a\\b",
        done="{done}",
        checks=(
            CheckAnswer(type=CheckType.COMMAND, value="test 'a' = \"b\"", item="null"),
            CheckAnswer(type=CheckType.QUALITY, value="Names", item="*", threshold=3.5),
            CheckAnswer(type=CheckType.QUALITY, value="Form", item="&", threshold=4.0),
        ),
        atoms=(
            AtomAnswer(id="A1", description="ümlaut\tand tab"),
            AtomAnswer(id="A2", description="2", depends_on=("A1",)),
            AtomAnswer(id="A3", description="3", depends_on=("A1",), instead_of="A2"),
        ),
    )
    draft, problems = load_draft(document(answers).encode())
    assert problems == ()
    assert draft.plan is not None
    objective = draft.plan.objective
    assert (objective.goal, objective.background_intent) == (answers.goal, answers.why)
    assert (objective.deliverables, objective.definition_of_done) == ("- a\\b", "{done}")
    found = [(item.item, item.check) for item in objective.base_case.checklist]
    assert [(item, c.type, c.value or c.criteria, c.pass_threshold) for item, c in found if c] == [
        ("null", CheckType.COMMAND, "test 'a' = \"b\"", None),
        ("*", CheckType.QUALITY, "Names", 3.5),
        ("&", CheckType.QUALITY, "Form", 4.0),
    ]
    assert [(a.description, a.depends_on) for a in draft.plan.atoms.values()] == [
        ("ümlaut\tand tab", ()),
        ("2", ("A1",)),
        ("3", ("A1",)),
    ]
    assert [(name, group.choices) for name, group in draft.plan.groups.items()] == [
        (GroupId("or_A2"), (AtomId("A2"), AtomId("A3")))
    ]


def faults(draft: str) -> Sequence[str]:
    return ["it is too loud"] if draft.isupper() else []


def test_a_draft_is_shown_and_accepted() -> None:
    terminal = played("what?", "a")
    assert review_draft(terminal, "quiet\x1b[2J", faults) == "quiet\x1b[2J"
    assert (
        terminal.shown
        == [
            "\nquiet\\x1b[2J\n",
            "[a]ccept, [e]dit, [q]uit? ",
        ]
        * 2
    )


def test_what_has_faults_cannot_be_accepted_and_may_be_edited() -> None:
    terminal = Played(iter(["edit", "accept", "e", "a"]), edits=str.swapcase)
    assert review_draft(terminal, "quiet", faults) == "quiet"
    assert terminal.shown.count("it is too loud\nThis cannot be accepted yet.") == 2


def test_a_draft_may_be_left() -> None:
    assert review_draft(played("Q"), "quiet", faults) is None


@pytest.mark.parametrize(
    ("word", "meant"), [("y", True), (" YES", True), ("", False), ("n", False)]
)
def test_only_a_yes_is_one(word: str, meant: bool) -> None:
    assert is_yes(played(word), "Sure?") is meant


# --- editors -------------------------------------------------------------------------------------


def editor(folder: Path, script: str) -> str:
    path = folder / "my editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return f"'{path}' --wait"


def test_the_editor_of_the_person_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor(tmp_path, 'echo "$1" >> "$2"'))
    assert Console().edit("draft\n") == "draft\n--wait\n"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo spoiled > $2; exit 3", "ended with 3; the draft is as it was."),
        ("printf '\\377' > $2", "Is EDITOR set?"),
        ("rm $2", "Is EDITOR set?"),
    ],
)
def test_an_editor_that_fails_changes_nothing(
    script: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, script))
    assert Console().edit("draft\n") == "draft\n"
    assert capsys.readouterr().out.rstrip().endswith(said)


@pytest.mark.parametrize("wanted", ["/nonexistent/editor", "'unbalanced"])
def test_an_editor_that_is_not_there_changes_nothing(
    wanted: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VISUAL", wanted)
    assert Console().edit("draft\n") == "draft\n"
    assert capsys.readouterr().out.startswith(f"{wanted} could not be used: ")
