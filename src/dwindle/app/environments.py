"""Which ignored environment of the checkout a fresh one lacks, and the settings that provide it."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dwindle.adapters.formats.config.insert import with_values
from dwindle.adapters.formats.config.settings import WorkspaceSettings
from dwindle.adapters.store.disk import DurableFile, RealDisk, make_directory
from dwindle.app.settings import SETTINGS_FILE
from dwindle.toolchains.environments import (
    FOLDERS,
    Missed,
    Toolchain,
    is_inside,
    sources_in_finder,
    sources_in_pth,
    sources_in_record,
    toolchains_of,
)

MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Provision:
    """Lines for `[workspace]` that give fresh checkouts an environment, and why these."""

    why: str
    share: tuple[str, ...] = ()
    setup: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """As they stand in the settings."""
        share = f"share = {json.dumps(self.share, ensure_ascii=False)}"
        setup = f"setup = {json.dumps(self.setup, ensure_ascii=False)}"
        return ("[workspace]", *([share] if self.share else []), *([setup] if self.setup else []))


def detected_toolchains(root: Path, files: Collection[str]) -> tuple[Toolchain, ...]:
    """By the manifests that are in the commit."""

    def content(name: str) -> bytes:
        try:
            with (root / name).open("rb") as file:
                return file.read(MOST_BYTES)
        except OSError:
            return b""

    return toolchains_of(files, content)


def provision_for(
    toolchain: Toolchain, root: Path, ignored: Collection[str], has: WorkspaceSettings
) -> Provision | None:
    """What a toolchain lacks in a fresh checkout; None if nothing is known to be missing."""
    if has.setup or not toolchain.folders:
        return None
    folder = next((f for f in toolchain.folders if f in ignored and (root / f).is_dir()), "")
    if folder in has.share and folder:
        return None
    if not folder:
        why = f"{toolchain.manifest} asks for packages, and a fresh checkout has none installed"
        return Provision(why=why, setup=toolchain.setup)
    why = f"git ignores {folder}, and a fresh checkout has none of it"
    if sources := editable_sources(root / folder, root):
        why += (
            f"; it cannot be shared: {sources[0]} is installed as editable, "
            "so that your checkout would be imported instead of the work"
        )
        return Provision(why=why, setup=toolchain.setup)
    return Provision(why=why, share=(*has.share, folder))


def provision_of_missed(
    missed: Iterable[Missed], root: Path, ignored: Sequence[str], has: WorkspaceSettings
) -> tuple[str, ...]:
    """The ignored folders, not shared, in which something that was missed is installed."""
    folders = [f for f in suspects(ignored, root, known_only=True) if f not in has.share]
    return tuple(folder for folder in folders if any(_holds(root, folder, one) for one in missed))


def _holds(root: Path, name: str, missed: Missed) -> bool:
    """Is what was missed installed in this environment?"""
    folder, program, module = root / name, missed.program, missed.module
    places: list[Path] = []
    if "/" in program:
        places += [root / program] if is_inside(program, name) else []
    elif program:
        places += [folder / "bin" / program, folder / ".bin" / program]
    if module:
        top = module.partition(".")[0]
        places += [folder / module] if folder.name == "node_modules" else []
        for packages in site_packages(folder):
            places += [packages / top, packages / f"{top}.py"]
    return any(os.path.lexists(place) for place in places)


def site_packages(venv: Path) -> tuple[Path, ...]:
    return tuple(sorted(venv.glob("lib*/python*/site-packages")))


def editable_sources(venv: Path, checkout: Path) -> tuple[str, ...]:
    """The folders of the checkout that a virtual environment imports in place."""
    if not (venv / "pyvenv.cfg").is_file():
        return ()
    tops = {os.path.realpath(checkout), str(checkout)}
    inside = os.path.realpath(venv)
    found = dict.fromkeys(
        source
        for source in _sources(venv)
        if any(is_inside(source, top) for top in tops) and not is_inside(source, inside)
    )
    return tuple(found)


def _sources(venv: Path) -> Iterator[str]:
    for packages in site_packages(venv):
        for path in sorted(packages.glob("*.dist-info/direct_url.json")):
            yield from sources_in_record(_bytes(path))
        for path in sorted((*packages.glob("*.pth"), *packages.glob("*.egg-link"))):
            yield from sources_in_pth(_bytes(path).decode("utf-8", "replace"))
        for path in sorted(packages.glob("__editable__*_finder.py")):
            yield from sources_in_finder(_bytes(path).decode("utf-8", "replace"))


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES)
    except OSError:
        return b""


def suspects(ignored: Iterable[str], root: Path, *, known_only: bool = False) -> list[str]:
    """The ignored paths that look like an environment; if none does, all of them."""
    paths = [path.rstrip("/") for path in ignored]
    known = [folder for path in paths if (folder := _folder(path, root))]
    return list(dict.fromkeys(known or ([] if known_only else paths)))


def _folder(path: str, root: Path) -> str:
    """The folder of a tool that a path is or lies in."""
    parts = path.split("/")
    for depth, name in enumerate(parts, 1):
        top = "/".join(parts[:depth])
        if name in FOLDERS or (root / top / "pyvenv.cfg").is_file():
            return top
    return ""


def write_provision(root: Path, provision: Provision) -> bool:
    """Write it into the settings, durably; False if that file is too unusual to be edited."""
    from dwindle.app.init.scaffold import settings_text  # noqa: PLC0415 - seldom needed

    disk = RealDisk()
    file = DurableFile(disk, root / SETTINGS_FILE)
    before = file.read().decode("utf-8", "replace") if file.exists() else settings_text()
    values: dict[str, str | tuple[str, ...]] = {}
    if provision.share:
        values["share"] = provision.share
    if provision.setup:
        values["setup"] = provision.setup
    after = with_values(before, "workspace", values)
    if after is None:
        return False
    make_directory(disk, file.path.parent)
    file.replace(after.encode())
    return True
