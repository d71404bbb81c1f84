"""Posting a notice to an address.

The address is a secret as often as not: it is in no message, whatever the library would quote.
"""

from __future__ import annotations

import http.client
import threading
import urllib.error
import urllib.request
from typing import Final

from dwindle._version import __version__
from dwindle.surfaces.notices import Notice, Untold

ACCEPTED: Final = range(200, 300)


class Webhook:
    """An address that the notice is posted to, as JSON."""

    name = "[notify] webhook"

    def __init__(self, address: str, seconds: float) -> None:
        self._address = address
        self._seconds = seconds
        self._opener = _opener()

    def tell(self, notice: Notice) -> None:
        """The limits of sockets are for one answer at a time; this one is for all together."""
        answer: list[Untold | None] = []

        def post() -> None:
            answer.append(self._post(notice))

        posting = threading.Thread(target=post, name="dwindle-webhook", daemon=True)
        posting.start()
        posting.join(self._seconds)
        if not answer:
            raise Untold(f"no answer within {self._seconds:g} s")
        if answer[0] is not None:
            raise answer[0]

    def give_up(self) -> None:
        """A thread cannot be ended; it keeps nobody, and goes when the process does."""

    def _post(self, notice: Notice) -> Untold | None:
        try:
            request = urllib.request.Request(  # noqa: S310 - the settings allow http and https
                self._address,
                data=notice.as_json(),
                headers={
                    "Content-Type": "application/json",
                    "User-Agent": f"dwindle/{__version__}",
                },
                method="POST",
            )
            with self._opener.open(request, timeout=self._seconds) as answer:
                status = answer.status
        except urllib.error.HTTPError as error:
            error.close()
            status = error.code
        except (OSError, http.client.HTTPException, ValueError) as error:
            return Untold(_plainly(error))
        return None if status in ACCEPTED else Untold(f"the answer was {status}")


def _opener() -> urllib.request.OpenerDirector:
    """Proxies of the environment are used; an answer that names another place is not followed."""
    opener = urllib.request.OpenerDirector()
    for kind in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.HTTPDefaultErrorHandler,
    ):
        opener.add_handler(kind())
    return opener


def _plainly(error: Exception) -> str:
    """What went wrong, without what the library would quote of the address."""
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(inner, TimeoutError):
        return "no answer in time"
    if isinstance(inner, OSError) and inner.strerror:
        return inner.strerror
    return f"it cannot be reached ({type(inner).__name__})"
