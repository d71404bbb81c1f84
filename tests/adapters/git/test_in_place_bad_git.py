"""Agents that do to git what they were not asked to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.adapters.git.in_place_places import (
    BRANCH,
    KEPT,
    at_home,
    begun,
    in_step,
    subject,
)
from tests.adapters.git.places import FILES, files_at, git, refs, story, write

from dwindle.ports.in_place import Difference
from dwindle.ports.removal import remove

pytestmark = pytest.mark.slow


def others(place: Path) -> dict[str, str]:
    """Refs but for those of the run and of attempts."""
    found = refs(place)
    return {name: at for name, at in found.items() if name != BRANCH and KEPT not in name}


@story
async def test_commits_of_an_agent_are_folded_in_silently(place: Path) -> None:
    home, base = await begun(place)
    write(place, {"one.txt": "1\n", "forced.log": "kept\n", "ignored.log": "not\n"})
    git(place, "add", "--force", "one.txt", "forced.log")
    git(place, "commit", "--quiet", "--message=first")
    write(place, {"two.txt": "2\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=second")
    (place / "README.md").unlink()
    changed = Difference(paths=("README.md", "forced.log", "one.txt", "two.txt"))
    assert await home.difference(base) == changed
    assert await home.difference(base) == changed
    commit = await home.commit(base, subject(1))
    in_step(place, commit)
    assert git(place, "log", "--format=%s") == f"{subject(1)}\nBegin"
    after = FILES | {"one.txt": "1\n", "two.txt": "2\n", "forced.log": "kept\n"}
    del after["README.md"]
    assert files_at(place, commit) == after


@story
async def test_rewritten_history_is_named_and_kept(place: Path) -> None:
    write(place, {"README.md": "second\n"})
    git(place, "commit", "--quiet", "--all", "--message=second")
    home, base = await begun(place)
    git(place, "reset", "--quiet", "--hard", "HEAD~1")
    write(place, {"x.txt": "x\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=instead")
    instead = git(place, "rev-parse", "HEAD")
    told = Difference(
        paths=("README.md", "x.txt"),
        trouble=f"history was rewritten: {BRANCH} does not descend from {base}",
    )
    assert await home.difference(base) == told
    assert await home.difference(base) == told
    assert refs(place)[f"{KEPT}/branch/1"] == instead
    in_step(place, await home.commit(base, subject(1)))
    assert git(place, "log", "--format=%s") == f"{subject(1)}\nsecond\nBegin"
    assert await home.difference(await home.head()) == Difference(paths=())


@story
async def test_other_refs_are_put_back_and_where_they_went_is_kept(place: Path) -> None:
    git(place, "branch", "other")
    git(place, "branch", "packed")
    git(place, "pack-refs", "--all")
    git(place, "tag", "v1")
    write(place, {"README.md": "mine\n"})
    git(place, "stash", "push", "--quiet")
    stashed = git(place, "stash", "list", "--format=%H %gs")
    home, base = await begun(place)
    before = others(place)
    write(place, {"x.txt": "x\n"})
    git(place, "stash", "push", "--quiet", "--include-untracked")
    stash = git(place, "rev-parse", "refs/stash")
    write(place, {"y.txt": "y\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=mine")
    new = git(place, "rev-parse", "HEAD")
    git(place, "branch", "--force", "other")
    git(place, "branch", "--delete", "--force", "packed")
    git(place, "tag", "--delete", "v1")
    git(place, "tag", "v2")
    git(place, "update-ref", "refs/heads/main", new)
    told = await home.difference(base)
    assert (told.paths, told.notes) == (("y.txt",), ())
    assert told.trouble.split("; ") == [
        f"refs/heads/main was moved from {base} to {new}",
        f"refs/heads/other was moved from {base} to {new}",
        f"refs/heads/packed was removed (it was at {base})",
        f"refs/stash was moved from {before['refs/stash']} to {stash}",
        f"refs/tags/v1 was removed (it was at {base})",
        "refs/tags/v2 was created",
    ]
    assert others(place) == before
    assert git(place, "stash", "list", "--format=%H %gs") == stashed
    kept = refs(place)
    assert sorted(kept[f"{KEPT}/refs/{n}"] for n in range(1, 5)) == sorted([new, new, new, stash])
    in_step(place, await home.commit(base, subject(1)))
    assert others(place) == before


@story
async def test_a_head_that_went_elsewhere_comes_back(place: Path) -> None:
    home, base = await begun(place)
    git(place, "switch", "--quiet", "--create", "feature")
    write(place, {"x.txt": "x\n", "forced.log": "x\n"})
    git(place, "add", "--force", "x.txt", "forced.log")
    git(place, "commit", "--quiet", "--message=on my branch")
    mine = git(place, "rev-parse", "HEAD")
    assert await home.difference(base) == Difference(
        paths=("forced.log", "x.txt"),
        trouble="HEAD was attached to refs/heads/feature; refs/heads/feature was created",
    )
    assert refs(place)[f"{KEPT}/refs/1"] == mine
    in_step(place, await home.commit(base, subject(1)))
    assert others(place) == {"refs/heads/main": base}

    base = await home.head()
    assert await home.dirt() == ()
    git(place, "switch", "--quiet", "main")
    write(place, {"y.txt": "y\n"})
    told = Difference(
        paths=("forced.log", "x.txt", "y.txt"), trouble="HEAD was attached to refs/heads/main"
    )
    assert await home.difference(base) == told
    in_step(place, await home.commit(base, subject(2)))
    assert others(place) == {"refs/heads/main": git(place, "rev-parse", f"{base}^")}


@story
async def test_a_detached_or_broken_head_comes_back_too(place: Path) -> None:
    home, base = await begun(place)
    git(place, "switch", "--quiet", "--detach")
    git(place, "commit", "--quiet", "--amend", "--allow-empty", "--message=rewritten")
    amended = git(place, "rev-parse", "HEAD")
    assert (await home.difference(base)).trouble == f"HEAD was detached at {amended}"
    assert refs(place)[f"{KEPT}/head/1"] == amended
    base = await home.commit(base, subject(1))
    in_step(place, base)
    for number, broken in enumerate((b"", b"\xff\xfe nonsense", b"ref: refs/heads/none\n"), 2):
        assert await home.dirt() == ()
        (place / ".git/HEAD").write_bytes(broken)
        trouble = (await home.difference(base)).trouble
        assert trouble == (
            "HEAD was attached to refs/heads/none" if number == 4 else "HEAD was broken"
        )
        base = await home.commit(base, subject(number))
        in_step(place, base)
    (place / ".git/HEAD").unlink()
    in_step(place, await home.commit(base, subject(5)))


@story
async def test_the_branch_itself_can_be_deleted_or_spoilt(place: Path) -> None:
    home, base = await begun(place)
    git(place, "switch", "--quiet", "main")
    git(place, "branch", "--quiet", "--delete", "--force", "runner/01RUN")
    told = await home.difference(base)
    assert told.trouble == (
        f"{BRANCH} was removed, and was put back; HEAD was attached to refs/heads/main"
    )
    base = await home.commit(base, subject(1))
    in_step(place, base)
    (place / ".git" / BRANCH).write_text("nonsense\n")
    in_step(place, await home.commit(base, subject(2)))


@story
async def test_a_merge_that_was_left_half_done_is_ended(place: Path) -> None:
    git(place, "switch", "--quiet", "--create", "other")
    write(place, {"README.md": "other\n"})
    git(place, "commit", "--quiet", "--all", "--message=other")
    git(place, "switch", "--quiet", "main")
    write(place, {"README.md": "main\n"})
    git(place, "commit", "--quiet", "--all", "--message=main")
    home, base = await begun(place)
    with pytest.raises(AssertionError):
        git(place, "merge", "other")
    told = await home.difference(base)
    assert told == Difference(
        paths=("README.md",), trouble="an operation of git was left unfinished (MERGE_HEAD)"
    )
    in_step(place, await home.commit(base, subject(1)))
    assert "merging" not in git(place, "status")


# --- the index and git's own files ---------------------------------------------------------------


@story
async def test_what_the_index_says_does_not_matter(place: Path) -> None:
    home, base = await begun(place)
    git(place, "update-index", "--assume-unchanged", "README.md")
    git(place, "update-index", "--skip-worktree", "src/app.py")
    git(place, "rm", "--quiet", "--cached", "tests/test_app.py")
    write(place, {"README.md": "changed\n", "src/app.py": "changed\n", "staged.txt": "1\n"})
    git(place, "add", "staged.txt")
    (place / "staged.txt").unlink()
    assert await home.difference(base) == Difference(paths=("README.md", "src/app.py"))
    base = await home.commit(base, subject(1))
    in_step(place, base)
    for number, spoil in enumerate(("gone", "rubbish", "folder", "locked"), 2):
        assert await home.dirt() == ()
        index = place / ".git/index"
        if spoil != "locked":
            index.unlink()
        if spoil == "rubbish":
            index.write_bytes(b"DIRC rubbish")
        if spoil == "folder":
            index.mkdir()
        (place / ".git/index.lock").touch()
        (place / ".git/HEAD.lock").touch()
        (place / f".git/{BRANCH}.lock").touch()
        write(place, {"n.txt": f"{number}\n"})
        assert await home.difference(base) == Difference(paths=("n.txt",))
        base = await home.commit(base, subject(number))
        in_step(place, base)


@story
async def test_an_index_of_ours_that_somebody_wrote_to_is_not_believed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, base = await begun(place)
    ours = place / ".git/dwindle-in-place"
    facts = ours.stat()
    monkeypatch.setenv("GIT_INDEX_FILE", str(ours))
    git(place, "update-index", "--assume-unchanged", "README.md")
    os.utime(ours, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    monkeypatch.delenv("GIT_INDEX_FILE")
    write(place, {"README.md": "changed\n"})
    assert await home.difference(base) == Difference(paths=("README.md",))
    in_step(place, await home.commit(base, subject(1)))


@story
async def test_configuration_hooks_and_exclusions_are_put_back(place: Path, tmp_path: Path) -> None:
    write(place, {".git/hooks/pre-push": "#!/bin/sh\n"})
    home, base = await begun(place)
    ours = {
        name: (place / ".git" / name).read_bytes()
        for name in ("config", "info/exclude", "hooks/pre-push")
    }
    evil = f"touch '{tmp_path}/evil ran'; cat"
    git(place, "config", "filter.evil.clean", evil)
    git(place, "config", "core.fsmonitor", evil)
    git(place, "config", "core.worktree", str(tmp_path))
    write(place, {".git/hooks/pre-push": "evil\n", ".git/hooks/post-commit": "evil\n"})
    write(place, {".git/info/exclude": "*\n", ".git/info/attributes": "* filter=evil\n"})
    write(place, {".gitattributes": "* filter=evil\n", "hidden.txt": "x\n"})
    refused = place / ".git/dwindle/01RUN/refused/1"
    assert await home.difference(base) == Difference(
        paths=(".gitattributes", "hidden.txt"),
        trouble=".git/config, .git/hooks/post-commit, .git/hooks/pre-push, .git/info/attributes, "
        ".git/info/exclude were changed, and put back (see .git/dwindle/01RUN/refused/1)",
    )
    in_step(place, await home.commit(base, subject(1)))
    assert {name: (place / ".git" / name).read_bytes() for name in ours} == ours
    assert not (place / ".git/hooks/post-commit").exists()
    assert not (place / ".git/info/attributes").exists()
    assert (refused / "2-pre-push").read_text() == "evil\n"
    assert not (tmp_path / "evil ran").exists()


@story
async def test_a_second_time_is_put_back_and_kept_beside_the_first(place: Path) -> None:
    hooks = place / "team hooks"
    write(place, {"team hooks/pre-push": "#!/bin/sh\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=hooks")
    remove(place / ".git/hooks")
    (place / ".git/hooks").symlink_to(hooks)
    home, base = await begun(place)
    for number in (1, 2):
        (place / ".git/hooks").unlink()
        write(place, {".git/hooks/pre-push": "evil\n"})
        write(place, {"team hooks/pre-push": f"{number}\n"})
        git(place, "tag", "mine")
        told = await home.difference(base)
        refused = f".git/dwindle/01RUN/refused/{number}"
        assert told == Difference(
            paths=("team hooks/pre-push",),
            trouble=f".git/hooks was changed, and put back (see {refused}); "
            "refs/tags/mine was created",
        )
        assert (place / refused / "0-hooks/pre-push").read_text() == "evil\n"
        assert (place / ".git/hooks").readlink() == hooks
        assert (hooks / "pre-push").read_text() == f"{number}\n"
        assert refs(place)[f"{KEPT}/refs/{number}"] == base
        base = await home.commit(base, subject(number))
        in_step(place, base)
        assert await home.dirt() == ()


@story
async def test_a_link_in_place_of_the_hooks_is_not_followed(place: Path, tmp_path: Path) -> None:
    write(place, {".git/hooks/pre-push": "ours\n"})
    home, base = await begun(place)
    remove(place / ".git/hooks")
    write(tmp_path, {"elsewhere/pre-push": "evil\n", "elsewhere/post-commit": "evil\n"})
    (place / ".git/hooks").symlink_to(tmp_path / "elsewhere")
    assert (await home.difference(base)).trouble == (
        ".git/hooks, .git/hooks/pre-push were changed, and put back "
        "(see .git/dwindle/01RUN/refused/1)"
    )
    assert not (place / ".git/hooks").is_symlink()
    assert (place / ".git/hooks/pre-push").read_text() == "ours\n"
    assert (tmp_path / "elsewhere/post-commit").read_text() == "evil\n"
    in_step(place, await home.commit(base, subject(1)))


@story
async def test_a_ref_that_cannot_be_put_back_is_said_to_be_there(place: Path) -> None:
    home, base = await begun(place)
    git(place, "tag", "mine")
    write(place, {".git/packed-refs.lock": ""})
    trouble = (await home.difference(base)).trouble
    assert trouble.startswith("refs/tags/mine was created; refs could not be put back: ")
    assert "packed-refs.lock" in trouble
    in_step(place, await home.commit(base, subject(1)))
    assert "refs/tags/mine" in refs(place)


@story
async def test_an_index_that_git_cannot_read_is_dirt(place: Path) -> None:
    home = await at_home(place)
    (place / ".git/index").write_bytes(b"DIRC rubbish")
    (line,) = await home.dirt()
    assert line.startswith("M  (git cannot read its index: ")
