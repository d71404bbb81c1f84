"""What a program under bubblewrap sees, and what it can do about it."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dwindle.adapters.sandbox import Bubblewrap
from dwindle.adapters.sandbox.mounts import PACKAGE
from dwindle.ports.process import Command, Ended, Strength


@pytest.fixture
def home() -> Iterator[Path]:
    """Not under /tmp, which is private anyway."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


@pytest.fixture
def bubblewrap(require_tool: Callable[[str], Path], home: Path) -> Bubblewrap:
    return Bubblewrap(program=str(require_tool("bwrap")), home=home)


def sh(bubblewrap: Bubblewrap, script: str, cwd: Path = Path("/"), **named: object) -> Ended:
    command = Command(argv=("/bin/sh", "-c", script), cwd=cwd, timeout_seconds=10, **named)  # type: ignore[arg-type]
    return asyncio.run(bubblewrap.run(command))


def said(ended: Ended) -> list[str]:
    assert ended.error == ""
    return ended.stdout.text().splitlines()


def test_it_says_what_it_is(bubblewrap: Bubblewrap) -> None:
    assert (bubblewrap.strength, bubblewrap.mechanism) == (Strength.STRONG, "bubblewrap")


def test_only_what_is_named_can_be_written(bubblewrap: Bubblewrap, home: Path) -> None:
    tree, outbox, other = home / "tree", home / "out box", home / "other"
    for folder in (tree, outbox, other):
        folder.mkdir()
    (tree / "pinned").mkdir()
    script = f"""
        for place in . ./pinned '{outbox}' '{other}' /etc /usr /var/tmp / /proc/sys; do
            touch "$place/new" 2>/dev/null && echo "$place"
        done
        chmod 700 /etc 2>/dev/null && echo chmod
        mount -o remount,rw / 2>/dev/null && echo remount
        umount /proc 2>/dev/null && echo umount
        :
    """
    ended = sh(bubblewrap, script, cwd=tree, writable=(tree, outbox), readable=(tree / "pinned",))
    assert said(ended) == [".", str(outbox)]
    found = sorted(str(path.relative_to(home)) for path in home.rglob("new"))
    assert found == ["out box/new", "tree/new"]


def test_without_a_writable_folder_nothing_can_be_written(
    bubblewrap: Bubblewrap, home: Path
) -> None:
    (home / "tree").mkdir()
    ended = sh(bubblewrap, "touch new; ls -a", cwd=home / "tree")
    assert said(ended) == [".", ".."]
    assert "Read-only file system" in ended.stderr.text()


def test_home_and_tmp_are_private_and_gone_afterwards(
    bubblewrap: Bubblewrap, home: Path, tmp_path: Path
) -> None:
    (home / ".ssh").mkdir()
    (tmp_path / "note").touch()
    script = (
        f"ls -A {home} {tmp_path} 2>/dev/null; echo x > {home}/mine && cat {home}/mine; ls -A /tmp"
    )
    runner = (Path(sys.prefix), PACKAGE)  # comes back, even from /tmp
    shown = sorted({p.parts[2] for p in runner if p.is_relative_to("/tmp")})  # noqa: S108
    assert said(sh(bubblewrap, script)) == [f"{home}:", "x", *shown]
    assert sorted(path.name for path in home.iterdir()) == [".ssh"]


def test_what_is_in_memory_holds_only_so_much(bubblewrap: Bubblewrap, home: Path) -> None:
    script = f"df -k --output=size /tmp /run /dev/shm {home} | tail -4"
    assert [int(size) for size in said(sh(bubblewrap, script))] == [4 << 20] * 4


def test_one_may_work_in_shared_memory(bubblewrap: Bubblewrap) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        (Path(name) / "there").touch()
        assert said(sh(bubblewrap, "ls; touch new", cwd=Path(name))) == ["there"]
        sh(bubblewrap, "touch new", cwd=Path(name), writable=(Path(name),))
        assert sorted(path.name for path in Path(name).iterdir()) == ["new", "there"]


