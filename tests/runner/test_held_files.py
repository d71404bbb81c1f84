"""What steers a guard is put back, wherever it is and whatever was done to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dwindle.runner.held_files import Held, PutBack, hold
from dwindle.runner.steering import NOTHING_STEERS, steering_of_guard

THEN = {
    "Makefile": "test:\n\tpytest\n",
    "conftest.py": "then\n",
    "pyproject.toml": "[project]\nname = 'x'\n[tool.pytest.ini_options]\naddopts = '-q'\n",
    "ignored/conftest.py": "mine\n",
    ".venv/pyvenv.cfg": "",
    ".venv/lib/python3/site-packages/pytest/__init__.py": "the tool\n",
    "node_modules/x/conftest.py": "installed\n",
    "app.py": "1\n",
}


@dataclass
class Restores:
    """As much of a checkout as is asked for: it remembers, and puts back what was there."""

    top: Path
    asked: list[tuple[Sequence[str], str | None]] = field(default_factory=list)

    async def restore(self, base: str, paths: Sequence[str], name: str | None = None) -> str:
        assert base == "base"
        self.asked.append((paths, name))
        for path in paths:
            (self.top / path).unlink(missing_ok=True)
            if path in THEN:
                (self.top / path).write_text(THEN[path])
        return "refs/kept"


@dataclass
class Story:
    top: Path
    held: Held
    place: Restores
    kept: dict[str, bytes] = field(default_factory=dict)

    def put_back(self, *paths: str) -> PutBack:
        keep = self.kept.__setitem__
        asked = self.held.put_back(self.place, "base", paths, "a/1", keep)  # type: ignore[arg-type]
        return asyncio.run(asked)

    def linked(self, path: str) -> None:
        (self.top / path).unlink(missing_ok=True)
        (self.top / path).symlink_to("app.py")

    def wrote(self, path: str, text: str = "", *, folder: bool = False) -> None:
        if folder:
            (self.top / path).unlink()
            path = f"{path}/in it"
        (self.top / path).parent.mkdir(parents=True, exist_ok=True)
        (self.top / path).write_text(text)

    def files(self) -> dict[str, str]:
        return {
            path.relative_to(self.top).as_posix(): path.read_text()
            for path in sorted(self.top.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }


@pytest.fixture
def story(tmp_path: Path) -> Story:
    top = tmp_path / "top"
    for name, text in THEN.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    held = asyncio.run(hold(steering_of_guard(("make", "test"), ()), top))
    return Story(top, held, Restores(top))


def test_nothing_is_put_back_that_is_as_it_was(story: Story) -> None:
    story.wrote("app.py", "2\n")
    story.wrote("pyproject.toml", THEN["pyproject.toml"].replace("'x'", "'y'"))
    assert story.put_back("app.py", "pyproject.toml") == PutBack()
    assert (story.place.asked, story.kept) == ([], {})
    assert story.put_back("app.py").note == ""


def test_what_git_sees_is_put_back_by_git_and_the_part_of_a_file_by_us(story: Story) -> None:
    story.wrote("Makefile", "test:\n\ttrue\n")
    story.wrote("sub/conftest.py", "cheat\n")
    other = THEN["pyproject.toml"].replace("'x'", "'y'")
    story.wrote("pyproject.toml", other.replace("-q", "--co"))

    back = story.put_back("Makefile", "pyproject.toml", "sub/conftest.py")

    assert back == PutBack(
        paths=("Makefile", "sub/conftest.py", "pyproject.toml"),
        whole=("Makefile", "sub/conftest.py"),
        aside="refs/kept",
    )
    assert story.place.asked == [(["Makefile", "sub/conftest.py"], "a/1")]
    assert story.files() == {**THEN, "pyproject.toml": other}
    assert back.left(("Makefile", "pyproject.toml", "app.py")) == ("pyproject.toml", "app.py")
    assert back.note == (
        "what steers the guard was put back: Makefile, sub/conftest.py, pyproject.toml ([guard] "
        "deliverables in .runner/config.toml lets agents change it); kept at refs/kept"
    )


UNSEEN: dict[str, tuple[Callable[[Story], None], str, bytes]] = {
    "a new file": (lambda s: s.wrote("a/conftest.py", "cheat\n"), "a/conftest.py", b"cheat\n"),
    "a file that goes first": (lambda s: s.wrote("GNUmakefile", "x"), "GNUmakefile", b"x"),
    "a changed file": (
        lambda s: s.wrote("ignored/conftest.py", "cheat\n"),
        "ignored/conftest.py",
        b"cheat\n",
    ),
    "a file that is gone": (
        lambda s: (s.top / "ignored/conftest.py").unlink(),
        "ignored/conftest.py",
        b"",
    ),
    "a plugin": (
        lambda s: s.wrote("x.egg-info/entry_points.txt", "[pytest11]\nx = x\n"),
        "x.egg-info/entry_points.txt",
        b"[pytest11]\nx = x\n",
    ),
    "a folder in its place": (lambda s: s.wrote("conftest.py", folder=True), "conftest.py", b""),
    "a link in its place": (lambda s: s.linked("conftest.py"), "conftest.py", b""),
    "a new link": (lambda s: s.linked("pytest.ini"), "pytest.ini", b""),
    "a new link that may be mixed": (lambda s: s.linked("setup.cfg"), "setup.cfg", b""),
}


@pytest.mark.parametrize("how", UNSEEN)
def test_what_git_does_not_see_is_put_back_too_and_kept(how: str, story: Story) -> None:
    meddle, path, kept = UNSEEN[how]
    meddle(story)

    back = story.put_back()

    assert (back.paths, story.kept) == ((path,), {path: kept})
    left = story.files()
    assert left.pop("x.egg-info/entry_points.txt", "\n") == "\n"
    assert left == THEN
    assert not any(path.is_symlink() for path in story.top.iterdir())


def test_nothing_is_written_through_a_link(story: Story) -> None:
    outside = story.top.parent / "outside"
    outside.mkdir()
    (story.top / "ignored/conftest.py").unlink()
    (story.top / "ignored").rmdir()
    (story.top / "ignored").symlink_to(outside)

    assert story.put_back().paths == ("ignored/conftest.py",)
    assert (story.files(), list(outside.iterdir())) == (THEN, [])


def test_the_insides_of_environments_and_models_are_left_alone(story: Story) -> None:
    for path in (
        ".venv/lib/python3/site-packages/pytest/__init__.py",
        ".venv/lib/python3/site-packages/new.dist-info/entry_points.txt",
        "node_modules/y/conftest.py",
        "model.pth",
        ".git/conftest.py",
    ):
        story.wrote(path, "[pytest11]\nnew = new\n")
    assert story.put_back() == PutBack()
    story.wrote("tests/pyvenv.cfg", "")
    story.wrote("tests/conftest.py", "cheat\n")
    assert story.put_back().paths == ("tests/conftest.py",)


def test_where_nothing_is_known_to_steer_nothing_is_looked_at(tmp_path: Path) -> None:
    held = asyncio.run(hold(NOTHING_STEERS, tmp_path))
    (tmp_path / "conftest.py").write_text("x")
    story = Story(tmp_path, held, Restores(tmp_path))
    assert story.put_back("conftest.py") == PutBack()
    assert held.put_unseen_back(story.kept.__setitem__) == ()


def test_a_list_of_paths_is_not_too_long() -> None:
    paths = tuple(f"{n}/conftest.py" for n in range(9))
    assert "4/conftest.py and 4 more ([guard]" in PutBack(paths=paths).note
