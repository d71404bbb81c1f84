"""What a program under bubblewrap could use of the machine without a file of its own: nothing much.

Kernel settings, the keys of a person, sockets of daemons. What is left open is shown here too.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dwindle.adapters.sandbox import Bubblewrap, Unshare, bubblewrap, mounts
from dwindle.ports.process import Command, Containment, Ended

PYTHON = "/usr/bin/python3"
ADD_KEY = {"x86_64": 248, "aarch64": 217}.get(os.uname().machine, 0)
REVOKE, LINK, READ, OWN_RING, USER_RING = 3, 8, 11, -2, -4

SETTINGS = """
import os
for root in ("/proc", "/sys"):
    for folder, folders, names in os.walk(root):
        if folder == "/proc":
            folders[:] = [name for name in folders if not name.isdecimal()]
        for path in (os.path.join(folder, name) for name in names):
            try:
                if os.access(path, os.W_OK) and not path.startswith("/proc/pressure/"):
                    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                    print(path)
            except OSError:
                pass
"""
"""Prints what can be opened to be written to, but for what one writes to to be told of pressure."""

THIEF = """
import ctypes, sys
library = ctypes.CDLL(None)
keyctl, ring, key = map(int, sys.argv[1:])
library.syscall(keyctl, {LINK}, ring, {OWN_RING})
found = ctypes.create_string_buffer(100)
library.syscall(keyctl, {READ}, key, found, 100)
print(found.value.decode())
""".format_map(vars())

CALLER = """
import socket, sys
there = socket.socket(socket.AF_UNIX)
try:
    there.connect(sys.argv[1].replace("@", chr(0)))
    print("connected")
except OSError as problem:
    print(problem.strerror)
"""


@pytest.fixture
def wrapped(require_tool: Callable[[str], Path]) -> Bubblewrap:
    return Bubblewrap(program=str(require_tool("bwrap")))


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not under /tmp, which is private anyway."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


def ran(containment: Containment, *argv: str, network: bool = True) -> list[str]:
    command = Command(argv=argv, cwd=Path("/"), network=network, timeout_seconds=60)
    ended = asyncio.run(containment.run(command))
    assert (ended.exit_code, ended.error) == (0, ""), ended
    return ended.stdout.text().split("\n")[:-1]


# --- the kernel ----------------------------------------------------------------------------------


def test_no_setting_of_the_kernel_can_be_changed(wrapped: Bubblewrap) -> None:
    """Root owns them, and needs no capability: with `core_pattern` it could start what it likes."""
    assert ran(wrapped, PYTHON, "-c", SETTINGS) == []


def test_a_new_proc_alone_would_not_keep_root_from_it(
    wrapped: Bubblewrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows that the test above can fail, when it is root who runs it."""
    monkeypatch.setattr(mounts, "WORLD", mounts.WORLD[:7])
    is_open = "/proc/sys/kernel/core_pattern" in ran(wrapped, PYTHON, "-c", SETTINGS)
    assert is_open is (os.geteuid() == 0)


# --- keys ----------------------------------------------------------------------------------------


@pytest.fixture
def key() -> Iterator[tuple[str, str, str]]:
    """In the keyring of whoever runs this: how to ask, the ring, the key."""
    library = ctypes.CDLL(None)
    ring = library.syscall(ADD_KEY + 2, 0, USER_RING, 1) if ADD_KEY else -1
    made = library.syscall(ADD_KEY, b"user", b"dwindle-test", b"canary", 6, ring) if ADD_KEY else -1
    if made < 0:
        pytest.skip("there are no keyrings here")
    yield str(ADD_KEY + 2), str(ring), str(made)
    library.syscall(ADD_KEY + 2, REVOKE, made)


def test_the_keys_of_a_person_cannot_be_read(
    wrapped: Bubblewrap, key: tuple[str, str, str]
) -> None:
    assert ran(wrapped, PYTHON, "-c", THIEF, *key) == [""]


def test_namespaces_alone_would_not_hide_them(
    wrapped: Bubblewrap,
    require_tool: Callable[[str], Path],
    key: tuple[str, str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Shows that the test above can fail; and under unshare there is nothing to hide them with."""
    unshare = Unshare(program=str(require_tool("unshare")), setpriv=str(require_tool("setpriv")))
    assert ran(unshare, PYTHON, "-c", THIEF, *key) == ["canary"]
    monkeypatch.setattr(bubblewrap, "filter_file", lambda *, traces: None)  # noqa: ARG005
    assert ran(wrapped, PYTHON, "-c", THIEF, *key) == ["canary"]


def test_the_filter_is_not_left_open(wrapped: Bubblewrap) -> None:
    """Neither inside nor out here."""
    assert ran(wrapped, "sh", "-c", "ls /proc/$$/fd; true") == ["0", "1", "2"]
    ours = [os.path.realpath(path) for path in Path("/proc/self/fd").iterdir()]
    assert [path for path in ours if "memfd:filter" in path] == []


def test_without_a_descriptor_for_it_nothing_is_started(
    wrapped: Bubblewrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*, traces: bool) -> int:  # noqa: ARG001
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(bubblewrap, "filter_file", full)
    command = Command(argv=("true",), cwd=Path("/"))
    assert asyncio.run(wrapped.run(command)) == Ended(error="Too many open files")


# --- sockets -------------------------------------------------------------------------------------


def test_a_daemon_that_makes_one_root_is_out_of_reach(
    wrapped: Bubblewrap, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One can talk through a read-only mount: so what is in the way is that it is not there."""
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(folder / "unix.socket"))
        daemon.listen()
        call = (PYTHON, "-c", CALLER, str(folder / "unix.socket"))
        assert ran(wrapped, *call) == ["connected"]
        monkeypatch.setattr(mounts, "DAEMONS", (folder,))
        assert ran(wrapped, *call) == ["No such file or directory"]


def test_a_socket_without_a_file_belongs_to_the_network(wrapped: Bubblewrap) -> None:
    """It can be reached where the network can, as some screens and buses have it."""
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(f"\0dwindle-test-{os.getpid()}")
        daemon.listen()
        call = (PYTHON, "-c", CALLER, f"@dwindle-test-{os.getpid()}")
        assert ran(wrapped, *call) == ["connected"]
        assert ran(wrapped, *call, network=False) == ["Connection refused"]
