"""The page with a run of 1,000 atoms: first paint, the whole graph, an update, and its price.

In headless chromium, over loopback, from a real `dwindle serve`; the peer of each is its goal, so
that a ratio of 1 is the goal. `first-paint` is the browser's own first contentful paint. `graph` is
the processor time of the page's thread until every box is there (all 1,000, nothing folded). Both
are from the start of the navigation, the median of several visits; how long the graph took by the
clock is printed beside it. `update` is from an event in the journal until the page shows it.
`status-change` is what the server does for one event with ten viewers, in processor time: read and
fold it, find what changed, encode it, hand it to each.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script, only this folder is on it

from bench._recorded import RUN, Chance, plan_of, record
from bench._runs import line, remark, scratch
from playwright.sync_api import CDPSession, Page, sync_playwright

from dwindle.adapters.store.journal import JsonlJournal
from dwindle.kernel.events import Event
from dwindle.surfaces.web.feed import Feeds

VISITS = 7
UPDATES = 15
CHANGES = 200
VIEWERS = 10
ATOMS = 1000
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
)


def more(chance: Chance) -> Iterator[Event]:
    while (event := chance.next()) is not None:
        yield event


def painted(page: Page, meter: CDPSession, link: str) -> tuple[float, float, float]:
    """Seconds to the first paint; until every box is there; and of the processor until then."""
    page.goto("about:blank")
    page.add_init_script("localStorage.setItem('dwindle-fold', '0')")
    page.goto(link, wait_until="commit")
    boxes = "document.querySelectorAll('.box').length"
    while page.evaluate(boxes) < ATOMS:
        time.sleep(0.01)
    drawn = page.evaluate("performance.now()")
    first = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    found = {one["name"]: one["value"] for one in meter.send("Performance.getMetrics")["metrics"]}
    return first / 1e3, drawn / 1e3, found["TaskDuration"]


def updated(page: Page, journal: JsonlJournal, event: Event) -> float:
    """Seconds from the journal to the page."""
    began = time.perf_counter()
    number = journal.append(event)
    while int(page.evaluate("Number(document.documentElement.dataset.revision)")) < number:
        time.sleep(0.005)
    return time.perf_counter() - began


async def changes(root: Path, journal: JsonlJournal, events: Iterator[Event]) -> float:
    """Processor seconds for one event, with viewers."""
    feeds = Feeds(root)
    feed = feeds.of(RUN)
    viewers = [feed.stream() for _ in range(VIEWERS)]
    for viewer in viewers:
        await anext(viewer)
    took = []
    for _, event in zip(range(CHANGES), events, strict=False):
        journal.append(event)
        began = time.process_time()
        news = feed.look()
        feed.tell(news)
        for viewer in viewers:
            await anext(viewer)
        took.append(time.process_time() - began)
    for viewer in viewers:
        await viewer.aclose()
    feeds.close()
    return median(took)


def main() -> None:
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("chromium is not installed")
    with scratch() as root:
        journal, chance = record(root, plan_of(40, 24), 1200)
        events = more(chance)
        cost = asyncio.run(changes(root, journal, events))
        line("status-change-1k-10-viewers", cost * 1e3, "ms", cost / 0.005, 1)
        words = [sys.executable, "-m", "dwindle", "serve", "--port", "0"]
        serve = subprocess.Popen(words, cwd=root, stdout=subprocess.PIPE)
        assert serve.stdout is not None  # noqa: S101 - we asked for it
        try:
            link = serve.stdout.readline().decode().strip()
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=list(OPTIONS))
                page = browser.new_page()
                meter = page.context.new_cdp_session(page)
                meter.send("Performance.enable", {"timeDomain": "threadTicks"})
                painted(page, meter, link)
                visits = [painted(page, meter, link) for _ in range(VISITS)]
                first, whole, spent = zip(*visits, strict=True)
                line("first-paint-1k", median(first), "s", median(first) / 1, 1)
                line("graph-1k-cpu", median(spent), "s", median(spent) / 1, 1)
                took = [updated(page, journal, next(events)) for _ in range(UPDATES)]
                line("update-1k", median(took), "s", median(took) / 1, 1)
                remark(f"the whole graph after {min(whole):.2f} to {max(whole):.2f} s by the clock")
                browser.close()
        finally:
            serve.terminate()
            serve.wait()
            journal.close()


if __name__ == "__main__":
    main()
