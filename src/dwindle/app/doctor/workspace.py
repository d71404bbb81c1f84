"""What `dwindle doctor` says of fresh checkouts: can git make them, and what would they lack?"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from dwindle.adapters.formats.config.settings import Settings
from dwindle.adapters.git.in_place.run_branch import ignored_in
from dwindle.adapters.git.repository import Repository, find
from dwindle.adapters.git.worktrees.provision import check_share
from dwindle.app.doctor.diagnosis import Diagnosis, Severity
from dwindle.app.environments import detected_toolchains, editable_sources, provision_for
from dwindle.app.settings import SETTINGS_FILE
from dwindle.ports.workspace import WorkspaceFailed

WRITTEN = ("", "objects", "refs", "refs/heads", "worktrees")
"""What a run writes to, of git's own folder."""
EDITABLE = (
    "use [workspace] setup instead of share, so that each checkout has its own; or put"
    " PYTHONPATH=src (or where the packages are) before the commands of the checks"
)


def git_folder_trouble(repository: Repository) -> Diagnosis | None:
    """A run makes commits and work trees: git's own folder has to be writable."""
    places = [repository.common / name for name in WRITTEN]
    places += [repository.checkout / ".runner", repository.checkout / ".claude"]
    closed = [path for path in places if path.exists() and not os.access(path, os.W_OK)]
    if not closed:
        return None
    what = f"{closed[0]} cannot be written to, and a run keeps its work there"
    hint = "is it owned by another user, or on a disk that is mounted read-only?"
    return Diagnosis(name="repository", state=Severity.WRONG, what=what, hint=hint)


def workspace_findings(settings: Settings, root: Path) -> Iterator[Diagnosis]:
    """What is shared, and what a toolchain of this repository would need."""
    try:
        repository = asyncio.run(find(root))
        yield from _share(settings, repository)
        files = asyncio.run(_files(repository))
        ignored = tuple(path.rstrip("/") for path in asyncio.run(ignored_in(repository.git)))
    except (WorkspaceFailed, FileNotFoundError):
        return  # the finding about the repository says so
    for toolchain in detected_toolchains(root, files):
        found = provision_for(toolchain, root, ignored, settings.workspace)
        name = f"{toolchain.name} ({toolchain.manifest})"
        if found is None:
            how = "fetches what it needs by itself" if not toolchain.folders else "is provided for"
            yield Diagnosis(name="toolchain", state=Severity.OK, what=f"{name} {how}")
        else:
            hint = f"for {SETTINGS_FILE}: {' '.join(found.lines)}"
            yield Diagnosis(
                name="toolchain", state=Severity.NOTE, what=f"{name}: {found.why}", hint=hint
            )


async def _files(repository: Repository) -> frozenset[str]:
    return frozenset(await repository.files(await repository.head()))


def _share(settings: Settings, repository: Repository) -> Iterator[Diagnosis]:
    share, root = settings.workspace.share, repository.checkout
    if not share:
        return
    try:
        asyncio.run(check_share(repository, share))
    except WorkspaceFailed as error:
        yield Diagnosis(name="share", state=Severity.WRONG, what=str(error))
        return
    if missing := [name for name in share if not (root / name).exists()]:
        what = f"{', '.join(missing)} is not there, so that no fresh checkout gets it"
        hint = f"make it, or take it out of [workspace] share in {SETTINGS_FILE}"
        yield Diagnosis(name="share", state=Severity.WRONG, what=what, hint=hint)
        return
    for name in share:
        if sources := editable_sources(root / name, root):
            yield Diagnosis(
                name="share",
                state=Severity.NOTE,
                what=f"{name} has {sources[0]} installed as editable: "
                "checks import your checkout instead of the work",
                hint=EDITABLE,
            )
            return
    yield Diagnosis(name="share", state=Severity.OK, what=", ".join(share))
