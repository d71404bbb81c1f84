"""Whatever is asked, and however: an answer or a reason, and never a traceback."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.bad_plans import GRAPH
from tests.surfaces.command import (
    GRAPH_FILE,
    PLAIN,
    Ended,
    dwindle,
    graph_repository,
    tree_repository,
    write,
)

from dwindle import __version__
from dwindle.app.plans.load import schema_text
from dwindle.app.refusal import refused_by
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.surfaces import entry
from dwindle.surfaces.cli.app import COMMANDS
from dwindle.surfaces.entry import answer, plain_status

NAMES = [name for name, *_ in COMMANDS]


def test_version(tmp_path: Path) -> None:
    assert dwindle(tmp_path, "--version") == Ended(code=0, out=f"dwindle {__version__}\n")


@pytest.mark.parametrize("kind", ["graph", "tree"])
def test_schema_prints_what_was_shipped(kind: str, tmp_path: Path) -> None:
    from dwindle.kernel.model import PlanKind  # noqa: PLC0415

    assert dwindle(tmp_path, "schema", kind) == Ended(code=0, out=schema_text(PlanKind(kind)))


@pytest.mark.parametrize("words", [["--help"], ["-h"], *([name, "--help"] for name in NAMES)])
def test_help_is_an_answer_of_80_columns(words: list[str], tmp_path: Path) -> None:
    said = dwindle(tmp_path, *words)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("Usage: dwindle")
    assert [line for line in said.out.splitlines() if len(line) > 80] == []
    assert ("Examples:" in said.out) is (words[:1] != [] and words[0] in NAMES)


KNOWN = ", ".join(name for name, *_ in COMMANDS[:8]) + ", .."

USAGE = {
    ("frobnicate",): (
        f'Unknown command "frobnicate". Available commands: {KNOWN}.',
        "dwindle",
    ),
    ("--nope",): (
        f'Unknown command "--nope". Available commands: {KNOWN}.',
        "dwindle",
    ),
    ("validate", "--jsn"): ("Unknown option: --jsn. Did you mean --json?", "dwindle validate"),
    ("validate", "a", "b"): ("Unused Tokens: ['b'].", "dwindle validate"),
    ("validate", "--against"): (
        'Command "validate" parameter --against requires an argument.',
        "dwindle validate",
    ),
    ("status", "--plan", "both"): (
        'Invalid value "both" for --plan. Choose from: "graph", "tree".',
        "dwindle status",
    ),
    ("status", "extra"): ("Unused Tokens: ['extra'].", "dwindle status"),
    ("graph", "--format", "png"): (
        'Invalid value "png" for --format. Choose from: "mermaid", "dot", "json".',
        "dwindle graph",
    ),
    ("schema",): (
        'Command "schema" parameter KIND requires an argument.',
        "dwindle schema",
    ),
    ("schema", "yaml"): (
        'Invalid value "yaml" for KIND. Choose from: "graph", "tree".',
        "dwindle schema",
    ),
}


@pytest.mark.parametrize("words", USAGE, ids=" ".join)
def test_what_cannot_be_understood_is_refused(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    what, asked = USAGE[words]
    code = answer(words)
    out, err = capfd.readouterr()
    assert Ended(code=code, out=out, err=err) == Ended(
        code=2, err=f"dwindle: {what}\n  `{asked} --help` says how to use it\n"
    )


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], {}),
        (["--json"], {"--json": ""}),
        (["--plan", "tree", "--json"], {"--plan": "tree", "--json": ""}),
        (["--plan=graph"], {"--plan": "graph"}),
        (["--plan"], None),
        (["--plan=x"], None),
        (["--plan", "tree", "--plan", "tree"], None),
        (["--help"], None),
    ],
)
def test_status_needs_no_framework_for_plain_words(
    words: list[str], options: dict[str, str] | None
) -> None:
    assert plain_status(["status", *words]) == options
    assert plain_status(["graph", *words]) is None


@pytest.mark.parametrize("words", [["graph"], ["status"], ["schema", "graph"], ["--version"]])
def test_a_reader_that_leaves_early_is_no_mistake(words: list[str], tmp_path: Path) -> None:
    folder = graph_repository(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-m", "dwindle", *words],
        cwd=folder,
        env=PLAIN,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_the_verdict_stands_even_if_stdout_is_closed(tmp_path: Path) -> None:
    write(tmp_path, "bad.md", "no plan")
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-m", "dwindle", "validate", "bad.md"],
        cwd=tmp_path,
        env=PLAIN,
        stdout=writer,
        stderr=writer,
        check=False,
    )
    os.close(writer)
    assert ended.returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_an_answer_that_cannot_be_written_is_no_success(tmp_path: Path) -> None:
    folder = graph_repository(tmp_path)
    for words in (["status"], ["validate"], ["--version"]):
        with Path("/dev/full").open("wb") as full:
            ended = subprocess.run(
                [sys.executable, "-m", "dwindle", *words],
                cwd=folder,
                env=PLAIN,
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert (ended.returncode, ended.stderr) == (
            2,
            b"dwindle: the answer could not be written: No space left on device\n",
        )


def test_a_locale_that_cannot_show_it_spells_it_out(tmp_path: Path) -> None:
    folder = graph_repository(tmp_path, GRAPH.replace('"Login"', '"登 é"'))
    said = dwindle(folder, "explain", "A2", PYTHONIOENCODING="ascii")
    assert said == Ended(
        code=0,
        out="The run is pending. If it were run now:\n\n"
        "A2 waiting: \\u767b \\xe9\n    it waits for A1\n",
    )


def test_a_pipe_in_the_place_of_a_plan_does_not_hold_us(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "plan.md")
    assert dwindle(tmp_path, "validate", "plan.md") == Ended(
        code=2,
        out="plan.md: this is not a regular file\n    hint: name a plan file\nplan.md: 1 problem\n",
    )


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / GRAPH_FILE
    path.parent.mkdir()
    path.symlink_to(path)
    assert dwindle(tmp_path, "status") == Ended(
        code=2,
        err=f"dwindle: {GRAPH_FILE}: the file cannot be read: Too many levels of symbolic links\n",
    )


def test_a_name_that_no_file_can_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    long = "x" * 5000 + ".md"
    for name, what in (
        (long, "the file cannot be read: File name too long"),
        ("a\0b.md", "this cannot be the name of a file"),
    ):
        shown = name.replace("\0", "\\x00")
        assert answer(["validate", name]) == 2
        assert capfd.readouterr() == (f"{shown}: {what}\n{shown}: 1 problem\n", "")


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    ended = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD"; exec "$0" -m dwindle status', sys.executable],
        cwd=gone,
        env=PLAIN,
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr == b"dwindle: No such file or directory\n"


@pytest.mark.parametrize(("words", "code"), [(["validate"], 2), (["graph"], 70)])
def test_a_bug_of_ours_is_called_one(
    words: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(_words: object) -> int:
        raise RuntimeError("oh")

    monkeypatch.setattr(entry, "call", broken)
    assert answer(words) == code
    assert capfd.readouterr() == (
        "",
        (
            "dwindle: this is a bug: RuntimeError: oh\n"
            "  DWINDLE_TRACEBACK=1 shows where; `dwindle status` says where a run stands\n"
        ),
    )
    monkeypatch.setenv("DWINDLE_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        answer(words)


def test_an_interruption_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_words: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "call", interrupted)
    assert answer(["graph"]) == 130
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, 43), (errno.EDQUOT, 43), (13, 2)])
def test_a_full_disk_has_a_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    def full(_words: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(entry, "call", full)
    assert answer(["graph"]) == code
    said = f"sha1 file '/x/index.lock' write error. {'Out of diskspace' if code == 43 else ''}"
    assert refused_by(WorkspaceFailed("git read-tree ended with 128", said)).code == code


def test_answers_do_not_depend_on_hash_seed_locale_or_time_zone(tmp_path: Path) -> None:
    folder = tree_repository(tmp_path)
    write(folder, GRAPH_FILE, GRAPH)
    for words in (["explain", "--plan", "graph"], ["graph", "--plan", "tree"], ["validate"]):
        first = dwindle(folder, *words, PYTHONHASHSEED="1", LC_ALL="C", TZ="UTC")
        other = dwindle(folder, *words, PYTHONHASHSEED="2", LC_ALL="C.UTF-8", TZ="Asia/Tokyo")
        assert first == other
        assert first.code == 0
