"""dwindle align, as people and scripts call it, in real repositories."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from tests.surfaces.command import GRAPH_FILE, PLAIN, Ended, dwindle, git, repository, write
from tests.surfaces.on_a_terminal import CTRL_C, CTRL_D, OnATerminal, Played

from dwindle.adapters.store.disk import DirectoryLock
from dwindle.app.align.align import AlignRequest
from dwindle.app.align.kept_draft import DRAFT_FILE
from dwindle.app.paths import JOURNALS
from dwindle.app.plans.load import load
from dwindle.kernel.model import Aligned, Control, PlanKind, RunStatus
from dwindle.surfaces import entry
from dwindle.surfaces.cli.align import answer

DRAFT = """\
objective:
  goal: Make the check pass
  background_intent: It does not
  deliverables: A file named done
  definition_of_done: The check passes
  base_case:
    checklist:
      - item: It is done
        check: {type: command, value: sh check.sh}
atoms:
  - id: A1
    description: Write done
"""
RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
OTHER = "01BX5ZZKBKACTAV9WEVGEMMVRZ"
LOOKING = "Running the base case once, in a fresh checkout...\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository whose check is red, in a folder that is no easy name."""
    folder = tmp_path / "my pröject"
    folder.mkdir()
    write(folder, "check.sh", "test -f done\n")
    write(folder, ".gitignore", "built/\n")
    repository(folder)
    write(tmp_path, "draft.yaml", DRAFT)
    return folder


def head(folder: Path) -> str:
    asked = ["git", "rev-parse", "HEAD"]
    return subprocess.run(
        asked, cwd=folder, env=PLAIN, check=True, capture_output=True, text=True
    ).stdout.strip()


def everything(folder: Path) -> dict[str, bytes]:
    """Every file but git's own bookkeeping."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def aligned(folder: Path, *words: str) -> Ended:
    return called(folder, "--from", "../draft.yaml", "--yes", *words)


def called(folder: Path, *words: str) -> Ended:
    """As `dwindle`, in this process: a third of the time."""
    out, err = (TextIOWrapper(BytesIO(), encoding="utf-8") for _ in range(2))
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        code = entry.answer(["align", *words])
        return Ended(code=code, out=_text(out), err=_text(err))


def _text(stream: TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def plan_control(folder: Path) -> Control:
    plan = load(PlanKind.GRAPH, (folder / GRAPH_FILE).read_bytes()).plan
    assert plan is not None
    return plan.control


# --- without dialogue ----------------------------------------------------------------------------


def test_a_draft_becomes_the_plan(project: Path) -> None:
    before = everything(project)
    said = dwindle(project, "align", "--from", "../draft.yaml", "--yes", "--run-id", RUN)
    commit = head(project)
    assert said == Ended(
        code=0,
        err=LOOKING,
        out=f"""\
.claude/aot-loop-state.md: aligned
run        {RUN}
commit     {commit}
pins       check.sh
work paths none: workers may change any file but pins and what steers the tests
           to be strict, add to the objective: work_paths: ["*.sh", "*.md",
           "*.rst", "docs/**"]
base case  red, as it should be
           failed: It is done
atoms      1: A1
sessions   about 2 expected at 50 % success, at most 170 sessions
limits     33 iterations of up to 3 sessions, 10 attempts, 6 winds, 25 h, no
           limit on cost; `dwindle redirect --set` changes them
