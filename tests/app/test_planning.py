"""Words turned into edits, with a real planner program and a user who answers."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.app.planner_project import SETTINGS, answers, order, project, reports, sessions
from tests.surfaces.on_a_terminal import Played

from dwindle.app.align.planning import edits_from_words
from dwindle.app.plans.load import load_draft
from dwindle.app.redirect.planned_edits import edit_lines, refusals, with_ids
from dwindle.app.refusal import Refused
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
from dwindle.kernel.model import AtomId, BaseCase, Check, CheckType, GroupId, Plan, RunStatus

pytestmark = pytest.mark.slow

PLAN_TEXT = b"""\
objective:
  goal: Log in
  background_intent: They cannot
  deliverables: A page
  definition_of_done: Tests pass
  base_case: {type: command, value: make test}
atoms:
  - {id: A1, description: User model, status: resolved}
  - {id: A2, description: Tokens}
  - {id: A3, description: Cookies}
  - {id: A4, description: Page, depends_on: [or_A2]}
or_groups:
  or_A2: {choices: [A2, A3]}
bindings:
  A1: {summary: There is one, artifacts: []}
"""
TAKE = ""
MORE = {"edit": "set_limit", "name": "max_iterations", "value": 40}
MANY = SetLimit(name="max_iterations", value=40)
NOWHERE = {"edit": "remove_atom", "atom": "A9"}


@pytest.fixture
def plan() -> Plan:
    found = load_draft(PLAN_TEXT)[0].plan
    assert found is not None
    return replace(found, control=replace(found.control, run_id="01RUN", status=RunStatus.STOPPED))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return project(tmp_path / "my pröject")


def played(*words: str, can_ask: bool = True) -> Played:
    return Played(iter(words), can_ask=can_ask)


def test_words_become_edits(folder: Path, plan: Plan) -> None:
    reports(folder, "redirect", {"edits": [MORE], "note": "Twice as many."})
    terminal = played(TAKE)
    assert edits_from_words(folder, plan, "Longer, please", terminal) == (MANY,)
    assert terminal.shown == [
        "The planner says: Twice as many.",
        "The planner proposes to\n  set max_iterations to 40",
        "Enter takes it; or say what should be different; q gives up\n> ",
    ]
    told = order(folder, 1)
    assert (told["role"], told["run"], told["description"]) == (
        "planner",
        "01RUN",
        "Longer, please",
    )
    assert [atom["id"] for atom in told["plan"]["atoms"]] == ["A2", "A4"]


def test_the_planner_asks_back_and_is_told_the_answers(folder: Path, plan: Plan) -> None:
    asked = {"questions": ["How\nmuch?\x1b[2J", "Why?"], "note": "Hm."}
    reports(folder, "redirect", asked, {"edits": [MORE]})
    terminal = played("40", "", TAKE)
    assert edits_from_words(folder, plan, "Longer", terminal) == (MANY,)
    assert terminal.shown[:4] == [
        "The planner says: Hm.",
        "The planner has 2 questions; Enter leaves one open.",
        "How much?\\x1b[2J\n> ",
        "Why?\n> ",
    ]
    assert order(folder, 2)["transcript"] == [
        {"by": "planner", "text": "How\nmuch?\\x1b[2J"},
        {"by": "person", "text": "40"},
        {"by": "planner", "text": "Why?"},
        {"by": "person", "text": "(no answer; decide as you think best)"},
    ]


def test_without_a_terminal_the_questions_are_printed(folder: Path, plan: Plan) -> None:
    reports(folder, "redirect", {"questions": ["How much?", "Why?"]})
    with pytest.raises(Refused) as refused:
        edits_from_words(folder, plan, "Longer", played(can_ask=False))
    assert str(refused.value) == (
        "dwindle: the planner has questions, and there is no terminal to ask them on:\n"
        "  - How much?\n  - Why?\n"
        "  repeat the command with the answers in your words; `dwindle redirect --help` has the "
        "edits that need no planner"
    )


def test_without_a_terminal_what_is_clear_is_done(folder: Path, plan: Plan) -> None:
    reports(folder, "redirect", {"edits": [MORE]})
    assert edits_from_words(folder, plan, "Longer", played(can_ask=False)) == (MANY,)


def test_questions_come_to_an_end(folder: Path, plan: Plan) -> None:
    reports(folder, "redirect", {"questions": ["And now?"]})
    with pytest.raises(Refused) as refused:
        edits_from_words(folder, plan, "Longer", played(*"12345"))
    assert refused.value.what == (
        "the planner failed: the report is malformed: questions: no more are answered, "
        "propose something"
    )
    assert [order(folder, n)["may_ask"] for n in range(1, 8)] == [True] * 5 + [False] * 2
    assert len(sessions(folder)) == 7


def test_what_the_plan_does_not_take_goes_back_once_with_the_reasons(
    folder: Path, plan: Plan
) -> None:
    small = {"edit": "set_limit", "name": "max_redirects", "value": 99}
    reports(folder, "redirect", {"edits": [NOWHERE, small]}, {"edits": [MORE]})
    terminal = played(TAKE)
    assert edits_from_words(folder, plan, "Longer", terminal) == (MANY,)
    reasons = "max_redirects cannot be raised by a redirect\nthere is no atom A9"
    assert order(folder, 2)["failures"] == [{"attempt": 1, "reason": reasons}]
    listed = "  max_redirects cannot be raised by a redirect\n  there is no atom A9"
    assert terminal.shown[:2] == [
        f"What the planner reported cannot be taken:\n{listed}",
        "The planner gets one more try.",
    ]


def test_and_then_the_person_is_told(folder: Path, plan: Plan) -> None:
    reports(folder, "redirect", {"edits": [NOWHERE]})
    with pytest.raises(Refused) as refused:
        edits_from_words(folder, plan, "Longer", played())
    assert refused.value.what == "the plan does not take it: there is no atom A9"
    assert len(sessions(folder)) == 2


def test_a_malformed_report_goes_back_once(folder: Path, plan: Plan) -> None:
    answers(folder, "redirect", {"report_text": "{"}, {"report": {"edits": [MORE]}})
    assert edits_from_words(folder, plan, "Longer", played(TAKE)) == (MANY,)
    reason = order(folder, 2)["failures"][0]["reason"]
    assert reason.startswith("the report is malformed: it is not JSON")


def test_a_planner_that_ends_badly_is_not_asked_again(folder: Path, plan: Plan) -> None:
    answers(folder, "redirect", {"exit": 69})
    with pytest.raises(Refused, match="the planner failed: it ended with exit code 69"):
        edits_from_words(folder, plan, "Longer", played())
    assert len(sessions(folder)) == 1


def test_a_person_may_say_what_should_be_different(folder: Path, plan: Plan) -> None:
    reports(folder, "redirect", {"edits": [{**MORE, "value": 30}]}, {"edits": [MORE]})
    assert edits_from_words(folder, plan, "Longer", played("Still longer", TAKE)) == (MANY,)
    told = order(folder, 2)
    assert told["transcript"] == [{"by": "person", "text": "Still longer"}]
    assert told["draft"] == "  set max_iterations to 30"


def test_but_not_for_ever(folder: Path, plan: Plan) -> None:
    reports(folder, "redirect", {"edits": [MORE]})
    with pytest.raises(Refused, match="it was changed 5 times already"):
        edits_from_words(folder, plan, "Longer", played(*"abcdef"))
    assert len(sessions(folder)) == 6


@pytest.mark.parametrize("words", [("q",), ("QUIT",), ()])
def test_a_user_who_gives_up_changes_nothing(
    folder: Path, plan: Plan, words: tuple[str, ...]
) -> None:
    reports(folder, "redirect", {"edits": [MORE]})
    assert edits_from_words(folder, plan, "Longer", played(*words)) is None


def test_no_words_are_no_order(folder: Path, plan: Plan) -> None:
    with pytest.raises(Refused, match="there are no words"):
        edits_from_words(folder, plan, " ", played())


# --- who plans -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    ["", SETTINGS.replace("script.json", "other.json"), '[agents.worker]\nscript = "other.json"\n'],
)
def test_without_a_planner_there_is_a_hint(tmp_path: Path, plan: Plan, settings: str) -> None:
    folder = project(tmp_path / "project", settings)
    for name in ("other.json", ".runner/other.json"):
        (folder / name).write_text('{"worker": {"*": [{}]}}')
    with pytest.raises(Refused) as refused:
        edits_from_words(folder, plan, "Longer", played())
    assert str(refused.value) == (
        "dwindle: .runner/config.toml: no planner is configured, so words cannot be turned "
        "into edits\n"
        '  add [agents.planner] with backend = "command" and a command, or use the typed\n'
        "  edits: `dwindle redirect --help`"
    )


@pytest.mark.parametrize("role", ["worker", "planner"])
def test_the_agent_of_the_worker_plans_if_no_planner_is_set(
    tmp_path: Path, plan: Plan, role: str
) -> None:
    line = """echo '{"edits": [{"edit": "set_limit", "name": "max_iterations", "value": 40}]}'"""
    folder = project(tmp_path / "project", f'[agents.{role}]\ncommand = """{line}"""\n')
    assert edits_from_words(folder, plan, "Longer", played(TAKE)) == (MANY,)


def test_a_script_that_cannot_be_read_is_heard(folder: Path, plan: Plan) -> None:
    with pytest.raises(Refused, match="the script could not be read: No such file"):
        edits_from_words(folder, plan, "Longer", played())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("[agents]\nbackend = 3\n", "the settings are not valid"),
        (
            '[agents.planner]\nbackend = "codex"\ncommand = "no-such-codex"\n',
            "no-such-codex is not found",
        ),
    ],
)
def test_settings_that_cannot_be_used(tmp_path: Path, plan: Plan, settings: str, said: str) -> None:
    folder = project(tmp_path / "project", settings)
    with pytest.raises(Refused, match=said):
        edits_from_words(folder, plan, "Longer", played())


def test_outside_of_git(tmp_path: Path, plan: Plan) -> None:
    with pytest.raises(Refused, match="is not in a git repository"):
        edits_from_words(tmp_path, plan, "Longer", played())


def test_what_it_used_is_told(folder: Path, plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    usage = {"tokens": 12345, "usd": 0.5}
    reports(folder, "redirect", {"edits": [MORE], "usage": usage})
    edits_from_words(folder, plan, "Longer", played(TAKE))
    told = re.sub(r"in [\d.]+ s", "in no time", capsys.readouterr().err)
    assert told == (
        "The planner is at work...\nThe planner used 12,345 tokens and 0.50 USD in no time.\n"
    )


def test_a_session_has_the_time_that_is_set_for_it(folder: Path, plan: Plan) -> None:
    (folder / ".runner/config.toml").write_text(f"{SETTINGS}timeout_seconds = 1\n")
    answers(folder, "redirect", {"do": [{"sleep": 60}], "report": {"edits": [MORE]}})
    with pytest.raises(Refused, match="it was still at work after 1 s and was ended"):
        edits_from_words(folder, plan, "Longer", played())


def test_without_a_setting_it_has_the_time_of_the_plan(folder: Path, plan: Plan) -> None:
    reports(folder, "redirect", {"edits": [MORE]})
    brief = replace(plan, limits=replace(plan.limits, session_timeout_seconds=77))
    edits_from_words(folder, brief, "Longer", played(TAKE))
    assert order(folder, 1)["timeout_seconds"] == 77


# --- nothing is changed --------------------------------------------------------------------------

WRITES = """\
import json, os, pathlib, subprocess
tried = []
for name in ("check.sh", "new.txt", ".git/HEAD", ".runner/config.toml", ".runner/new"):
    try:
        with open(name, "a") as file:
            file.write("spoilt")
    except OSError:
        pass
    else:
        tried.append(name)
