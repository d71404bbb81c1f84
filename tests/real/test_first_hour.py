"""docs/first-hour.md, typed as it stands there, with the real claude on a real library.

Only the model is ours: it plans, makes a mistake that it calls a success, and repairs it. pip
installs dwindle from a copy of this checkout into a new environment, from wheels that
`make real-library` fetched. On the way the page of the run is photographed; docs/pictures has what
comes of it (build/pictures/first-hour-*.png).
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from tests.docs.page import ROOT, played
from tests.real import library, programs
from tests.real.conftest import installed
from tests.real.model import Conversation, Lane, ModelServer, Step, ToolCall
from tests.real.programs import NotInstalled
from tests.real.stage import Stage
from tests.surfaces.web.conftest import ARTEFACTS, OPTIONS
from tests.surfaces.web.served_runs import served

from dwindle.adapters.sandbox import choose

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "first-hour.md"
PATIENCE = 120.0
LONGEST = 180.0
"""Seconds for the whole path, with a model that answers at once: 25 on 2 cores."""
LIBRARY = f"{library.NAME}-{library.VERSION}"
SYSTEM = "/usr/bin:/bin"

MODULE, README = "{{cwd}}/inflection/__init__.py", "{{cwd}}/README.rst"
LAST = "_irregular('zombie', 'zombies')\n"
BELOW = ".. _Ruby on Rails:"
EXAMPLE = """\
It knows irregular words, too::

    >>> inflection.pluralize("goose")
    'geese'

