"""What a program could use to get out: capabilities and further namespaces. There are none."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.adapters.sandbox.test_bounds import CHILD

from dwindle.adapters.sandbox import Unshare, unshare
from dwindle.ports.process import Command, Containment

SCRIPT = """
grep -E '^(Cap|NoNewPrivs)' /proc/self/status | cut -f2 | sort -u
unshare --user true 2>/dev/null && echo nested
unshare --user --map-root-user mount -t tmpfs none /mnt 2>/dev/null && echo mounted
mount -o remount,rw / 2>/dev/null && echo remounted
umount /proc 2>/dev/null && echo unmounted
nsenter --target 1 --mount true 2>/dev/null && echo entered
chroot / true 2>/dev/null && echo moved
true
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.parametrize("kind", ["bubblewrap", "unshare"])
@pytest.mark.parametrize("who", ["self", "nobody"])
def test_there_are_no_privileges_to_use_or_to_get(
    kind: str, who: str, named: Callable[[str], Containment], folder: Path
) -> None:
    """Only root can become nobody; whoever runs the tests without being root is nobody enough."""
    named(kind)
    who = who if os.geteuid() == 0 else "self"
    done = subprocess.run(
        (sys.executable, str(CHILD), kind, who, str(folder), SCRIPT),
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONPATH": "src:."},
        capture_output=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert (found["said"], found["code"]) == (["0000000000000000", "1"], 0), found


async def _shown(kind: Containment, folder: Path) -> str:
    closed = "/etc/shadow /etc/shadow- /etc/gshadow /etc/security/opasswd"
    script = f"cat {closed} 2>/dev/null; ls /etc/ssl/private 2>/dev/null; echo end"
    command = Command(argv=("/bin/sh", "-c", script), cwd=folder, writable=(folder,))
    return (await kind.run(command)).stdout.text()


def test_what_only_root_may_read_is_hidden_from_root(
    named: Callable[[str], Containment], folder: Path
) -> None:
    """Root without capabilities still owns these files; others may not read them anyway."""
    assert asyncio.run(_shown(named("bubblewrap"), folder)) == "end\n"


def test_what_only_root_may_read_and_a_command_names_is_there(
    named: Callable[[str], Containment], folder: Path
) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    (closed / "file").write_text("mine\n")
    command = Command(argv=("cat", "file"), cwd=closed, writable=(closed,))
    ended = asyncio.run(named("bubblewrap").run(command))
    assert (ended.stdout.text(), ended.error) == ("mine\n", "")


def test_without_the_link_in_the_chain_a_further_namespace_could_be_made(
    require_tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows that the test above can fail."""
    made = Unshare(program=str(require_tool("unshare")), setpriv=str(require_tool("setpriv")))
    argv = made.argv(Command(argv=("/bin/sh", "-c", SCRIPT), cwd=Path("/")))
    monkeypatch.setattr(unshare, "NO_MORE_NAMESPACES", ())
    weaker = made.argv(Command(argv=("/bin/sh", "-c", SCRIPT), cwd=Path("/")))
    said = [
        subprocess.run(words, input=b"go\n", capture_output=True, check=False).stdout.split()
        for words in (argv, weaker)
    ]
    assert (b"nested" in said[0], b"nested" in said[1]) == (False, True)
