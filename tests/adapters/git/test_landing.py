"""The result comes to the person's branch when asked, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.git.places import (
    FILES,
    RUN,
    files_at,
    files_in,
    git,
    opened,
    refs,
    story,
    trailers,
    write,
)

from dwindle.adapters.git.landing import (
    How,
    Landed,
    LandingRecord,
    LandRefused,
    land,
    landed_before,
)
from dwindle.adapters.git.worktrees.workspace import GitWorkspace
from dwindle.ports.workspace import LandingStyle

RESULT = {"src/app.py": "print('better')\n", "new.txt": "new\n"}


async def with_a_result(place: Path) -> GitWorkspace:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    write(lease.path, RESULT)
    await workspace.integrate(lease, trailers("A1"))
    return workspace


async def refused(workspace: GitWorkspace, place: Path, onto: str | None = None) -> str:
    """The refusal, after making sure that nothing was changed by it."""
    before = refs(place), files_in(place), git(place, "status", "--porcelain")
    with pytest.raises(LandRefused) as refusal:
        await land(workspace.repository, RUN, onto)
    assert (refs(place), files_in(place), git(place, "status", "--porcelain")) == before
    return str(refusal.value)


@story
async def test_a_checked_out_branch_is_moved_with_its_files(place: Path) -> None:
    workspace = await with_a_result(place)
    tip = await workspace.tip()
    assert await land(workspace.repository, RUN) == Landed(
        branch="main", commit=tip, how=How.FORWARD, checkouts=(place,)
    )
    assert files_in(place) == FILES | RESULT
    assert git(place, "status", "--porcelain", "--branch") == "## main"
    assert refs(place)["refs/heads/main"] == tip
    assert await land(workspace.repository, RUN) == Landed(
        branch="main", commit=tip, how=How.ALREADY
    )


@story
async def test_a_branch_that_went_on_is_merged(place: Path) -> None:
    workspace = await with_a_result(place)
    write(place, {"README.md": "# Hello again\n"})
    git(place, "commit", "--quiet", "--all", "--message=meanwhile")
    landed = await land(workspace.repository, RUN, "main")
    assert landed == Landed(
        branch="main", commit=refs(place)["refs/heads/main"], how=How.MERGE, checkouts=(place,)
    )
    assert files_in(place) == FILES | RESULT | {"README.md": "# Hello again\n"}
    assert git(place, "status", "--porcelain") == ""
    assert git(place, "log", "-1", "--format=%s") == "Merge branch 'runner/01RUN' into main"
    assert git(place, "rev-parse", "HEAD^2") == await workspace.tip()


@story
async def test_a_branch_that_is_not_checked_out_moves_and_the_checkout_does_not(
    place: Path,
) -> None:
    git(place, "branch", "stable")
    workspace = await with_a_result(place)
    tip = await workspace.tip()
    landed = Landed(branch="stable", commit=tip, how=How.FORWARD)
    assert await land(workspace.repository, RUN, "stable") == landed
    assert files_at(place, "stable") == FILES | RESULT
    assert files_in(place) == FILES


@story
async def test_uncommitted_changes_in_the_way_are_never_touched(place: Path) -> None:
    workspace = await with_a_result(place)
    write(place, {"src/app.py": "mine\n"})
    assert await refused(workspace, place) == (
        f"{place} has uncommitted changes that landing on main would overwrite: src/app.py"
    )
    git(place, "add", "src/app.py")
    assert "src/app.py" in await refused(workspace, place)
    git(place, "reset", "--quiet", "--hard")
    write(place, {"new.txt": "untracked\n"})
    assert (await refused(workspace, place)).endswith("would overwrite: new.txt")
    write(place, {".git/info/exclude": "new.txt\n/.runner/\n"})
    assert (await refused(workspace, place)).endswith("would overwrite: new.txt")


@story
async def test_uncommitted_changes_elsewhere_stay(place: Path) -> None:
    workspace = await with_a_result(place)
    write(place, {"README.md": "half done\n", "note.txt": "mine\n"})
    git(place, "add", "README.md")
    await land(workspace.repository, RUN)
    assert files_in(place) == FILES | RESULT | {"README.md": "half done\n", "note.txt": "mine\n"}
    assert git(place, "status", "--porcelain") == "M  README.md\n?? note.txt"


@story
async def test_a_conflict_is_refused_before_anything_moves(place: Path) -> None:
    workspace = await with_a_result(place)
    write(place, {"src/app.py": "other\n"})
    git(place, "commit", "--quiet", "--all", "--message=meanwhile")
    said = "runner/01RUN and main both changed the same lines: src/app.py"
    assert await refused(workspace, place) == said


@story
async def test_there_must_be_a_branch_to_land_on(place: Path) -> None:
    workspace = await with_a_result(place)
    assert await refused(workspace, place, "nowhere") == "there is no branch named nowhere"
    own = "runner/01RUN is the run's own branch; name another one"
    assert await refused(workspace, place, "runner/01RUN") == own
    git(place, "checkout", "--quiet", "--detach")
    assert await refused(workspace, place) == "HEAD is detached: say which branch to land on"


@story
async def test_a_checkout_in_the_middle_of_a_merge_is_left_alone(place: Path) -> None:
    workspace = await with_a_result(place)
    write(place, {".git/MERGE_HEAD": refs(place)["refs/heads/main"] + "\n"})
    assert (await refused(workspace, place)).startswith(f"git could not move main in {place}: ")


@story
async def test_squashed_it_is_one_commit_and_known_to_be_landed(place: Path) -> None:
    workspace = await with_a_result(place)
    repository, before, tip = workspace.repository, refs(place), await workspace.tip()
    one, text = LandingStyle.SQUASH, "All of it\n"
    tried = await land(repository, RUN, style=one, text=text, dry_run=True)
    assert (refs(place), files_in(place)) == (before, FILES)
    landed = await land(repository, RUN, style=one, text=text)
    assert (tried.how, tried.checkouts) == (landed.how, landed.checkouts) == (How.SQUASH, (place,))
    parents = git(place, "log", "-1", "--format=%s %P", "main")
    assert parents == f"All of it {before['refs/heads/main']}"
    assert (refs(place)["refs/heads/main"], files_in(place)) == (landed.commit, FILES | RESULT)
    assert await landed_before(repository, RUN) == LandingRecord(
        tip=tip, commit=landed.commit, branch="main"
    )
    for style in LandingStyle:
        assert (await land(repository, RUN, style=style)).how is How.ALREADY
    git(place, "update-ref", "-d", f"refs/heads/runner/{RUN}")
    assert (await land(repository, RUN)).how is How.ALREADY


@story
async def test_a_merge_commit_where_a_fast_forward_would_do(place: Path) -> None:
    workspace = await with_a_result(place)
    before, tip = refs(place)["refs/heads/main"], await workspace.tip()
    landed = await land(workspace.repository, RUN, style=LandingStyle.MERGE)
    assert landed.how is How.MERGE
    assert git(place, "log", "-1", "--format=%P", "main") == f"{before} {tip}"
    assert git(place, "rev-parse", "main^{tree}") == git(place, "rev-parse", f"{tip}^{{tree}}")


@story
async def test_git_removes_the_branch_afterwards(place: Path) -> None:
    for style in (LandingStyle.KEEP, LandingStyle.MERGE):
        workspace = await with_a_result(place)
        await land(workspace.repository, RUN, style=style)
        git(place, "branch", "-d", f"runner/{RUN}")
        workspace.close()
        git(place, "reset", "--quiet", "--hard", "main@{1}")
        git(place, "update-ref", "-d", f"refs/dwindle/landed/{RUN}")


@story
async def test_a_dry_run_says_what_stands_in_the_way(place: Path) -> None:
    workspace = await with_a_result(place)
    write(place, {"new.txt": "mine\n", "other.txt": "mine\n"})
    with pytest.raises(LandRefused) as refusal:
        await land(workspace.repository, RUN, dry_run=True)
    assert refusal.value.paths == ("new.txt",)
    assert await refused(workspace, place) == str(refusal.value)
