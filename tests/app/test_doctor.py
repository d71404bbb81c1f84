"""`dwindle doctor`: what a run needs, looked at on the machine that runs the tests."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.app.installed_package import install
from tests.docs.test_commands_page import keys, table
from tests.surfaces.command import PLAIN, TREE_FILE, Ended, dwindle, repository, write
from tests.surfaces.small_runs import SCRIPT, SETTINGS

from dwindle.adapters.git.repository import FIRST_COMMIT
from dwindle.adapters.sandbox import limits as containment_bounds
from dwindle.adapters.sandbox.cgroups import group_parents
from dwindle.adapters.sandbox.choice import survey
from dwindle.adapters.sandbox.limits import in_force
from dwindle.app.agents.configured import READ_ONLY_BY
from dwindle.app.doctor import examine as examination
from dwindle.app.doctor.diagnosis import Severity
from dwindle.app.doctor.examine import UNHELD, diagnoses
from dwindle.ports.process import Bounds, Strength

FREE = re.compile(r"[\d.]+ GiB free")
MEMORY = re.compile(r"[\d.]+ GiB of memory")


def looked(folder: Path, *words: str, **surroundings: str) -> Ended:
    """Without how full this disk is, and how much memory there is."""
    said = dwindle(folder, "doctor", *words, **surroundings)
    out = MEMORY.sub("some memory", FREE.sub("some GiB free", said.out))
    return Ended(code=said.code, out=out, err=said.err)


def bounds() -> tuple[str, str, str]:
    grouped = {name for parent in group_parents() for name in parent.controllers} >= {
        "memory",
        "pids",
    }
    by = "control groups" if grouped else "resource limits"
    best = next(kind for kind in survey() if not kind.problem)
    held = in_force(Bounds(processes=4096), best.strength).processes is not None
    what = f"some memory, files of 16 GiB; enforced by {by}"
    return ("ok", f"4096 processes, {what}", "") if held else ("note", what, UNHELD)


def findings(folder: Path, **surroundings: str) -> dict[str, tuple[str, str, str]]:
    said = looked(folder, "--json", **surroundings)
    found = json.loads(said.out)
    assert (said.err, said.code) == ("", 0 if found["ready"] else 2)
    return {one["name"]: (one["state"], one["what"], one["hint"]) for one in found["findings"]}


def contained() -> tuple[str, str, str]:
    tried = survey()
    best = next(kind for kind in tried if not kind.problem)
    problems = "; ".join(f"{kind.mechanism}: {kind.problem}" for kind in tried if kind.problem)
    state = "ok" if best.strength is Strength.STRONG else "note"
    return state, f"{best.strength} ({best.mechanism})", problems


def keeps_files() -> bool:
    """Only bubblewrap keeps files from being written; a namespace alone does not."""
    return next(kind for kind in survey() if not kind.problem).mechanism == READ_ONLY_BY


def git_version(folder: Path) -> str:
    said = findings(folder)["git"][1]
    assert re.fullmatch(r"git version \d+\.\d+.*", said)
    return said


def test_everything_is_there(tmp_path: Path) -> None:
    repository(tmp_path)
    tool = write(tmp_path, "tools/agent", "#!/bin/sh\necho agent 1.2 for $1\n")
    tool.chmod(0o755)
    write(tmp_path, ".runner/script.yaml", SCRIPT)
    write(
        tmp_path,
        ".runner/config.toml",
        SETTINGS + f'[agents.verifier]\nbackend = "command"\ncommand = ["{tool}", "--all"]\n'
        '[guard]\ncommand = ["sh", "-c", "true"]\n',
    )
    state, strength, problems = contained()
    said = looked(tmp_path)
    assert (said.code, said.err) == (0, "")
    assert findings(tmp_path) == {
        "python": ("ok", f"{platform.python_version()} ({sys.executable})", ""),
        "git": ("ok", git_version(tmp_path), ""),
        "repository": ("ok", str(tmp_path), ""),
        "disk": ("ok", "some GiB free", ""),
        "settings": ("ok", ".runner/config.toml", ""),
        "containment": (state, strength, problems),
        "network": ("ok", "open", ""),
        "bounds": bounds(),
        "worker": ("ok", "scripted: .runner/script.yaml", ""),
        "probe": ("ok", "scripted: .runner/script.yaml", ""),
        "verifier": ("ok", f"{tool} --all (agent 1.2 for --version)", ""),
        "planner": ("ok", "scripted: .runner/script.yaml", ""),
        "guard": ("ok", "sh -c true", ""),
    }
    found = json.loads(looked(tmp_path, "--json").out)
    commands = {one["name"]: one["command"] for one in found["findings"] if one["command"]}
    script = str(tmp_path / ".runner/script.yaml")
    scripted = [sys.executable, "-P", "-m", "dwindle.scripted", script]
    # A script plans only if it has answers for a planner.
    assert commands == {"worker": scripted, "probe": scripted, "verifier": [str(tool), "--all"]}
    assert sorted(dict.fromkeys(keys(found))) == sorted(table("`doctor --json`"))
    assert said.out.endswith("guard       ok        sh -c true\nA run could start here.\n")


def test_a_bound_that_nothing_holds_is_not_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root, where no control group can be made."""
    repository(tmp_path)
    monkeypatch.setattr(containment_bounds, "group_parents", lambda: ())
    monkeypatch.setattr(examination, "group_parents", lambda: ())
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (found,) = (one for one in diagnoses(tmp_path) if one.name == "bounds")
    what = MEMORY.sub("some memory", found.what)
    assert (found.state, what, found.hint) == (
        Severity.NOTE,
        "some memory, files of 16 GiB; enforced by resource limits",
        UNHELD,
    )


