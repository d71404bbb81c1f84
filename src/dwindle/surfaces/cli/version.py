"""dwindle version: as `dwindle --version`, which needs no framework."""

from __future__ import annotations

from dwindle._version import __version__
from dwindle.app.console import say


def version() -> int:
    """Print the version."""
    return say(f"dwindle {__version__}")
