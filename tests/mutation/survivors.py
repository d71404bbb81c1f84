"""The survivors that were looked at: `survivors.md`, read by a machine.

Each section of it is one reason; the mutants that it is the reason for are listed below, each on a
line of its own, as they are printed.
"""

from __future__ import annotations

from pathlib import Path

LIST = Path(__file__).with_name("survivors.md")


def explained(path: Path = LIST) -> dict[str, str]:
    """Key of each mutant that may survive, and the heading that says why."""
    found: dict[str, str] = {}
    heading = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("- "):
            found[line.removeprefix("- ")] = heading
    return found
