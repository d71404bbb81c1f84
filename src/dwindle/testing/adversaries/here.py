"""What the program of an adversary knows and leaves in its log, and the list of these programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

BEGINS: Final = "the adversary begins its deed"
FAILS: Final = "the adversary broke down in its deed"


class Here:
    """What a session knows."""

    def __init__(self, token: str, outside: Path, deeds: Path) -> None:
        self.token = token
        self.outside = outside
        self.deeds = deeds
        try:
            text = Path(os.environ["DWINDLE_ORDER"]).read_text("utf-8")
            self.order: dict[str, Any] = json.loads(text)
        except (KeyError, OSError):
            self.order = {}

    @property
    def attempt(self) -> int:
        return int(self.order.get("attempt", 1))

    @property
    def root(self) -> Path:
        """The repository, of which we have a work tree; or so we think."""
        for folder in (Path.cwd(), *Path.cwd().parents):
            if folder.name == ".runner":
                return folder.parent
        return Path.cwd()

    def report(self, **fields: object) -> None:
        Path(os.environ["DWINDLE_REPORT"]).write_text(json.dumps(fields), "utf-8")

    def claim(self, summary: str = "done", **fields: object) -> None:
        self.report(success=True, summary=summary, **fields)

    def journals(self) -> list[Path]:
        return sorted(self.root.glob(".runner/journal/*.jsonl"))


PYTEST: Final = (
    f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q -p no:cacheprovider"
)
"""Plugins that happen to be installed beside dwindle take seconds, and no check here needs them."""


def placed(text: str, outside: Path, deeds: Path) -> str:
    """The text of a row of the table, with its paths."""
    places = {
        "@OUTSIDE@": outside,
        "@DEED@": deeds / "deed",
        "@PYTHON@": sys.executable,
        "@PYTEST@": PYTEST,
    }
    for name, path in places.items():
        text = text.replace(name, str(path))
    return text


def mark(what: str) -> None:
    """Into the log of the session: the judge of `dwindle torture` looks for it there."""
    print(what, file=sys.stderr, flush=True)


PROGRAMS: Final[dict[str, Callable[[Here], None]]] = {}


def program(play: Callable[[Here], None]) -> Callable[[Here], None]:
    PROGRAMS[play.__name__.replace("_", "-")] = play
    return play
