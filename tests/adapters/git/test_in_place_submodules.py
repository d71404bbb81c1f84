"""Submodules: their files are in no commit of ours, and their settings must not be an agent's."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.git.in_place_places import KEPT, at_home, status, subject
from tests.adapters.git.places import git, repository, story, write

from dwindle.adapters.git.in_place.run_branch import dirt_in
from dwindle.adapters.git.repository import find
from dwindle.adapters.git.submodules import INSIDE
from dwindle.ports.in_place import Difference
from dwindle.ports.workspace import WorkspaceFailed

pytestmark = pytest.mark.slow


def with_a_submodule(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = repository(tmp_path / "library", {"lib.py": "1\n"})
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file")
    git(place, "submodule", "--quiet", "add", str(library), "lib")
    git(place, "commit", "--quiet", "--message=with a submodule")


def set_a_trap(place: Path, submodule: str, tmp_path: Path) -> None:
    """What an agent in a sandbox can do: settings of its own, that name a program."""
    trap = repository(place / "trap", {"lib.py": "1\n"})
    git(trap, "config", "core.fsmonitor", f"touch {tmp_path / 'sprung'}; false")
    git(trap, "config", "filter.x.clean", f"touch {tmp_path / 'sprung'}; cat")
    (place / submodule / ".git").unlink(missing_ok=True)
    write(place / submodule, {".git": f"gitdir: {trap}/.git\n", ".gitattributes": "* filter=x\n"})


@story
async def test_submodules_are_left_as_they_are_and_work_in_them_is_named(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_a_submodule(place, tmp_path, monkeypatch)
    home = await at_home(place)
    base = await home.head()
    assert await home.dirt() == ()
    write(place, {"lib/lib.py": "2\n", "lib/new.py": "3\n", "x.txt": "x\n"})
    assert await home.difference(base) == Difference(paths=("x.txt",), trouble=f"lib: {INSIDE}")
    assert await home.set_aside(base, "A/1") is not None
    assert (place / "lib/lib.py").read_text() == "2\n"
    assert await home.dirt() == (f" M lib ({INSIDE})",)
    git(place / "lib", "add", ".")
    git(place / "lib", "commit", "--quiet", "--message=moved")
    write(place, {"x.txt": "x\n"})
    assert await home.difference(base) == Difference(paths=("lib", "x.txt"))
    commit = await home.commit(base, subject(1))
    assert git(place, "rev-parse", f"{commit}:lib") == git(place / "lib", "rev-parse", "HEAD")
    assert await home.dirt() == ()


@story
async def test_a_submodule_that_an_agent_points_elsewhere_runs_nothing(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its `.git` is a file in the checkout: it could lead to settings that name a program."""
    with_a_submodule(place, tmp_path, monkeypatch)
    home = await at_home(place)
    base = await home.head()
    assert await home.dirt() == ()
    set_a_trap(place, "lib", tmp_path)
    found = await home.difference(base)
    assert f"lib: {INSIDE}" in found.trouble
    assert not (tmp_path / "sprung").exists()


@story
async def test_files_in_a_submodule_that_was_never_fetched_are_named(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_a_submodule(place, tmp_path, monkeypatch)
    git(place, "submodule", "--quiet", "deinit", "lib")
    home = await at_home(place)
    base = await home.head()
    assert await home.dirt() == ()
    write(place, {"lib/new.py": "1\n"})
    assert (await home.difference(base)).trouble == f"lib: {INSIDE}"


@story
async def test_nor_does_one_inside_of_another_or_one_that_was_never_fetched(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = repository(tmp_path / "inner", {"lib.py": "1\n"})
    with_a_submodule(place, tmp_path, monkeypatch)
    git(place / "lib", "submodule", "--quiet", "add", str(inner), "deep/inner")
    git(place / "lib", "commit", "--quiet", "--message=another")
    git(place, "submodule", "--quiet", "add", str(inner), "absent")
    git(place, "add", "lib")
    git(place, "commit", "--quiet", "--message=three")
    git(place, "submodule", "--quiet", "deinit", "absent")
    git(place, "submodule", "--quiet", "absorbgitdirs")
    for submodule in ("lib/deep/inner", "absent"):
        home = await at_home(place)
        base = await home.head()
        assert await home.dirt() == ()
        set_a_trap(place, submodule, tmp_path)
        found = await home.difference(base)
        assert f"{submodule}: {INSIDE}" in found.trouble
        await home.set_aside(base, "A/1")
        assert not (tmp_path / "sprung").exists()
        (place / submodule / ".gitattributes").unlink()
        assert status(place) == ""
        home.close()


@story
async def test_a_killed_runner_leaves_no_trap_for_the_next(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_a_submodule(place, tmp_path, monkeypatch)
    home = await at_home(place)
    base = await home.head()
    assert await home.dirt() == ()
    await home.hand_over(base)
    home.close()
    set_a_trap(place, "lib", tmp_path)
    again = await at_home(place)
    assert again.begun == base
    assert await again.set_aside(base, "unfinished") == f"{KEPT}/unfinished"
    assert git(place, "show", f"{KEPT}/unfinished:trap/lib.py") == "1"
    assert await again.dirt() == (f" M lib ({INSIDE})",)
    assert not (tmp_path / "sprung").exists()
    (place / "lib/.gitattributes").unlink()
    assert (await again.dirt(), status(place)) == ((), "")


@story
async def test_a_submodule_with_its_git_folder_inside_is_refused(
    place: Path,
) -> None:
    inner = repository(place / "inner", {"lib.py": "1\n"})
    git(place, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
    git(place, "commit", "--quiet", "--message=in place")
    assert (inner / ".git").is_dir()
    with pytest.raises(WorkspaceFailed) as refused:
        await at_home(place)
    assert str(refused.value) == (
        f"no run can work in {place}: the submodule inner has a git folder of its own; "
        "`git submodule absorbgitdirs` puts it where it is safe"
    )


@story
async def test_before_a_branch_is_made_hidden_changes_and_submodules_are_looked_for(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_a_submodule(place, tmp_path, monkeypatch)
    git(place, "update-index", "--assume-unchanged", "README.md")
    git(place, "update-index", "--skip-worktree", "src/app.py", "tests/test_app.py")
    found = await find(place)
    assert await dirt_in(found) == ()
    write(place, {"README.md": "mine\n", "lib/new.py": "1\n"})
    (place / "src/app.py").unlink()
    words = "git was told not to look at it; `git update-index --no-assume-unchanged"
    words += " --no-skip-worktree --"
    assert await dirt_in(found) == (
        f" M README.md ({words} README.md` shows it)",
        f" D src/app.py ({words} src/app.py` shows it)",
        f" M lib ({INSIDE})",
    )
    flags = git(place, "ls-files", "-v", "README.md", "src/app.py").splitlines()
    assert flags == ["h README.md", "S src/app.py"]
