"""Everything that a reader of the tutorial and the recipes types is typed here, and compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.page import ROOT, Typed, played, steps

HOW_TO = ROOT / "docs" / "how-to"
RECIPES = sorted(path for path in HOW_TO.glob("*.md") if path.name != "README.md")
PAGES = [ROOT / "docs" / "tutorial.md", *RECIPES]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_what_the_page_shows_is_what_happens(page: Path, tmp_path: Path) -> None:
    found = played(page.read_text(encoding="utf-8"), tmp_path)
    wrong = [f"{it}\nbut the page shows\n\n{it.typed.shown}" for it in found if not it.as_shown]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_page_has_a_run_in_it(page: Path) -> None:
    typed = [it.command for it in steps(page.read_text(encoding="utf-8")) if isinstance(it, Typed)]
    assert any("dwindle run" in line or "ci.sh" in line for line in typed)


def test_every_recipe_is_in_the_list() -> None:
    listed = (HOW_TO / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in RECIPES if f"]({path.name})" not in listed] == []
