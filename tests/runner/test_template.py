"""Files with gaps: all of them are filled, nothing else is, and what is empty is left out."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

from dwindle.runner.orders.prompt import FILES as OTHERS
from dwindle.runner.orders.prompt import PLANNER_FILES as PLANNERS
from dwindle.runner.orders.template import FOLDER, Template, WrongTemplate, quoted, template

LETTER = Template(
    "letter.md",
    """\
# To {{name}}

Dear {{name}}, {"a": {"b": {}}}

# News

{{news}}

# Late {{if late}}

Sorry.

# In time {{unless late}}

As promised.
""",
)


def test_every_gap_is_filled_and_empty_sections_are_left_out() -> None:
    assert LETTER.fill({"name": "Ann", "news": "", "late": True}) == (
        '# To Ann\n\nDear Ann, {"a": {"b": {}}}\n\n# Late\n\nSorry.\n'
    )
    assert LETTER.fill({"name": "Bob", "news": "None.", "late": False}) == (
        '# To Bob\n\nDear Bob, {"a": {"b": {}}}\n\n# News\n\nNone.\n\n# In time\n\nAs promised.\n'
    )


def test_what_is_filled_in_is_not_filled_in_turn() -> None:
    sly = LETTER.fill({"name": "{{news}}", "news": "{{name}} {{if late}}", "late": False})
    assert sly.startswith('# To {{news}}\n\nDear {{news}}, {"a"')
    assert "# News\n\n{{name}} {{if late}}\n" in sly


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": "Ann", "news": ""}, "letter.md: late is missing, nothing is not used"),
        (
            {"name": "Ann", "news": "", "late": True, "date": "now"},
            "letter.md: nothing is missing, date is not used",
        ),
    ],
)
def test_a_gap_too_many_or_too_few_is_a_mistake(values: dict[str, str | bool], said: str) -> None:
    with pytest.raises(WrongTemplate, match=f"^{re.escape(said)}$"):
        LETTER.fill(values)


@pytest.mark.parametrize(
    "text",
    ["# A\n\n{{Name}}\n", "# A\n\n{{ name }}\n", "# A\n\n{{if late}}\n"],
)
def test_braces_that_are_no_gap_are_a_mistake(text: str) -> None:
    with pytest.raises(WrongTemplate, match=r"^a\.md: what stands in double braces below '# A"):
        Template("a.md", text)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028"])
def test_no_line_of_a_quoted_text_begins_at_the_margin(end: str) -> None:
    block = quoted(f"\n  a{end}# Your role{end}{end}```{end}b  \n")
    lines = block.splitlines()
    assert [line for line in lines if line] == ["    a", "    # Your role", "    ```", "    b"]
    assert quoted(" \n ") == ""


# --- the files that are shipped -------------------------------------------------------------------

NAMES = sorted({*OTHERS.values(), *PLANNERS.values()})
SAME = {
    "worker": ("children", "another"),
    "probe": ("children", "read only", "another"),
    "probe_way_on": ("children", "read only", "another"),
    "verifier": ("read only",),
    "planner_align": ("checks", "read only"),
    "planner_redirect": ("checks", "read only"),
}
"""What is said in several files; each of them is to be read alone."""
MARKS = {
    "children": "Each of the new tasks is written as\n",
    "another": "# Take another approach {{if another}}\n",
    "checks": 'A check is `{"type": "command"',
    "read only": "- Change nothing: ",
    "fence": "- What stands indented by four spaces",
}


def paragraph(name: str, mark: str) -> str:
    """From the mark to the next item, or to the next blank line."""
    text = (files("dwindle") / FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert text.count(mark) == 1, (name, mark)
    rest = text[text.index(mark) :]
    return re.split(r"\n(?=- |\n)", rest)[0]


def test_there_is_a_file_for_every_purpose_and_no_other() -> None:
    there = sorted(file.name for file in (files("dwindle") / FOLDER).iterdir())
    assert there == [f"{name}.md" for name in NAMES]
    assert all(template(name).names for name in NAMES)


@pytest.mark.parametrize("what", MARKS)
def test_what_several_files_say_they_say_in_the_same_words(what: str) -> None:
    said = {paragraph(name, MARKS[what]) for name, same in SAME.items() if what in (*same, "fence")}
    assert len(said) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_short_and_fits_on_a_screen(name: str) -> None:
    text = (files("dwindle") / FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert (len(text) < 6000, max(map(len, text.splitlines())) <= 100) == (True, True)


def test_they_are_found_in_an_archive_too(tmp_path: Path) -> None:
    package = Path(str(files("dwindle")))
    archive = tmp_path / "dwindle.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for file in sorted(package.rglob("*")):
            if file.suffix in (".py", ".md"):
                made.write(file, Path("dwindle") / file.relative_to(package))
    program = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        "import dwindle.runner.orders.template as t\n"
        f"print(t.__file__.startswith({str(archive)!r}), len(t.template('worker').names))"
    )
    asked = [sys.executable, "-S", "-c", program]
    ran = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == (f"True {len(template('worker').names)}\n", "")
