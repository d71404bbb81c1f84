"""Iterations in the person's own checkout: one commit each, and clean before and after."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.adapters.git.in_place_places import (
    BRANCH,
    KEPT,
    at_home,
    begun,
    in_step,
    status,
    subject,
)
from tests.adapters.git.places import FILES, files_at, files_in, git, refs, story, write

from dwindle.ports.in_place import Difference, Done, History, InPlace
from dwindle.ports.iteration import Iteration
from dwindle.ports.workspace import WorkspaceFailed

ODD = (b"a b", b"line\nbreak", "größe".encode(), b"not \xff utf-8", b"*?[x]", b"-dash", b"q\"t'")


def scatter(place: Path, content: bytes) -> None:
    for name in ODD:
        Path(os.fsdecode(os.fsencode(place) + b"/" + name)).write_bytes(content)


def unpacked(place: Path) -> None:
    """Every object in a file of its own."""
    packs = place / ".git/objects/pack"
    pack = next(packs.glob("*.pack")).rename(place / ".git/all.pack")
    for left in packs.iterdir():
        left.unlink()
    with pack.open("rb") as packed:
        subprocess.run(["git", "unpack-objects", "-q"], cwd=place, stdin=packed, check=True)


@story
async def test_an_iteration_is_one_commit_and_clean_before_and_after(place: Path) -> None:
    home: InPlace = await at_home(place)
    base = await home.head()
    assert (home.run, home.branch, home.path) == ("01RUN", "runner/01RUN", place)
    assert await home.dirt() == ()
    write(place, {"src/app.py": "better\n", "new dir/ü.txt": "2\n", "ignored.log": "not\n"})
    (place / "README.md").unlink()
    changed = ("README.md", "new dir/ü.txt", "src/app.py")
    assert await home.difference(base) == Difference(paths=changed)
    commit = await home.commit(base, subject(1))
    in_step(place, commit)
    assert git(place, "log", "--format=%H %P %B", "-1") == f"{commit} {base} {subject(1)}"
    after = FILES | {"src/app.py": "better\n", "new dir/ü.txt": "2\n"}
    del after["README.md"]
    assert files_at(place, commit) == after
    assert files_in(place) == after | {"ignored.log": "not\n"}
    assert await home.dirt() == ()
    assert await home.head() == commit
    assert await home.difference(commit) == Difference(paths=())


@story
async def test_an_iteration_without_a_difference_is_an_empty_commit(place: Path) -> None:
    home = await at_home(place)
    base = await home.head()
    commit = await home.commit(base, subject(1))
    in_step(place, commit)
    assert git(place, "rev-parse", f"{commit}^{{tree}}") == git(
        place, "rev-parse", f"{base}^{{tree}}"
    )
    assert await home.patch(base, commit, 1000) == b""


@story
async def test_paths_of_every_kind(place: Path) -> None:
    home = await at_home(place)
    base = await home.head()
    assert await home.dirt() == ()
    scatter(place, b"first")
    (place / "link").symlink_to("nowhere")
    (place / "run.sh").write_text("x\n")
    (place / "run.sh").chmod(0o755)
    expected = tuple(os.fsdecode(name) for name in sorted([*ODD, b"link", b"run.sh"]))
    assert await home.difference(base) == Difference(paths=expected)
    commit = await home.commit(base, subject(1))
    in_step(place, commit)
    assert git(place, "ls-tree", commit, "link", "run.sh").split()[::4] == ["120000", "100755"]
    scatter(place, b"more")
    (place / "link").unlink()
    (place / "run.sh").chmod(0o644)
    assert await home.difference(commit) == Difference(paths=expected)
    assert await home.set_aside(commit, "A/2") == f"{KEPT}/A/2"
    in_step(place, commit)
    assert await home.undo(commit, ".runner", "A/2") is None


@story
async def test_dirt_is_what_git_status_lists_whatever_the_settings_hide(place: Path) -> None:
    git(place, "config", "status.showUntrackedFiles", "no")
    git(place, "config", "diff.ignoreSubmodules", "all")
    home = await at_home(place)
    write(place, {"README.md": "changed\n", "deep/new.txt": "new\n", "x.log": "ignored\n"})
    write(place, {".runner/journal/01RUN.jsonl": "ours\n", ".runner/dwindle.sock": ""})
    git(place, "rm", "--quiet", "--cached", "src/app.py")
    assert await home.dirt() == (" M README.md", "?? deep/new.txt", "M  src/app.py")
    git(place, "reset", "--quiet", "--hard")
    (place / "deep/new.txt").unlink()
    assert await home.dirt() == ()


@story
async def test_what_the_person_hid_from_git_is_dirt_too(place: Path) -> None:
    git(place, "update-index", "--assume-unchanged", "README.md")
    git(place, "update-index", "--skip-worktree", "src/app.py")
    write(place, {"README.md": "mine\n", "src/app.py": "mine\n"})
    assert status(place) == ""
    home = await at_home(place)
    words = "git was told not to look at it; `git update-index --no-assume-unchanged"
    assert await home.dirt() == tuple(
        f" M {path} ({words} --no-skip-worktree -- {path}` shows it)"
        for path in ("README.md", "src/app.py")
    )


@story
async def test_whoever_went_to_another_branch_is_told_so(place: Path) -> None:
    home = await at_home(place)
    git(place, "switch", "--quiet", "main")
    with pytest.raises(WorkspaceFailed) as refused:
        await home.dirt()
    assert str(refused.value) == (
        f"{place} is not on runner/01RUN any more, but on refs/heads/main: "
        "`git switch runner/01RUN` leads back"
    )


# --- who and when --------------------------------------------------------------------------------


@story
async def test_a_commit_can_be_pinned_to_the_letter(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same files, people and dates give the same id, whatever else is in the surroundings."""
    git(place, "config", "i18n.commitEncoding", "ISO-8859-1")
    home = await at_home(place)
    tree = git(place, "rev-parse", "HEAD^{tree}")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", f"{who} ü")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", f"{who}@example.org")
        monkeypatch.setenv(f"GIT_{who}_DATE", "1700000000 +0200")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    base = await home.head()
    commit = await home.commit(base, subject(1) + "\n\nmore ü\n")
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert git(place, "cat-file", "commit", commit) == (
        f"tree {tree}\nparent {base}\n"
        "author AUTHOR ü <AUTHOR@example.org> 1700000000 +0200\n"
        "committer COMMITTER ü <COMMITTER@example.org> 1700000000 +0200\n"
        f"\n{subject(1)}\n\nmore ü"
    )