def test_nothing_is_there(tmp_path: Path) -> None:
    write(tmp_path, ".runner/config.toml", '[guard]\ncommand = ["no-such-guard"]\n')
    found = findings(tmp_path)
    assert {
        name: found[name] for name in ("repository", "worker", "probe", "verifier", "guard")
    } == {
        "repository": (
            "wrong",
            f"{tmp_path} is not in a git repository; `git init && {FIRST_COMMIT}` makes it one",
            "",
        ),
        "worker": (
            "wrong",
            "no agent is configured, and neither claude nor codex is found",
            "for example, in .runner/config.toml: [agents] backend, command",
        ),
        "probe": ("note", "none; the worker explores by itself", ""),
        "verifier": ("note", "none; quality and assertion checks cannot pass", ""),
        "guard": (
            "note",
            (
                "the guard `no-such-guard` cannot run: no-such-guard is not found; "
                "only a tree plan needs it"
            ),
            "",
        ),
    }
    last = looked(tmp_path).out.splitlines()[-1]
    assert last == "No run could start here; to be fixed: repository, worker."


def test_a_tree_needs_its_guard(tmp_path: Path) -> None:
    repository(tmp_path)
    write(tmp_path, TREE_FILE, "{}")
    write(tmp_path, ".runner/config.toml", '[guard]\ncommand = ["./guard"]\n')
    assert findings(tmp_path)["guard"] == (
        "wrong",
        "the guard `./guard` cannot run: ./guard is not found",
        "set [guard] command in .runner/config.toml",
    )
    write(tmp_path, "guard", "").chmod(0o755)
    assert findings(tmp_path)["guard"] == ("ok", "./guard", "")


def test_agents_that_are_not_there(tmp_path: Path) -> None:
    repository(tmp_path)
    write(
        tmp_path,
        ".runner/config.toml",
        '[agents]\nbackend = "command"\ncommand = ["no-such-agent"]\n'
        '[agents.probe]\nbackend = "scripted"\nscript = "nowhere.yaml"\n'
        '[agents.planner]\nbackend = "claude"\ncommand = ["no-such-claude"]\n',
    )
    found = findings(tmp_path)
    assert {name: found[name] for name in ("worker", "probe", "planner")} == {
        "worker": (
            "wrong",
            "no-such-agent: no-such-agent is not found, or not executable",
            "",
        ),
        "probe": ("wrong", "scripted: there is no nowhere.yaml", ""),
        "planner": (
            "wrong",
            (
                "claude: no-such-claude is not found, or not executable; "
                "install Claude Code, or name the path of the program in the settings"
            ),
            "",
        ),
    }


