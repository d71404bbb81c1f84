"""Tests, and files that configure a tool which judges code, told by their names.

A judge that knows where workers may work needs these names only for files inside of that place: a
pattern such as `src/**` does not hand over the tests that lie among the sources. All names of all
tools count, whatever the commands say: a name too many is a file that has to be named by itself.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection
from typing import Final

_TEST_FOLDER: Final = re.compile(r"(?:__tests__|(?:.*[_-])?(?:tests?|specs?)|e2e)")
_TEST_FILE: Final = re.compile(r"(?:tests?(?:[_.-].*)?\.[a-z]+|.*[_.-](?:tests?|spec)\.[a-z]+)")
_CONFIGURATION: Final = re.compile(
    # Python
    r"conftest\.py|\.?pytest\.(?:ini|toml)|tox\.(?:ini|toml)|noxfile\.py|setup\.(?:py|cfg)"
    r"|pyproject\.toml|(?:site|user)customize\.py|\.?mypy\.ini|\.?ruff\.toml|\.flake8|\.pylintrc"
    r"|\.coveragerc|entry_points\.txt"
    # JavaScript
    r"|package\.json|\.npmrc|\.pnpmfile\.cjs|\.yarnrc(?:\.yml)?|[^/]+\.config\.[cm]?[jt]s(?:on)?"
    r"|[^/]+\.config\.json|vitest\.workspace\.[^/]+|[jt]sconfig(?:\.[^/]+)?\.json|\.taprc|\.swcrc"
    r"|\.(?:mocha|babel|eslint|nyc|c8|prettier)rc(?:\.[^/]+)?|\.babelrc|babel\.config\.[^/]+"
    # Rust, Go, and recipes of any language
    r"|Cargo\.toml|build\.rs|rust-toolchain(?:\.toml)?|nextest\.toml|go\.(?:mod|work)"
    r"|(?:GNU)?[Mm]akefile(?:\.[^/]+)?|[^/]+\.mk|\.?[Jj]ustfile|JUSTFILE|[^/]+\.just|Rakefile"
    r"|CMakeLists\.txt|Dockerfile|Jenkinsfile|\.env(?:\.[^/]+)?"
)
_CONFIGURATION_PATH: Final = re.compile(r"(?:.*/)?\.cargo/.*|(?:.*/)?node_modules/.*")
_TOOL_MODULE: Final = re.compile(
    r"(?:.*/)?(?:pytest|_pytest|pluggy|iniconfig|unittest|coverage|doctest)(?:\.py|/.*\.py)"
)
AS_ALIGNED: Final = frozenset({".gitattributes", ".gitmodules"})
"""They change what other files are."""


def is_test(path: str) -> bool:
    """A test, or a file that lies among tests."""
    folders = path.split("/")[:-1]
    name = posixpath.basename(path)
    return bool(_TEST_FILE.fullmatch(name)) or any(map(_TEST_FOLDER.fullmatch, folders))


def is_configuration(path: str) -> bool:
    """A file that tells a tool what to run and what to make of it."""
    name = posixpath.basename(path)
    if name in AS_ALIGNED or _CONFIGURATION.fullmatch(name):
        return True
    return _CONFIGURATION_PATH.fullmatch(path) is not None


def decides(path: str) -> bool:
    """A tool that judges code runs it, or reads it first."""
    return is_test(path) or is_configuration(path) or _TOOL_MODULE.fullmatch(path) is not None


def is_bytecode(path: str) -> bool:
    """Compiled Python: it may differ from what its source says."""
    return path.endswith((".pyc", ".pyo")) or "__pycache__" in path.split("/")


def is_package(path: str) -> bool:
    return posixpath.basename(path) == "__init__.py"


def shadows(path: str, packages: Collection[str], standard: Collection[str]) -> bool:
    """Would Python take it for a module of its own library?

    `packages` are the folders of packages: a module in one of them is imported by another name.
    `standard` are the modules of Python's library.
    """
    folder, name = posixpath.split(path.removesuffix("/__init__.py"))
    stem = name.removesuffix(".py")
    is_module = name.endswith(".py") or is_package(path)
    return is_module and folder not in packages and stem in standard
