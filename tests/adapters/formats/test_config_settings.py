"""docs/settings.md says exactly what can be set, of which type, and what holds otherwise."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from dwindle.adapters.formats.config.file import SECTIONS, read_settings
from dwindle.adapters.formats.config.settings import AgentSettings, kinds_of

PAGE = (Path(__file__).parents[3] / "docs" / "settings.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([a-zA-Z_.]+)` \| (.+?) \| (.+?) \| (.+) \|$", re.MULTILINE)


def shown(default: Any) -> str:
    """A default as the page writes it; TOML and JSON agree on these."""
    return "none" if default is None else f"`{json.dumps(default)}`"


def test_the_page_has_every_key_with_its_type_and_default() -> None:
    expected = []
    tables: dict[str, type[Any]] = {"agents.ROLE": AgentSettings, **SECTIONS}
    for section, shape in tables.items():
        kinds = kinds_of(shape)
        for field in fields(shape):
            default = field.default
            if default == () and kinds[field.name].name == "text or list of words":
                default = None
            expected.append((f"{section}.{field.name}", kinds[field.name].name, shown(default)))
    assert [row[:3] for row in ROW.findall(PAGE)] == expected


def test_every_key_says_what_it_means() -> None:
    assert [row[0] for row in ROW.findall(PAGE) if len(row[3].split()) < 4] == []


def test_the_example_on_the_page_is_sound() -> None:
    [example] = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert read_settings(example.encode()).problems == ()
    assert sorted(tomllib.loads(example)) == sorted(["agents", *SECTIONS])
