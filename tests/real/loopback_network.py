"""A network that is nothing but loopback, and that sees who tries to leave it.

The thread moves into a network namespace of its own, and with it everything that it starts: the
scripted model, the programs, the programs that those start. No packet can get out, because there
is nothing to send it by. In there every address of the world is declared to be here. So to call
any host fails at once (no server listens) instead of after a timeout; and the attempt passes over
loopback, where a packet socket sees it, names that are looked up included.

To move takes CAP_SYS_ADMIN, and is undone by moving back. What is not seen: a lookup that a daemon
of the system (nscd, systemd-resolved) is asked for through a Unix socket.
"""

from __future__ import annotations

import ctypes
import fcntl
import ipaddress
import os
import socket
import struct
from types import TracebackType
from typing import Self

CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1
SO_ATTACH_FILTER = 26
ETH_P_ALL = 3
PACKET_OUTGOING = 4
TCP, UDP = 6, 17
SYN_NOT_ACK = 0x02
DNS = 53


class NoIsland(OSError):
    """This user may not make a network namespace."""


class Island:
    """`with Island() as island: ...; assert island.attempts == ()`."""

    def __enter__(self) -> Self:
        try:
            self._mainland = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as problem:
            raise NoIsland(problem.errno, "there are no network namespaces here") from problem
        try:
            _system(_libc.unshare, CLONE_NEWNET)
        except OSError as problem:
            os.close(self._mainland)
            raise NoIsland(problem.errno, "no network of its own can be made") from problem
        try:
            _raise_loopback()
            _claim_every_address()
            self._tap = _tap()
        except BaseException:
            self._leave()
            raise
        self._attempts: list[str] = []
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tap.close()
        self._leave()

    def _leave(self) -> None:
        _system(_libc.setns, self._mainland, CLONE_NEWNET)
        os.close(self._mainland)

    @property
    def attempts(self) -> tuple[str, ...]:
        """Each once, in order: `udp 9.9.9.9:53 example.org`, `tcp 192.0.2.1:443`."""
        while True:
            try:
                packet, (_, _, direction, *_) = self._tap.recvfrom(2048, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return tuple(self._attempts)
            if direction == PACKET_OUTGOING:  # else it is the same packet coming in again
                attempt = _attempt(packet)
                if attempt and attempt not in self._attempts:
                    self._attempts.append(attempt)

    @property
    def lookups(self) -> tuple[str, ...]:
        """The names that a program tried to resolve."""
        words = [attempt.split(" ") for attempt in self.attempts]
        return tuple(dict.fromkeys(name for _, _, *names in words for name in names))


_libc = ctypes.CDLL(None, use_errno=True)


def _system(call: ctypes._NamedFuncPointer, *args: int) -> None:
    if call(*args):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ask:
        got = fcntl.ioctl(ask, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        (flags,) = struct.unpack("16xh14x", got)
        fcntl.ioctl(ask, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def _claim_every_address() -> None:
    """`ip route add local 0.0.0.0/0 dev lo`, and the same for IPv6 where there is any."""
    _add_local_route(socket.AF_INET)
    if socket.has_ipv6 and os.path.exists("/proc/net/if_inet6"):  # noqa: PTH110 - of this thread
        _add_local_route(socket.AF_INET6)


def _add_local_route(family: int) -> None:
    new_route, request_create_ack = 24, 0x1 | 0x400 | 0x4
    local_table, by_boot, on_this_host, local_kind, outgoing = 255, 3, 254, 2, 4
    route = struct.pack(
        "=BBBBBBBBI", family, 0, 0, 0, local_table, by_boot, on_this_host, local_kind, 0
    )
    interface = struct.pack("=HHI", 8, outgoing, socket.if_nametoindex("lo"))
    body = route + interface
    head = struct.pack("=IHHII", 16 + len(body), new_route, request_create_ack, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.send(head + body)
        answer = kernel.recv(4096)
    (error,) = struct.unpack_from("=i", answer, 16)
    if error:
        raise OSError(-error, os.strerror(-error))


def _tap() -> socket.socket:
    """Sees packets to anywhere but 127.0.0.0/8; the rest would drown them."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
    program = (
        (0x30, 0, 0, 0),  # A = first byte: version and length
        (0x54, 0, 0, 0xF0),
        (0x15, 2, 0, 0x60),  # IPv6: keep
        (0x30, 0, 0, 16),  # A = first byte of the destination
        (0x15, 1, 0, 127),  # loopback: drop
        (0x06, 0, 0, 0xFFFF),  # keep
        (0x06, 0, 0, 0),  # drop
    )
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    tap.setsockopt(
        socket.SOL_SOCKET,
        SO_ATTACH_FILTER,
        struct.pack("HL", len(program), ctypes.addressof(code)),
    )
    tap.bind(("lo", ETH_P_ALL))
    return tap


def _attempt(packet: bytes) -> str:
    if packet[0] >> 4 == 4:
        protocol, start = packet[9], (packet[0] & 0xF) * 4
        host: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.IPv4Address(packet[16:20])
    else:
        protocol, start = packet[6], 40
        host = ipaddress.IPv6Address(packet[24:40])
    if host.is_loopback or host.is_multicast:
        return ""
    inner = packet[start:]
    where = f"[{host}]" if host.version == 6 else str(host)
    if protocol == TCP and inner[13] & 0x12 == SYN_NOT_ACK:
        return f"tcp {where}:{struct.unpack_from('!H', inner, 2)[0]}"
    if protocol == UDP:
        port = struct.unpack_from("!H", inner, 2)[0]
        name = f" {_name(inner[20:])}" if port == DNS else ""
        return f"udp {where}:{port}{name}"
    return ""


def _name(question: bytes) -> str:
    labels = []
    while question and question[0]:
        length = question[0]
        labels.append(question[1 : 1 + length].decode("ascii", "replace"))
        question = question[1 + length :]
    return ".".join(labels)