def test_devices_are_the_few_that_everybody_needs(bubblewrap: Bubblewrap) -> None:
    script = """
        touch /dev/new 2>/dev/null && echo written
        echo shared > /dev/shm/x && cat /dev/shm/x
        echo lost > /dev/null && head -c 3 /dev/zero | wc -c
        ls /dev | tr '\\n' ' '
    """
    assert said(sh(bubblewrap, script)) == [
        "shared",
        "3",
        "core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero ",
    ]


def test_what_is_hidden_is_not_there(bubblewrap: Bubblewrap, home: Path) -> None:
    """Even inside of what is writable; but a named folder inside of it is."""
    tree, state = home / "tree", home / "tree" / ".runner"
    lease = state / "worktrees" / "A1"
    lease.mkdir(parents=True)
    (state / "journal").write_text("secret")
    (tree / "config").write_text("secret")
    script = f"""
        ls {state}; ls {state}/worktrees; cat {state}/journal {tree}/config
        touch {state}/forged; touch {lease}/work && ls {lease}
    """
    ended = sh(bubblewrap, script, writable=(tree, lease), hidden=(state, tree / "config"))
    assert said(ended) == ["worktrees", "A1", "work"]
    assert "secret" not in ended.stderr.text()
    assert sorted(path.name for path in state.iterdir()) == ["journal", "worktrees"]


def test_a_missing_folder_is_said_by_its_name(bubblewrap: Bubblewrap, home: Path) -> None:
    gone = home / "gone"
    assert sh(bubblewrap, "true", writable=(gone,)) == Ended(
        error=f"{gone} should be writable, but does not exist"
    )
    assert sh(bubblewrap, "true", readable=(gone,)) == Ended(
        error=f"{gone} should be readable, but does not exist"
    )
    assert said(sh(bubblewrap, "true", hidden=(gone,))) == []


def test_nobody_outside_can_be_seen_or_signalled(bubblewrap: Bubblewrap) -> None:
    script = f"""
        ls /proc | grep -c '^[0-9]'
        kill -0 {os.getpid()} 2>/dev/null && echo signalled
        cat /proc/{os.getpid()}/environ 2>/dev/null
        :
    """
    count, *more = said(sh(bubblewrap, script))
    assert int(count) <= 5
    assert more == []


def test_there_are_no_privileges_to_use_or_to_get(bubblewrap: Bubblewrap) -> None:
    script = """
        grep -E '^(Cap|NoNewPrivs)' /proc/self/status | cut -f2 | sort -u
        unshare --user true 2>/dev/null && echo nested
        :
    """
    assert said(sh(bubblewrap, script)) == ["0000000000000000", "1"]


def test_the_network_can_be_taken_away(bubblewrap: Bubblewrap) -> None:
    script = "ls /sys/class/net >/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"
    assert said(sh(bubblewrap, script, network=False)) == ["lo"]


def test_sockets_of_daemons_are_out_of_reach(bubblewrap: Bubblewrap) -> None:
    assert all(
        name in {"systemd", "resolvconf", "NetworkManager", "current-system", "wrappers"}
        for name in said(sh(bubblewrap, "ls -A /run"))
    )


def test_folders_may_have_any_name(bubblewrap: Bubblewrap, home: Path) -> None:
    folder = home / "mit Leerzeichen, ünïcode\tund 'Zitat'\n--bind"
    folder.mkdir()
    assert said(sh(bubblewrap, "touch here; ls", cwd=folder, writable=(folder,))) == ["here"]


