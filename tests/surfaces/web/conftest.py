"""A real browser: Debian's chromium, driven by Playwright. Skipped where it is not installed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ARTEFACTS = Path(__file__).parents[3] / "build" / "pictures"
OPTIONS = (
    # Tests may run as root, and in containers without a GPU or a network.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser(require_tool: Callable[[str], Path]) -> Iterator[Browser]:
    # For one module: while it is open, nothing else in this process can have an event loop.
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - most tests here need none

    program = require_tool("chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=list(OPTIONS))
        yield opened
        opened.close()


class Look:
    """A person before the page; whatever the browser complains about is remembered."""

    def __init__(self, page: Page, name: str) -> None:
        self.page = page
        self.complaints: list[str] = []
        self._name = name
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda said: self._heard(said.type, said.text))
        page.on("request", self._asked)

    def _heard(self, kind: str, text: str) -> None:
        # Refusals are shown to the person, and pages outlive their server here.
        passing = ("the server responded with a status of", "net::ERR_CONNECTION_REFUSED")
        if kind in ("error", "warning") and not any(words in text for words in passing):
            self.complaints.append(text)

    def _asked(self, request: Any) -> None:
        if not re.match(r"http://127\.0\.0\.1:\d+/", request.url):
            self.complaints.append(f"asked for {request.url}")

    def drawn(self) -> None:
        """Wait for the first picture. What is evaluated in the page is forbidden there."""
        self.page.locator("html[data-drawn]").wait_for(state="attached")

    def picture(self, what: str) -> Path:
        """Kept for a person to look at."""
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        path = ARTEFACTS / f"{self._name}-{what}.png"
        self.page.screenshot(path=path)
        return path

    def box(self, name: str) -> Any:
        return self.page.locator(f'.box[data-name="{name}"]')


Open = Callable[..., Look]


@pytest.fixture
def look(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Open]:
    """Opens a page; at the end of the test nothing may have gone wrong in it."""
    opened: list[Look] = []
    name = request.node.name.removeprefix("test_")[:60]

    def at(
        link: str,
        *,
        width: int = 1280,
        height: int = 900,
        scheme: Literal["light", "dark"] = "light",
    ) -> Look:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, locale="en-GB"
        )
        context.set_default_timeout(20_000)
        mine = Look(context.new_page(), name)
        opened.append(mine)
        mine.page.goto(link)
        mine.drawn()
        return mine

    yield at
    for one in opened:
        one.page.context.close()
    assert [said for one in opened for said in one.complaints] == []
