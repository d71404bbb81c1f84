"""The settings of a repository: command line, then `.runner/config.toml`, then defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from dwindle.adapters.formats.config.file import ReadSettings

SETTINGS_FILE: Final = ".runner/config.toml"
"""Where a repository keeps what its people set."""


def settings_for(root: Path, overrides: Mapping[str, object] | None = None) -> ReadSettings:
    """The settings of a repository: command line, then file, then defaults."""
    from dwindle.adapters.formats.config.file import read_settings  # noqa: PLC0415

    try:
        data = (root / SETTINGS_FILE).read_bytes()
    except FileNotFoundError:
        data = None
    return read_settings(data, overrides)