`dwindle run` starts it.
""",
    )
    assert plan_control(project) == Control(
        run_id=RUN, aligned=Aligned(commit=commit, pins=("check.sh",), branch="main")
    )
    after = everything(project)
    text = after.pop(GRAPH_FILE).decode()
    assert after == before
    assert "    dispatch: refill\n" in text
    assert text.endswith("---\n\n# Original Prompt\n\nMake the check pass\n")
    assert dwindle(project, "validate").code == 0


def test_the_body_of_a_state_file_is_the_original_prompt(project: Path) -> None:
    body = "\nPlease, and *soon*.\n"
    write(project.parent, "draft.yaml", f"---\n{DRAFT}---\n{body}")
    assert aligned(project).code == 0
    assert (project / GRAPH_FILE).read_text().endswith(f"---\n{body}")


def test_from_a_folder_below_the_plan_goes_to_the_root(project: Path) -> None:
    below = project / "a" / "b"
    below.mkdir(parents=True)
    said = called(below, "--from", "../../../draft.yaml", "--yes")
    assert (said.code, (project / GRAPH_FILE).exists()) == (0, True)


def test_every_run_has_an_id_of_its_own(project: Path) -> None:
    assert aligned(project).code == 0
    first = plan_control(project).run_id
    assert first is not None
    assert re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", first)
    assert aligned(project, "--replace").code == 0
    assert plan_control(project).run_id != first


def test_for_programs(project: Path) -> None:
    write(project.parent, "draft.yaml", DRAFT.replace("sh check.sh", "sh check.sh > built/log"))
    said = aligned(project, "--run-id", RUN, "--json")
    facts = json.loads(said.out)
    checks = facts["base_case"]["checks"]
    assert (said.code, said.err, checks[0].pop("seconds") >= 0) == (0, "", True)
    evidence = checks[0].pop("evidence")
    assert evidence.startswith("Failed: ")
    assert facts == {
        "path": GRAPH_FILE,
        "run_id": RUN,
        "commit": head(project),
        "pins": ["check.sh"],
        "work_paths": [],
        "exempt": [],
        "base_case": {
            "baseline": "red",
            "checks": [
                {
                    "item": "It is done",
                    "type": "command",
                    "value": "sh check.sh > built/log",
                    "verdict": "failed",
                }
            ],
        },
        "atoms": 1,
        "expected": 2,
        "bound": 170,
        "kept": None,
        "warnings": [],
    }


@pytest.mark.parametrize(
    ("atoms", "says"),
    [
        (2, "about 4 expected at 50 % success, at most 56 sessions"),
        (
            40,
            (
                "about 80 expected at 50 % success, but the limits allow at most 56 sessions: they"
                " will be met before it is done"
            ),
        ),
    ],
)
def test_more_sessions_than_the_limits_allow_are_not_called_expected(
    atoms: int, says: str, project: Path
) -> None:
    listed = "".join(f"  - {{id: B{n}, description: part}}\n" for n in range(2, atoms + 1))
    few = "  constraints: {max_iterations: 1, max_winds: 0}\n"
    write(
        project.parent, "draft.yaml", DRAFT.replace("  base_case:", f"{few}  base_case:") + listed
    )
    said = " ".join(aligned(project).out.split())
    assert f"sessions {says} limits" in said


def test_settings_are_used_and_judged(project: Path) -> None:
    write(project, ".runner/config.toml", '[workspace]\nsetup = "echo made > built.txt; false"\n')
    assert aligned(project) == Ended(
        code=2,
        err=f"{LOOKING}dwindle: [workspace] setup failed\n"
        "  `dwindle doctor` looks at what a run needs here\n",
    )
    write(project, ".runner/config.toml", "[limits]\nmax_nods = 3\n")
    assert aligned(project) == Ended(
        code=2,
        err=".runner/config.toml:2: unknown key 'max_nods' (limits.max_nods)\n"
        "    hint: did you mean max_nodes?\n"
        ".runner/config.toml: 1 problem\n",
    )
    write(project, ".runner/config.toml", '[workspace]\nsetup = "mkdir -p built; echo > built/x"\n')
    write(project.parent, "draft.yaml", DRAFT.replace("sh check.sh", "test -f built/x && false"))
    assert aligned(project).code == 0
    assert not (project / "built").exists()


def test_what_cannot_be_shared_is_said_now_and_not_at_the_run(project: Path) -> None:
    write(project, ".runner/config.toml", '[workspace]\nshare = ["check.sh"]\n')
    said = aligned(project)
    assert (said.code, (project / GRAPH_FILE).exists()) == (2, False)
    assert "'check.sh' is tracked by git" in said.err


def test_what_is_shared_is_there_when_the_base_case_runs(project: Path) -> None:
    write(project, ".runner/config.toml", '[workspace]\nshare = ["built"]\n')
    write(project, "built/tool", "")
    write(project.parent, "draft.yaml", DRAFT.replace("sh check.sh", "test ! -f built/tool"))
    assert aligned(project, "--run-id", RUN).code == 0
    write(project, ".runner/config.toml", "")
    said = aligned(project, "--replace")
    assert (said.code, "GREEN ALREADY" in said.err) == (2, True)


def test_a_check_may_ask_git(project: Path) -> None:
    line = f"test $(git rev-parse HEAD) = {head(project)}"
    write(project.parent, "draft.yaml", DRAFT.replace("sh check.sh", line))
    said = aligned(project)
    assert (said.code, "GREEN ALREADY" in said.err) == (2, True)


# --- what is judged before anything is written ---------------------------------------------------


def test_what_was_not_agreed_on_stops_at_the_gate(project: Path) -> None:
    write(project.parent, "draft.yaml", "objective: {goal: Something}\n")
    before = everything(project)
    said = aligned(project)
    assert (said.code, said.out, everything(project)) == (3, "", before)
    lines = [line for line in said.err.splitlines() if "hint" not in line]
    assert lines == [
        "../draft.yaml:1: there are no atoms (atoms)",
        "../draft.yaml:1: background_intent is missing (objective.background_intent)",
        "../draft.yaml:1: deliverables is missing (objective.deliverables)",
        "../draft.yaml:1: definition_of_done is missing (objective.definition_of_done)",
        "../draft.yaml:1: there is no base case (objective.base_case)",
        "../draft.yaml: 5 problems",
    ]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("type: command, value: sh check.sh", "type: assertion, value: It is nice", 3),
        ("  deliverables: A file named done\n", "", 3),
        ("background_intent: It does not", "background_intent: ' '", 3),
        ("\n        check: {type: command, value: sh check.sh}", "\n        group: []", 2),
        ("id: A1", "id: 'A 1'", 2),
        ("description: Write done", "description: Write done\n    depends_on: [A2]", 2),
        ("atoms:", "atms: 3\natoms:", 2),
        ("goal: Make", "goal: [", 2),
    ],
)
def test_defects_have_their_codes(project: Path, old: str, new: str, code: int) -> None:
    assert old in DRAFT
    write(project.parent, "draft.yaml", DRAFT.replace(old, new))
    said = aligned(project)
    assert (said.code, said.out, (project / GRAPH_FILE).exists()) == (code, "", False)


def test_a_base_case_that_is_green_already(project: Path) -> None:
    write(project.parent, "draft.yaml", DRAFT.replace("sh check.sh", "test -f check.sh"))
    assert aligned(project) == Ended(
        code=2,
        err=f"""\
{LOOKING}           passed: It is done
THE BASE CASE IS GREEN ALREADY, before any work: passing it would prove nothing.
dwindle: nothing was written
  change the base case, or add --already-green-ok
