"""Where the work of a project usually lies, from the names of its files alone."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from typing import Final

from dwindle.toolchains.test_files import is_configuration, is_test

SOURCES: Final = frozenset(
    {
        *(".py", ".pyi", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".vue", ".svelte"),
        *(".rs", ".go", ".c", ".h", ".cc", ".cpp", ".hpp", ".java", ".kt", ".rb", ".php"),
        *(".sh", ".sql", ".html", ".css", ".scss", ".cs", ".swift", ".ex", ".exs", ".lua"),
    }
)
PROSE: Final = ("*.md", "*.rst", "docs/**")
_MANIFESTS: Final = {
    "pyproject.toml": "pyproject.*",
    "setup.cfg": "setup.*",
    "package.json": "package.*",
    "Cargo.toml": "Cargo.*",
}
"""A pattern for each, because a pattern hands over dependencies and metadata only."""
EVERYTHING: Final = "**"


def usual_areas(tracked: Iterable[str]) -> tuple[str, ...]:
    """Folders with sources, sources of the top folder, prose, new tests, manifests by table."""
    return tuple(dict.fromkeys(_areas(tuple(tracked)))) or (EVERYTHING,)


def _areas(tracked: tuple[str, ...]) -> Iterator[str]:
    sources = [path for path in tracked if posixpath.splitext(path)[1] in SOURCES]
    work = [path for path in sources if not is_test(path) and not is_configuration(path)]
    if not work:
        return
    for path in work:
        top, inside, _ = path.partition("/")
        if inside:
            if not top.startswith("."):
                yield f"{top}/**"
        else:
            yield f"*{posixpath.splitext(path)[1]}"
    for path in tracked:
        top, inside, _ = path.partition("/")
        if inside and is_test(f"{top}/x"):
            yield f"{top}/**"
    yield from PROSE
    for path in tracked:
        if path in _MANIFESTS:
            yield _MANIFESTS[path]