@story
async def test_whoever_is_known_to_git_commits_and_no_hook_runs(
    place: Path, tmp_path: Path
) -> None:
    home = await at_home(place)
    nobody = await home.commit(await home.head(), subject(1))
    home.close()
    git(place, "config", "user.name", "Grace")
    git(place, "config", "user.email", "grace@example.org")
    git(place, "config", "commit.gpgSign", "true")
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        write(place, {f".git/hooks/{name}": f"#!/bin/sh\ntouch '{tmp_path}/hook ran'\nexit 1\n"})
        (place / ".git/hooks" / name).chmod(0o755)
    home = await at_home(place)
    grace = await home.commit(await home.head(), subject(2))
    shape = "--format=%an <%ae> %cn"
    assert git(place, "show", "-s", shape, nobody) == "Dwindle <dwindle@localhost> Dwindle"
    assert git(place, "show", "-s", shape, grace) == "Grace <grace@example.org> Grace"
    assert not (tmp_path / "hook ran").exists()


# --- what the branch says ------------------------------------------------------------------------


@story
async def test_a_preview_is_what_a_commit_would_be_and_moves_nothing(place: Path) -> None:
    home = await at_home(place)
    base = await home.head()
    await home.dirt()
    write(place, {"new.txt": "new\n", "README.md": "changed\n", "ignored.log": "x\n"})
    seen = await home.preview(base, "a preview\n")
    assert (await home.head(), git(place, "rev-parse", f"{seen}^")) == (base, base)
    assert await home.is_still(base, seen)
    write(place, {"README.md": "changed again\n"})
    assert not await home.is_still(base, seen)
    write(place, {"README.md": "changed\n"})
    commit = await home.commit(base, subject(1))
    assert git(place, "diff", "--name-only", seen, commit) == ""
    assert await home.is_still(commit, commit)
    assert (await home.dirt(), git(place, "status", "--porcelain")) == ((), "")