"""
PLAN = {
    "objective": {
        "goal": "Plurals of tooth, foot and goose are right",
        "background_intent": "Words whose vowel changes come out wrong: tooths, foots, gooses",
        "deliverables": "Three irregular words in inflection/__init__.py, an example in README.rst",
        "definition_of_done": "All tests pass, and README.rst shows an example",
        "base_case": {
            "checklist": [
                {"item": "All tests", "check": {"type": "command", "value": "python -m pytest -q"}}
            ]
        },
        "protected_paths": ["test_teeth.py", "test_inflection.py"],
        "work_paths": ["inflection/**", "README.rst"],
    },
    "atoms": [
        {
            "id": "A1",
            "description": "Add tooth, foot and goose to the irregular words",
            "check": {"type": "command", "value": "python -m pytest -q"},
        },
        {
            "id": "A2",
            "description": "Show the plural of goose in README.rst",
            "check": {"type": "command", "value": "grep -q geese README.rst"},
        },
    ],
    "note": "Two pieces that do not need each other.",
}


def calls(tool: str, **words: Any) -> Step:
    return Step(tools=(ToolCall(tool, words),))


def reports(report: dict[str, Any]) -> Step:
    return calls("StructuredOutput", **report)


def done(summary: str, *files: str) -> Step:
    return reports({"success": True, "summary": summary, "artifacts": list(files)})


def edits(path: str, old: str, new: str) -> Step:
    return calls("Edit", file_path=path, old_string=old, new_string=new)


def irregular(*pairs: tuple[str, str]) -> str:
    return LAST + "".join(f"_irregular('{one}', '{many}')\n" for one, many in pairs)


TEETH, FEET, GEESE = ("tooth", "teeth"), ("foot", "feet"), ("goose", "geese")


def script(before_the_second: Callable[[Conversation], Step]) -> tuple[Lane, ...]:
    """What the model says to each session, told apart by the prompts that it gets."""
    looks = calls("Read", file_path=MODULE)
    return (
        Lane(
            name="planner",
            user="You are a planner",
            steps=(
                calls("Grep", pattern="_irregular", path="{{cwd}}", output_mode="content"),
                calls("Read", file_path="{{cwd}}/test_teeth.py"),
                reports(PLAN),
            ),
        ),
        Lane(
            name="second try",
            user="Your task: A1\n.*gooses",
            steps=(
                before_the_second,
                edits(MODULE, LAST, irregular(TEETH, FEET, GEESE)),
                done("tooth, foot and goose are irregular words", "inflection/__init__.py"),
            ),
        ),
        Lane(
            name="first try",
            user="Your task: A1\n",
            steps=(
                looks,
                edits(MODULE, LAST, irregular(TEETH, FEET)),
                done("the irregular words are there", "inflection/__init__.py"),
            ),
        ),
        Lane(
            name="readme",
            user="Your task: A2\n",
            steps=(
                calls("Read", file_path=README),
                edits(README, BELOW, f"{EXAMPLE}{BELOW}"),
                done("README.rst shows it", "README.rst"),
            ),
        ),
    )


@pytest.fixture
def shelf() -> Path:
    try:
        return library.found()
    except NotInstalled as missing:
        pytest.skip(str(missing))


@pytest.fixture
def claude() -> programs.Program:
    if choose().mechanism != "bubblewrap":
        pytest.skip("to keep a verifier from writing takes bubblewrap")
    return installed(programs.claude)


@pytest.fixture
def surroundings(stage: Stage, shelf: Path, claude: programs.Program) -> dict[str, str]:
    """A reader with claude, Python and git on PATH, and a clone of this project at home."""
    here = stage.root / "bin"
    here.mkdir()
    for name, path in (
        ("claude", claude.path),
        ("python3", Path(getattr(sys, "_base_executable", sys.executable))),
    ):
        (here / name).write_text(f'#!/bin/sh\nexec "{path}" "$@"\n', encoding="utf-8")
        (here / name).chmod(0o755)
    clone = stage.root / "clone"
    asked = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(asked, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            (clone / name).write_bytes((ROOT / name).read_bytes())
    return {
        **{name: it for name, it in stage.environment(None).items() if name != "HOME"},
        "DWINDLE": str(clone),
        "PATH": f"{here}:{SYSTEM}",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(shelf),
        "TAR_OPTIONS": "--no-same-owner",  # root would keep the owner that the archive names
    }


@dataclass(slots=True)
class Reader:
    """Types the page in a thread of its own, and waits where the browser has something to see."""

    folder: Path
    at_work: Event = field(default_factory=Event)
    """The second try has begun."""
    is_over: Event = field(default_factory=Event)
    """`dwindle go` has ended; set at the end of the page in any case."""
    go_on: Event = field(default_factory=Event)
    wrong: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def second_try(self, asked: Conversation) -> Step:
        self.at_work.set()
        self._wait()
        return calls("Read", file_path=MODULE.replace("{{cwd}}", asked.cwd))

    def types(self, surroundings: dict[str, str]) -> None:
        """Up to the first command that does something else than the page shows."""
        began = time.monotonic()
        try:
            for it in played(PAGE.read_text(encoding="utf-8"), self.folder, surroundings):
                now = time.monotonic()
                self.seconds[it.typed.command], began = now - began, now
                if not it.as_shown:
                    self.wrong.append(f"{it}\nbut the page shows\n\n{it.typed.shown}")
                    return
                if it.typed.command.startswith("dwindle go"):
                    self.is_over.set()
                    self._wait()
                    began = time.monotonic()
        finally:
            self.at_work.set()
            self.is_over.set()

    def _wait(self) -> None:
        assert self.go_on.wait(PATIENCE)
        self.go_on.clear()


def picture(page: Page, name: str) -> None:
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"first-hour-{name}.png")


def test_what_the_page_shows_is_what_happens(
    stage: Stage, surroundings: dict[str, str], require_tool: Callable[[str], Path]
) -> None:
    folder = stage.root / "page"
    folder.mkdir()
    reader = Reader(folder)
    chromium = require_tool("chromium")
    with (
        ModelServer(*script(reader.second_try)) as model,
        ThreadPoolExecutor(1) as thread,
        sync_playwright() as playwright,
    ):
        told = {**surroundings, **model_at(stage, model)}
        typed = thread.submit(reader.types, told)
        assert reader.at_work.wait(PATIENCE)
        if not reader.wrong:
            browser = playwright.chromium.launch(executable_path=chromium, args=list(OPTIONS))
            with served(folder / "work" / LIBRARY) as link:
                page = browser.new_page(viewport={"width": 1280, "height": 800}, locale="en-GB")
                page.goto(link.link)
                expect(page.locator(".phase")).to_have_text("running", timeout=20_000)
                expect(page.locator('.box[data-name="A2"]')).to_have_class(
                    "box atom resolved", timeout=20_000
                )
                picture(page, "running")
                reader.go_on.set()
                assert reader.is_over.wait(PATIENCE)
                if not reader.wrong:
                    expect(page.locator(".phase")).to_have_text("completed", timeout=20_000)
                    picture(page, "completed")
                    page.get_by_role("button", name="See the changes").click()
                    expect(page.locator("#tab .sum")).to_contain_text("2 files changed")
                    page.mouse.move(400, 700)
                    page.mouse.wheel(0, 620)
                    page.wait_for_timeout(300)
                    picture(page, "changes")
            browser.close()
        reader.go_on.set()
        typed.result(PATIENCE)
    assert reader.wrong == []
    sessions = [request.lane for request in model.requests if request.step == 0]
    assert sorted(sessions) == ["first try", "planner", "readme", "second try"]
    assert sum(reader.seconds.values()) < LONGEST, reader.seconds


def model_at(stage: Stage, model: ModelServer) -> dict[str, str]:
    told = stage.environment(model)
    return {name: told[name] for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")}