def test_a_link_to_a_folder_stands_for_the_folder(bubblewrap: Bubblewrap, home: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        link = Path(name, "link")
        folder = home / "folder"
        folder.mkdir()
        link.symlink_to(folder)
        sh(bubblewrap, f"touch {folder}/here", writable=(link,))
        assert [path.name for path in folder.iterdir()] == ["here"]


def test_a_toolchain_under_home_still_works(
    require_tool: Callable[[str], Path], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pyenv, nvm and a link in ~/.local/bin have it; what else is there stays hidden."""
    tools = home / ".tools" / "v1"
    (tools / "bin").mkdir(parents=True)
    (tools / "lib").write_text("echo from the lib")
    (tools / "bin" / "tool").write_text('#!/bin/sh\n. "$(dirname "$0")/../lib"\n')
    (tools / "bin" / "tool").chmod(0o755)
    local = home / ".local" / "bin"
    local.mkdir(parents=True)
    (home / ".local" / "secret").touch()
    shutil.copy("/bin/echo", home / ".local" / "real-echo")
    (local / "greet").symlink_to(home / ".local" / "real-echo")
    monkeypatch.setenv("PATH", f"{tools}/bin:{local}:{os.environ['PATH']}")
    bubblewrap = Bubblewrap(program=str(require_tool("bwrap")), home=home)
    script = f"tool; greet hello; ls -A {home} {home}/.local; touch {tools}/new || :"
    ended = sh(bubblewrap, f"PATH={tools}/bin:{local}:$PATH; {script}")
    assert ended.stdout.text().split() == [
        *("from", "the", "lib", "hello"),
        *(f"{home}:", ".local", ".tools", f"{home}/.local:", "bin", "real-echo"),
    ]
    assert "Read-only file system" in ended.stderr.text()


def test_our_own_python_works_wherever_it_lives(require_tool: Callable[[str], Path]) -> None:
    word = secrets.token_hex(4)
    command = Command(
        argv=(sys.executable, "-c", f"import msgspec; print('{word}')"), cwd=Path("/")
    )
    ended = asyncio.run(Bubblewrap(program=str(require_tool("bwrap"))).run(command))
    assert ended.stdout.text() == f"{word}\n"


RUNS_A_COMMAND = """
import asyncio, sys
from pathlib import Path
from dwindle.adapters.sandbox import Bubblewrap
from dwindle.ports.process import Command
bwrap, cwd, writable, script = sys.argv[1:]
command = Command(
    argv=("/bin/sh", "-c", script),
    cwd=Path(cwd),
    writable=tuple(map(Path, writable.split())),
    timeout_seconds=10,
)
print(asyncio.run(Bubblewrap(program=bwrap).run(command)).stdout.text())
"""


@pytest.fixture
def clone() -> Iterator[Path]:
    """A project below /tmp that holds the package, as a clone with an editable install does."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="clone-") as name:
        there = Path(name) / "src" / "dwindle"
        shutil.copytree(PACKAGE, there, ignore=shutil.ignore_patterns("__pycache__"))
        (Path(name) / "notes.txt").touch()
        yield Path(name)


def from_clone(clone: Path, bwrap: Path, cwd: Path, writable: str, script: str) -> list[str]:
    # Its lines are not ours to count: the copy is gone when coverage is reported.
    ours = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(
        [sys.executable, "-c", RUNS_A_COMMAND, bwrap, cwd, writable, script],
        env={**ours, "PYTHONPATH": str(clone / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_a_runner_below_tmp_is_seen_read_only_and_nothing_beside_it(
    require_tool: Callable[[str], Path], clone: Path
) -> None:
    script = f"""
        ls -A {clone} {clone}/src
        touch {clone}/src/dwindle/new || echo read-only
        PYTHONPATH={clone}/src {sys.executable} -c "import dwindle.scripted; print('imported')"
    """
    seen = from_clone(clone, require_tool("bwrap"), Path("/"), "", script)
    assert seen == [f"{clone}:", "src", f"{clone}/src:", "dwindle", "read-only", "imported"]


def test_an_agent_may_work_on_the_runner_that_runs_it(
    require_tool: Callable[[str], Path], clone: Path
) -> None:
    """Where the package is part of the workspace it is the workspace that counts."""
    script = "touch src/dwindle/new && ls -A"
    seen = from_clone(clone, require_tool("bwrap"), clone, str(clone), script)
    assert seen == ["notes.txt", "src"]
    assert (clone / "src/dwindle/new").exists()
