"""Git of ours runs no program that configuration or attributes name, whoever wrote them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.adapters.git.in_place_places import at_home, begun, subject
from tests.adapters.git.places import RUN, git, opened, repository, story, trailers, write

from dwindle.adapters.git.common_dir import PREFIX, Filters
from dwindle.adapters.git.in_place.checkout import GitInPlace
from dwindle.adapters.git.landing import land
from dwindle.adapters.git.repository import find
from dwindle.ports.workspace import Integrated, WorkspaceFailed

ATTRIBUTES = "* filter=x diff=x merge=x\n*.id ident\n*.crlf text eol=crlf\n"
HOOKS = (
    "applypatch-msg",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "pre-commit",
    "pre-merge-commit",
    "reference-transaction",
)


def keys(program: str) -> dict[str, str]:
    """All that git's documentation says may name a program."""
    return {
        "alias.status": f"!{program}",
        "commit.gpgSign": "true",
        "core.askPass": program,
        "core.attributesFile": "attributes-of-the-agent",
        "core.editor": program,
        "core.fsmonitor": program,
        "core.hooksPath": "hooks",
        "core.pager": program,
        "core.sshCommand": program,
        "credential.helper": f"!{program}",
        "diff.external": program,
        "diff.x.command": program,
        "diff.x.textconv": program,
        "filter.x.clean": program,
        "filter.x.process": program,
        "filter.x.required": "true",
        "filter.x.smudge": program,
        "gpg.program": program,
        "gpg.ssh.program": program,
        "gpg.x509.program": program,
        "interactive.diffFilter": program,
        "log.showSignature": "true",
        "merge.x.driver": f"{program} %A",
        "pager.status": program,
        "tag.gpgSign": "true",
        "uploadpack.packObjectsHook": program,
    }


def trap(place: Path) -> dict[str, str]:
    """A script of the tree that leaves a mark; what a person or an agent may have configured."""
    marker = place.parent / "sprung"
    script = f'#!/bin/sh\necho "$0 $*" >> "{marker}"\ncat\n'
    write(place, {"tools/run.sh": script, **{f"hooks/{name}": script for name in HOOKS}})
    for path in ("tools/run.sh", *(f"hooks/{name}" for name in HOOKS)):
        (place / path).chmod(0o755)
    return keys("./tools/run.sh")


def configure(place: Path, values: dict[str, str], *words: str) -> None:
    for key, value in values.items():
        git(place, "config", *words, key, value)


def sprung(place: Path) -> str:
    marker = place.parent / "sprung"
    return marker.read_text() if marker.exists() else ""


async def both_loops(place: Path, values: dict[str, str]) -> None:
    """Lease, change, integrate, merge, rebuild, check out, set aside, land; then in place."""
    everything = Filters(left_out=("x",))
    workspace = await opened(place, filters=everything)
    one, two, three = [await workspace.lease(number) for number in (1, 2, 3)]
    configure(place, values)  # also by an agent, between two calls
    for lease, name in ((one, "a.txt"), (two, "b.txt"), (three, "c.txt")):
        written = {name: "x\n", "src/app.py": f"print('{name}')\n", ".gitattributes": ATTRIBUTES}
        write(lease.path, written)
        shutil.copytree(place / "tools", lease.path / "tools", dirs_exist_ok=True)
        await workspace.change(lease)
    assert isinstance(await workspace.integrate(one, trailers("A1", 1)), Integrated)
    await workspace.integrate(two, trailers("A2", 2))
    await workspace.set_aside(three, trailers("A3", 3))
    for lease in (one, two, three):
        await workspace.release(lease)
    await workspace.discard(await workspace.checkout(await workspace.tip()))
    await workspace.rebuild([])
    await land(await find(place, everything), RUN)
    workspace.close()


async def in_place(place: Path) -> None:
    found = await find(place, Filters(left_out=("x",)))
    home = await GitInPlace.open(found, run=None, mint=lambda: "01MINTED")
    base = await home.head()
    write(place, {"new.txt": "x\n", "src/app.py": "changed\n"})
    await home.difference(base)
    commit = await home.commit(base, subject(1, run="01MINTED"))
    write(place, {"src/app.py": "worse\n"})
    await home.patch(base, commit, 1000)
    await home.restore(commit, ["src/app.py"])
    write(place, {"src/app.py": "worse\n", ".gitattributes": "* filter=x\n"})
    await home.set_aside(commit, "A/1")
    await home.dirt()
    home.close()


@pytest.mark.parametrize("how", ["config", "include", "worktree", "global"])
@story
async def test_nothing_that_configuration_names_is_run(place: Path, how: str) -> None:
    values = trap(place)
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=tools")
    if how == "include":
        configure(place, values, f"--file={place}/included")
        git(place, "add", ".")
        git(place, "commit", "--quiet", "--message=include")
        git(place, "config", "include.path", "../included")
        values = {}
    elif how == "worktree":
        git(place, "config", "extensions.worktreeConfig", "true")
        configure(place, values, "--worktree")
        values = {}
    elif how == "global":
        configure(place, values, "--global")
        values = {}
    for name in HOOKS:
        shutil.copy2(place / "hooks" / name, place / ".git/hooks" / name)
    (place.parent / "sprung").unlink(missing_ok=True)
    await both_loops(place, values)
    assert sprung(place) == ""
    await in_place(place)
    assert sprung(place) == ""


