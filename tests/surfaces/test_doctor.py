"""`dwindle doctor`: what a run needs, looked at on the machine that runs the tests."""

from __future__ import annotations

import json
import platform
import re
import shutil
import sys
from pathlib import Path

from tests.surfaces.command import TREE_FILE, Ended, dwindle, repository, write
from tests.surfaces.small_runs import SCRIPT, SETTINGS
from tests.surfaces.test_commands_page import keys, table

from dwindle.adapters.containment.choice import survey
from dwindle.ports.process import Strength

FREE = re.compile(r"[\d.]+ GB free")


def looked(folder: Path, *words: str, **surroundings: str) -> Ended:
    """Without how full this disk is."""
    said = dwindle(folder, "doctor", *words, **surroundings)
    return Ended(code=said.code, out=FREE.sub("some GB free", said.out), err=said.err)


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
        "disk": ("ok", "some GB free", ""),
        "settings": ("ok", ".runner/config.toml", ""),
        "containment": (state, strength, problems),
        "worker": ("ok", "scripted: .runner/script.yaml", ""),
        "probe": ("ok", "scripted: .runner/script.yaml", ""),
        "verifier": ("ok", f"{tool} --all (agent 1.2 for --version)", ""),
        "planner": ("ok", "scripted: .runner/script.yaml", ""),
        "guard": ("ok", "sh -c true", ""),
    }
    found = json.loads(looked(tmp_path, "--json").out)
    assert sorted(dict.fromkeys(keys(found))) == sorted(table("`doctor --json`"))
    assert said.out.endswith("guard       ok        sh -c true\nA run could start here.\n")


def test_nothing_is_there(tmp_path: Path) -> None:
    write(tmp_path, ".runner/config.toml", '[guard]\ncommand = ["no-such-guard"]\n')
    found = findings(tmp_path)
    assert {
        name: found[name] for name in ("repository", "worker", "probe", "verifier", "guard")
    } == {
        "repository": (
            "wrong",
            f"{tmp_path} is not in a git repository; `git init` and a first commit make it one",
            "",
        ),
        "worker": (
            "wrong",
            "no agent is configured, and neither claude nor codex is found",
            "for example, in .runner/config.toml: [agents] backend, command",
        ),
        "probe": ("note", "nobody; the worker looks for itself", ""),
        "verifier": ("note", "nobody; quality and assertion checks cannot pass", ""),
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
    assert last == "No run could start here; to be mended: repository, worker."


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


def test_a_program_that_does_not_know_the_word_does_no_harm(tmp_path: Path) -> None:
    repository(tmp_path)
    tool = write(tmp_path, "agent", "#!/bin/sh\ntouch made\nexit 3\n")
    tool.chmod(0o755)
    settings = f'[agents]\nbackend = "command"\ncommand = ["{tool}"]\n'
    write(tmp_path, ".runner/config.toml", settings)
    assert findings(tmp_path)["worker"] == ("ok", f"{tool} (says no version)", "")
    if contained()[0] == "ok":  # What is weak cannot keep files from being written.
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
        "none: [sandbox] enabled = false; agents and checks can do all that you can do",
        "",
    )


def test_without_git(tmp_path: Path) -> None:
    for name in ("sh", "true"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    found_now = findings(tmp_path, PATH=str(tmp_path))
    assert found_now["git"] == ("wrong", "git was not found", "install git 2.38 or newer")
    assert found_now["repository"][0] == "wrong"
