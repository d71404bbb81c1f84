"""Taking abandoned work off the branch."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.git.places import (
    FILES,
    files_at,
    files_in,
    git,
    opened,
    refs,
    story,
    trailers,
    write,
)

from dwindle.adapters.git.worktrees.workspace import GitWorkspace
from dwindle.kernel.model import AtomId
from dwindle.ports.workspace import Integrated, WorkspaceFailed

BRANCH = "refs/heads/runner/01RUN"


async def add(workspace: GitWorkspace, atom: str, files: dict[str, str], session: int = 1) -> str:
    lease = await workspace.lease(session)
    write(lease.path, files)
    done = await workspace.integrate(lease, trailers(atom, session, f"{atom} did it"))
    assert isinstance(done, Integrated)
    await workspace.release(lease)
    return done.commit


@story
async def test_the_branch_is_replayed_without_the_abandoned_atoms(place: Path) -> None:
    workspace = await opened(place)
    kept = await add(workspace, "A1", {"a1.txt": "1\n"})
    await add(workspace, "A2", {"a2.txt": "2\n", "src/app.py": "broken\n"}, 2)
    await add(workspace, "A3", {"a3.txt": "3\n"}, 3)
    await add(workspace, "A4", {"a2/under.txt": "4\n"}, 4)
    old = await workspace.tip()
    assert await workspace.rebuild([AtomId("A2")]) == ()
    after = FILES | {"a1.txt": "1\n", "a3.txt": "3\n", "a2/under.txt": "4\n"}
    assert files_at(place, BRANCH) == after
    assert files_in(place / ".runner/worktrees/integration-01RUN") == after
    log = git(place, "log", "--format=%s", BRANCH)
    assert log == "A4: A4 did it\nA3: A3 did it\nA1: A1 did it\nBegin"
    assert git(place, "rev-parse", f"{BRANCH}~2") == kept
    assert refs(place)["refs/dwindle/attempts/01RUN/branch/1"] == old
    assert [atom for atom, _ in await workspace.integrated()] == ["A1", "A3", "A4"]
    lease = await workspace.lease(5)
    assert files_in(lease.path) == after


@story
async def test_atoms_that_do_not_replay_are_dropped_and_named(place: Path) -> None:
    workspace = await opened(place)
    await add(workspace, "A1", {"notes.txt": "first\n"})
    await add(workspace, "A2", {"notes.txt": "second\n"}, 2)
    await add(workspace, "A3", {"other.txt": "other\n"}, 3)
    await add(workspace, "A4", {"notes.txt": "fourth\n"}, 4)
    assert await workspace.rebuild([AtomId("A1")]) == ("A2", "A4")
    assert files_at(place, BRANCH) == FILES | {"other.txt": "other\n"}


@story
async def test_an_atom_that_loses_one_commit_loses_all(place: Path) -> None:
    workspace = await opened(place)
    await add(workspace, "A1", {"notes.txt": "first\n"})
    await add(workspace, "A2", {"early.txt": "of A2\n"}, 2)
    await add(workspace, "A2", {"notes.txt": "second\n"}, 3)
    await add(workspace, "A3", {"early.txt": "of A3\n"}, 4)
    assert await workspace.rebuild([AtomId("A1")]) == ("A2", "A3")
    assert files_at(place, BRANCH) == FILES


@story
async def test_nothing_to_take_off_changes_nothing(place: Path) -> None:
    workspace = await opened(place)
    tip = await add(workspace, "A1", {"a.txt": "a\n"})
    before = refs(place)
    assert await workspace.rebuild([AtomId("A9")]) == ()
    assert (await workspace.tip(), refs(place)) == (tip, before)


@story
async def test_old_tips_are_kept_one_by_one(place: Path) -> None:
    workspace = await opened(place)
    tips = [await add(workspace, f"A{n}", {f"{n}.txt": "x\n"}, n) for n in (1, 2)]
    await workspace.rebuild([AtomId("A2")])
    await workspace.rebuild([AtomId("A1")])
    kept = {name: value for name, value in refs(place).items() if "/branch/" in name}
    assert kept == {
        "refs/dwindle/attempts/01RUN/branch/1": tips[1],
        "refs/dwindle/attempts/01RUN/branch/2": tips[0],
    }
    assert files_at(place, BRANCH) == FILES


@story
async def test_a_commit_of_a_person_on_the_branch_is_replayed_or_nothing_is(place: Path) -> None:
    workspace = await opened(place)
    await add(workspace, "A1", {"notes.txt": "first\n"})
    workspace.close()
    integration = place / ".runner/worktrees/integration-01RUN"
    write(integration, {"notes.txt": "by hand\n"})
    git(integration, "commit", "--quiet", "--all", "--message=By hand")
    again = await opened(place, aligned=git(place, "rev-parse", "main"))
    before = refs(place)
    with pytest.raises(WorkspaceFailed, match=r"not of this run, does not replay: notes\.txt"):
        await again.rebuild([AtomId("A1")])
    assert refs(place) == before


@story
async def test_what_was_taken_off_is_put_back(place: Path) -> None:
    """After a crash between the rebuild and its record: the last one, and the work of all."""
    workspace = await opened(place)
    for number in range(1, 12):  # 10 comes after 9
        await add(workspace, "A1", {"a1.txt": f"{number}\n"}, number)
        await workspace.rebuild([AtomId("A1")])
    await add(workspace, "A1", {"a1.txt": "done\n"}, 12)
    await add(workspace, "A2", {"a2.txt": "2\n"}, 13)
    old = await workspace.tip()
    await workspace.rebuild([AtomId("A1")])

    assert await workspace.restore([AtomId("A1")])

    assert (await workspace.tip(), git(place, "rev-parse", BRANCH)) == (old, old)
    assert files_in(place / ".runner/worktrees/integration-01RUN") == FILES | {
        "a1.txt": "done\n",
        "a2.txt": "2\n",
    }


@story
async def test_nothing_is_put_back_over_what_came_since(place: Path) -> None:
    workspace = await opened(place)
    assert not await workspace.restore([AtomId("A1")])
    await add(workspace, "A1", {"a1.txt": "1\n"})
    await workspace.rebuild([AtomId("A1")])
    tip = await add(workspace, "A2", {"a2.txt": "2\n"}, 2)

    assert not await workspace.restore([AtomId("A1")])
    assert not await workspace.restore([AtomId("A9")])

    assert await workspace.tip() == tip


# --- on a later commit of the person's -----------------------------------------------------------


def commit(place: Path, files: dict[str, str]) -> str:
    write(place, files)
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "Mend it")
    return git(place, "rev-parse", "HEAD")


@story
async def test_the_branch_is_replayed_on_what_the_person_committed_since(place: Path) -> None:
    workspace = await opened(place)
    await add(workspace, "A1", {"a1.txt": "1\n"})
    await add(workspace, "A2", {"src/app.py": "theirs\n"}, 2)
    old, head = await workspace.tip(), commit(place, {"src/app.py": "mine\n", "data.txt": "d\n"})
    assert await workspace.rebase(head) == ("A2",)
    assert git(place, "log", "--format=%s", BRANCH) == "A1: A1 did it\nMend it\nBegin"
    assert [atom for atom, _ in await workspace.integrated()] == ["A1"]
    assert refs(place)["refs/dwindle/attempts/01RUN/branch/1"] == old
    workspace.close()
    again = await opened(place, aligned=head)
    assert files_at(place, await again.tip())["src/app.py"] == "mine\n"


@story
async def test_a_branch_that_was_moved_there_without_a_record_is_put_back(place: Path) -> None:
    """The person's commits on it are on their own branch, so that nothing of theirs is lost."""
    workspace = await opened(place)
    await add(workspace, "A1", {"src/app.py": "theirs\n"})
    old, begun = await workspace.tip(), git(place, "rev-parse", "HEAD")
    assert await workspace.rebase(commit(place, {"src/app.py": "mine\n"})) == ("A1",)
    workspace.close()
    again = await opened(place, aligned=begun)
    assert await again.restore([AtomId("A1")])
    assert await again.tip() == old