VENDORS = """\
[agents.verifier]
backend = "codex"
model = "gpt-6-sol"

[agents.planner]
backend = "command"
command = ["my-agent", "--api-key", "canary-1", "--token=canary-2", "-q", "DB_PASSWORD=canary-3"]

[sandbox]
env = ["NPM_TOKEN", "DATABASE_URL"]
"""
KEYS = {
    "ANTHROPIC_API_KEY": "canary-4",
    "OPENAI_API_KEY": "canary-5",
    "NPM_TOKEN": "canary-6",
    "DATABASE_URL": "postgres://me:canary-7@db/x",
}


def with_vendors(folder: Path, settings: str = VENDORS, **versions: str) -> dict[str, str]:
    """A repository, and a PATH with programs that know no more than their versions."""
    repository(folder)
    write(folder, ".runner/config.toml", settings)
    told = {"claude": "2.1.197 (Claude Code)", "codex": "codex-cli 0.166.0", "my-agent": "1"}
    for name, version in (told | versions).items():
        write(folder.parent, f"bin/{name}", f"#!/bin/sh\necho '{version}'\n").chmod(0o755)
    home = folder.parent / "home"
    home.mkdir()
    path = f"{folder.parent / 'bin'}:{PLAIN['PATH']}"
    return {**KEYS, "PATH": path, "HOME": str(home)}


