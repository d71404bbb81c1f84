"""dwindle help: the commands and topics, the help of a command, or a page of the documentation."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Final

from dwindle.app.console import say
from dwindle.app.refusal import Refused
from dwindle.text.terminal import WIDTH, one_line

ROW: Final = re.compile(r"^\| \[[^\]]+\]\(([\w-]+)\.md\) \| (.+) \|$", re.MULTILINE)
"""A page in docs/README.md and docs/how-to/README.md, with what it is for."""


def help_on(topic: str | None = None, /) -> int:
    """Print a page, the help of a command, or a list of both.

    Args:
        topic: A topic or a command; without it, all of them are listed.
    """
    from dwindle.surfaces.cli.app import COMMANDS, app  # noqa: PLC0415 - which names this file

    if topic is None:
        app().help_print([])
        return say(topic_list())
    name = topic.strip().removeprefix("docs/").removesuffix(".md")
    if (page := page_of(name)) is not None:
        return _show(page.read_text(encoding="utf-8"))
    if name in [command for command, *_ in COMMANDS]:
        app().help_print([name])
        return 0
    raise Refused(
        f"there is no topic {one_line(topic)!r}", hint="`dwindle help` lists topics and commands"
    )


def topic_list() -> str:
    lines = ["", "Topics (`dwindle help TOPIC` prints the page):"]
    for name, about in topics().items():
        lines += textwrap.wrap(
            f"{name}: {about}", WIDTH, initial_indent="  ", subsequent_indent="      "
        )
    return "\n".join(lines)


def topics() -> dict[str, str]:
    """The pages that the indexes name, and what each is for."""
    found: dict[str, str] = {}
    for index in (pages() / "README.md", pages() / "how-to" / "README.md"):
        listed = ROW.findall(index.read_text(encoding="utf-8"))
        found |= {name: about for name, about in listed if page_of(name) is not None}
    return found


def page_of(name: str) -> Path | None:
    """The page of this name; None if there is none."""
    for folder in (pages(), pages() / "how-to"):
        if re.fullmatch(r"[\w-]+", name) and (path := folder / f"{name}.md").is_file():
            return path
    return None


def pages() -> Path:
    """In the package where it was installed, beside `src` in a checkout."""
    package = Path(__file__).parents[2]
    shipped = package / "docs"
    return shipped if shipped.is_dir() else package.parents[1] / "docs"


def _show(text: str) -> int:
    """On a terminal through a pager, which the user chooses as for git."""
    pager = os.environ.get("PAGER", "less")
    sits = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if sits and pager.strip():
        try:
            words = shlex.split(pager)
            settings = {"LESS": "FRX", **os.environ}
            subprocess.run(words, input=text.encode(), env=settings, check=False)
        except (OSError, ValueError):
            return say(text.rstrip("\n"))  # there is no such program
        return 0
    return say(text.rstrip("\n"))
