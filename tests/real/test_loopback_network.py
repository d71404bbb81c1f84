"""The network that ends at loopback: nothing gets out, and what tries to is seen."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.real.conftest import NOT_CUT_OFF
from tests.real.loopback_network import Island, NoIsland
from tests.real.model import Lane, ModelServer, Step
from tests.real.model_client import MESSAGES, ask, message


def call(host: str, port: int) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, port), timeout=5)


def test_a_call_outside_is_refused_at_once_and_seen_once(tapped: Island) -> None:
    call("192.0.2.1", 443)
    call("192.0.2.1", 443)
    assert tapped.attempts == ("tcp 192.0.2.1:443",)


def test_a_datagram_is_seen(tapped: Island) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("192.0.2.1", 123))
    assert tapped.attempts == ("udp 192.0.2.1:123",)


def test_a_name_that_is_looked_up_is_seen(tapped: Island) -> None:
    question = bytes.fromhex("000101000001000000000000") + b"\x05there\x07example\0\0\x01\0\x01"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(question, ("192.0.2.53", 53))
    assert tapped.attempts == ("udp 192.0.2.53:53 there.example",)
    assert tapped.lookups == ("there.example",)


def test_who_is_started_lives_there_too(tapped: Island) -> None:
    code = "import socket; socket.create_connection(('198.51.100.7', 80), timeout=5)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert b"ConnectionRefusedError" in ended.stderr
    assert tapped.attempts == ("tcp 198.51.100.7:80",)


def test_a_talk_on_loopback_is_nothing_to_see(tapped: Island) -> None:
    with ModelServer(Lane(steps=(Step("x" * 100_000),))) as model:
        ask(model, MESSAGES, message("hello"))
    call("127.0.0.1", 9)
    assert tapped.attempts == ()


def test_afterwards_the_thread_is_back_where_it_was() -> None:
    place = Path("/proc/thread-self/ns/net")
    before, open_files = place.readlink(), len(list(Path("/proc/self/fd").iterdir()))
    try:
        with Island():
            assert place.readlink() != before
    except NoIsland:
        pytest.skip(NOT_CUT_OFF)
    assert place.readlink() == before
    assert len(list(Path("/proc/self/fd").iterdir())) == open_files
