"""Agents from other packages: found when named, used for whole runs, and never in the way."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.app.installed_package import install
from tests.surfaces.command import PLAIN, Ended, dwindle, repository, write
from tests.surfaces.small_runs import CERTIFICATE, journal_of, plan_of, project

from dwindle.app.agents.backends import BUILT_IN, installed, make_agent, package_of
from dwindle.app.refusal import Refused
from dwindle.kernel.model import RunStatus
from dwindle.ports.backend import AgentUnavailable, Engagement

WANTED = Engagement(role="worker", root=Path("/nowhere"))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def refusal(name: str) -> Refused:
    with pytest.raises(Refused) as refused:
        make_agent(name, WANTED)
    assert refused.value.code == 40
    return refused.value


def test_an_agent_is_made_by_the_package_that_was_named(packages: Path) -> None:
    install(packages)
    made = make_agent("acme", WANTED)
    assert (made.name, package_of("acme"), "acme" in installed()) == (
        "acme",
        "acme_agent 1.2",
        True,
    )


def test_no_package_has_it() -> None:
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


# --- what a built-in agent and one of a package have in common -----------------------------------


PICKY = """
from dwindle.adapters.agents.command import CommandAgent
from dwindle.ports.backend import AgentFacts, AgentUnavailable

def make(wanted):
    if wanted.model == "none":
        raise AgentUnavailable("acme is not logged in", where="acme", hint="run `acme login`")
    if wanted.model is None:
        raise AgentUnavailable("acme needs a model")
    wanted.warn(f"acme is {wanted.strength}")
    facts = AgentFacts(what="acme 7", warnings=("acme is slow",))
    return CommandAgent(argv=("sh", "-c", "true"), name="acme", facts=lambda: facts)
"""


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_a_built_in_agent_is_made_by_a_function_like_any_other(name: str, tmp_path: Path) -> None:
    """What it needs and does not find, it says in the same way."""
    wanted = replace(WANTED, root=tmp_path, program="no-such-program", command=("no-such-program",))
    if name == "scripted":  # its program is ours
        assert make_agent(name, wanted).name == name
        return
    with pytest.raises(AgentUnavailable, match="no-such-program is not found, or not executable"):
        make_agent(name, wanted)


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("picky:none", "dwindle: acme: acme is not logged in\n  run `acme login`\n"),
        (
            "picky",
            (
                "dwindle: .runner/config.toml: acme needs a model\n"
                "  `dwindle doctor` says which agents are here; --agent takes another one\n"
            ),
        ),
    ],
)
def test_an_agent_may_say_itself_that_it_cannot_work_here(
    agent: str, said: str, tmp_path: Path
) -> None:
    packages = install(tmp_path / "packages", "picky = picky_agent:make", PICKY, name="picky_agent")
    folder = project(tmp_path / "here")
    assert dwindle(folder, "run", "--agent", agent, **path(packages)) == Ended(code=40, err=said)


def test_doctor_shows_what_an_agent_of_a_package_says_of_itself(tmp_path: Path) -> None:
    packages = install(tmp_path / "packages", "picky = picky_agent:make", PICKY, name="picky_agent")
    folder = project(tmp_path / "here")
    settings = (
        '[agents]\nbackend = "picky"\nmodel = "m"\n[agents.verifier]\nmodel = "none"\n'
        "[sandbox]\nenabled = false\n"
    )
    write(folder, ".runner/config.toml", settings)
    said = dwindle(folder, "doctor", "--json", **path(packages))
    found = {
        one["name"]: (one["state"], one["what"], one["hint"], one["command"])
        for one in json.loads(said.out)["findings"]
    }
    assert (found["worker"], found["verifier"]) == (
        (
            "note",
            "picky (picky_agent 1.2); acme 7",
            "acme is weak; acme is slow",
            ["sh", "-c", "true"],
        ),
        ("wrong", "picky: acme is not logged in", "run `acme login`", []),
    )


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
def test_a_whole_run_with_an_agent_of_another_package(tmp_path: Path) -> None:
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
    text = (folder / CERTIFICATE.replace(".json", ".txt")).read_text()
    assert re.search(r"by worker: 1 session, [\d.]+ s, 1,200 tokens, 0\.03 USD", text)


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
def test_words_are_turned_into_edits_by_the_agent_that_was_named(tmp_path: Path) -> None:
    folder = project(tmp_path)
    edits = {"edits": [{"edit": "set_limit", "name": "max_iterations", "value": 44}]}
    answers = {"planner": {"redirect": [{"report": edits}]}}
    write(folder, "answers.json", json.dumps(answers))
    agent = "planner=scripted:answers.json"
    said = dwindle(folder, "redirect", "Go on for longer", "--yes", "--agent", agent)
    assert said.code == 0, said
    assert plan_of(folder).limits.max_iterations == 44
    said = dwindle(folder, "redirect", "--set", "max_iterations=34", "--yes", "--agent", agent)
    assert (said.code, said.err) == (
        2,
        (
            "dwindle: --agent needs words to turn into edits, and there are none\n"
            "  leave it out, or add words that say what should change\n"
        ),
    )
