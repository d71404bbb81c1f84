"""The environments of toolchains: folders of installed packages, which git ignores.

A fresh checkout has none of them. Either it is given the folder of the user (`share`), or a command
makes a new one in it (`setup`). Here is the knowledge of which folder belongs to which manifest,
which command fills it, and what a program prints that misses something out of it.
"""

from __future__ import annotations

import ast
import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urlsplit

SETUPS: Final = {
    ".venv": "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
    "venv": "python3 -m venv venv && venv/bin/pip install -r requirements.txt",
    "node_modules": "npm ci",
    "vendor": "composer install",
    "target": "cargo fetch",
    "deps": "mix deps.get",
}
"""Folders that tools fill, and an example of a command that does."""
FOLDERS: Final = (*SETUPS, "env", ".tox", ".nox", "build", "dist", "_build", ".gradle", "bin")

_EXTRAS: Final = ("dev", "test", "tests", "testing")
_PYTHON_MANIFESTS: Final = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
_PYTHON_LOCKS: Final = {
    "uv.lock": "uv sync --frozen",
    "poetry.lock": "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install",
    "pdm.lock": "pdm sync",
    "Pipfile.lock": "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev",
}
_REQUIREMENTS: Final = ("requirements-dev.txt", "requirements-test.txt", "requirements.txt")
_NODE_LOCKS: Final = {
    "package-lock.json": "npm ci",
    "npm-shrinkwrap.json": "npm ci",
    "yarn.lock": "yarn install --frozen-lockfile",
    "pnpm-lock.yaml": "pnpm install --frozen-lockfile",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """One toolchain that a manifest in the top folder of a repository asks for."""

    name: str
    manifest: str
    folders: tuple[str, ...] = ()
    """Where it installs, most usual first; none if it fetches what it needs by itself."""
    setup: str = ""


def toolchains_of(files: Collection[str], content: Callable[[str], bytes]) -> tuple[Toolchain, ...]:
    """`files` are those of the commit."""
    return tuple(_toolchains(files, content))


def _toolchains(files: Collection[str], content: Callable[[str], bytes]) -> Iterator[Toolchain]:
    for manifest in _PYTHON_MANIFESTS:
        if manifest in files:
            setup = _python_setup(files, content)
            yield Toolchain(
                name="python", manifest=manifest, folders=(".venv", "venv", "env"), setup=setup
            )
            break
    if "package.json" in files:
        lock = next((lock for lock in _NODE_LOCKS if lock in files), "")
        setup = _NODE_LOCKS.get(lock, "npm install --no-package-lock")
        if _has_dependencies(content("package.json")):
            folders = ("node_modules",)
            yield Toolchain(name="node", manifest="package.json", folders=folders, setup=setup)
        else:
            yield Toolchain(name="node", manifest="package.json")
    for name, manifest in (("cargo", "Cargo.toml"), ("go", "go.mod")):
        if manifest in files:
            yield Toolchain(name=name, manifest=manifest)


def _python_setup(files: Collection[str], content: Callable[[str], bytes]) -> str:
    for lock, command in _PYTHON_LOCKS.items():
        if lock in files:
            return command
    made, options = "python3 -m venv .venv && .venv/bin/pip install", []
    facts = _toml(content("pyproject.toml")) if "pyproject.toml" in files else {}
    if "project" in facts or "setup.py" in files or "setup.cfg" in files:
        extras = facts.get("project", {}).get("optional-dependencies", {})
        extra = next((name for name in _EXTRAS if name in extras), "")
        options.append(f"-e '.[{extra}]'" if extra else "-e .")
    group = next((name for name in _EXTRAS if name in facts.get("dependency-groups", {})), "")
    options += [f"--group {group}"] if group else []
    wanted = next((name for name in _REQUIREMENTS if name in files), "")
    options += [f"-r {wanted}"] if wanted else []
    return " ".join([made, *(options or ["pytest"])])


def _toml(data: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}


def _has_dependencies(data: bytes) -> bool:
    try:
        found = json.loads(data)
    except ValueError:
        return True
    keys = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
    return not isinstance(found, Mapping) or any(found.get(key) for key in keys)


# --- what a program says that misses something ---------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """What a program did not find, with the line in which it says so.

    A missing module may be what the work has yet to write; a missing program or script is no red.
    """

    line: str
    program: str = ""
    module: str = ""


_SIGNS: Final = tuple(
    map(
        re.compile,
        (
            r"No module named '?(?P<module>[\w.]+)'?",
            r"Cannot find (?:module|package) '(?P<module>[^'./][^']*)'",
            r"(?:^|[:\s])(?P<program>[\w./+-]+): (?:command )?not found",
            r"sh: (?:\d+: )?cannot open |sh: .*: No such file or directory|can't open file ",
            r"file or directory not found|No rule to make target|no makefile found",
            r"[Nn]o justfile found|does not contain recipe|Missing script:|\bError 12[67]\b",
        ),
    )
)


def missed_in(output: str) -> tuple[Missed, ...]:
    """Programs, modules and files that a command did not find, by what it printed."""
    found = []
    for line in output.splitlines():
        match = next(filter(None, (sign.search(line) for sign in _SIGNS)), None)
        if match is not None:
            found.append(Missed(line=line.strip(), **match.groupdict()))
    return tuple(found)


# --- editable installs ---------------------------------------------------------------------------


def sources_in_record(direct_url: bytes) -> Iterator[str]:
    """The folder that `direct_url.json` of an editable install names."""
    try:
        found = json.loads(direct_url)
    except ValueError:
        return
    if isinstance(found, Mapping) and isinstance(found.get("dir_info"), Mapping):
        url = urlsplit(str(found.get("url", "")))
        if found["dir_info"].get("editable") and url.scheme == "file":
            yield unquote(url.path)


def sources_in_pth(text: str) -> Iterator[str]:
    """The folders that a .pth or .egg-link file adds to Python's path."""
    for line in text.splitlines():
        if line.startswith("/"):
            yield line.strip()


def sources_in_finder(text: str) -> Iterator[str]:
    """The folders that a finder of setuptools maps packages to."""
    for match in re.finditer(r"^(?:MAPPING|NAMESPACES)\b[^=]*=\s*(\{.*\})\s*$", text, re.MULTILINE):
        try:
            found = ast.literal_eval(match[1])
        except (ValueError, SyntaxError):
            continue
        for value in found.values():
            yield from [value] if isinstance(value, str) else value


def is_inside(path: str, folder: str) -> bool:
    place = posixpath.normpath(path)
    return place == folder or place.startswith(f"{folder}/")
