"""The examples on docs/commands.md, and what the program says to them.

python -m tests.docs.commands_page        writes what it says now into the page
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from tests.surfaces.command import dwindle, git

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "commands.md"
BLOCK = re.compile(r"^```console\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def example_repository(folder: Path) -> Path:
    """The shipped plans, committed in a repository of their own."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=examples")
    return folder


def session(typed: list[str], folder: Path) -> str:
    """What a terminal would show: commands after `$`, and what they say."""
    shown = ""
    for line in typed:
        shown += f"$ {line}\n"
        program, *words = line.split()
        if program == "cd":
            folder /= words[0]
        else:
            said = dwindle(folder, *words)
            shown += said.out + said.err
    return shown


def rendered(page: str, folder: Path) -> str:
    """The page with every console block played again."""

    def played(block: re.Match[str]) -> str:
        typed = [line[2:] for line in block[1].splitlines() if line.startswith("$ ")]
        return f"```console\n{session(typed, folder)}```\n"

    return BLOCK.sub(played, page)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = example_repository(Path(name))
        PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8"), folder), encoding="utf-8")


if __name__ == "__main__":
    main()