@story
async def test_a_filter_in_the_configuration_of_a_submodule_is_not_run(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`git add` starts `git status` in each submodule, to see whether anything changed in it."""
    library = repository(tmp_path / "library", {"lib.py": "1\n"})
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file")
    git(place, "submodule", "--quiet", "add", str(library), "lib")
    git(place, "commit", "--quiet", "--message=with a submodule")
    configure(place / "lib", {"filter.x.clean": f"echo ran >> '{tmp_path}/sprung'; cat"})
    home, base = await begun(place)
    write(place, {"lib/lib.py": "2\n", "lib/.gitattributes": "* filter=x\n", "x.txt": "x\n"})
    assert (await home.difference(base)).paths == ("x.txt",)
    await home.commit(base, subject(1))
    assert sprung(place) == ""


# --- bytes ----------------------------------------------------------------------------------------


@story
async def test_trees_and_checkouts_have_the_bytes_of_the_commit(place: Path) -> None:
    git(place, "config", "core.autocrlf", "true")
    workspace = await opened(place)
    lease = await workspace.lease(1)
    encoded = "*.utf working-tree-encoding=UTF-16LE\n"
    attributes = f"*.id ident\n*.crlf text eol=crlf\n{encoded}* text=auto\n"
    written = {
        "a.id": b"$Id$\n",
        "b.crlf": b"one\ntwo\r\n",
        "c.utf": b"as it is\n",
        "d.txt": b"mixed\r\nends\n",
        ".gitattributes": attributes.encode(),
    }
    for name, content in written.items():
        (lease.path / name).write_bytes(content)
    (lease.path / "run").write_bytes(b"#!/bin/sh\n")
    (lease.path / "run").chmod(0o755)
    (lease.path / "link").symlink_to("a.id")
    assert isinstance(await workspace.integrate(lease, trailers("A1")), Integrated)
    fresh = await workspace.checkout(await workspace.tip())
    again = await workspace.lease(2)
    for tree in (fresh.path, again.path):
        assert {name: (tree / name).read_bytes() for name in written} == written
        assert os.access(tree / "run", os.X_OK)
        assert (tree / "link").readlink() == Path("a.id")


# --- filters that the settings name ---------------------------------------------------------------


def with_filter(place: Path, command: str) -> None:
    write(place, {".gitattributes": "*.big filter=big\n", "a.big": "SMALL\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=big files")
    configure(place, {"filter.big.clean": command, "filter.big.smudge": command})


def outside(tmp_path: Path, body: str) -> Path:
    program = tmp_path / "outside" / "big"
    write(tmp_path, {"outside/big": f"#!/bin/sh\n{body}\n"})
    program.chmod(0o755)
    return program


@story
async def test_a_filter_that_the_settings_name_is_run(place: Path, tmp_path: Path) -> None:
    git_is_git = 'git rev-parse HEAD > /dev/null || exit 9; test -z "$GIT_COMMON_DIR" || exit 8'
    program = outside(tmp_path, f"{git_is_git}; tr a-zA-Z A-Za-z")
    with_filter(place, f"'{program}' %f")
    workspace = await opened(place, filters=Filters(run=("big",)))
    lease = await workspace.lease(1)
    assert (lease.path / "a.big").read_text() == "small\n"
    write(lease.path, {"b.big": "new\n"})
    await workspace.integrate(lease, trailers("A1"))
    assert git(place, "cat-file", "blob", f"{await workspace.tip()}:b.big") == "NEW"
    fresh = await workspace.checkout(await workspace.tip())
    assert (fresh.path / "b.big").read_text() == "new\n"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("./tools/big.sh", "the program is inside of the repository"),
        ("tools/big.sh --clean", "the program is inside of the repository"),
        ("cat tools/big.sh", "it names a file of the repository"),
        ("python3 -m big", "can run what is in the repository"),
        ("sh -c 'cat'", "can run what is in the repository"),
        ("cat; ./tools/big.sh", "it is no plain program with words behind it"),
        ("$PWD/tools/big.sh", "it is no plain program with words behind it"),
        ("'", "it is no plain program with words behind it"),
        ("no-such-program-at-all", "no-such-program-at-all was not found"),
    ],
)
@story
async def test_a_filter_that_leads_into_the_tree_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, command: str, why: str
) -> None:
    write(place, {"tools/big.sh": "#!/bin/sh\ncat\n"})
    (place / "tools/big.sh").chmod(0o755)
    git(place, "config", "filter.big.clean", command)
    monkeypatch.chdir(place)
    with pytest.raises(WorkspaceFailed, match=f"the filter big cannot be run: .*{why}"):
        await find(place, Filters(run=("big",)))


@story
async def test_a_filter_that_is_not_configured_is_said(place: Path) -> None:
    with pytest.raises(WorkspaceFailed, match="git's configuration has no filter lfs"):
        await find(place, Filters(run=("lfs",)))


@story
async def test_a_filter_that_files_have_must_be_named(place: Path) -> None:
    """Without it agents would see what it stands for, and commit what should be filtered."""
    with_filter(place, "cat")
    git(place, "config", "filter.unused.clean", "cat")
    for start in (opened(place), at_home(place)):
        with pytest.raises(WorkspaceFailed, match=r"would run a filter .*: big \(a.big\)"):
            await start
    workspace = await opened(place, filters=Filters(left_out=("big",)))
    assert (await workspace.lease(1)).base == git(place, "rev-parse", "HEAD")


# --- the folder of ours ---------------------------------------------------------------------------


@story
async def test_the_folder_of_ours_goes_with_its_last_user(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(room))
    left = room / f"{PREFIX}left"
    left.mkdir()
    os.utime(left, (0, 0))
    found = await find(place)
    [mine] = room.iterdir()
    os.utime(mine, (0, 0))
    other = await find(place)
    assert len(list(room.iterdir())) == 2
    del found, other
    assert list(room.iterdir()) == []
