"""Where a run can work, and what is said where it cannot."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.adapters.git.places import (
    FILES,
    files_in,
    git,
    opened,
    refs,
    repository,
    story,
    trailers,
    write,
)

from dwindle.adapters.git.command import Git, run
from dwindle.adapters.git.repository import FIRST_COMMIT, find
from dwindle.ports.workspace import Lease, WorkspaceFailed


async def refused(place: Path) -> str:
    with pytest.raises(WorkspaceFailed) as refusal:
        await find(place)
    return str(refusal.value)


@story
async def test_places_without_files_or_commits_are_refused_with_a_sentence(tmp_path: Path) -> None:
    outside, bare, unborn = (tmp_path / name for name in ("outside", "bare", "unborn"))
    for place in (outside, bare, unborn):
        place.mkdir()
    git(bare, "init", "--quiet", "--bare")
    git(unborn, "init", "--quiet")
    ready = repository(tmp_path / "ready")
    said = [
        await refused(place)
        for place in (outside, bare, unborn, ready / ".git", tmp_path / "nowhere")
    ]
    assert said == [
        f"{outside} is not in a git repository; `git init && {FIRST_COMMIT}` makes it one",
        f"{bare} is a bare repository: there are no files to work on",
        f"{unborn} has no commit yet; `{FIRST_COMMIT}` makes one",
        f"{ready / '.git'} is inside of git's own folder; go to the checkout",
        f"{tmp_path / 'nowhere'} is not a folder",
    ]


@story
async def test_without_git_it_is_said_that_git_is_missing(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = "could not run git: No such file or directory: is it installed, and on PATH?"
    assert await refused(place) == said


@story
async def test_an_old_git_is_refused(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "bin", {"git": "#!/bin/sh\necho git version 2.34.1\n"})
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert await refused(place) == "git 2.38 or newer is needed; this is 'git version 2.34.1'"


@story
async def test_a_folder_inside_of_the_checkout_will_do(place: Path) -> None:
    found = await find(place / "src")
    assert (found.checkout, found.common) == (place, place / ".git")
    assert await found.tracked(await found.head()) == tuple(sorted(FILES))


@story
async def test_a_detached_head_is_fine(place: Path) -> None:
    git(place, "checkout", "--quiet", "--detach")
    workspace = await opened(place)
    assert files_in((await workspace.lease(1)).path) == FILES


@story
async def test_a_linked_work_tree_of_the_person_is_a_checkout_of_its_own(
    place: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second checkout"
    git(place, "worktree", "add", "--quiet", "-b", "second", str(second))
    one, two = await opened(place, run="ONE"), await opened(second, run="TWO")
    trees = [(await workspace.lease(1)).path for workspace in (one, two)]
    assert trees == [place / ".runner/worktrees/tree-1", second / ".runner/worktrees/tree-1"]
    assert [files_in(tree) for tree in trees] == [FILES, FILES]


@story
async def test_what_the_runner_makes_is_excluded_once_and_other_lines_stay(place: Path) -> None:
    exclude = place / ".git" / "info" / "exclude"
    exclude.write_text("*.swp", "utf-8")
    (await opened(place)).close()
    (await opened(place)).close()
    assert exclude.read_text("utf-8") == (
        "*.swp\n/.runner/worktrees/\n/.runner/journal/\n/.runner/iterations/\n"
        "/.runner/*.lock\n/.runner/*.sock\n"
    )
    assert git(place, "status", "--porcelain") == ""


@story
async def test_a_run_is_taken_up_where_it_was(place: Path) -> None:
    aligned = git(place, "rev-parse", "HEAD")
    workspace = await opened(place, aligned=aligned)
    first = await workspace.lease(1)
    await workspace.release(first)
    workspace.close()
    write(place, {"README.md": "newer\n"})
    git(place, "commit", "--quiet", "--all", "--message=newer")
    again = await opened(place, aligned=aligned)
    assert await again.tip() == aligned
    assert await again.recover() == ()
    assert await again.lease(2) == Lease(path=first.path, base=aligned)


@story
async def test_a_branch_of_another_history_is_refused(place: Path) -> None:
    write(place, {"README.md": "newer\n"})
    git(place, "branch", "runner/01RUN")
    git(place, "commit", "--quiet", "--all", "--message=newer")
    before = refs(place)
    with pytest.raises(WorkspaceFailed) as refusal:
        await opened(place)
    assert refusal.value.what.startswith("runner/01RUN does not contain the commit of alignment")
    with pytest.raises(WorkspaceFailed) as refusal:
        await opened(place, aligned="beef", run="02RUN")
    assert refusal.value.what == f"beef is no commit in {place}"
    assert refs(place) == before


@story
async def test_a_branch_that_is_in_the_way_is_named_with_a_way_out(place: Path) -> None:
    git(place, "branch", "runner")
    before = refs(place)
    with pytest.raises(WorkspaceFailed) as refusal:
        await opened(place)
    assert str(refusal.value) == (
        "there is a branch named runner, and so there can be none named runner/<run-id>: "
        "`git branch -m runner another-name` renames it"
    )
    assert refs(place) == before


@story
async def test_submodules_that_are_absent_stay_as_they_are(place: Path, tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner")
    allow = ("-c", "protocol.file.allow=always")
    git(place, *allow, "submodule", "--quiet", "add", str(inner), "vendor/inner")
    git(place, "commit", "--quiet", "--message=With a submodule")
    workspace = await opened(place)
    lease = await workspace.lease(1)
    assert files_in(lease.path)["vendor/inner/"] == ""
    assert (await workspace.change(lease)).paths == ()
    write(lease.path, {"vendor/inner/mine.txt": "x\n", "new.txt": "x\n"})
    kept = await workspace.set_aside(lease, trailers("A1"))
    assert "vendor/inner/mine.txt" in git(place, "ls-tree", "-r", "--name-only", kept)
    await workspace.release(lease)
    again = await workspace.lease(2)
    assert files_in(again.path)["vendor/inner/"] == ""
    write(again.path, {"new.txt": "x\n"})
    assert (await workspace.change(again)).paths == ("new.txt",)


@story
async def test_a_repository_planted_in_place_of_a_submodule_is_not_obeyed(
    place: Path, tmp_path: Path
) -> None:
    """Git looks into it when it adds the files around it, and settings can name programs."""
    inner = repository(tmp_path / "inner", {"lib.py": "1\n"})
    allow = ("-c", "protocol.file.allow=always")
    git(place, *allow, "submodule", "--quiet", "add", str(inner), "lib")
    git(place, "commit", "--quiet", "--message=With a submodule")
    workspace = await opened(place)
    lease = await workspace.lease(1)
    (lease.path / "lib").rmdir()
    trap = repository(lease.path / "lib", {"lib.py": "1\n"})
    git(trap, "config", "filter.x.clean", f"touch '{tmp_path / 'sprung'}'; cat")
    write(trap, {"lib.py": "2\n", ".gitattributes": "* filter=x\n"})
    write(lease.path, {"new.txt": "x\n"})
    assert (await workspace.change(lease)).paths == ("new.txt",)
    await workspace.set_aside(lease, trailers("A1"))
    assert not (tmp_path / "sprung").exists()


@story
async def test_a_call_that_takes_too_long_is_ended_with_all_it_started(
    place: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "still here"
    alias = f"!sleep 1; touch '{marker}'"
    patient = Git(git_dir=place / ".git", tree=place, patience=0.1)
    with pytest.raises(WorkspaceFailed, match="git took more than"):
        await patient.with_settings(f"alias.slow={alias}").ask("slow")
    await asyncio.sleep(1.2)
    assert not marker.exists()


@story
async def test_what_git_prints_is_escaped(place: Path) -> None:
    """A plan and a terminal show it, and obey nothing in it."""
    printed = "printf '\\033[31mfatal\\033[0m: no\\r\\nfile \\342\\200\\256\\n' >&2; exit 3"
    said = await run(("sh", "-c", printed), cwd=place, variables={})
    assert (said.code, said.err) == (3, "\\x1b[31mfatal\\x1b[0m: no\nfile \\u202e\n")
    with pytest.raises(WorkspaceFailed) as failure:
        await (await find(place)).git.tell("cat-file", "blob", "\x1b[2J")
    assert failure.value.what == "git cat-file blob \\x1b[2J ended with 128"