def test_what_each_role_would_run_without_what_is_secret(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    there = with_vendors(folder)
    said = dwindle(folder, "doctor", "--json", **there)
    found = {one["name"]: one for one in json.loads(said.out)["findings"]}
    assert said.code == 0, said
    assert "canary" not in said.out + said.err
    assert "canary" not in dwindle(folder, "doctor", **there).out
    claude, codex = str(tmp_path / "bin/claude"), str(tmp_path / "bin/codex")
    # The worker has no agent in the settings, so it gets the one that is found.
    assert (found["worker"]["state"], found["worker"]["what"]) == (
        "ok",
        f"claude 2.1.197; ANTHROPIC_API_KEY is set ({claude})",
    )
    assert found["worker"]["command"][:2] == [claude, "-p"]
    assert found["probe"]["command"][:2] == [claude, "-p"]
    # It is let loose only where files outside of its tree cannot be written.
    assert ("--dangerously-skip-permissions" in found["worker"]["command"]) is keeps_files()
    assert "--dangerously-skip-permissions" not in found["probe"]["command"]
    assert found["verifier"]["what"] == (
        f"codex 0.166.0, model gpt-6-sol; OPENAI_API_KEY is set ({codex})"
    )
    assert found["verifier"]["command"][:2] == [codex, "exec"]
    assert "OUTBOX/report.schema.json" in found["verifier"]["command"]
    assert "CODEX_API_KEY=[...]" in found["verifier"]["environment"]
    assert "NPM_TOKEN=[...]" in found["worker"]["environment"]
    assert "DWINDLE_REPORT=OUTBOX/report.json" in found["worker"]["environment"]
    assert found["planner"]["command"] == [
        *("my-agent", "--api-key", "[...]", "--token=[...]", "-q", "DB_PASSWORD=[...]")
    ]


def test_the_command_line_is_shown_to_people_with_long_words_cut(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    shown = dwindle(folder, "doctor", **with_vendors(folder)).out
    assert f"            runs      {str(tmp_path)[:30]}" in shown
    assert """'{"type":"object","properties":{"feasible":{"typ...'\n""" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_untested_versions_are_mentioned_and_no_reason_to_stop(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    there = with_vendors(folder, claude="9.9.9 (Claude Code)", codex="codex-cli 7.0.0")
    found = findings(folder, **there)
    assert found["worker"][0] == found["verifier"][0] == "note"
    assert found["worker"][2].startswith("claude 9.9.9 was not tried with this, 2.1.197 to ")
    assert "codex 7.0.0 was not tried with this, 0.166 was; going on" in found["verifier"][2]


def test_a_codex_whose_costs_cannot_be_counted_is_mentioned(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    there = with_vendors(folder, '[agents]\nbackend = "codex"\n')
    assert findings(folder, **there)["worker"][2].endswith(
        "codex chooses its model and does not tell which: name one, to have costs counted"
    )


def test_an_agent_of_another_package(tmp_path: Path) -> None:
    packages = install(tmp_path / "packages")
    install(packages, "broken = broken_agent:make", "def make(wanted): 1 / 0", name="broken_agent")
    repository(tmp_path)
    settings = '[agents]\nbackend = "acme"\n[agents.verifier]\nbackend = "broken"\n'
    write(tmp_path, ".runner/config.toml", f'{settings}[agents.planner]\nbackend = "nope"\n')
    found = findings(tmp_path, PYTHONPATH=str(packages))
    assert found["worker"] == ("ok", "acme (acme_agent 1.2)", "")
    assert found["verifier"][:2] == (
        "wrong",
        (
            "the agent 'broken' of broken_agent 1.2 could not make an agent: "
            "ZeroDivisionError: division by zero"
        ),
    )
    assert found["planner"][:2] == ("wrong", "there is no agent 'nope'")


def test_a_program_that_does_not_know_the_word_does_no_harm(tmp_path: Path) -> None:
    repository(tmp_path)
    tool = write(tmp_path, "agent", "#!/bin/sh\ntouch made\nexit 3\n")
    tool.chmod(0o755)
    settings = f'[agents]\nbackend = "command"\ncommand = ["{tool}"]\n'
    write(tmp_path, ".runner/config.toml", settings)
    assert findings(tmp_path)["worker"] == ("ok", f"{tool} (says no version)", "")
    if keeps_files():
        assert not (tmp_path / "made").exists()


def test_settings_with_problems(tmp_path: Path) -> None:
    repository(tmp_path)
    write(tmp_path, ".runner/config.toml", "[agent]\n[sandbox]\nnetwork = 1\n")
    found = findings(tmp_path)
    state, what, _ = found["settings"]
    assert (state, what.count(".runner/config.toml:"), "worker" in found) == ("wrong", 2, False)


def test_no_sandbox_is_said(tmp_path: Path) -> None:
    repository(tmp_path)
    write(tmp_path, ".runner/config.toml", "[sandbox]\nenabled = false\n")
    assert findings(tmp_path)["containment"] == (
        "note",
        "none: [sandbox] enabled = false; agents and checks can do everything that you can do",
        "",
    )


def test_columns_are_as_wide_as_the_longest_name(tmp_path: Path) -> None:
    repository(tmp_path)
    write(tmp_path, ".runner/config.toml", '[agents.worker]\nescalate = ["claude", "codex"]\n')
    lines = dwindle(tmp_path, "doctor", PATH="/usr/bin:/bin").out.splitlines()
    shown = [(line[:22].rstrip(), line[22:32].rstrip()) for line in lines[:-1] if line[0] != " "]
    assert ("git", "ok") in shown
    assert [pair for pair in shown if pair[0].startswith("worker")] == [
        ("worker", "WRONG"),
        ("worker after 1 failed", "WRONG"),
    ]


def test_without_git(tmp_path: Path) -> None:
    for name in ("sh", "true"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    found_now = findings(tmp_path, PATH=str(tmp_path))
    assert found_now["git"] == ("wrong", "git was not found", "install git 2.38 or newer")
    assert found_now["repository"][0] == "wrong"


def test_what_a_person_opened_is_said(tmp_path: Path) -> None:
    repository(tmp_path)
    write(tmp_path, ".runner/script.yaml", SCRIPT)
    opened = '[sandbox]\nnetwork = false\nwritable = ["/var/cache"]\nenv = ["HOME", "NO_SUCH"]\n'
    write(tmp_path, ".runner/config.toml", SETTINGS + opened)
    found = findings(tmp_path)
    assert [found[name] for name in ("network", "writable", "env")] == [
        ("ok", "none", ""),
        ("note", "agents and checks may also write to /var/cache", ""),
        ("note", "agents and checks also see HOME, NO_SUCH", "not set: NO_SUCH"),
    ]


# --- what fresh checkouts lack -------------------------------------------------------------------


def command_agent(folder: Path, line: str, workspace: str = "") -> None:
    settings = f'[agents]\nbackend = "command"\ncommand = "{line}"\n[workspace]\n{workspace}\n'
    write(folder, ".runner/config.toml", settings)


def test_an_agent_program_that_is_missing_in_a_line_for_the_shell(tmp_path: Path) -> None:
    repository(tmp_path)
    command_agent(tmp_path, "cd . && no-such-agent --quiet")
    state, what, _ = findings(tmp_path)["worker"]
    assert (state, what.endswith("no-such-agent is not found, or not executable")) == (
        "wrong",
        True,
    )


def test_a_git_folder_that_cannot_be_written_to(
    tmp_path: Path, require_tool: Callable[[str], Path]
) -> None:
    bwrap = str(require_tool("bwrap"))
    repository(tmp_path)
    folder = str(tmp_path / ".git")
    said = subprocess.run(
        [
            *(bwrap, "--dev-bind", "/", "/", "--ro-bind", folder, folder),
            *(sys.executable, "-m", "dwindle", "doctor", "--json"),
        ],
        cwd=tmp_path,
        env=PLAIN,
        capture_output=True,
        check=False,
    )
    found = {one["name"]: one for one in json.loads(said.stdout)["findings"]}["repository"]
    assert (said.returncode, found["state"]) == (2, "wrong")
    assert found["what"].startswith(f"{folder} cannot be written to")


def test_what_is_shared_has_to_be_there_and_ignored(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", ".venv/\n")
    repository(tmp_path)
    command_agent(tmp_path, "true", 'share = [".gitignore"]')
    state, what, _ = findings(tmp_path)["share"]
    assert (state, what.endswith("'.gitignore' is tracked by git: every tree has its own")) == (
        "wrong",
        True,
    )
    command_agent(tmp_path, "true", 'share = [".venv"]')
    assert findings(tmp_path)["share"][:2] == (
        "wrong",
        ".venv is not there, so that no fresh checkout gets it",
    )
    write(tmp_path, ".venv/pyvenv.cfg", "")
    assert findings(tmp_path)["share"] == ("ok", ".venv", "")
    record = json.dumps({"url": tmp_path.as_uri(), "dir_info": {"editable": True}})
    packages = ".venv/lib/python3.11/site-packages"
    write(tmp_path, f"{packages}/x-1.dist-info/direct_url.json", record)
    state, what, hint = findings(tmp_path)["share"]
    assert (state, "installed as editable" in what, "setup" in hint) == ("note", True, True)


def test_a_toolchain_proposes_what_it_needs(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "node_modules/\n")
    write(tmp_path, "package.json", '{"dependencies": {"a": "1"}}')
    repository(tmp_path)
    command_agent(tmp_path, "true")
    state, what, hint = findings(tmp_path)["toolchain"]
    lacks = "package.json asks for packages, and a fresh checkout has none installed"
    assert (state, what) == ("note", f"node (package.json): {lacks}")
    proposed = 'for .runner/config.toml: [workspace] setup = "npm install --no-package-lock"'
    assert hint == proposed
    write(tmp_path, "node_modules/a/index.js", "")
    hint = findings(tmp_path)["toolchain"][2]
    assert hint == 'for .runner/config.toml: [workspace] share = ["node_modules"]'
    command_agent(tmp_path, "true", 'share = ["node_modules"]')
    assert findings(tmp_path)["toolchain"] == ("ok", "node (package.json) is provided for", "")
