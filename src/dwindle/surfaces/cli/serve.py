"""dwindle serve: a page that shows the runs of this repository, live."""

from __future__ import annotations

import webbrowser
from importlib.util import find_spec
from typing import Annotated, Final

from cyclopts import Parameter

from dwindle.surfaces.cli.output import complain, say
from dwindle.surfaces.history import root_of_here
from dwindle.surfaces.refusal import Refused

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
        host: The address to listen at; only this machine reaches it unless you say otherwise.
        port: 8177 unless you say otherwise; 0 takes any that is free.
        name: A further host name that the page is reached by, behind a proxy for example.
        open_: Open the page in a browser.
    """
    if any(find_spec(module) is None for module in NEEDED):
        raise Refused("the page needs more than is installed", hint="pip install 'dwindle[web]'")
    from dwindle.surfaces.web import serving  # noqa: PLC0415 - nothing else needs it

    root = root_of_here()
    opened = serving.listening(host, port)
    door = serving.door_for(host, name)
    if not door.is_local:
        complain(
            "dwindle: others can reach this address. Whoever has the link can read all runs here,\n"
            "  and stop or redirect one. It is not encrypted: use it in a network you trust."
        )

    def tell(link: str) -> None:
        say(f"{link}\nCtrl-C ends it; the run does not mind.")
        if open_:
            webbrowser.open(link)

    try:
        serving.serve(root, door, opened, tell)
    except KeyboardInterrupt:
        pass
    finally:
        opened.close()
    return 0
