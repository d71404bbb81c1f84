"""What a session did: a plain change is taken, anything else is named."""

from __future__ import annotations

import os
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
    repository,
    story,
    trailers,
    write,
)

from dwindle.adapters.git.commit_message import message
from dwindle.ports.workspace import Change, Conflict, Integrated, WorkspaceFailed

BRANCH = "refs/heads/runner/01RUN"


@story
async def test_a_change_is_the_difference_from_the_base_commits_folded_in(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    assert await workspace.change(lease) == Change(paths=())
    write(lease.path, {"one.txt": "1\n", "forced.log": "kept\n", "ignored.log": "not\n"})
    git(lease.path, "add", "--force", "one.txt", "forced.log")
    git(lease.path, "commit", "--quiet", "--message=first")
    write(lease.path, {"src/größe und maß.txt": "changed\n", "new dir/ü.txt": "2\n"})
    git(lease.path, "commit", "--quiet", "--all", "--message=second")
    (lease.path / "README.md").unlink()
    assert await workspace.change(lease) == Change(
        paths=("README.md", "forced.log", "new dir/ü.txt", "one.txt", "src/größe und maß.txt")
    )
    done = await workspace.integrate(lease, trailers("A1"))
    assert done == Integrated(commit=await workspace.tip())
    after = FILES | {
        "one.txt": "1\n",
        "forced.log": "kept\n",
        "new dir/ü.txt": "2\n",
        "src/größe und maß.txt": "changed\n",
    }
    del after["README.md"]
    assert files_at(place, BRANCH) == after
    assert git(place, "log", "--format=%s", BRANCH) == "A1: It works now\nBegin"


@story
async def test_what_the_index_of_the_session_says_does_not_matter(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    git(lease.path, "update-index", "--assume-unchanged", "README.md")
    git(lease.path, "rm", "--quiet", "--cached", "src/app.py")
    write(lease.path, {"README.md": "changed\n"})
    assert await workspace.change(lease) == Change(paths=("README.md",))


@story
async def test_an_inner_repository_is_taken_as_plain_files(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    for name in ("with history", "without"):
        (lease.path / name).mkdir()
        git(lease.path / name, "init", "--quiet")
        write(lease.path / name, {"a/b.txt": f"{name}\n"})
    git(lease.path / "with history", "add", ".")
    git(lease.path / "with history", "commit", "--quiet", "--message=x")
    paths = ("with history/a/b.txt", "without/a/b.txt")
    assert await workspace.change(lease) == Change(paths=paths)
    await workspace.integrate(lease, trailers("A1"))
    expected = FILES | {path: path.partition("/")[0] + "\n" for path in paths}
    assert files_at(place, BRANCH) == expected


# --- trouble -------------------------------------------------------------------------------------


@story
async def test_rewritten_history_is_trouble(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    git(lease.path, "commit", "--quiet", "--amend", "--message=I was never here")
    trouble = f"history was rewritten: HEAD does not descend from {lease.base}"
    assert await workspace.change(lease) == Change(paths=(), trouble=trouble)


@story
async def test_refs_that_moved_are_trouble_and_the_runs_own_branch_is_put_back(
    place: Path,
) -> None:
    git(place, "branch", "other")
    git(place, "tag", "v1")
    workspace = await opened(place)
    lease = await workspace.lease(1)
    old = lease.base
    write(lease.path, {"x.txt": "x\n"})
    git(lease.path, "add", ".")
    git(lease.path, "commit", "--quiet", "--message=mine")
    new = git(lease.path, "rev-parse", "HEAD")
    git(lease.path, "branch", "--force", "other")
    git(lease.path, "tag", "--delete", "v1")
    git(lease.path, "update-ref", "refs/heads/main", new)
    git(lease.path, "update-ref", BRANCH, new)
    git(lease.path, "update-ref", "refs/stash", new)
    assert await workspace.change(lease) == Change(
        paths=("x.txt",),
        trouble="; ".join(
            (
                f"refs/heads/main was moved from {old} to {new}",
                f"refs/heads/other was moved from {old} to {new}",
                f"refs/tags/v1 was removed (it was at {old})",
                "refs/stash was created",
                f"{BRANCH} was moved, and was put back",
            )
        ),
    )
    now = refs(place)
    assert now[BRANCH] == old
    assert now["refs/dwindle/attempts/01RUN/branch/1"] == new


@story
async def test_a_person_may_commit_and_fetch_meanwhile(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    write(place, {"README.md": "by hand\n"})
    git(place, "commit", "--quiet", "--all", "--message=by hand")
    git(place, "update-ref", "refs/remotes/origin/main", lease.base)
    assert await workspace.change(lease) == Change(paths=())


@story
async def test_changed_configuration_is_trouble(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    git(lease.path, "config", "core.editor", "evil")
    trouble = "the configuration of the repository was changed"
    assert await workspace.change(lease) == Change(paths=(), trouble=trouble)


@story
async def test_a_branch_of_another_run_is_never_removed(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    git(place, "branch", "runner/OTHER")
    git(lease.path, "symbolic-ref", "HEAD", "refs/heads/runner/OTHER")
    await workspace.release(lease)
    assert "refs/heads/runner/OTHER" in refs(place)


@story
async def test_a_branch_of_its_own_is_trouble_for_the_session_that_made_it_alone(
    place: Path,
) -> None:
    workspace = await opened(place)
    guilty, other = await workspace.lease(1), await workspace.lease(2)
    git(guilty.path, "checkout", "--quiet", "-b", "feature")
    write(guilty.path, {"x.txt": "x\n"})
    git(guilty.path, "add", ".")
    git(guilty.path, "commit", "--quiet", "--message=on my branch")
    assert await workspace.change(other) == Change(paths=())
    assert await workspace.change(guilty) == Change(
        paths=("x.txt",),
        trouble="HEAD was attached to refs/heads/feature; refs/heads/feature was created",
    )
    kept = await workspace.set_aside(guilty, trailers("A1", 7))
    await workspace.release(guilty)
    assert "refs/heads/feature" not in refs(place)
    log = git(place, "log", "--format=%s", kept)
    assert log == "A1: It works now\non my branch\nBegin"


@story
async def test_a_tree_or_link_that_is_gone_is_trouble(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    write(lease.path, {"x.txt": "x\n"})
    (lease.path / ".git").unlink()
    assert await workspace.change(lease) == Change(
        paths=("x.txt",), trouble="the link between the work tree and the repository was broken"
    )
    lease.path.rename(place / "elsewhere")
    gone = Change(paths=(), trouble="the work tree was removed or replaced")
    assert await workspace.change(lease) == gone
    lease.path.symlink_to(place)
    assert await workspace.change(lease) == gone


@story
async def test_refs_are_not_compared_where_a_sandbox_guards_them(place: Path) -> None:
    workspace = await opened(place, guard_refs=False)
    lease = await workspace.lease(1)
    git(place, "branch", "made-by-a-person")
    assert await workspace.change(lease) == Change(paths=())


# --- integrating ---------------------------------------------------------------------------------


@story
async def test_a_commit_of_ours_says_what_it_is(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(4)
    write(lease.path, {"x.txt": "x\n"})
    await workspace.integrate(lease, trailers("A1", 4, "\n  Parse\x1b[31m dates  \nand more\n"))
    assert git(place, "log", "-1", "--format=%an <%ae>|%cn <%ce>%n%B", BRANCH) == (
        "Dwindle <dwindle@localhost>|Dwindle <dwindle@localhost>\n"
        "A1: Parse\\x1b[31m dates\n\nDwindle-Run: 01RUN\nDwindle-Atom: A1\nDwindle-Attempt: 4"
    )
    assert git(place, "status", "--porcelain") == ""


def test_a_subject_is_bounded_and_never_empty() -> None:
    text = message(trailers("A1", 1, "long " * 100))
    subject = text.splitlines()[0]
    assert (len(subject), subject[:12], subject[-7:]) == (100, "A1: long lon", " lon...")
    facts = "Dwindle-Run: 01RUN\nDwindle-Atom: A1\nDwindle-Attempt: 1\n"
    assert message(trailers("A1", 1, " \n\t\n")) == f"A1: done\n\n{facts}"
    many = message(trailers("A1"), [f"{number}: x" for number in range(203)])
    assert many.splitlines()[2:4] == ["Not kept:", "- 0: x"]
    assert many.endswith(f"- 199: x\n- and 3 more\n\n{facts}")
    assert message(trailers("A1", 1, "\udcff ok")).encode() == f"A1: \\udcff ok\n\n{facts}".encode()


@story
async def test_a_known_identity_is_used_and_hooks_are_not(place: Path, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks"
    write(hooks, {"any": f"#!/bin/sh\ntouch '{tmp_path}/hook ran'\nexit 1\n"})
    (hooks / "any").chmod(0o755)
    for name in ("pre-commit", "post-checkout", "reference-transaction", "post-merge", "pre-push"):
        os.link(hooks / "any", hooks / name)
        os.link(hooks / "any", place / ".git" / "hooks" / name)
    git(place, "config", "core.hooksPath", str(hooks))
    git(place, "config", "user.name", "Grace")
    git(place, "config", "user.email", "grace@example.org")
    git(place, "config", "commit.gpgSign", "true")
    workspace = await opened(place)
    lease = await workspace.lease(1)
    write(lease.path, {"x.txt": "x\n"})
    await workspace.integrate(lease, trailers("A1"))
    await workspace.release(lease)
    assert not (tmp_path / "hook ran").exists()
    assert git(place, "log", "-1", "--format=%an <%ae>", BRANCH) == "Grace <grace@example.org>"


@story
async def test_variables_of_the_surroundings_do_not_matter(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = repository(tmp_path / "other", {"other.txt": "other\n"})
    before = refs(other)
    aligned = git(place, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    workspace = await opened(place, aligned=aligned)
    lease = await workspace.lease(1)
    monkeypatch.undo()
    assert files_in(lease.path) == FILES
    assert refs(other) == before


@story
async def test_work_on_an_older_base_is_merged(place: Path) -> None:
    workspace = await opened(place)
    first, second = await workspace.lease(1), await workspace.lease(2)
    write(first.path, {"src/app.py": "print('ONE')\nprint('two')\nprint('three')\n"})
    write(second.path, {"src/app.py": "print('one')\nprint('two')\nprint('THREE')\n", "b": "b\n"})
    await workspace.integrate(first, trailers("A1", 1))
    done = await workspace.integrate(second, trailers("A2", 2))
    assert done == Integrated(commit=await workspace.tip())
    merged = "print('ONE')\nprint('two')\nprint('THREE')\n"
    assert files_at(place, BRANCH) == FILES | {"src/app.py": merged, "b": "b\n"}
    assert git(place, "log", "--format=%s %p", BRANCH).count("\n") == 2
    assert files_in(place / ".runner/worktrees/integration-01RUN") == files_at(place, BRANCH)
    integration = place / ".runner/worktrees/integration-01RUN"
    assert git(integration, "status", "--porcelain", "--branch") == "## runner/01RUN"


@story
async def test_a_conflict_names_the_paths_and_moves_nothing(place: Path) -> None:
    workspace = await opened(place)
    first, second = await workspace.lease(1), await workspace.lease(2)
    for lease, word in ((first, "yes"), (second, "no")):
        write(lease.path, {"src/app.py": f"{word}\n", "maß.txt": f"{word}\n", word: "x\n"})
    await workspace.integrate(first, trailers("A1", 1))
    tip = await workspace.tip()
    before = files_in(second.path)
    conflict = await workspace.integrate(second, trailers("A2", 2))
    assert conflict == Conflict(paths=("maß.txt", "src/app.py"))
    assert (await workspace.tip(), refs(place)[BRANCH]) == (tip, tip)
    assert files_in(second.path) == before
    await workspace.set_aside(second, trailers("A2", 2))
    await workspace.release(second)
    again = await workspace.lease(3)
    assert again.base == tip
    write(again.path, {"src/app.py": "yes and no\n"})
    assert isinstance(await workspace.integrate(again, trailers("A2", 3)), Integrated)


@story
async def test_an_atom_without_a_difference_has_a_commit_too(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    await workspace.integrate(lease, trailers("A1"))
    assert await workspace.integrated() == (("A1", await workspace.tip()),)


@story
async def test_a_branch_that_somebody_moved_is_not_moved_over(place: Path) -> None:
    workspace = await opened(place, guard_refs=False)
    lease = await workspace.lease(1)
    theirs = git(place, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "theirs")
    git(place, "update-ref", BRANCH, theirs)
    with pytest.raises(WorkspaceFailed, match="git update-ref --stdin ended with 128"):
        await workspace.integrate(lease, trailers("A1"))
    assert refs(place)[BRANCH] == theirs


@story
async def test_work_that_nobody_kept_is_kept_before_its_tree_is_cleaned(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(9)
    write(lease.path, {"found.txt": "by a probe\n"})
    await workspace.release(lease)
    kept = f"refs/dwindle/attempts/{RUN}/unclaimed/9"
    assert files_at(place, kept) == FILES | {"found.txt": "by a probe\n"}
    await workspace.release(await workspace.lease(10))
    assert list(refs(place)) == [kept, "refs/heads/main", BRANCH]
    with pytest.raises(WorkspaceFailed, match="is not leased to anybody"):
        await workspace.release(lease)
