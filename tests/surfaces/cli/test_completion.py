"""A shell that has read our script finishes commands, options and what they may be."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.surfaces.command import PLAIN, Ended, dwindle

from dwindle.surfaces.cli.app import COMMANDS


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    said = dwindle(folder, "completion", "bash")
    assert (said.code, said.err) == (0, "")
    path = folder / "dwindle.bash"
    path.write_text(said.out)
    return path


def offered(script: Path, *words: str) -> list[str]:
    """What bash would offer for the last of these words."""
    typed = " ".join(shlex.quote(word) for word in ("dwindle", *words))
    asked = f"""
        source {shlex.quote(str(script))}
        COMP_WORDS=({typed}); COMP_CWORD={len(words)}
        COMP_LINE="${{COMP_WORDS[*]}}"; COMP_POINT=${{#COMP_LINE}}
        wanted=$(complete -p dwindle); wanted=${{wanted#*-F }}; "${{wanted%% *}}"
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    bash = shutil.which("bash")
    assert bash is not None
    ended = subprocess.run(
        [bash, "--norc", "-c", asked],
        cwd=script.parent,
        env=PLAIN,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stderr == ""
    return ended.stdout.split()


def test_commands(script: Path) -> None:
    assert sorted(offered(script, "")) == sorted(name for name, *_ in COMMANDS)
    assert sorted(offered(script, "re")) == ["redirect", "replay", "report"]
    assert offered(script, "nothing-like-it") == []


def test_options_and_their_values(script: Path) -> None:
    assert offered(script, "status", "--") == ["--json", "--plan", "--help"]
    assert offered(script, "run", "--pl") == ["--plan"]
    assert offered(script, "run", "--plan", "") == ["graph", "tree"]
    assert offered(script, "graph", "--format", "m") == ["mermaid"]
    assert offered(script, "schema", "t") == ["tree"]
    assert offered(script, "completion", "") == ["bash", "zsh", "fish"]


def test_files_where_a_file_is_meant(script: Path) -> None:
    (script.parent / "draft.yaml").touch()
    assert offered(script, "align", "--from", "dra") == ["draft.yaml"]


@pytest.mark.parametrize(
    ("shell", "first", "last"),
    [
        ("zsh", "#compdef dwindle", "}"),
        ("fish", "# Fish completion for dwindle", ""),
    ],
)
def test_other_shells_get_theirs(tmp_path: Path, shell: str, first: str, last: str) -> None:
    said = dwindle(tmp_path, "completion", shell)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == first
    assert lines[-1].endswith(last)
    assert [name for name, *_ in COMMANDS if name not in said.out] == []
    assert ("\n_dwindle() {" in said.out) is (shell == "zsh")


def test_another_shell(tmp_path: Path) -> None:
    assert dwindle(tmp_path, "completion", "tcsh") == Ended(
        code=2,
        err='dwindle: Invalid value "tcsh" for SHELL. Choose from: "bash", "zsh", "fish".\n'
        "  `dwindle completion --help` says how to use it\n",
    )