subprocess.run(["git", "commit", "--allow-empty", "--message=mine"], capture_output=True)
print(json.dumps({"questions": ["wrote: " + " ".join(tried), "there: " + open("check.sh").read()]}))
"""


def everything(folder: Path) -> dict[str, bytes]:
    """Every file, but for logs of planners, what git overlooks, and unreferenced objects."""
    return {
        name: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not (name := str(path.relative_to(folder))).startswith(".runner/iterations/")
        and name != ".git/info/exclude"
        and not name.startswith(".git/objects/")
    }


@pytest.mark.parametrize("sandbox", ["true", "false"])
def test_a_planner_that_writes_changes_nothing_of_the_checkout(
    tmp_path: Path, plan: Plan, sandbox: str, require_tool: Callable[[str], Path]
) -> None:
    if sandbox == "true":
        require_tool("bwrap")
    program = tmp_path / "writes.py"
    program.write_text(WRITES)
    command = f'[agents.planner]\ncommand = ["{sys.executable}", "{program}"]\n'
    folder = project(tmp_path / "project", f"{command}[sandbox]\nenabled = {sandbox}\n")
    before = everything(folder)
    with pytest.raises(Refused) as refused:
        edits_from_words(folder, plan, "Longer", played(can_ask=False))
    # Where it could not be kept from writing, it wrote into a copy.
    copied = "test -f done spoilt" if sandbox == "false" else "test -f done"
    wrote = {"true": "wrote:", "false": "wrote: check.sh new.txt"}[sandbox]
    assert refused.value.what.splitlines()[1:] == [f"  - {wrote}", f"  - there: {copied}"]
    after = everything(folder)
    assert {n for n in before | after if before.get(n) != after.get(n)} == set()
    assert list((folder / ".git").glob("worktrees/*")) == []
    assert list((folder / ".runner/outbox").iterdir()) == []


# --- edits ---------------------------------------------------------------------------------------


def add(description: str, *needs: str) -> AddAtom:
    return AddAtom(new=NewAtom(description=description, depends_on=needs))


def test_atoms_that_depend_on_each_other_are_named_as_the_plan_will_name_them(plan: Plan) -> None:
    edits: tuple[Edit, ...] = (
        RemoveAtom(atom=AtomId("A4")),
        add("One"),
        MANY,
        add("Two", "#1", "A1"),
        add("Three", "#2"),
    )
    made = with_ids(plan, edits)
    assert made == (
        *(add("One"), add("Two", "A5", "A1"), add("Three", "A6")),
        *(RemoveAtom(atom=AtomId("A4")), MANY),
    )
    assert refusals(plan, made) == ()


def test_room_is_made_before_it_is_used(plan: Plan) -> None:
    full = replace(plan, limits=replace(plan.limits, max_atoms=4))
    edits = (add("One"), SetLimit(name="max_atoms", value=5))
    assert refusals(full, edits[:1]) == ("no fuel is left for a new atom; raise max_atoms first",)
    assert refusals(full, edits) == ()


def test_edits_are_said_in_words() -> None:
    check = Check(type=CheckType.COMMAND, value="make\ttest")
    edits: tuple[Edit, ...] = (
        ChangeObjective(
            goal="A\nB",
            background_intent="C",
            deliverables="D",
            definition_of_done="E",
            base_case=BaseCase(check=check),
            protected_paths=(),
            reopen=(AtomId("A1"),),
        ),
        ChangeObjective(protected_paths=("tests", "docs")),
        add("One", "A1", "A2"),
        AddAtom(new=NewAtom(description="Part", check=check), parent=AtomId("A4")),
        AddAtom(new=NewAtom(description="Way"), group=GroupId("or_A2")),
        RemoveAtom(atom=AtomId("A4")),
        ForceChoice(group=GroupId("or_A2"), choice=AtomId("A3")),
        MANY,
        OverrideBinding(atom=AtomId("A1"), summary="It is slow"),
    )
    assert list(edit_lines(edits)) == [
        "change the goal to: A B",
        "change the background to: C",
        "change the deliverables to: D",
        "change the definition of done to: E",
        "check in the end (command): make test: make test",
        "protect no paths",
        "do again: A1",
        "protect tests, docs",
        "add an atom, after A1, A2: One",
        "add an atom as a part of A4: Part, checked by: make test",
        "add an atom as a choice of or_A2: Way",
        "remove A4",
        "take A3 in or_A2",
        "set max_iterations to 40",
        "say that A1 came to: It is slow",
    ]
