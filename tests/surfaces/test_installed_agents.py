"""Agents from other packages: found when named, used for whole runs, and never in the way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.command import PLAIN, Ended, dwindle, repository, write
from tests.surfaces.installed_package import install
from tests.surfaces.small_runs import CERTIFICATE, journal_of, plan_of, project

from dwindle.kernel.model import RunStatus
from dwindle.ports.backend import Engagement
from dwindle.surfaces.installed_agents import about, installed, installed_agent
from dwindle.surfaces.refusal import Refused

WANTED = Engagement(role="worker", root=Path("/nowhere"))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def refusal(name: str) -> Refused:
    with pytest.raises(Refused) as refused:
        installed_agent(name, WANTED)
    assert refused.value.code == 40
    return refused.value


def test_an_agent_is_made_by_the_package_that_was_named(packages: Path) -> None:
    install(packages)
    made = installed_agent("acme", WANTED)
    assert (made.name, about("acme"), "acme" in installed()) == ("acme", "acme_agent 1.2", True)


def test_nobody_has_it() -> None:
    said = refusal("cluade")
    assert said.what == "there is no agent 'cluade'"
    assert said.hint.startswith("did you mean claude?\n  or is its package")
    assert refusal("acme").hint.startswith("known: command, scripted, claude, codex")


def test_two_packages_have_it(packages: Path) -> None:
    install(packages, "twice = one_agent:make", name="one_agent")
    install(packages, "twice = two_agent:make", name="two_agent")
    said = refusal("twice")
    assert said.what == ("more than one package has an agent 'twice': one_agent 1.2, two_agent 1.2")


@pytest.mark.parametrize(
    ("module", "what"),
    [
        (
            "import no_such_module_anywhere",
            "could not be loaded: ModuleNotFoundError: No module named 'no_such_module_anywhere'",
        ),
        ("raise RuntimeError('out of order')", "could not be loaded: RuntimeError: out of order"),
        ("made = 1", "could not be loaded: AttributeError: module"),
        ("make = 'a text'", "leads to {name}:make, which is no function"),
        ("def make(wanted): raise KeyError", "could not make an agent: KeyError"),
        ("def make(): pass", "could not make an agent: TypeError: make() takes 0 positional"),
        ("def make(wanted): return None", "made NoneType, which is no agent"),
        ("class make:\n    name = 'x'\n    def __init__(self, wanted): pass", "made make, which"),
    ],
)
def test_it_is_of_no_use(
    module: str, what: str, packages: Path, request: pytest.FixtureRequest
) -> None:
    name = f"broken_{request.node.callspec.indices['module']}"  # each is imported once
    install(packages, f"{name} = {name}:make", module, name=name)
    said = refusal(name)
    assert said.what.startswith(f"the agent {name!r} of "), said.what
    assert what.format(name=name) in said.what
    assert said.hint


# --- whole runs ----------------------------------------------------------------------------------


def path(packages: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(packages)}


@pytest.mark.slow
def test_a_package_cannot_take_the_place_of_a_built_in(tmp_path: Path) -> None:
    """Nor is it imported by a run that has not named it."""
    told = "from pathlib import Path\nPath(__file__).with_name('imported').touch()\nmake = None"
    entries = "claude = evil:make\nscripted = evil:make"
    packages = install(tmp_path / "packages", entries, told, name="evil")
    folder = project(tmp_path / "here")
    said = dwindle(folder, "run", "--agent", "scripted:.runner/script.yaml", **path(packages))
    assert said.code == 0, said
    assert not (packages / "imported").exists()


@pytest.mark.slow
def test_a_whole_run_with_an_agent_of_somebody_else(tmp_path: Path) -> None:
    packages = install(tmp_path / "packages")
    folder = project(tmp_path / "here")
    write(folder, ".runner/config.toml", '[agents]\nbackend = "acme"\n')
    assert dwindle(folder, "run", **path(packages)).code == 0
    assert plan_of(folder).control.status is RunStatus.COMPLETED
    (resolved,) = (e["event"] for e in journal_of(folder) if e["event"]["kind"] == "AtomResolved")
    assert (resolved["summary"], resolved["usage"]) == ("by acme", {"tokens": 1200, "usd": 0.03})
    charges = json.loads((folder / CERTIFICATE).read_text())["charges"]
    assert [(c["role"], c["sessions"], c["tokens"], c["usd"]) for c in charges] == [
        ("worker", 1, 1200, 0.03),
        ("verifier", 1, 0, 0),
    ]
    assert (
        "by worker: 1 session, 0 s, 1,200 tokens, 0.0300 USD"
        in (folder / CERTIFICATE.replace(".json", ".txt")).read_text()
    )


@pytest.mark.slow
def test_the_command_line_stands_above_the_settings(tmp_path: Path) -> None:
    packages = install(tmp_path / "packages")
    folder = project(tmp_path / "here")  # whose settings have a script that fails once
    said = dwindle(folder, "run", "--agent", "worker=acme", **path(packages))
    assert said.code == 0, said
    assert [e["event"]["kind"] for e in journal_of(folder)] == [
        "RunStarted",
        "SessionStarted",
        "AtomResolved",
        "SessionStarted",
        "VerificationEnded",
        "RunEnded",
    ]


@pytest.mark.slow
def test_an_agent_that_is_not_there_keeps_a_run_from_beginning(tmp_path: Path) -> None:
    folder = project(tmp_path)
    assert dwindle(folder, "run", "--agent", "acme") == Ended(
        code=40,
        err="dwindle: there is no agent 'acme'\n"
        "  known: command, scripted, claude, codex\n"
        "  or is its package, with an entry point in dwindle.agents, installed elsewhere?\n",
    )
    assert not (folder / ".runner/journal").exists() or journal_of(folder) == []
    said = dwindle(folder, "step", "--agent", "command:no-such-program")
    assert (said.code, said.out) == (40, "")
    assert "no-such-program is not found" in said.err


@pytest.mark.slow
def test_rubbish_is_refused_before_anything_is_looked_at(tmp_path: Path) -> None:
    repository(tmp_path)
    for command in ("run", "step", "align", "redirect"):
        said = dwindle(tmp_path, command, "--agent", "wroker=claude")
        assert said == Ended(
            code=2, err="dwindle: --agent: 'wroker' is no role\n  did you mean worker?\n"
        ), command


@pytest.mark.slow
def test_a_third_party_can_check_its_agent(tmp_path: Path) -> None:
    packages = install(tmp_path / "packages")
    script = "import acme_agent, dwindle.testing as t; t.check_agent(acme_agent.stage); print('ok')"
    said = subprocess.run(
        [sys.executable, "-c", script],
        env=PLAIN | path(packages),
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    assert (said.returncode, said.stdout, said.stderr) == (0, "ok\n", "")


@pytest.mark.slow
def test_words_are_turned_into_edits_by_whoever_was_named(tmp_path: Path) -> None:
    folder = project(tmp_path)
    edits = {"edits": [{"edit": "set_limit", "name": "max_iterations", "value": 33}]}
    answers = {"planner": {"redirect": [{"report": edits}]}}
    write(folder, "answers.json", json.dumps(answers))
    agent = "planner=scripted:answers.json"
    said = dwindle(folder, "redirect", "Go on for longer", "--yes", "--agent", agent)
    assert said.code == 0, said
    assert plan_of(folder).limits.max_iterations == 33
    said = dwindle(folder, "redirect", "--set", "max_iterations=34", "--yes", "--agent", agent)
    assert (said.code, said.err) == (
        2,
        (
            "dwindle: --agent says who turns words into edits, and here are no words\n"
            "  leave it out; or say in words, after the command, what should change\n"
        ),
    )
