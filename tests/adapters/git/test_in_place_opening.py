"""Which run a checkout is at, and where no run can work."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.git.in_place_places import BRANCH, at_home, in_step, status, subject
from tests.adapters.git.places import FILES, files_in, git, refs, story, write

from dwindle.ports.in_place import Difference
from dwindle.ports.workspace import WorkspaceFailed

pytestmark = pytest.mark.slow


async def refusal(place: Path, *, run: str | None = None, here: bool = False) -> str:
    before = (refs(place), git(place, "rev-parse", "HEAD"), files_in(place))
    with pytest.raises(WorkspaceFailed) as refused:
        await at_home(place, run=run, here=here)
    assert (refs(place), git(place, "rev-parse", "HEAD"), files_in(place)) == before
    return str(refused.value)


@story
async def test_a_new_run_gets_a_branch_at_head_and_no_file_is_touched(place: Path) -> None:
    head = git(place, "rev-parse", "HEAD")
    write(place, {"README.md": "changed\n", "new.txt": "new\n"})
    git(place, "add", "README.md")
    home = await at_home(place, run=None)
    assert (home.run, home.branch, home.made_branch) == ("01MINTED", "runner/01MINTED", True)
    assert git(place, "symbolic-ref", "HEAD") == "refs/heads/runner/01MINTED"
    assert refs(place) == {"refs/heads/main": head, "refs/heads/runner/01MINTED": head}
    assert status(place) == "M  README.md\n?? new.txt\n"
    assert await home.dirt() == (" M README.md", "?? new.txt")
    home.close()
    again = await at_home(place, run=None, minted="02MINTED")
    assert (again.run, again.branch, again.made_branch) == ("01MINTED", "runner/01MINTED", False)


@story
async def test_a_detached_head_is_fine_for_a_branch_of_its_own(place: Path) -> None:
    git(place, "switch", "--quiet", "--detach")
    home = await at_home(place)
    in_step(place, await home.commit(await home.head(), subject(1)))


@story
async def test_a_run_that_is_not_the_one_on_the_branch_is_refused(place: Path) -> None:
    (await at_home(place)).close()
    assert await refusal(place, run="02RUN") == (
        "HEAD is on runner/01RUN, which is not of run 02RUN: "
        "`git switch` to another branch, or leave out 02RUN"
    )


@story
async def test_a_branch_that_looks_like_a_run_but_is_none_is_any_branch(place: Path) -> None:
    git(place, "switch", "--quiet", "--create", "runner/by-hand")
    home = await at_home(place, run=None)
    assert (home.branch, home.made_branch) == ("runner/01MINTED", True)
    home.close()
    git(place, "switch", "--quiet", "main")
    expected = "'a/b' is no run id: capital letters and digits, 64 at most"
    assert (await refusal(place, run="a/b")).endswith(expected)


@story
async def test_a_run_on_another_branch_is_gone_to_if_the_checkout_is_clean(place: Path) -> None:
    home = await at_home(place)
    write(place, {"x.txt": "x\n"})
    commit = await home.commit(await home.head(), subject(1))
    home.close()
    git(place, "switch", "--quiet", "main")
    write(place, {"new.txt": "new\n"})
    assert await refusal(place, run="01RUN") == (
        "going to runner/01RUN needs a clean checkout; `git stash -u` or commit first: ?? new.txt"
    )
    (place / "new.txt").unlink()
    again = await at_home(place)
    assert (again.branch, again.made_branch) == ("runner/01RUN", False)
    in_step(place, commit)
    assert files_in(place) == FILES | {"x.txt": "x\n"}
    assert await again.dirt() == ()


# --- staying -------------------------------------------------------------------------------------


@story
async def test_staying_on_a_branch(place: Path) -> None:
    git(place, "switch", "--quiet", "--create", "feature")
    home = await at_home(place, run=None, here=True)
    assert (home.run, home.branch, home.made_branch) == ("01MINTED", "feature", False)
    assert await home.dirt() == ()
    commit = await home.commit(await home.head(), subject(1, run="01MINTED"))
    assert git(place, "rev-parse", "feature") == git(place, "rev-parse", "HEAD") == commit
    home.close()
    git(place, "commit", "--quiet", "--allow-empty", "--message=by hand")
    again = await at_home(place, run=None, here=True, minted="02MINTED")
    assert again.run == "01MINTED"
    assert len((await again.history()).done) == 1
    again.close()
    assert await refusal(place, run="02RUN", here=True) == (
        "feature has iterations of run 01MINTED, not of 02RUN: "
        "go to another branch, or leave out 02RUN"
    )


@story
async def test_a_run_that_was_landed_on_a_branch_does_not_go_on_there(place: Path) -> None:
    home = await at_home(place)
    await home.commit(await home.head(), subject(1))
    home.close()
    git(place, "switch", "--quiet", "--create", "feature")
    again = await at_home(place, run=None, here=True, minted="02MINTED")
    assert (again.run, again.branch) == ("02MINTED", "feature")
    assert (await again.history()).done == ()
    again.close()


@story
async def test_a_run_that_was_killed_on_a_branch_before_its_first_commit(place: Path) -> None:
    git(place, "switch", "--quiet", "--create", "feature")
    home = await at_home(place, run=None, here=True)
    base = await home.head()
    await home.hand_over(base)
    write(place, {"x.txt": "x\n"})
    home.close()
    again = await at_home(place, run=None, here=True, minted="02MINTED")
    assert (again.run, again.begun) == ("01MINTED", base)
    again.close()
    # Not where somebody has gone on meanwhile, and not where the run has a branch of its own.
    git(place, "branch", "runner/01MINTED")
    another = await at_home(place, run=None, here=True, minted="02MINTED")
    assert (another.run, another.begun) == ("02MINTED", None)
    another.close()
    git(place, "branch", "--delete", "--force", "runner/01MINTED")
    git(place, "commit", "--quiet", "--allow-empty", "--message=by hand")
    another = await at_home(place, run=None, here=True, minted="03MINTED")
    assert (another.run, another.begun) == ("03MINTED", None)
    another.close()


@story
async def test_nobody_stays_on_main_or_nowhere(place: Path) -> None:
    for name in ("main", "master"):
        git(place, "branch", "--force", "--move", name)
        assert await refusal(place, here=True) == (
            f"a run does not commit on {name}: stay on another branch, or let the run make its own"
        )
    git(place, "switch", "--quiet", "--detach")
    assert await refusal(place, here=True) == (
        "HEAD is detached: there is no branch to stay on: "
        "`git switch` to one, or let the run make its own"
    )


# --- where no run can work -----------------------------------------------------------------------


@story
async def test_an_operation_in_progress_is_refused_with_a_way_out(place: Path) -> None:
    git(place, "switch", "--quiet", "--create", "other")
    write(place, {"README.md": "other\n"})
    git(place, "commit", "--quiet", "--all", "--message=other")
    git(place, "switch", "--quiet", "main")
    write(place, {"README.md": "main\n"})
    git(place, "commit", "--quiet", "--all", "--message=main")
    git(place, "bisect", "start")
    with pytest.raises(AssertionError):
        git(place, "merge", "other")
    assert await refusal(place) == (
        f"no run can work in {place}: "
        "a merge is in progress; finish it, or `git merge --abort`; "
        "a bisection is in progress; finish it, or `git bisect reset`"
    )
    git(place, "merge", "--abort")
    git(place, "bisect", "reset")
    for words, what in (
        (("rebase", "other"), "a rebase is in progress; finish it, or `git rebase --abort`"),
        (
            ("cherry-pick", "other"),
            "a cherry-pick is in progress; finish it, or `git cherry-pick --abort`",
        ),
    ):
        with pytest.raises(AssertionError):
            git(place, *words)
        assert what in await refusal(place)
        git(place, words[0], "--abort")
    (await at_home(place)).close()


@story
async def test_a_sparse_checkout_is_refused(place: Path) -> None:
    git(place, "sparse-checkout", "set", "src")
    assert await refusal(place) == (
        f"no run can work in {place}: "
        "the checkout is sparse; `git sparse-checkout disable` brings all files back"
    )
    git(place, "sparse-checkout", "disable")
    home = await at_home(place)
    assert await home.dirt() == ()


@story
async def test_a_linked_work_tree_is_as_good_as_a_main_one(place: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(place, "worktree", "add", "--quiet", "--detach", str(linked))
    home = await at_home(linked)
    base = await home.head()
    assert await home.dirt() == ()
    write(linked, {"x.txt": "x\n"})
    write(place, {"by the person.txt": "x\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=meanwhile, in the main tree")
    main = git(place, "rev-parse", "main")
    (linked / ".git").unlink()
    assert await home.difference(base) == Difference(
        paths=("x.txt",),
        trouble=".git was changed, and put back (see .git/dwindle/01RUN/refused/1)",
    )
    in_step(linked, await home.commit(base, subject(1)))
    assert git(place, "rev-parse", "main") == main
    assert status(place) == ""


@story
async def test_a_branch_that_is_in_the_way_is_named_with_a_way_out(place: Path) -> None:
    git(place, "branch", "runner")
    assert await refusal(place) == (
        "there is a branch named runner, and so there can be none named runner/<run-id>: "
        "`git branch -m runner another-name` renames it"
    )
    git(place, "branch", "--move", "runner", "another-name")
    assert (await at_home(place, run=None)).made_branch


@story
async def test_what_the_runner_makes_for_itself_is_excluded(place: Path) -> None:
    home = await at_home(place)
    ours = (
        ".runner/journal/01RUN.jsonl",
        ".runner/iterations/01RUN/0001/meta.json",
        ".runner/worktrees/x/file",
        ".runner/outbox/A1/report.json",
        ".runner/dwindle.sock",
        ".runner/dwindle.lock",
    )
    write(place, dict.fromkeys(ours, "ours\n") | {".runner/tree.json": "theirs\n"})
    assert status(place) == "?? .runner/tree.json\n"
    base = await home.head()
    # Not even a .gitignore that says otherwise makes them part of a commit.
    write(place, {".gitignore": "!.runner/**\n"})
    assert await home.difference(base) == Difference(paths=(".gitignore", ".runner/tree.json"))
    commit = await home.commit(base, subject(1))
    listed = git(place, "ls-tree", "-r", "--name-only", commit, ".runner")
    assert listed == ".runner/tree.json"
    assert await home.dirt() == ()
    assert refs(place)[BRANCH] == commit
    assert files_in(place).keys() == FILES.keys()
    assert all((place / name).read_text() == "ours\n" for name in ours)
