"""`dwindle diff`: what is to be reviewed, without running or obeying anything of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.docs.test_commands_page import keys, table
from tests.loop.story import RUN, Story, did, failed, split
from tests.surfaces.command import Ended, write
from tests.surfaces.on_a_terminal import OnATerminal

pytestmark = pytest.mark.slow

ODD = "a\x1b]0;owned\x07\u202eb\n"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Two atoms, the second split; a test came and one went, and something was set aside."""
    story = Story(tmp_path_factory.mktemp("diff"))
    story.having(
        {
            "pinned.sh": "test -f src/a.py\n",
            "tests/test_old.py": "def test_kept(): ...\ndef test_gone(): ...\n",
            ".gitattributes": "*.py diff=evil\n",
        }
    )
    work = {
        "src/a.py": ODD,
        "tests/test_old.py": "def test_kept(): ...\n",
        "stray.txt": "stray\n",
    }
    parts = ({"description": "Write b"}, {"description": "Write c", "depends_on": ["#1"]})
    story.atom("A1", failed("no pen"), did(work, artifacts=["src/a.py"]))
    story.atom("A2", split("too much", *parts), depends_on=["A1"])
    story.worker("A3", did({"src/b.py": "b = 1\n"}))
    story.worker("A4", did({"tests/test_new.py": "class TestB:\n    def test_b(self): ...\n"}))
    story.work_paths("src/**", "tests/test_old.py", "tests/test_new.py").done_when("sh pinned.sh")
    story.prepared()
    evil = '[diff "evil"]\n\ttextconv = touch ran; cat\n\tcommand = touch ran\n'
    with (story.folder / ".git/config").open("a") as file:
        file.write(evil)
    assert story.run().stop == "completed"
    return story


def base(story: Story) -> str:
    return story.git("rev-parse", "--short=12", "main")


def tip(story: Story) -> str:
    return story.git("rev-parse", "--short=12", f"runner/{RUN}")


def test_the_summary(story: Story) -> None:
    assert story.called("diff", "--stat") == Ended(
        code=0,
        out=f"""\
run {RUN}: 4 files, +4 -1
  git diff {base(story)} {tip(story)}

A1 do A1  2 files, +1 -1
  src/a.py           +1 -0, added
  tests/test_old.py  +0 -1, test

A3 Write b  1 file, +1 -0
  src/b.py  +1 -0, added

A4 Write c  1 file, +2 -0
  tests/test_new.py  +2 -0, added, test

tests added: 1
  tests/test_new.py
    TestB::test_b

tests removed: 1
  tests/test_old.py
    test_gone

held fast or set aside by the gate
  A1, session 2: outside of the work paths: set aside, and judged without it: stray.txt
    kept at refs/dwindle/attempts/{RUN}/A1/2.rest
""",
    )


def test_the_lines_of_an_atom_and_nothing_is_obeyed_or_run(story: Story) -> None:
    said = story.called("diff", "A1")
    assert said.code == 0
    lines = said.out.split("\n\n")[-1].splitlines()
    assert lines[:6] == [
        "diff --git a/src/a.py b/src/a.py",
        "new file mode 100644",
        f"index 0000000..{story.git('rev-parse', '--short', f'runner/{RUN}:src/a.py')}",
        "--- /dev/null",
        "+++ b/src/a.py",
        "@@ -0,0 +1 @@",
    ]
    assert lines[6] == r"+a\x1b]0;owned\x07\u202eb"
    assert not (story.folder / "ran").exists()


def test_of_an_atom_that_was_split_its_parts_are_shown(story: Story) -> None:
    found = json.loads(story.called("diff", "A2", "--json").out)
    assert [one["atom"] for one in found["atoms"]] == ["A3", "A4"]
    assert [one["path"] for one in found["files"]] == ["src/b.py", "tests/test_new.py"]
    assert (found["tests_removed"], found["held"]) == ([], [])


def test_json_is_documented(story: Story) -> None:
    found = json.loads(story.called("diff", "--json").out)
    assert list(dict.fromkeys(keys(found))) == table("`diff --json`")


def test_what_is_not_there(story: Story) -> None:
    assert story.called("diff", "A9") == Ended(
        code=2, err="dwindle: there is no atom A9\n  there are commits of: A1, A3, A4\n"
    )
    assert story.called("diff", "--run", "01NEVER").err == (
        f"dwindle: .runner/journal: there is no run 01NEVER\n  there are: {RUN}\n"
    )


def test_before_anything_is_done(tmp_path: Path) -> None:
    story = Story(tmp_path).atom("A1", did({"a": "a"})).done_when("test -f a").aligned()
    assert story.called("diff").err == (
        "dwindle: .runner/journal: no run has begun here\n  `dwindle run` begins one\n"
    )


def test_colours_and_a_pager_only_on_a_terminal(story: Story, tmp_path: Path) -> None:
    pager = write(tmp_path, "pager.sh", "cat > page\n")
    assert "\x1b" not in story.called("diff", PAGER=f"sh {pager}").out
    assert not (story.folder / "page").exists()
    with OnATerminal(story.folder, "diff", "--stat", PAGER=f"sh {pager}", TERM="xterm") as terminal:
        assert terminal.ended() == 0
    page = (story.folder / "page").read_text()
    assert page.startswith(f"\x1b[1mrun {RUN}: 4 files, +4 -1\x1b[0m\n")
