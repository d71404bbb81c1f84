"""Listening, and saying where."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import uvicorn

from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.web.doorway import Door, is_loopback
from dwindle.surfaces.web.page import Page, application

FAREWELL: Final = 1
"""Seconds that open connections get when we end."""


def listening(host: str, port: int) -> socket.socket:
    """Refused, with a way out, where nobody can listen."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        opened = socket.socket(family, kind, protocol)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(128)
    except (OSError, OverflowError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        hint = "--port 0 takes any that is free"
        raise Refused(f"cannot listen: {why}", where=f"{host}:{port}", hint=hint) from None
    return opened


def link(door: Door, port: int) -> str:
    """To be opened in a browser; it carries the token, so that the page may act."""
    host = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(door.host, door.host)  # noqa: S104
    place = f"[{host}]" if ":" in host else host
    # After a # it stays in the browser; elsewhere the page itself cannot be had without it.
    sign = "#" if door.is_local else "?"
    return f"http://{place}:{port}/{sign}token={door.token}"


def door_for(host: str, names: tuple[str, ...]) -> Door:
    """Who listens everywhere is known by the name of the machine, too."""
    own = () if is_loopback(host) else (socket.gethostname(), socket.getfqdn())
    return Door(host=host, names=(*names, *own))


def serve(root: Path, door: Door, opened: socket.socket, say: Callable[[str], object]) -> None:
    """Until Ctrl-C."""
    page = Page(root)
    threading.Thread(target=page.warm, daemon=True).start()
    config = uvicorn.Config(
        application(page, door),
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=FAREWELL,
        ws="none",
    )
    say(link(door, opened.getsockname()[1]))
    _Server(config, page.close).run(sockets=[opened])


class _Server(uvicorn.Server):
    """Ends the streams before it waits for them."""

    def __init__(self, config: uvicorn.Config, end: Callable[[], None]) -> None:
        super().__init__(config)
        self._end = end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._end()
        await super().shutdown(sockets)
