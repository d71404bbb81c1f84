"""Nothing is ever deleted unsaved: every attempt is kept, whatever is in its tree."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from tests.adapters.git.places import (
    FILES,
    RUN,
    files_at,
    git,
    opened,
    refs,
    story,
    trailers,
    write,
)

from dwindle.kernel.model import ROOT
from dwindle.ports.workspace import Trailers

FACTS = "Dwindle-Run: 01RUN\nDwindle-Atom: A1\nDwindle-Attempt: 3"


def text_of(place: Path, ref: str) -> str:
    return git(place, "log", "-1", "--format=%B", ref).rstrip("\n")


@story
async def test_everything_is_kept_untracked_and_ignored_files_too(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(3)
    write(lease.path, {"src/app.py": "worse\n", "new.txt": "new\n", "trace.log": "why\n"})
    write(lease.path, {"build/deep/out": "built\n"})
    (lease.path / "README.md").unlink()
    ref = await workspace.set_aside(lease, trailers("A1", 3, "Tests are red"))
    assert ref == "refs/dwindle/attempts/01RUN/A1/3"
    kept = FILES | {
        "src/app.py": "worse\n",
        "new.txt": "new\n",
        "trace.log": "why\n",
        "build/deep/out": "built\n",
    }
    del kept["README.md"]
    assert files_at(place, ref) == kept
    assert text_of(place, ref) == f"A1: Tests are red\n\n{FACTS}"
    assert git(place, "rev-parse", f"{ref}^") == lease.base
    assert await workspace.tip() == lease.base


@story
async def test_an_attempt_never_takes_the_name_of_another(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(3)
    first = await workspace.set_aside(lease, trailers("A1", 3))
    write(lease.path, {"more.txt": "more\n"})
    second = await workspace.set_aside(lease, trailers("A1", 3))
    assert (first, second) == (f"refs/dwindle/attempts/{RUN}/A1/3", f"{first}.2")
    assert files_at(place, first) == FILES
    assert files_at(place, second) == FILES | {"more.txt": "more\n"}
    judged = Trailers(run=RUN, atom=ROOT, attempt=4, summary="")
    root = await workspace.set_aside(lease, judged)
    assert root.split("/")[-3:] == [RUN, "root", "4"]


@story
async def test_what_cannot_be_kept_is_named(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(3)
    tree = lease.path
    os.mkfifo(tree / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(tree)
        listener.bind("socket")
        os.chdir(here)
    (tree / "loop").symlink_to("loop")
    (tree / "inner").mkdir()
    git(tree / "inner", "init", "--quiet")
    write(tree / "inner", {"a.txt": "a\n", "line\nbreak.txt": "b\n"})
    git(tree / "src", "init", "--quiet")
    write(tree, {"node_modules/one/index.js": "x\n"})
    for number in range(2100):
        (tree / "node_modules" / f"{number}.js").touch()
    ref = await workspace.set_aside(lease, trailers("A1", 3))
    assert text_of(place, ref) == (
        "A1: It works now\n\n"
        "Not kept:\n"
        "- inner/.git: the history of an inner repository\n"
        "- pipe: neither a file nor a folder\n"
        "- socket: neither a file nor a folder\n"
        "- src/.git: the history of an inner repository\n"
        "- node_modules/: ignored by git, and too much of it\n\n"
        f"{FACTS}"
    )
    names = git(place, "ls-tree", "-r", "-z", "--name-only", ref).rstrip("\0").split("\0")
    added = ["inner/a.txt", "inner/line\nbreak.txt", "loop"]
    assert sorted(names) == sorted([*FILES, *added])


def test_what_a_session_closed_is_kept_all_the_same_and_cleaned(place: Path) -> None:
    """In a process that may not read everything: these tests may be run by root."""
    child = Path(__file__).with_name("humble_child.py")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, child, place], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert json.loads(done.stdout) == {
        "kept": FILES
        | {"closed.txt": "x\n", "closed/in.txt": "x\n", "shut.log": "x\n", "build/deep/out": "x\n"},
        "notes": [],
        "next": FILES,
        "same tree": True,
    }


@story
async def test_an_attempt_is_kept_without_its_link_or_its_tree(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(3)
    write(lease.path, {"new.txt": "new\n"})
    shutil.rmtree(git(lease.path, "rev-parse", "--absolute-git-dir"))
    (lease.path / ".git").unlink()
    ref = await workspace.set_aside(lease, trailers("A1", 3))
    assert files_at(place, ref) == FILES | {"new.txt": "new\n"}
    shutil.rmtree(lease.path)
    gone = await workspace.set_aside(lease, trailers("A1", 4))
    assert text_of(place, gone).splitlines()[2:4] == [
        "Not kept:",
        "- the work tree itself, which is gone",
    ]


@story
async def test_a_link_in_place_of_the_tree_is_not_followed(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(3)
    shutil.rmtree(lease.path)
    write(place, {"secret.txt": "of the person\n"})
    lease.path.symlink_to(place)
    ref = await workspace.set_aside(lease, trailers("A1", 3))
    assert "secret.txt" not in git(place, "ls-tree", "-r", "--name-only", ref)
    await workspace.release(lease)
    assert (place / "secret.txt").read_text() == "of the person\n"


@story
async def test_a_filter_that_does_not_work_stops_no_attempt_from_being_kept(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(3)
    git(place, "config", "filter.broken.clean", "false")
    git(place, "config", "filter.broken.required", "true")
    write(lease.path, {".gitattributes": "*.bin filter=broken\n", "a.bin": "a\n", "run.sh": "x\n"})
    (lease.path / "run.sh").chmod(0o755)
    (lease.path / "link").symlink_to("run.sh")
    ref = await workspace.set_aside(lease, trailers("A1", 3))
    added = {".gitattributes": "*.bin filter=broken\n", "a.bin": "a\n", "run.sh": "x\n"}
    assert files_at(place, ref) == FILES | added | {"link": "run.sh\n"}
    assert git(place, "ls-tree", ref, "run.sh").startswith("100755")
    assert text_of(place, ref) == f"A1: It works now\n\n{FACTS}"


@story
async def test_rewritten_history_is_kept_beside_the_base(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(3)
    git(lease.path, "commit", "--quiet", "--amend", "--message=rewritten")
    rewritten = git(lease.path, "rev-parse", "HEAD")
    ref = await workspace.set_aside(lease, trailers("A1", 3))
    assert git(place, "log", "-1", "--format=%P", ref) == f"{lease.base} {rewritten}"


@story
async def test_ten_thousand_files_are_kept(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(3)
    for number in range(10_000):
        folder = lease.path / f"many/{number % 100}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(str(number))
    ref = await workspace.set_aside(lease, trailers("A1", 3))
    names = git(place, "ls-tree", "-r", "--name-only", ref).splitlines()
    assert len(names) == 10_000 + len(FILES)
    assert refs(place)[ref] == git(place, "rev-parse", ref)