""",
    )
    assert aligned(project, "--cannot-run-yet-ok").code == 2
    assert not (project / GRAPH_FILE).exists()
    said = aligned(project, "--already-green-ok")
    assert (said.code, "base case  GREEN ALREADY, before any work\n" in said.out) == (0, True)


def test_a_base_case_that_cannot_run_yet(project: Path) -> None:
    write(project.parent, "draft.yaml", DRAFT.replace("sh check.sh", "no-such-program"))
    said = aligned(project)
    assert (said.code, "127" in said.err) == (2, True)
    assert said.err.endswith(
        "           no run: It is done\n"
        "These checks cannot tell whether the work is done; their failing proves nothing:\n"
        "It is done: Could not run: `no-such-program` exited with 127: a command or its interpreter"
        " was not found.\n"
        "    | sh: 2: no-such-program: not found\n"
        "    cure: correct the command; or, if the work makes it run, add --cannot-run-yet-ok\n"
        "dwindle: nothing was written\n"
        "  change the base case, or add --cannot-run-yet-ok\n"
    )
    assert not (project / GRAPH_FILE).exists()
    assert aligned(project, "--already-green-ok").code == 2
    assert aligned(project, "--cannot-run-yet-ok").code == 0


def test_only_what_is_committed_counts(project: Path) -> None:
    write(project, "done", "")
    write(project, "check.sh", "true\n")
    write(project.parent, "draft.yaml", DRAFT.replace("check:", "check: "))
    said = aligned(project)
    assert (said.code, "base case  red" in said.out) == (0, True)
    assert "warning: 1 file has changes that are not committed" in said.out


def test_an_ignored_file_is_warned_about(project: Path) -> None:
    text = DRAFT.replace("{type: command, value: sh check.sh}", "{type: file, value: built/a}")
    write(project.parent, "draft.yaml", text)
    said = aligned(project)
    warning = "It is done: built/a is ignored by git, so that no fresh checkout has it"
    first = f"../draft.yaml:6: warning: {warning} (objective.base_case)"
    assert (said.code, said.out.splitlines()[0]) == (0, first)


@pytest.mark.parametrize("path", ["/etc/passwd", "../draft.yaml"])
def test_a_path_outside_is_not_asked_about(project: Path, path: str) -> None:
    text = DRAFT.replace("{type: command, value: sh check.sh}", f"{{type: file, value: {path}}}")
    write(project.parent, "draft.yaml", text)
    said = aligned(project, "--cannot-run-yet-ok")
    assert (said.code, "ignored" in said.out) == (0, False)


def test_nothing_is_left_behind_by_the_look(project: Path) -> None:
    temporary = project.parent / "tmp"
    temporary.mkdir()
    said = dwindle(project, "align", "--from", "../draft.yaml", "--yes", TMPDIR=str(temporary))
    assert (said.code, list(temporary.iterdir())) == (0, [])
    assert list((project / ".git").glob("worktrees/*")) == []


# --- where it cannot be --------------------------------------------------------------------------


def test_outside_of_git(tmp_path: Path) -> None:
    write(tmp_path, "draft.yaml", DRAFT)
    folder = tmp_path / "plain"
    folder.mkdir()
    said = aligned(folder)
    assert (said.code, said.out, list(folder.iterdir())) == (2, "", [])
    assert "is not in a git repository" in said.err


def test_on_a_branch_without_a_commit(tmp_path: Path) -> None:
    write(tmp_path, "draft.yaml", DRAFT)
    folder = tmp_path / "unborn"
    folder.mkdir()
    git(folder, "init", "--quiet")
    said = aligned(folder)
    assert (said.code, said.out, (folder / ".claude").exists()) == (2, "", False)
    assert "has no commit yet" in said.err


def test_a_detached_head_will_do(project: Path) -> None:
    git(project, "checkout", "--quiet", "--detach")
    assert aligned(project).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "cannot ask: this is not a terminal"),
        (["--from", "../draft.yaml"], "cannot ask: this is not a terminal"),
        (["--yes"], "cannot ask: this is not a terminal"),
        (["--from", "../none.yaml", "--yes"], "../none.yaml: the file cannot be read: No such"),
        (["--from", "..", "--yes"], "..: this is a folder"),
        (["--from", "../draft.yaml", "--yes", "--run-id", "x/y"], "--run-id: 'x/y' is no run id"),
    ],
)
def test_what_is_refused_at_once(project: Path, words: list[str], said: str) -> None:
    ended = called(project, *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"dwindle: {said}")
    assert not (project / ".claude").exists()


# --- a plan that is there already ----------------------------------------------------------------


def test_a_plan_that_is_not_completed_is_not_replaced_by_accident(project: Path) -> None:
    assert aligned(project, "--run-id", RUN).code == 0
    before = everything(project)
    assert aligned(project) == Ended(
        code=2,
        err="dwindle: .claude/aot-loop-state.md: there is a plan that is pending\n"
        "  --replace puts another in its place and keeps this one beside it;\n"
        "  `dwindle redirect` changes it and goes on\n",
    )
    assert everything(project) == before


def test_the_old_plan_and_its_journal_are_kept(project: Path) -> None:
    assert aligned(project, "--run-id", RUN).code == 0
    old = (project / GRAPH_FILE).read_bytes()
    journal = write(project, f"{JOURNALS}/{RUN}.jsonl", "{}\n")
    said = aligned(project, "--run-id", OTHER, "--replace")
    kept = f".claude/aot-loop-state.{RUN}.md"
    assert (said.code, f"old plan   {kept}\n" in said.out) == (0, True)
    assert ((project / kept).read_bytes(), journal.read_text()) == (old, "{}\n")
    assert plan_control(project).run_id == OTHER


def test_a_completed_plan_makes_room_and_is_kept_too(project: Path) -> None:
    assert aligned(project, "--run-id", RUN).code == 0
    text = (project / GRAPH_FILE).read_text()
    done = text.replace("status: pending\n  iteration", "status: completed\n  iteration")
    write(project, GRAPH_FILE, done)
    assert plan_control(project).status is RunStatus.COMPLETED
    assert aligned(project, "--run-id", OTHER).code == 0
    assert (project / f".claude/aot-loop-state.{RUN}.md").read_text() == done


def test_a_plan_that_cannot_be_read_is_kept_under_a_number(project: Path) -> None:
    write(project, GRAPH_FILE, "scribbles")
    said = aligned(project)
    assert (said.code, "there is a plan that cannot be read" in said.err) == (2, True)
    assert aligned(project, "--replace").code == 0
    assert (project / ".claude/aot-loop-state.1.md").read_text() == "scribbles"


def test_a_plan_may_be_aligned_anew_from_itself(project: Path) -> None:
    assert aligned(project, "--run-id", RUN).code == 0
    said = called(project, "--from", GRAPH_FILE, "--yes", "--replace", "--run-id", OTHER)
    assert (said.code, plan_control(project).run_id) == (0, OTHER)
    assert f"{GRAPH_FILE} comes from an earlier run; its counters start at 0" in said.out


def test_a_run_id_is_used_once(project: Path) -> None:
    write(project, f"{JOURNALS}/{RUN}.jsonl", "{}\n")
    said = aligned(project, "--run-id", RUN)
    assert (said.code, said.err) == (
        2,
        f"dwindle: --run-id: {RUN} has been run already\n  leave out --run-id for a new one\n",
    )


def test_while_a_runner_holds_the_plan(project: Path) -> None:
    (project / ".claude").mkdir()
    with DirectoryLock(project / ".claude"):
        said = aligned(project)
    assert (said.code, said.out, (project / GRAPH_FILE).exists()) == (42, "", False)
    assert f"is in use by process {os.getpid()}" in said.err
    assert LOOKING not in said.err


def test_where_it_cannot_be_written(project: Path) -> None:
    write(project, ".claude", "in the way")
    said = aligned(project)
    assert (said.code, said.out) == (43, "")


# --- on a terminal -------------------------------------------------------------------------------

ANSWERS = (
    ("Goal:", "Make it"),
    ("Why:", "It is missing"),
    ("Deliverables:", "A file"),
    ("Definition of done:", "The check passes"),
    ("Type of check 1", "command"),
    ("command that exits with 0", "sh check.sh"),
    ("What does it show?", "It is done"),
    ("Type of check 2", ""),
    ("A1: what is to be done?", "Write done"),
    ("Another way", "Copy done"),
    ("Another way", ""),
    ("A3: what is to be done?", "Tell people"),
    ("What must be done before A3?", "A1"),
    ("Another way", ""),
    ("A4: what is to be done?", ""),
)


def test_the_whole_dialogue(project: Path, tmp_path: Path) -> None:
    editor = write(tmp_path, "editor", "#!/bin/sh\nsed -i 's/Make it/Make it well/' \"$1\"\n")
    editor.chmod(0o700)
    with OnATerminal(project, "align", "--run-id", RUN, EDITOR=str(editor)) as terminal:
        for question, words in ANSWERS:
            terminal.answer(question, words)
        terminal.answer("[a]ccept, [e]dit, [q]uit? ", "e")
        terminal.expect('goal: "Make it well"')
        terminal.answer("[a]ccept, [e]dit, [q]uit? ", "a")
        terminal.expect(".claude/aot-loop-state.md: aligned")
        assert terminal.ended() == 0
    plan = load(PlanKind.GRAPH, (project / GRAPH_FILE).read_bytes()).plan
    assert plan is not None
    assert plan.control == Control(
        run_id=RUN, aligned=Aligned(commit=head(project), pins=("check.sh",), branch="main")
    )
    assert plan.objective.goal == "Make it well"
    assert [(a.id, a.description, a.depends_on) for a in plan.atoms.values()] == [
        ("A1", "Write done", ()),
        ("A2", "Copy done", ()),
        ("A3", "Tell people", ("A1",)),
    ]
    assert [(name, group.choices) for name, group in plan.groups.items()] == [
        ("or_A1", ("A1", "A2"))
    ]


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D], ids=["ctrl-c", "ctrl-d"])
@pytest.mark.parametrize("answered", [0, 5, len(ANSWERS)])
def test_a_user_who_leaves_leaves_their_draft(project: Path, answered: int, key: str) -> None:
    before = everything(project)
    with OnATerminal(project, "align") as terminal:
        for question, words in ANSWERS[:answered]:
            terminal.answer(question, words)
        terminal.expect("> " if answered < len(ANSWERS) else "[q]uit? ")
        terminal.type(key, end="")
        kept = f"; the draft is kept: {DRAFT_FILE}\n  `dwindle align` offers to go on from it\n"
        terminal.expect(f"dwindle: no plan was written{kept if answered else ''}")
        assert terminal.ended() == 10
    after = everything(project)
    draft = after.pop(DRAFT_FILE, b"").decode()
    assert after == before
    assert bool(draft) is bool(answered)
    told = [word for _, word in ANSWERS[:answered] if len(word) > 2 and word != "command"]
    assert [word for word in told if word not in draft] == []
    assert status(project) == ""


@pytest.mark.slow
@pytest.mark.parametrize("signal", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_whatever_ends_the_dialogue_it_goes_on_later(project: Path, signal: signal.Signals) -> None:
    with OnATerminal(project, "align") as terminal:
        for question, words in ANSWERS[:5]:
            terminal.answer(question, words)
        terminal.expect("when it holds:\n> ")
        os.kill(terminal.pid, signal)
        if signal is not signal.SIGKILL:
            terminal.expect(f"the draft is kept: {DRAFT_FILE}")
        assert terminal.ended() == (-9 if signal is signal.SIGKILL else 10)
    with OnATerminal(project, "align") as terminal:
        terminal.expect(f"There is a draft that was not finished: {DRAFT_FILE}")
        terminal.answer("Go on from it? [Y/n] ", "")
        for question, words in ANSWERS[4:]:
            terminal.answer(question, words)
        terminal.answer("[a]ccept, [e]dit, [q]uit? ", "a")
        assert terminal.ended() == 0
        assert "Goal:" not in terminal.seen
    assert f'goal: "{ANSWERS[0][1]}"' in (project / GRAPH_FILE).read_text()
    assert not (project / DRAFT_FILE).exists()


def test_a_terminal_that_is_closed_loses_nothing(project: Path) -> None:
    terminal = OnATerminal(project, "align")
    terminal.answer("Goal:", "Make it")
    terminal.expect("Why:")
    assert terminal.closed() == 10
    assert 'goal: "Make it"' in (project / DRAFT_FILE).read_text()


def test_a_user_may_begin_anew_and_keeps_the_old_draft(project: Path) -> None:
    write(project, DRAFT_FILE, "objective:\n  goal: An old one\n")
    with OnATerminal(project, "align") as terminal:
        terminal.answer("Go on from it? [Y/n] ", "n")
        terminal.answer("Goal:", "A new one")
        terminal.expect("The draft of before is now .runner/draft-1.yaml.")
        terminal.expect("Why:")
        terminal.type(CTRL_C, end="")
        assert terminal.ended() == 10
    assert (project / ".runner/draft-1.yaml").read_text() == "objective:\n  goal: An old one\n"
    assert '"A new one"' in (project / DRAFT_FILE).read_text()


@pytest.mark.slow
def test_what_was_saved_in_an_editor_that_is_killed_is_kept(project: Path, tmp_path: Path) -> None:
    script = "#!/bin/sh\nsed -i 's/Make the/Really make the/' \"$1\"\necho saved\nkill -9 $PPID\n"
    editor = write(tmp_path, "editor", script)
    editor.chmod(0o700)
    words = ("align", "--from", "../draft.yaml")
    with OnATerminal(project, *words, EDITOR=str(editor)) as terminal:
        terminal.answer("[q]uit? ", "e")
        terminal.expect("saved")
        assert terminal.ended() == -9
    with OnATerminal(project, "align") as terminal:
        terminal.answer("Go on from it? [Y/n] ", "y")
        terminal.expect("goal: Really make the check pass")
        terminal.answer("[q]uit? ", "a")
        assert terminal.ended() == 0


def test_a_bug_does_not_lose_the_draft(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: str) -> str:
        raise ZeroDivisionError

    monkeypatch.chdir(project)
    terminal = Played(iter(["e"]), edits=broken)
    with pytest.raises(ZeroDivisionError):
        answer(AlignRequest(source=Path("../draft.yaml")), terminal)
    assert f"The draft is kept: {DRAFT_FILE}" in capsys.readouterr().err
    assert (project / DRAFT_FILE).exists()


def status(folder: Path) -> str:
    asked = ["git", "status", "--porcelain"]
    return subprocess.run(asked, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_ctrl_c_while_the_base_case_runs(project: Path) -> None:
    write(project.parent, "draft.yaml", DRAFT.replace("sh check.sh", "sleep 600"))
    before = everything(project)
    with OnATerminal(project, "align", "--from", "../draft.yaml", "--yes") as terminal:
        terminal.expect("Running the base case once")
        terminal.type(CTRL_C, end="")
        terminal.expect("dwindle: no plan was written")
        assert terminal.ended() == 10
    assert everything(project) == before
    assert list((project / ".git").glob("worktrees/*")) == []


def test_a_draft_from_a_file_is_shown_first(project: Path) -> None:
    with OnATerminal(project, "align", "--from", "../draft.yaml") as terminal:
        terminal.expect("goal: Make the check pass")
        terminal.answer("[a]ccept, [e]dit, [q]uit? ", "q")
        terminal.expect("dwindle: no plan was written")
        assert terminal.ended() == 10
    assert not (project / ".claude").exists()


def test_on_a_terminal_a_green_base_case_is_asked_about(project: Path) -> None:
    write(project.parent, "draft.yaml", DRAFT.replace("sh check.sh", "test -f check.sh"))
    with OnATerminal(project, "align", "--from", "../draft.yaml") as terminal:
        terminal.answer("[q]uit? ", "a")
        terminal.expect("THE BASE CASE IS GREEN ALREADY")
        terminal.answer("Go on all the same? [y/N] ", "n")
        terminal.expect("goal: Make the check pass")  # back at the edit
        assert not (project / GRAPH_FILE).exists()
        terminal.answer("[q]uit? ", "a")
        terminal.answer("Go on all the same? [y/N] ", "y")
        assert terminal.ended() == 0
    assert (project / GRAPH_FILE).exists()


def test_yes_to_nothing(project: Path) -> None:
    with OnATerminal(project, "align", "--yes") as terminal:
        terminal.expect("dwindle: --yes to what?")
        assert terminal.ended() == 2


def test_a_draft_with_faults_can_be_mended_before_it_is_accepted(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    write(project.parent, "draft.yaml", DRAFT.replace("goal: Make the check pass", "goal:"))
    terminal = Played(
        iter(["a", "e", "a"]), edits=lambda draft: draft.replace("goal:", "goal: Fixed")
    )
    wish = AlignRequest(source=Path("../draft.yaml"), run_id=RUN)
    assert answer(wish, terminal) == 0
    assert any("../draft.yaml:2: goal is blank" in line for line in terminal.shown)
    assert 'goal: "Fixed"' in (project / GRAPH_FILE).read_text()
