"""What steers a guard is restored, whatever was done to it; what else it rests on is noted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dwindle.runner.gate.steering import NOTHING_STEERS, steering_of_guard
from dwindle.runner.modes.tree.guard_files import (
    Restoration,
    SteeringSnapshot,
    change_notes,
    digests,
    ignored_notes,
    take_snapshot,
)

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
    snapshot: SteeringSnapshot
    place: Restores
    kept: dict[str, bytes] = field(default_factory=dict)

    def restore(self, *paths: str) -> Restoration:
        keep = self.kept.__setitem__
        place: Any = self.place
        return asyncio.run(self.snapshot.restore(place, "base", paths, "a/1", keep))

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
    snapshot = asyncio.run(take_snapshot(steering_of_guard(("make", "test"), ()), top))
    return Story(top, snapshot, Restores(top))


def test_nothing_is_put_back_that_is_as_it_was(story: Story) -> None:
    story.wrote("app.py", "2\n")
    story.wrote("pyproject.toml", THEN["pyproject.toml"].replace("'x'", "'y'"))
    assert story.restore("app.py", "pyproject.toml") == Restoration()
    assert (story.place.asked, story.kept) == ([], {})
    assert story.restore("app.py").note == ""


def test_what_git_sees_is_put_back_by_git_and_the_part_of_a_file_by_us(story: Story) -> None:
    story.wrote("Makefile", "test:\n\ttrue\n")
    story.wrote("sub/conftest.py", "cheat\n")
    other = THEN["pyproject.toml"].replace("'x'", "'y'")
    story.wrote("pyproject.toml", other.replace("-q", "--co"))

    back = story.restore("Makefile", "pyproject.toml", "sub/conftest.py")

    assert back == Restoration(
        paths=("Makefile", "sub/conftest.py", "pyproject.toml"),
        reverted=("Makefile", "sub/conftest.py"),
        ref="refs/kept",
    )
    assert story.place.asked == [(["Makefile", "sub/conftest.py"], "a/1")]
    assert story.files() == {**THEN, "pyproject.toml": other}
    assert back.others(("Makefile", "pyproject.toml", "app.py")) == ("pyproject.toml", "app.py")
    assert back.note == (
        "files that steer the guard were restored: Makefile, sub/conftest.py, pyproject.toml "
        "([guard] deliverables in .runner/config.toml lets agents change it); kept at refs/kept"
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

    back = story.restore()

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

    assert story.restore().paths == ("ignored/conftest.py",)
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
    assert story.restore() == Restoration()
    story.wrote("tests/pyvenv.cfg", "")
    story.wrote("tests/conftest.py", "cheat\n")
    assert story.restore().paths == ("tests/conftest.py",)


def test_what_make_built_stays_where_git_ignores_it(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test: app.o\n\tpytest\napp.o: app.c\n\tcc -c app.c\n")
    snapshot = asyncio.run(take_snapshot(steering_of_guard(("make", "test"), ()), tmp_path))
    story = Story(tmp_path, snapshot, Restores(tmp_path))
    story.wrote("app.o", "built\n")
    assert story.restore() == Restoration()
    assert story.restore("app.o").paths == ("app.o",)
    story.wrote("test", "")
    assert story.restore().paths == ("test",)


def test_where_nothing_is_known_to_steer_nothing_is_looked_at(tmp_path: Path) -> None:
    snapshot = asyncio.run(take_snapshot(NOTHING_STEERS, tmp_path))
    (tmp_path / "conftest.py").write_text("x")
    story = Story(tmp_path, snapshot, Restores(tmp_path))
    assert story.restore("conftest.py") == Restoration()
    assert snapshot.restore_unseen(story.kept.__setitem__) == ()


def test_a_list_of_paths_is_not_too_long() -> None:
    paths = tuple(f"{n}/conftest.py" for n in range(9))
    assert "4/conftest.py and 4 more ([guard]" in Restoration(paths=paths).note


def test_a_reason_names_the_files_that_were_put_back() -> None:
    some = Restoration(paths=("a", "b c"), reverted=("a", "b c"), ref="refs/kept")
    outside = Restoration(paths=("a", "p.toml"), reverted=("a",), by_work_paths=True)
    reason = f"before\n{some.note}\nafter"
    assert some.is_named_in(reason)
    assert Restoration(paths=("b c",)).is_named_in(reason)
    assert not Restoration(paths=("c",)).is_named_in(reason)
    assert not Restoration(paths=("a", "d")).is_named_in(reason)
    assert not some.is_named_in("a, b c")
    assert outside.is_named_in(outside.note)
    assert not Restoration(paths=("p.toml",), reverted=("p.toml",)).is_named_in(outside.note)
    many = Restoration(paths=tuple(str(n) for n in range(9)))
    assert many.is_named_in(many.note)
    assert not many.is_named_in(Restoration(paths=many.paths[:5]).note)


# --- notes for the user --------------------------------------------------------------------------

FILES = {
    "justfile": "ci: lint\n    @sh check.sh\nlint:\n    @ruff check --config=ruff.toml src\n",
    "check.sh": "true\n",
    "ruff.toml": "\n",
    "src/a.py": "1\n",
    "Makefile": "ci:\n\tsh check.sh\n",
    "tools/ci.py": "print()\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_nothing_outside_and_nothing_odd_is_read(checkout: Path) -> None:
    (checkout.parent / "outside.sh").write_text("x")
    odd = ("sh", "../outside.sh", "/etc/passwd", "a\0b", "x" * 5000, "x" * 5000 + "/y", "src")
    assert digests(odd, checkout) == {}


def test_a_change_is_told_and_a_new_file_is_none(checkout: Path) -> None:
    before = digests(("just", "ci"), checkout)
    (checkout / "justfile").write_text(FILES["justfile"] + "    @sh src/a.py\n")
    (checkout / "check.sh").unlink()
    after = digests(("just", "ci"), checkout)
    assert list(change_notes(before, after)) == [
        "files of the guard were changed in this iteration: justfile, check.sh"
    ]
    assert list(change_notes(after, after)) == []


def test_what_is_in_no_commit_is_told() -> None:
    assert list(ignored_notes(())) == []
    assert list(ignored_notes(["a", "b", "c", "d", "e", "f", "g"])) == [
        "the guard uses files that git ignores and no commit has: a, b, c, d, e and 2 more"
    ]
