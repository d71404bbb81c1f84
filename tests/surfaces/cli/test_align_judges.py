"""`align` judges the checks that it is given, before a run works towards them in vain."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path

import pytest
from tests.surfaces.cli.test_align import DRAFT, called, plan_control
from tests.surfaces.command import GRAPH_FILE, Ended, dwindle, git, repository, write
from tests.surfaces.on_a_terminal import Played

from dwindle.app.align.align import AlignRequest
from dwindle.app.align.kept_draft import DRAFT_FILE
from dwindle.surfaces.cli.align import answer


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    write(folder, "check.sh", "test -f done\n")
    write(folder, "src/module.py", "X = 1\n")
    write(folder, ".gitignore", "built/\n.venv/\n")
    repository(folder)
    return folder


def aligned(project: Path, line: str, *words: str, deliverables: str = "all") -> Ended:
    text = DRAFT.replace("value: sh check.sh", f"value: {json.dumps(line)}")
    text = text.replace("A file named done", deliverables)
    write(project.parent, "draft.yaml", text)
    return called(project, "--from", "../draft.yaml", "--yes", *words)


def refusal(project: Path, line: str, **more: str) -> str:
    said = aligned(project, line, **more)
    assert (said.code, said.out, (project / GRAPH_FILE).exists()) == (2, "", False)
    assert said.err.endswith("  change the base case, or add --cannot-run-yet-ok\n")
    return said.err


def test_a_mistyped_path(project: Path) -> None:
    said = refusal(project, "sh chekc.sh")
    assert "It is done: chekc.sh is not in the commit\n" in said
    assert "    | sh: 0: cannot open chekc.sh: No such file\n" in said
    assert "    cure: did you mean check.sh?\n" in said


def test_a_forgotten_add_and_the_cure_that_is_printed(project: Path) -> None:
    write(project, "new check.sh", "")
    write(project, "new.sh", "test -f done\n")
    said = refusal(project, "sh new.sh")
    assert "is not tracked by git" not in said.partition("cannot tell")[2]
    assert "2 files are not tracked by git" in said
    assert "without: new check.sh, new.sh\n" in said
    assert "It is done: new.sh is not committed (git does not track it)" in said
    cure = "git add new.sh && git commit -m 'Add new.sh'"
    assert f"    cure: {cure}\n" in said
    git(project, "add", "new.sh")
    assert "It is done: new.sh is added and not committed" in refusal(project, "sh new.sh")
    git(project, "commit", "--message=Add new.sh")
    assert aligned(project, "sh new.sh").code == 0


def test_what_a_check_looks_at_may_be_the_work(project: Path) -> None:
    assert aligned(project, "test -f report.md").code == 0
    write(project, "report.md", "")
    git(project, "checkout", "--quiet", ".")
    said = aligned(project, "test -f report.md", "--replace")
    assert (said.code, "report.md is not committed" in said.err) == (2, True)


def test_an_ignored_path(project: Path) -> None:
    write(project, "built/check.sh", "false\n")
    said = refusal(project, "sh built/check.sh")
    assert "git ignores built/check.sh, so that no fresh checkout has it" in said
    write(project, ".runner/config.toml", '[workspace]\nshare = ["built"]\n')
    assert aligned(project, "sh built/check.sh").code == 0


def test_a_red_that_only_misses_a_program(project: Path) -> None:
    said = refusal(project, "no-such-tool --version || exit 1")
    assert "something was not found, and no test has failed: " in said
    assert "    | sh: 2: no-such-tool: not found\n" in said


def test_a_missing_program_is_told_even_if_another_check_is_red(project: Path) -> None:
    more = "\n      - item: Other\n        check: {type: command, value: sh check.sh}\natoms:"
    text = DRAFT.replace("sh check.sh", "no-such-tool").replace("\natoms:", more)
    write(project.parent, "draft.yaml", text)
    said = called(project, "--from", "../draft.yaml", "--yes")
    assert (said.code, "It is done: Could not run: `no-such-tool`" in said.err) == (2, True)


def test_what_agents_are_to_write_is_a_deliverable_or_is_confirmed(project: Path) -> None:
    said = refusal(project, "sh new.sh")
    assert "    cure: if agents are to write new.sh, name it in the deliverables" in said
    asked = aligned(project, "sh new.sh", deliverables="A script new.sh")
    assert (asked.code, "warning" in asked.out) == (0, False)
    said_yes = aligned(project, "sh new.sh", "--cannot-run-yet-ok", "--replace")
    assert said_yes.code == 0
    assert "warning: It is done: new.sh is not in the commit" in said_yes.out
    assert "base case  could not run yet" in said_yes.out


def test_a_check_may_look_into_a_deliverable_that_is_not_there_yet(project: Path) -> None:
    looks = "grep -q works store.txt"
    assert "grep: store.txt: No such file" in refusal(project, looks)
    asked = aligned(project, looks, deliverables="store.txt and a manual")
    assert (asked.code, "warning" in asked.out) == (0, False)


@pytest.mark.parametrize("name", [DRAFT_FILE, "mine.yaml"])
def test_the_users_own_draft_is_not_missed_and_stays(project: Path, name: str) -> None:
    write(project, name, DRAFT)
    said = called(project, "--from", name, "--yes")
    assert (said.code, said.err) == (0, "Running the base case once, in a fresh checkout...\n")
    assert "not tracked" not in said.out
    assert (project / name).read_text() == DRAFT


def test_a_deliverable_does_not_excuse_a_missing_program(project: Path) -> None:
    said = refusal(project, "no-such-tool && sh new.sh", deliverables="new.sh")
    assert "It is done: Could not run" in said
    assert aligned(project, "./new.sh", deliverables="new.sh").code == 0


def test_no_test_ran(project: Path) -> None:
    said = refusal(project, "python -m unittest -k nothing_has_this_name")
    assert "It is done: no test ran" in said


def test_a_file_check_outside_cannot_tell(project: Path) -> None:
    text = DRAFT.replace("{type: command, value: sh check.sh}", "{type: file, value: ../x}")
    write(project.parent, "draft.yaml", text)
    said = called(project, "--from", "../draft.yaml", "--yes")
    assert (said.code, "It is done: Could not run" in said.err) == (2, True)


# --- pins ----------------------------------------------------------------------------------------

GREP = "grep -q DONE src/module.py"


def played(project: Path, *words: str) -> list[str]:
    """What a user at a terminal got to see, who says these words and agrees to a plan."""
    terminal = Played(iter(words))
    with chdir(project):
        assert answer(AlignRequest(source=Path("../draft.yaml")), terminal) == 0
    return terminal.shown


def pins_of(project: Path) -> tuple[str, ...]:
    aligned = plan_control(project).aligned
    return aligned.pins if aligned else ()


def test_a_pin_that_may_be_the_work_is_warned_about_and_unpinned(project: Path) -> None:
    said = aligned(project, GREP)
    assert (said.code, pins_of(project)) == (0, ("src/module.py",))
    assert "warning: a check names src/module.py, which is no test and no script" in said.out
    assert "`dwindle redirect --unpin src/module.py`" in said.out
    said = dwindle(project, "redirect", "--unpin", "src/module.py", "--yes")
    assert (said.code, pins_of(project)) == (0, ()), said
    said = dwindle(project, "redirect", "--unpin", "README", "--yes")
    assert (said.code, "README is not pinned" in said.err) == (2, True)


@pytest.mark.parametrize(("word", "pins"), [("y", ()), ("n", ("src/module.py",))])
def test_on_a_terminal_a_pin_that_may_be_the_work_is_asked_about(
    project: Path, word: str, pins: tuple[str, ...]
) -> None:
    write(project.parent, "draft.yaml", DRAFT.replace("sh check.sh", GREP))
    shown = played(project, "a", word)
    assert shown[-1] == "May agents change it? [y/N] "
    assert pins_of(project) == pins


# --- environments --------------------------------------------------------------------------------


@pytest.fixture
def ignored_venv(project: Path) -> Path:
    """A tool that is only in the environment of the user, which git ignores."""
    write(project, "pyproject.toml", '[project]\nname = "x"\nversion = "1"\n')
    git(project, "add", ".")
    git(project, "commit", "--message=manifest")
    tool = write(project, ".venv/bin/tool", "#!/bin/sh\ntest -f done\n")
    tool.chmod(0o755)
    write(project, ".venv/pyvenv.cfg", "")
    write(project, ".venv/lib/python3.11/site-packages/needed.py", "")
    return project


def test_an_ignored_environment_is_named_with_the_lines_that_cure(ignored_venv: Path) -> None:
    lines = 'for .runner/config.toml:\n    [workspace]\n    share = [".venv"]\n'
    assert f"git ignores .venv, and a fresh checkout has none of it; {lines}" in refusal(
        ignored_venv, ".venv/bin/tool"
    )
    assert lines in refusal(ignored_venv, "tool")
    assert lines in refusal(ignored_venv, "python3 -c 'import needed'")
    write(ignored_venv, ".runner/config.toml", '[workspace]\nshare = [".venv"]\n')
    assert aligned(ignored_venv, ".venv/bin/tool").code == 0


def test_a_module_that_the_work_has_to_write_is_an_honest_red(ignored_venv: Path) -> None:
    assert aligned(ignored_venv, "python3 -c 'import not_written_yet'").code == 0


def test_on_a_terminal_the_lines_are_written_into_the_settings(ignored_venv: Path) -> None:
    text = DRAFT.replace("sh check.sh", ".venv/bin/tool")
    write(ignored_venv.parent, "draft.yaml", text)
    shown = played(ignored_venv, "a", "y")
    assert shown[-1] == "Write these lines into .runner/config.toml and try again? [y/N] "
    settings = (ignored_venv / ".runner/config.toml").read_text()
    assert '[workspace]\nshare = [".venv"]\n' in settings
    assert "#[sandbox]\n" in settings  # and every other table as a comment


def test_an_editable_install_is_not_shared(ignored_venv: Path) -> None:
    found = ignored_venv / ".venv/lib/python3.11/site-packages/x.pth"
    found.write_text(f"{ignored_venv}/src\n")
    said = refusal(ignored_venv, ".venv/bin/tool")
    assert "is installed as editable" in said
    assert 'setup = "python3 -m venv .venv && .venv/bin/pip install -e ."\n' in said


def test_a_shared_path_that_is_not_there_is_refused(project: Path) -> None:
    write(project, ".runner/config.toml", '[workspace]\nshare = [".venv"]\n')
    said = aligned(project, "sh check.sh")
    assert (said.code, ".venv is not there" in said.err) == (2, True)
