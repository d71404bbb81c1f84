"""`dwindle verify`: the certificate is run again, and its word is worth what is found now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.docs.test_commands_page import keys, table
from tests.surfaces.command import GRAPH_FILE, Ended, dwindle, git, repository, write
from tests.surfaces.small_runs import (
    ASSERTED,
    BRANCH,
    CERTIFICATE,
    DRAFT,
    HOPELESS,
    NEVER,
    RUN,
    SCRIPT,
    SETTINGS,
    asked_git,
    completed,
    files_of,
    plan_of,
    project,
    ran,
)

from dwindle.adapters.sandbox.choice import choose
from dwindle.app.open_run.graph import AGREE_FIRST
from dwindle.runner.gate.certificate import Certificate

pytestmark = pytest.mark.slow

CONTAINED = choose()
QUALITY = DRAFT.replace(
    "atoms:",
    """\
      - item: It is good
        check: {type: quality, criteria: clarity, pass_threshold: 4}
atoms:""",
)
SCORES = SCRIPT.replace(
    "failures: []",
    "failures: [], scores: [{criterion: clarity, score: 5, evidence: clear}]",
)


def certificate(folder: Path) -> Certificate:
    return Certificate.from_json((folder / CERTIFICATE).read_bytes())


def heading(folder: Path, certified: str) -> str:
    return (
        f"run        {RUN}\n"
        f"commit     {asked_git(folder, 'rev-parse', BRANCH)}\n"
        f"certified  {certified}\n"
        f"contained  {CONTAINED.strength} ({CONTAINED.mechanism})\n"
    )


def answer(folder: Path) -> dict[str, Any]:
    said = dwindle(folder, "verify", "--json")
    found: dict[str, Any] = json.loads(said.out)
    assert (said.err, said.code) == ("", 0 if found["holds"] else 1)
    return found


def test_it_still_holds(tmp_path: Path) -> None:
    completed(tmp_path)
    before = files_of(tmp_path)
    refs = asked_git(tmp_path, "for-each-ref")
    at = certificate(tmp_path).at
    held = heading(tmp_path, f"{at}, when it held") + (
        "  [pass]   It is done\n"
        "           passed, as it was then\n"
        "holds: every check passed again\n"
    )
    assert dwindle(tmp_path, "verify") == Ended(code=0, out=held)
    assert (files_of(tmp_path), asked_git(tmp_path, "for-each-ref")) == (before, refs)
    # What the person did meanwhile is not what was certified.
    write(tmp_path, "check.sh", "false\n")
    git(tmp_path, "commit", "--all", "--quiet", "--message=spoilt")
    assert dwindle(tmp_path, "verify") == Ended(code=0, out=held)
    trees = asked_git(tmp_path, "worktree", "list").splitlines()
    assert [line for line in trees if "dwindle-" in line] == []  # Nothing is left lying about.


def test_for_programs(tmp_path: Path) -> None:
    completed(tmp_path)
    old = certificate(tmp_path)
    found = answer(tmp_path)
    documented = table("`verify --json`")
    assert sorted(dict.fromkeys(keys(found))) == sorted(documented)
    check = found["checks"].pop()
    assert check.pop("seconds") >= 0
    assert check == {
        "item": "It is done",
        "type": "command",
        "command": "sh check.sh",
        "verdict": "passed",
        "then": "passed",
        "judged_by": "harness",
        "exit_code": 0,
        "evidence": old.checks[0].evidence,
    }
    assert found == {
        "holds": True,
        "because": "every check passed again",
        "run": RUN,
        "commit": old.commit,
        "tree": old.tree,
        "worktree": str(tmp_path / ".runner/worktrees" / f"integration-{RUN}"),
        "certified": {"at": old.at, "held": True},
        "containment": {"strength": CONTAINED.strength, "mechanism": CONTAINED.mechanism},
        "checks": [],
        "differences": [],
    }


def test_the_world_has_changed(tmp_path: Path) -> None:
    """A check that depends on something outside of the repository."""
    outside = tmp_path / "outside"
    folder = tmp_path / "project"
    draft = DRAFT.replace("value: sh check.sh", f"value: sh check.sh && test -f {outside}")
    outside.touch()
    settings = f'[sandbox]\nwritable = ["{tmp_path}"]\n'
    project(folder, draft)
    with (folder / ".runner/config.toml").open("a") as file:
        file.write(settings)
    ran(folder, 0)
    outside.unlink()
    said = dwindle(folder, "verify")
    lines = said.out.splitlines()
    assert (said.code, said.err) == (1, "")
    assert lines[4:6] == ["  [FAIL]   It is done", "           failed; passed then"]
    assert "different  It is done: passed then, failed now" in lines
    assert "           It is done: exit code 0 then, 1 now" in lines
    assert lines[-1] == "DOES NOT HOLD: not passed now: It is done"


def test_without_a_certificate_the_branch_is_looked_at(tmp_path: Path) -> None:
    completed(tmp_path)
    (tmp_path / CERTIFICATE).unlink()
    assert dwindle(tmp_path, "verify") == Ended(
        code=0,
        out=heading(tmp_path, "never; this is the tip of the run's branch")
        + "  [pass]   It is done\n"
        "           passed\n"
        "holds: every check passed; there was no certificate\n",
    )
    git(tmp_path, "worktree", "remove", "--force", f".runner/worktrees/integration-{RUN}")
    git(tmp_path, "branch", "-D", BRANCH)
    assert dwindle(tmp_path, "verify") == Ended(
        code=2,
        err="dwindle: there is neither a certificate nor a branch of the run\n"
        "  `dwindle run` makes something to verify\n",
    )


def test_a_run_that_never_got_there(tmp_path: Path) -> None:
    ran(project(tmp_path, HOPELESS, NEVER), 31)
    found = answer(tmp_path)
    assert (found["holds"], found["certified"], found["because"]) == (
        False,
        None,
        "not passed now: It is done",
    )


def test_a_certificate_that_was_edited(tmp_path: Path) -> None:
    completed(tmp_path)
    text = (tmp_path / CERTIFICATE).read_text()
    write(tmp_path, CERTIFICATE, text.replace('"exit_code": 0', '"exit_code":0'))
    said = dwindle(tmp_path, "verify")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(
        "dwindle: DOES NOT HOLD: this is not a certificate as it was written"
    )


def test_the_commit_is_gone(tmp_path: Path) -> None:
    completed(tmp_path)
    old = certificate(tmp_path)
    nowhere = "0123456789" * 4
    write(tmp_path, CERTIFICATE, (tmp_path / CERTIFICATE).read_text().replace(old.commit, nowhere))
    found = answer(tmp_path)
    verdicts = [(check["verdict"], check["then"]) for check in found["checks"]]
    assert (found["holds"], verdicts) == (False, [("could_not_run", "passed")])


def test_another_base_case(tmp_path: Path) -> None:
    completed(tmp_path)
    text = (tmp_path / GRAPH_FILE).read_text()
    write(tmp_path, GRAPH_FILE, text.replace('value: "sh check.sh"', 'value: "true"'))
    found = answer(tmp_path)
    assert (found["holds"], found["because"], found["differences"]) == (
        False,
        "the base case is not the one that was certified",
        [
            "It is done: no longer checked: sh check.sh",
            "It is done: was not checked then: true",
        ],
    )


@pytest.mark.parametrize("asked", [True, False])
def test_what_a_verifier_judges_is_judged_again(tmp_path: Path, asked: bool) -> None:
    ran(project(tmp_path, QUALITY, SCORES), 0)
    orders = (tmp_path / ".runner/iterations" / RUN).glob("*/verification.*.verifier.1/order.json")
    assert [json.loads(order.read_bytes())["description"] for order in orders] == ["It is good"]
    before = plan_of(tmp_path)
    if not asked:
        write(tmp_path, ".runner/config.toml", "")
    found = answer(tmp_path)
    judged = [(check["verdict"], check["judged_by"]) for check in found["checks"]]
    assert judged == [
        ("passed", "harness"),
        ("passed", "verifier") if asked else ("not_judged", "nobody"),
    ]
    assert found["holds"] is asked
    assert (plan_of(tmp_path), list((tmp_path / ".runner/outbox").iterdir())) == (before, [])


def test_a_question_is_open_until_a_person_answers(tmp_path: Path) -> None:
    ran(project(tmp_path, ASSERTED), 11)
    found = answer(tmp_path)
    assert (found["holds"], found["because"]) == (False, "not passed now: It reads well")
    assert dwindle(tmp_path, "confirm", "yes").code == 0
    found = answer(tmp_path)
    assert (found["holds"], found["checks"][1]["judged_by"]) == (True, "person")


def test_before_anything_was_run(tmp_path: Path) -> None:
    project(tmp_path)
    assert dwindle(tmp_path, "verify") == Ended(
        code=2,
        err="dwindle: there is neither a certificate nor a branch of the run\n"
        "  `dwindle run` makes something to verify\n",
    )
    write(tmp_path, ".runner/config.toml", "[agent]\n")
    assert dwindle(tmp_path, "verify") == Ended(
        code=2,
        err=".runner/config.toml:1: unknown table 'agent' (agent)\n"
        "    hint: did you mean agents?\n"
        ".runner/config.toml: 1 problem\n",
    )
    (tmp_path / GRAPH_FILE).unlink()
    assert dwindle(tmp_path, "verify").err == (
        f"dwindle: {GRAPH_FILE}: there is no plan yet\n  {AGREE_FIRST}\n"
    )


@pytest.mark.parametrize("around", ["HOME", "TMPDIR"])
def test_what_is_shared_is_there_below_home_and_the_temporary_folder(
    tmp_path: Path, around: str
) -> None:
    folder = tmp_path / "project"
    write(folder, "check.sh", "local/tool && test -f done\n")
    write(folder, ".gitignore", "local/\n")
    write(folder, "local/tool", "#!/bin/sh\nexit 0\n").chmod(0o755)
    project_settings = SETTINGS + '[workspace]\nshare = ["local"]\n'
    repository(folder)
    project(folder, is_made=True, settings=project_settings)
    surroundings = {around: str(tmp_path)}
    assert dwindle(folder, "run", **surroundings).code == 0
    said = dwindle(folder, "verify", **surroundings)
    assert (said.code, said.out.splitlines()[-1]) == (0, "holds: every check passed again")
