"""The map in AGENTS.md and the walks in docs/design.md name files and functions that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.docs.page import ROOT

SOURCES = ROOT / "src" / "dwindle"
ROW = re.compile(r"^\| ?([^|]*?) ?\| `([^`]+)` \| `([^`]+)` \|", re.MULTILINE)
"""What the row is about, a file below src/dwindle, and a function or class in it."""
MOST_FILES = 3
MOST_STEPS = 12
WALKS = ("One work order, step by step", "One tree iteration, step by step")


@dataclass(frozen=True, kw_only=True)
class Row:
    about: str
    """The question, or empty where it is that of the row above; in a walk, the step's number."""
    file: str
    name: str


def rows(page: str, title: str) -> list[Row]:
    """The rows of the table below a heading."""
    text = (ROOT / page).read_text(encoding="utf-8")
    section = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    found = [ROW.match(line) for line in lines]
    assert None not in found, [line for line, row in zip(lines, found, strict=True) if row is None]
    return [Row(about=row[1], file=row[2], name=row[3]) for row in found if row is not None]


MAP = rows("AGENTS.md", "The map")
WALKED = {title: rows("docs/design.md", title) for title in WALKS}


def missing(found: list[Row], sources: Path) -> Iterator[str]:
    """What these rows name and the sources do not have."""
    for row in found:
        path = sources / row.file
        if not path.is_file():
            yield f"{row.file} does not exist"
            continue
        wanted = re.escape(row.name)
        if path.suffix == ".py":
            wanted = rf"^ *(async )?(def|class) {wanted}\b"
        if not re.search(wanted, path.read_text(encoding="utf-8"), re.MULTILINE):
            yield f"{row.file} has no {row.name}"


def files_in_text(page: str, title: str) -> list[str]:
    """The Python files that the text of a section names, outside of its table."""
    text = (ROOT / page).read_text(encoding="utf-8")
    section = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = (line for line in section.splitlines() if not line.startswith("|"))
    return re.findall(r"`([a-z_/]+\.py)`", " ".join(lines))


def questions(found: list[Row]) -> dict[str, list[str]]:
    """The files that answer each question."""
    answers: dict[str, list[str]] = {}
    for row in found:
        question = row.about or list(answers)[-1]
        answers.setdefault(question, []).append(row.file)
    return answers


def test_the_map_answers_ten_questions_with_at_most_three_files_each() -> None:
    answers = questions(MAP)
    assert len(answers) == 10
    assert [one for one, files in answers.items() if len(files) > MOST_FILES] == []


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_has_at_most_a_dozen_steps_and_no_way_back(title: str) -> None:
    walk = WALKED[title]
    assert [row.about for row in walk] == [str(number + 1) for number in range(len(walk))]
    assert 0 < len(walk) <= MOST_STEPS
    files = [row.file for row in walk]
    assert files == list(dict.fromkeys(files))


@pytest.mark.parametrize("found", [MAP, *WALKED.values()], ids=["map", "order", "iteration"])
def test_every_file_that_is_named_has_the_name(found: list[Row]) -> None:
    assert list(missing(found, SOURCES)) == []


def test_every_file_that_the_text_of_the_map_names_exists() -> None:
    named = files_in_text("AGENTS.md", "The map")
    assert len(named) > MOST_STEPS
    assert [one for one in named if not any((r / one).is_file() for r in (SOURCES, ROOT))] == []


def test_a_file_or_function_that_was_renamed_is_missed(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text("class Kept:\n    async def run(self) -> None: ...\n")
    found = [
        Row(about="1", file="kept.py", name="Kept"),
        Row(about="2", file="kept.py", name="run"),
        Row(about="3", file="kept.py", name="Kep"),
        Row(about="4", file="gone.py", name="run"),
    ]
    assert list(missing(found, tmp_path)) == ["kept.py has no Kep", "gone.py does not exist"]
