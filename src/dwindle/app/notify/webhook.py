"""Posts a notice to an address.

The address is often a secret, so no message contains it, whatever the library would quote.
"""

from __future__ import annotations

import http.client
import threading
import urllib.error
import urllib.request
from typing import Final

from dwindle._version import __version__
from dwindle.app.notify.notices import NotDelivered, Notice
from dwindle.text import amounts

ACCEPTED: Final = range(200, 300)


class WebhookChannel:
    """An address that the notice is posted to, as JSON."""

    name = "[notify] webhook"

    def __init__(self, address: str, seconds: float) -> None:
        self._address = address
        self._seconds = seconds
        self._opener = _opener()

    def deliver(self, notice: Notice) -> None:
        """Bound the whole request: a socket timeout bounds a single read only."""
        answer: list[NotDelivered | None] = []

        def post() -> None:
            answer.append(self._post(notice))

        posting = threading.Thread(target=post, name="dwindle-webhook", daemon=True)
        posting.start()
        posting.join(self._seconds)
        if not answer:
            raise NotDelivered(f"no answer within {amounts.duration(self._seconds)}")
        if answer[0] is not None:
            raise answer[0]

    def give_up(self) -> None:
        """A thread cannot be ended; it is a daemon and ends with the process."""

    def _post(self, notice: Notice) -> NotDelivered | None:
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
            return NotDelivered(_reason(error))
        return None if status in ACCEPTED else NotDelivered(f"the answer was {status}")


def _opener() -> urllib.request.OpenerDirector:
    """Uses the proxies of the environment and follows no redirect."""
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


def _reason(error: Exception) -> str:
    """What went wrong, without the address that the library would quote."""
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(inner, TimeoutError):
        return "no answer in time"
    if isinstance(inner, OSError) and inner.strerror:
        return inner.strerror
    return f"it cannot be reached ({type(inner).__name__})"
