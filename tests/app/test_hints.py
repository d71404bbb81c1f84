"""Every refusal says what to do next, and so does the end of every command."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.surfaces.command import dwindle, repository, write
from tests.surfaces.small_runs import BRANCH, DRAFT, RUN, SCRIPT, SETTINGS

from dwindle.app.refusal import LOOK_AROUND, refused_by
from dwindle.ports.workspace import WorkspaceFailed

PACKAGE = Path(__file__).parents[2] / "src/dwindle"

SAYS_IT_ITSELF = {
    # What the kernel refuses, and what a run answers, says what would be legal instead.
    "surfaces/cli/redirect.py: refusal_reason(refusal)",
    "app/redirect/target.py: refusal_reason(refusal)",
    "app/redirect/target.py: str(answer.get('why', '')).removeprefix('Redirected: ')",
    "app/redirect/dialogue.py: refusal_reason(refusal)",
    # The person has just said no, and knows what they want.
    "surfaces/cli/redirect.py: NOTHING",
    "app/redirect/dialogue.py: NOTHING",
    # The operating system says what is wrong with a file whose name the person gave.
    "app/plans/plan_files.py: _unreadable(error)",
    "app/plans/plan_files.py: 'this cannot be the name of a file'",
    # The page shows it beside the form.
    "app/redirect/planned_edits.py: f'these are no edits: {excerpt(str(fault), LONGEST)}'",
    # For a session of the host, which waits and tries again.
    "app/host/open_hosted.py: str(error)",
}


def without_a_hint() -> set[str]:
    found = set()
    for path in sorted((*PACKAGE.glob("app/**/*.py"), *PACKAGE.glob("surfaces/**/*.py"))):
        name = str(path.relative_to(PACKAGE))
        if name.startswith(
            "surfaces/web/"
        ):  # answers to a page of ours, which shows them beside its form
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id == "Refused" and all(word.arg != "hint" for word in node.keywords):
                found.add(f"{name}: {ast.unparse(node.args[0])}")
    return found


def test_every_refusal_has_a_next_step() -> None:
    assert without_a_hint() == SAYS_IT_ITSELF


@pytest.mark.parametrize(
    ("trouble", "hint"),
    [
        (WorkspaceFailed("git commit ended with 128", "fatal: no"), LOOK_AROUND),
        (WorkspaceFailed("this is no repository; `git init` makes it one"), ""),
        (WorkspaceFailed("git is still at work", "see `ps -C git`"), ""),
    ],
)
def test_what_git_says_is_enough_where_it_says_what_to_do(
    trouble: WorkspaceFailed, hint: str
) -> None:
    made = refused_by(trouble)
    assert (made.what, made.hint) == (str(trouble), hint)


@pytest.mark.slow
def test_each_command_leads_to_the_next(tmp_path: Path) -> None:
    """A user who only does what the last line says gets to the end."""
    write(tmp_path, "check.sh", "test -f done\n")
    repository(tmp_path)
    write(tmp_path, ".runner/config.toml", SETTINGS)
    write(tmp_path, ".runner/script.yaml", SCRIPT)
    write(tmp_path, "draft.yaml", DRAFT)
    assert "`dwindle align` agrees" in dwindle(tmp_path).out
    aligned = dwindle(tmp_path, "align", "--from", "draft.yaml", "--yes", "--run-id", RUN)
    assert aligned.out.splitlines()[-1] == "`dwindle run` starts it."
    assert "Next: `dwindle run` begins" in dwindle(tmp_path).out
    ran = dwindle(tmp_path, "run")
    assert (
        ran.out.splitlines()[-1]
        == "Next: `dwindle diff` shows what changed, `dwindle land` brings it to your branch"
    )
    assert "`dwindle land` brings it to your branch" in dwindle(tmp_path).out
    landed = dwindle(tmp_path, "land")
    assert landed.out.startswith(f"landed 1 commit of {BRANCH} on main: ")
    assert dwindle(tmp_path).out.splitlines()[0].endswith(": completed, and landed on main")
