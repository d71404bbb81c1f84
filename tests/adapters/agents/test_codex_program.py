"""Finding codex, its version and its login, without asking anybody else."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest

from dwindle.adapters.agents.codex.agent import CodexAgent
from dwindle.adapters.agents.codex.home import Home, home
from dwindle.adapters.agents.codex.program import (
    PACKAGE,
    sandbox_problem,
    warning_about,
)
from dwindle.adapters.agents.npm_program import Program
from dwindle.ports.backend import AgentFacts
from dwindle.text.redact import redact

pytestmark = pytest.mark.slow

MACHINE = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x64")


def program(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(0o755)
    return path


def saying(path: Path, line: str) -> Path:
    return program(path, f"#!/bin/sh\n{line}\n")


# --- where it is ---------------------------------------------------------------------------------


@pytest.mark.parametrize("nested", [False, True], ids=["beside", "inside"])
def test_behind_the_wrapper_of_npm_is_the_program_itself(nested: bool, tmp_path: Path) -> None:
    scope = tmp_path / "lib" / "node_modules" / "@openai"
    wrapper = program(scope / "codex" / "bin" / "codex.js", "#!/usr/bin/env node\n")
    above = scope / "codex" / "node_modules" / "@openai" if nested else scope
    bundle = above / f"codex-linux-{MACHINE}" / "vendor" / "some-triple"
    native = program(bundle / "bin" / "codex", b"\x7fELF...")
    program(bundle / "codex-package.json", "{}")
    link = tmp_path / "bin" / "codex"
    link.parent.mkdir()
    link.symlink_to(wrapper)
    wanted = Program(argv=(str(native),), needs=(bundle,), is_native=True)
    assert PACKAGE.find("codex", {"PATH": str(link.parent)}) == wanted


def test_a_program_of_its_own_is_taken_as_it_is(tmp_path: Path) -> None:
    native = program(tmp_path / "codex", b"\x7fELF...")
    wanted = Program(argv=(str(native),), needs=(native,), is_native=True)
    assert PACKAGE.find(str(native), {}) == wanted


def test_a_script_with_nothing_behind_it_is_started_and_warned_about(tmp_path: Path) -> None:
    scope = tmp_path / "@openai"
    wrapper = saying(scope / "codex" / "bin" / "codex.js", "echo codex-cli 0.166.3")
    there = PACKAGE.find(str(wrapper), {})
    assert there == Program(argv=(str(wrapper),), needs=(scope,))
    agent = CodexAgent(program=str(wrapper), ours={"CODEX_API_KEY": "sk-canary"}, model="gpt-5.5")
    assert agent.facts() == AgentFacts(
        what=f"codex 0.166.3, model gpt-5.5; CODEX_API_KEY is set ({wrapper})",
        warnings=(f"{wrapper} is a script; the program behind it was not found",),
    )


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    assert CodexAgent(ours={"PATH": str(tmp_path)}).facts() == AgentFacts(
        problem="codex is not found, or not executable; install Codex, or name the path of the "
        "program in the settings",
    )


@pytest.mark.parametrize(
    ("said", "warning"),
    [
        ("codex-cli 0.166.0", ""),
        ("codex-cli 0.166.12", ""),
        ("codex-cli 0.167.0", "codex 0.167.0 was not tried with this, 0.166 was; going on"),
        ("codex-cli 10.0.166", "codex 10.0.166 was not tried with this, 0.166 was; going on"),
        ("", "codex does not say its version; 0.166 was tried; going on"),
    ],
)
def test_an_unknown_version_is_a_warning(said: str, warning: str) -> None:
    assert warning_about(said) == warning


@pytest.mark.parametrize("line", ["exit 3", "echo hello", "kill -9 $$"])
def test_a_program_that_does_not_say_its_version_has_none(line: str, tmp_path: Path) -> None:
    assert PACKAGE.version(PACKAGE.find(str(saying(tmp_path / "codex", line)), {})) == ""


def test_its_own_sandbox_is_tried_before_it_is_relied_on(tmp_path: Path) -> None:
    works = saying(tmp_path / "works", 'test "$1" = sandbox && test -d "$CODEX_HOME"')
    fails = saying(tmp_path / "fails", "echo oh >&2; echo bwrap: no uid map >&2; exit 1")
    silent = saying(tmp_path / "silent", "exit 7")
    said = [sandbox_problem(PACKAGE.find(str(one), {})) for one in (works, fails, silent)]
    sentence = "codex's own sandbox cannot start here ({}); install bubblewrap, and ours is used"
    assert said == [
        "",
        sentence.format("bwrap: no uid map"),
        sentence.format("exit code 7"),
    ]
    own = CodexAgent(program=str(fails), ours={}, own_sandbox=True)
    assert own.missing() == said[1]
    assert CodexAgent(program=str(fails), ours={}).missing() is None
    gone = Program(argv=(str(tmp_path / "gone"),))
    assert sandbox_problem(gone).startswith("codex's own sandbox could not be tried: ")
    assert PACKAGE.version(gone) == ""


# --- its home ------------------------------------------------------------------------------------

SERVICE = """\
model = "gpt-9"
model_provider = "mine"
[model_providers.mine]
env_key = "MY_KEY"
env_http_headers = { "X-Team" = "MY_TEAM" }
"""


def test_without_a_home_there_is_no_login() -> None:
    assert home({}) == Home(folder=None)
    assert home({"OPENAI_API_KEY": "sk-canary"}).login == "OPENAI_API_KEY is set"


def test_the_home_is_the_one_that_is_named_without_links(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / ".codex").symlink_to(real)
    assert home({"HOME": str(tmp_path)}).folder == real
    assert home({"HOME": str(tmp_path), "CODEX_HOME": "/else/where"}) == Home(
        folder=Path("/else/where")
    )


@pytest.mark.parametrize(
    ("stored", "login"),
    [
        ({"OPENAI_API_KEY": "sk-canary"}, "has a key"),
        ({"tokens": {"access_token": "canary"}, "OPENAI_API_KEY": None}, "names an account"),
        ({"tokens": None}, ""),
        ([], ""),
        ("broken", ""),
    ],
)
def test_a_stored_login_is_seen_and_not_read_out(
    stored: object, login: str, tmp_path: Path
) -> None:
    path = tmp_path / "auth.json"
    path.write_text("{" if stored == "broken" else json.dumps(stored), "utf-8")
    said = home({"CODEX_HOME": str(tmp_path)})
    assert said.login == (f"{path} {login}" if login else "")
    assert said.has_own_login is bool(login)


def test_the_key_that_codex_looks_at_comes_first_and_the_other_one_last(tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text('{"OPENAI_API_KEY": "sk-stored"}', "utf-8")
    here = {"CODEX_HOME": str(tmp_path), "OPENAI_API_KEY": "sk-other"}
    stored = CodexAgent(program="codex", ours=here)
    assert (stored.key(), stored.home.login) == ("", f"{tmp_path}/auth.json has a key")
    named = CodexAgent(program="codex", ours={**here, "CODEX_API_KEY": "sk-named"})
    assert (named.key(), named.home.login) == ("sk-named", "CODEX_API_KEY is set")
    (tmp_path / "auth.json").unlink()
    spare = CodexAgent(program="codex", ours=here)
    assert (spare.key(), spare.home.login) == ("sk-other", "OPENAI_API_KEY is set")


def test_a_config_is_kept_only_if_it_says_how_to_log_in(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    here = {"CODEX_HOME": str(tmp_path)}
    config.write_text('model = "gpt-9"\nmodel_reasoning_effort = "high"\nnotify = ["x"]\n')
    assert home(here) == Home(folder=tmp_path, model="gpt-9", effort="high")
    config.write_text(SERVICE)
    assert home(here) == Home(
        folder=tmp_path,
        login="config.toml names the service mine, but MY_KEY is not set",
        has_own_login=True,
        keeps_config=True,
        names_service=True,
        model="gpt-9",
        variables=("MY_KEY", "MY_TEAM"),
    )
    assert home({**here, "MY_KEY": "k", "MY_TEAM": "t"}).login == (
        "config.toml names the service mine"
    )
    config.write_text('cli_auth_credentials_store = "keyring"\n')
    kept = home(here)
    assert (kept.keeps_config, kept.names_service, kept.has_own_login) == (True, False, True)
    assert "out of reach in a sandbox" in kept.login


@pytest.mark.parametrize(
    "config", ["model = [", 'model = 5\nmodel_provider = "x"\nmodel_providers = 7\n', "\x00"]
)
def test_a_config_that_makes_no_sense_says_nothing_about_a_model(
    config: str, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text(config)
    said = home({"CODEX_HOME": str(tmp_path)})
    assert (said.model, said.effort, said.variables) == ("", "", ())


def test_the_keys_of_a_named_service_are_passed_on_and_kept_from_commands(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(SERVICE)
    ours = {"CODEX_HOME": str(tmp_path), "MY_KEY": "sk-canary", "MY_TEAM": "team-canary"}
    agent = CodexAgent(program="codex", ours=ours)
    assert agent.secret == ("CODEX_API_KEY", "OPENAI_API_KEY", "MY_KEY", "MY_TEAM")
    assert redact("sk-canary of team-canary", agent.secrets()) == "[MY_KEY] of [MY_TEAM]"


def test_a_stored_login_is_blotted_out_even_if_it_was_renewed(tmp_path: Path) -> None:
    agent = CodexAgent(program="codex", ours={"CODEX_HOME": str(tmp_path)})
    assert redact("canary-1", agent.secrets()) == "canary-1"
    for number in ("1", "2"):
        tokens = {"access_token": f"canary-{number}", "account_id": "me-myself", "id_token": 5}
        stored = {"tokens": tokens, "OPENAI_API_KEY": "sk-canary"}
        (tmp_path / "auth.json").write_text(json.dumps(stored), "utf-8")
        assert redact(f"canary-{number} sk-canary me-myself", agent.secrets()) == (
            "[access_token of auth.json] [key of auth.json] me-myself"
        )


def test_no_key_is_in_what_an_agent_prints_of_itself() -> None:
    agent = CodexAgent(ours={"CODEX_API_KEY": "sk-canary"}, environment={"MY_KEY": "sk-canary"})
    assert agent.key() == "sk-canary"
    assert "canary" not in repr(agent)


def test_what_the_person_obeys_later_is_guarded(tmp_path: Path) -> None:
    for name in ("config.toml", "AGENTS.md", "auth.json"):
        (tmp_path / name).write_text("")
    (tmp_path / "rules").mkdir()
    guarded = home({"CODEX_HOME": str(tmp_path)}).guarded
    assert [path.name for path in guarded] == ["config.toml", "AGENTS.md", "rules"]


def test_a_model_of_the_config_is_asked_for_unless_another_is(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('model = "gpt-9"\n')
    ours = {"CODEX_HOME": str(tmp_path)}
    assert CodexAgent(program="codex", ours=ours).model_name == "gpt-9"
    assert CodexAgent(program="codex", ours=ours, model="gpt-5.5").model_name == "gpt-5.5"
    assert CodexAgent(program="codex", ours={}).model_name == ""


def test_costs_are_counted_only_for_a_model_that_is_named_and_known() -> None:
    said = [CodexAgent(program="codex", ours={}, model=name).price_warning for name in MODELS]
    assert said == [
        "codex chooses its model and does not tell which: name one, to have costs counted",
        "the price of gpt-0 is not known here: its tokens are counted only",
        "",
    ]


MODELS = (None, "gpt-0", "gpt-5.5")
