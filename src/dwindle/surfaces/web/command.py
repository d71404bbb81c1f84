"""dwindle serve: a page that shows the runs of this repository, live."""

from __future__ import annotations

import webbrowser
from importlib.util import find_spec
from typing import Annotated, Final

from cyclopts import Parameter

from dwindle.app.console import complain, say
from dwindle.app.plans.plan_files import root_of_here
from dwindle.app.refusal import Refused

NEEDED: Final = ("starlette", "uvicorn")
PORT: Final = 8177


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    name: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    open_: Annotated[bool, Parameter(name="--open", negative=())] = False,
) -> int:
    """Show the runs of this repository on a page.

    Args:
        host: The address to listen at; this machine only, if left out.
        port: 8177, if left out; 0 takes any free port.
        name: A further host name that the page is reached by, behind a proxy for example.
        open_: Open the page in a browser.
    """
    if any(find_spec(module) is None for module in NEEDED):
        raise Refused(
            "the page needs packages that are not installed", hint="pip install 'dwindle[web]'"
        )
    from dwindle.surfaces.web import server  # noqa: PLC0415 - nothing else needs it

    root = root_of_here()
    opened = server.listening(host, port)
    access = server.access_for(host, name)
    if not access.is_local:
        complain(
            "dwindle: others can reach this address. Anyone with the link can read all runs here,\n"
            "  and stop or redirect one. It is not encrypted: use it in a network you trust."
        )

    def tell(link: str) -> None:
        say(f"{link}\nCtrl-C ends the page; the run goes on.")
        if open_:
            webbrowser.open(link)

    try:
        server.serve(root, access, opened, tell)
    except KeyboardInterrupt:
        pass
    finally:
        opened.close()
    return 0