@story
async def test_what_git_ignores_is_listed_without_the_files_of_the_runner(place: Path) -> None:
    write(place, {".gitignore": "*.log\nout/\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=rules")
    home = await at_home(place)
    base = await home.head()
    assert await home.unseen(base) == ()
    write(place, {"a.log": "", "out/deep/b": "", ".runner/journal/x": "", ".runner/y.log": ""})
    git(place, "add", "--force", "a.log")
    assert await home.unseen(base) == ("a.log", "out/")


@story
async def test_history_is_read_from_the_branch(place: Path) -> None:
    write(place, {".runner/tree.json": "old\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=before")
    write(place, {".runner/tree.json": "zero\n"})
    git(place, "commit", "--quiet", "--all", f"--message={subject(1, run='01OTHER')}")
    home = await at_home(place)
    start = await home.head()
    assert await home.history() == History(done=(), trees={start: b"zero\n"}, start=start)
    done, trees = [], {start: b"zero\n"}
    for number, content in enumerate(["one\n", "one\n", "zero\n", "two"], 1):
        write(place, {".runner/tree.json": content})
        parent = await home.head()
        commit = await home.commit(parent, subject(number))
        trees[commit] = content.encode()
        told = Iteration.of(subject(number))
        assert told is not None
        done.append(Done(iteration=told, commit=commit, parent=parent))
        if number == 2:
            write(place, {".runner/tree.json": "by hand\n"})
            git(place, "commit", "--quiet", "--all", "--message=by hand")
            trees[await home.head()] = b"by hand\n"
    assert await home.history() == History(done=tuple(done), trees=trees, start=start)
    later = await home.history(since=done[2].commit)
    since = done[2].commit
    assert later == History(
        done=(done[3],), trees={since: b"zero\n", done[3].commit: b"two"}, start=since
    )
    with pytest.raises(WorkspaceFailed, match="is not on the branch of run 01RUN"):
        await home.history(since="0" * 40)


@story
async def test_how_many_tests_there_were_is_read_from_the_branch(place: Path) -> None:
    """What cannot be a number of tests is none."""
    home = await at_home(place)
    for number, said in enumerate(("12", "many", "9" * 10, "-1"), 1):
        text = f"{subject(number)}\n\nDwindle-Tests: {said}\n"
        write(place, {"a.txt": f"{number}\n"})
        await home.commit(await home.head(), text)
    write(place, {"a.txt": "5\n"})
    await home.commit(await home.head(), subject(5))
    assert [one.tests for one in (await home.history()).done] == [12, None, None, None, None]


@story
async def test_a_long_history_is_not_walked_to_its_beginning(place: Path) -> None:
    """The oldest commits are gone, so that whoever goes there fails."""
    stream = ["reset refs/heads/main\n"]
    for number in range(2600):
        stream.append(f"commit refs/heads/main\nmark :{number + 1}\n")
        stream.append(f"committer A <a@b> {1700000000 + number} +0000\ndata 3\nold\n")
        stream.append(f"from :{number}\n" if number else "")
        stream.append("M 100644 inline a.txt\ndata 2\nx\n\n")
    git(place, "fast-import", "--quiet", "--force", given="".join(stream))
    git(place, "reset", "--quiet", "--hard", "main")
    first = git(place, "rev-list", "--max-parents=0", "main")
    unpacked(place)
    (place / ".git/objects" / first[:2] / first[2:]).unlink()
    home = await at_home(place)
    assert await home.history() == History(done=(), trees={}, start=await home.head())
    for number in (1, 2):
        await home.commit(await home.head(), subject(number))
    assert [one.iteration.number for one in (await home.history()).done] == [1, 2]


@story
async def test_a_patch_is_text_and_no_longer_than_asked(place: Path) -> None:
    git(place, "config", "diff.noprefix", "true")
    git(place, "config", "color.ui", "always")
    git(place, "config", "diff.external", "false")
    home = await at_home(place)
    base = await home.head()
    write(place, {"README.md": "# Bye\n", "big.txt": "line\n" * 400_000})
    commit = await home.commit(base, subject(1))
    patch = await home.patch(base, commit, 1 << 30)
    assert patch.startswith(b"diff --git a/README.md b/README.md\n")
    assert b"\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# Hello\n+# Bye\n" in patch
    assert patch.count(b"\n+line") == 400_000
    for most in (0, 1, 1000, len(patch), len(patch) + 1):
        assert await home.patch(base, commit, most) == patch[:most]
    with pytest.raises(WorkspaceFailed, match="git diff-tree -p -r"):
        await home.patch(base, "0" * 40, 1000)


# --- putting back --------------------------------------------------------------------------------


@story
async def test_undo_keeps_what_was_done_outside_and_spares_the_folder(place: Path) -> None:
    write(place, {".runner/tree.json": "zero\n", ".runner/GOAL.md": "goal\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=plan")
    before = files_in(place)
    home = await at_home(place)
    base = await home.head()
    assert await home.dirt() == ()
    write(place, {".runner/tree.json": "one\n", ".runner/nodes/A/context.md": "c\n"})
    assert await home.undo(base, ".runner/", "A/1") is None
    write(place, {"src/app.py": "not asked for\n", "new/file.txt": "new\n"})
    (place / "README.md").unlink()
    (place / "README.md").mkdir()
    write(place, {"README.md/inside": "x\n"})
    assert await home.undo(base, ".runner/", "A/1") == f"{KEPT}/A/1"
    assert files_in(place) == before
    assert status(place) == " M .runner/tree.json\n?? .runner/nodes/A/context.md\n"
    kept = files_at(place, f"{KEPT}/A/1")
    assert kept["src/app.py"] == "not asked for\n"
    assert kept["README.md/inside"] == "x\n"
    assert kept["new/file.txt"] == "new\n"
    assert await home.difference(base) == Difference(
        paths=(".runner/nodes/A/context.md", ".runner/tree.json")
    )
    in_step(place, await home.commit(base, subject(1)))


@story
async def test_what_is_set_aside_is_kept_and_gone_but_for_what_git_ignores(place: Path) -> None:
    write(place, {"trace.log": "the person's\n"})
    home = await at_home(place)
    base = await home.head()
    assert await home.set_aside(base, "unfinished") is None
    write(place, {"src/app.py": "half\n", "new/x.txt": "x\n", "build/out": "built\n"})
    (place / "README.md").unlink()
    assert await home.set_aside(base, "unfinished") == f"{KEPT}/unfinished"
    in_step(place, base)
    assert files_in(place) == FILES | {"trace.log": "the person's\n", "build/out": "built\n"}
    kept = FILES | {"src/app.py": "half\n", "new/x.txt": "x\n"}
    del kept["README.md"]
    assert files_at(place, f"{KEPT}/unfinished") == kept
    assert git(place, "log", "-1", "--format=%P%n%B", f"{KEPT}/unfinished") == (
        f"{base}\nunfinished: set aside\n\n"
        "Dwindle-Run: 01RUN\nDwindle-Atom: unfinished\nDwindle-Attempt: 0"
    )
    write(place, {"again.txt": "x\n"})
    assert await home.set_aside(base, "unfinished") == f"{KEPT}/unfinished.2"
    write(place, {"again.txt": "x\n"})
    assert await home.set_aside(base, "no de/../x/4") == f"{KEPT}/no_de/_/x/4"


@pytest.mark.parametrize("how", ["emptied", "removed", "made a folder"])
@pytest.mark.parametrize("spared", ["", ".runner/"])
@story
async def test_what_was_ignored_stays_whatever_an_agent_does_to_the_rules(
    place: Path, how: str, spared: str
) -> None:
    write(place, {".gitignore": "*.log\ncache/\n", "deep/.gitignore": "own\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=rules")
    mine = {"x.log": "mine\n", "cache/big": "mine\n", "deep/own": "mine\n"}
    write(place, mine)
    home, base = await begun(place)
    before = files_in(place)
    for rules in (place / ".gitignore", place / "deep/.gitignore"):
        rules.unlink()
        if how == "emptied":
            rules.write_text("", "utf-8")
        elif how == "made a folder":
            write(rules, {"file": "x\n"})
    write(place, {"work.txt": "work\n"})
    put_away = home.undo(base, spared, "A/1") if spared else home.set_aside(base, "A/1")
    assert await put_away == f"{KEPT}/A/1"
    assert (files_in(place), status(place)) == (before, "")
    kept = files_at(place, f"{KEPT}/A/1")
    assert kept["work.txt"] == "work\n"
    assert not kept.keys() & mine.keys()
    assert refs(place).keys() == {"refs/heads/main", BRANCH, f"{KEPT}/A/1"}


@story
async def test_files_that_only_a_new_gitignore_hid_are_kept_as_well(place: Path) -> None:
    home = await at_home(place)
    base = await home.head()
    write(place, {".gitignore": "*\n", "hidden/work.txt": "work\n", "x.log": "ignored before\n"})
    assert await home.set_aside(base, "A/1") == f"{KEPT}/A/1"
    in_step(place, base)
    assert files_in(place) == FILES | {"x.log": "ignored before\n"}
    assert files_at(place, f"{KEPT}/A/1") == FILES | {".gitignore": "*\n"}
    assert files_at(place, f"{KEPT}/A/1.2") == FILES | {"hidden/work.txt": "work\n"}


@story
async def test_paths_are_restored_whatever_stands_there(place: Path, tmp_path: Path) -> None:
    write(place, {".runner/tree.json": "zero\n", ".runner/config.toml": "\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=plan")
    before = files_at(place, "HEAD")
    home = await at_home(place)
    base = await home.head()
    write(place, {".runner/tree.json": "bad\n", "README.md": "kept\n"})
    await home.restore(base, [".runner/tree.json", ".runner/config.toml"])
    assert await home.difference(base) == Difference(paths=("README.md",))
    (place / ".runner/tree.json").unlink()
    write(place, {".runner/tree.json/inside": "x\n", "not there.txt": "x\n"})
    await home.restore(base, [".runner/tree.json", "not there.txt"])
    assert await home.difference(base) == Difference(paths=("README.md",))
    assert files_at(place, f"{KEPT}/restored/1")[".runner/tree.json/inside"] == "x\n"
    write(place, {".runner/tree.json": "worse\n"})
    assert await home.restore(base, [".runner/tree.json"], "a/1") == f"{KEPT}/a/1"
    assert files_at(place, f"{KEPT}/a/1")[".runner/tree.json"] == "worse\n"
    assert await home.restore(base, [], "a/1") == f"{KEPT}/a/1.2"
    assert await home.difference(base) == Difference(paths=("README.md",))
    (place / ".runner").rename(tmp_path / "elsewhere")
    (place / ".runner").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/tree.json").write_text("elsewhere\n")
    await home.restore(base, [".runner/tree.json", ".runner/config.toml"])
    assert (tmp_path / "elsewhere/tree.json").read_text() == "elsewhere\n"
    assert await home.difference(base) == Difference(paths=("README.md",))
    commit = await home.commit(base, subject(1))
    in_step(place, commit)
    assert files_at(place, commit) == before | {"README.md": "kept\n"}
    assert refs(place)[BRANCH] == commit
