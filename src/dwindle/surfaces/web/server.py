"""The web server: listen, print the link, serve until Ctrl-C."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import uvicorn

from dwindle.app.refusal import Refused
from dwindle.surfaces.web.access import AccessPolicy, is_loopback
from dwindle.surfaces.web.page import Page, application

FAREWELL: Final = 1
"""Seconds that open connections get when we end."""


def listening(host: str, port: int) -> socket.socket:
    """An open socket; Refused if the address cannot be used."""
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


def link(access: AccessPolicy, port: int) -> str:
    """To be opened in a browser; it carries the token, so that the page may act."""
    everywhere = access.host in ("0.0.0.0", "::")  # noqa: S104
    host = socket.gethostname() if everywhere else access.host
    place = f"[{host}]" if ":" in host else host
    # After a # it stays in the browser; elsewhere the page itself cannot be had without it.
    sign = "#" if access.is_local else "?"
    return f"http://{place}:{port}/{sign}token={access.token}"


def access_for(host: str, names: tuple[str, ...]) -> AccessPolicy:
    """The access policy; a server that others can reach is also known by the machine's name."""
    own = () if is_loopback(host) else (socket.gethostname(), socket.getfqdn())
    return AccessPolicy(host=host, names=(*names, *own))


def serve(
    root: Path, access: AccessPolicy, opened: socket.socket, say: Callable[[str], object]
) -> None:
    """Until Ctrl-C."""
    page = Page(root)
    threading.Thread(target=page.warm, daemon=True).start()
    config = uvicorn.Config(
        application(page, access),
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=FAREWELL,
        ws="none",
    )
    say(link(access, opened.getsockname()[1]))
    _Server(config, page.close).run(sockets=[opened])


class _Server(uvicorn.Server):
    """Ends the streams before it waits for them."""

    def __init__(self, config: uvicorn.Config, end: Callable[[], None]) -> None:
        super().__init__(config)
        self._end = end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._end()
        await super().shutdown(sockets)
