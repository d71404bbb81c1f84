"""Manifests, laid over by table: what a project is from the worker, what steers tools from before.

Dependencies, version and descriptive fields come from the worker's file, where every dependency is
a name of the package index: a path, an URL or a git repository would bring in a program that no one
looked at. Scripts, build systems, entry points and the tables of tools stay as they were; a first
table of harmless settings for pytest is work. If the two files cannot be put together so that the
result says exactly that, the old file stays.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from dwindle.toolchains.mixed_files import begins_harmlessly, cut, may_configure_pytest, sections

Table = Mapping[str, Any]


def lay_over(name: str, ground: bytes, work: bytes, *, may_begin: bool = True) -> bytes:
    """The manifest called `name`, as a judge takes it.

    `may_begin`: a first table for pytest would not be read in place of another file's.
    """
    if ground == work or name not in _FORMATS:
        return ground
    try:
        texts = ground.decode(), work.decode()
        begins = may_begin and may_configure_pytest(name) and begins_harmlessly(name, *texts)
        return _FORMATS[name](*texts, "pytest" if begins else "(?!)").encode()
    except (ValueError, RecursionError):  # not UTF-8, no such format, or not to be put together
        return ground


# --- TOML ----------------------------------------------------------------------------------------


def _pyproject(ground: str, work: str, begun: str) -> str:
    before, after = tomllib.loads(ground), tomllib.loads(work)
    project, old = _table(after.get("project", {})), _table(before.get("project", {}))
    wanted = {key: value for key, value in project.items() if key not in _STEERING}
    wanted |= {key: old[key] for key in _STEERING if key in old}
    groups = _table(after.get("dependency-groups", {}))
    _require_names(
        [
            *project.get("dependencies", ()),
            *_all(_table(project.get("optional-dependencies", {}))),
            *(one for one in _all(groups) if not isinstance(one, dict)),
        ],
        _is_index_name,
    )
    first = {k: v for k, v in _table(after.get("tool", {})).items() if re.fullmatch(begun, k)}
    tools = {**before.get("tool", {}), **first}
    result = {**before, "project": wanted, "dependency-groups": groups, "tool": tools}
    heading = re.compile(rf"{_PROJECT_TABLE}|\[\s*tool\s*\.\s*(?:{begun})\s*[].]")
    return _spliced(ground, work, heading, _without_empty(result))


def _cargo(ground: str, work: str, _: str) -> str:
    before, after = tomllib.loads(ground), tomllib.loads(work)
    kinds = [key for key in after if key in _CARGO_KINDS]
    for kind in kinds:
        _require_names(_table(after[kind]).values(), _is_crate)
    package = {**_table(after.get("package", {}))}
    if package.get("build") != _table(before.get("package", {})).get("build"):
        raise ValueError("another build script")
    wanted = {k: v for k, v in before.items() if k not in ("package", *_CARGO_KINDS)}
    wanted |= {"package": package, **{kind: after[kind] for kind in kinds}}
    return _spliced(ground, work, _CARGO_TABLE, _without_empty(wanted))


def _spliced(ground: str, work: str, heading: re.Pattern[str], wanted: Table) -> str:
    """The tables of `work` that match, and all others of `ground`; `work` itself if it says so."""
    if _without_empty(tomllib.loads(work)) == wanted:
        return work
    _, others = cut(ground, heading)
    taken, _ = cut(work, heading)
    text = "\n".join(part.strip("\n") for part in (taken, others) if part.strip()) + "\n"
    if _without_empty(tomllib.loads(text)) != wanted:
        raise ValueError("the tables are spelt in a way that cannot be cut")
    return text


def _without_empty(table: Table) -> Table:
    return {key: value for key, value in table.items() if value}


_STEERING: Final = ("scripts", "gui-scripts", "entry-points")
_PROJECT_TABLE: Final = (
    r"\[+\s*(?:project\s*(?:\.(?!\s*(?:scripts|gui-scripts|entry-points)\b).*)?|dependency-groups)"
    r"\s*\]"
)
_CARGO_KINDS: Final = ("dependencies", "dev-dependencies", "build-dependencies")
_CARGO_TABLE: Final = re.compile(rf"\[+\s*(?:package|{'|'.join(_CARGO_KINDS)})\s*[].]")


# --- other formats -------------------------------------------------------------------------------


def _setup_cfg(ground: str, work: str, begun: str) -> str:
    before, after = sections(ground), sections(work)
    for key in ("cmdclass", "setup_requires"):
        if after.get("options", {}).get(key) != before.get("options", {}).get(key):
            raise ValueError(f"another {key}")
    extras = after.get("options.extras_require", {}).values()
    for listed in (after.get("options", {}).get("install_requires", ""), *extras):
        _require_names((one for one in listed.splitlines() if one.strip()), _is_index_name)
    chosen = re.compile(rf"metadata|options(?!\.entry_points).*|tool:(?:{begun})")
    wanted = {k: v for k, v in before.items() if not chosen.fullmatch(k)}
    wanted |= {k: v for k, v in after.items() if chosen.fullmatch(k)}
    if after == wanted:
        return work
    heading = re.compile(rf"\[\s*(?:metadata|options(?!\.entry_points)[^]]*|tool:(?:{begun}))\s*\]")
    _, others = cut(ground, heading)
    taken, _ = cut(work, heading)
    text = "\n".join(part.strip("\n") for part in (taken, others) if part.strip()) + "\n"
    if sections(text) != wanted:
        raise ValueError("the sections are spelt in a way that cannot be cut")
    return text


def _package(ground: str, work: str, _: str) -> str:
    before, after = _table(json.loads(ground)), _table(json.loads(work))
    for kind in _NODE_KINDS:
        _require_names(_table(after.get(kind, {})).values(), _is_node_range)
    wanted = {key: value for key, value in before.items() if key not in _NODE_WORK}
    merged = {key: after[key] for key in after if key in _NODE_WORK} | wanted
    if merged == after:
        return work
    in_order = {key: merged[key] for key in (*after, *before) if key in merged}
    return json.dumps(in_order, indent=2, ensure_ascii=False) + "\n"


_NODE_KINDS: Final = (
    *("dependencies", "devDependencies", "peerDependencies", "optionalDependencies"),
)
_NODE_WORK: Final = frozenset(
    {
        *_NODE_KINDS,
        *("version", "description", "keywords", "author", "contributors", "license", "homepage"),
        *("repository", "bugs", "main", "module", "types", "typings", "exports", "files"),
    }
)


# --- dependencies --------------------------------------------------------------------------------


def _require_names(found: Iterable[object], is_name: Callable[[object], bool]) -> None:
    for one in found:
        if not is_name(one):
            raise ValueError(f"{one!r} is not a name of the package index")


def _is_index_name(entry: object) -> bool:
    """`requests>=2; python_version > "3"` and its like; not `x @ file:///...`, `./x`, `-r x`."""
    return isinstance(entry, str) and bool(re.fullmatch(r"[A-Za-z0-9][^@/:\\]*", entry.strip()))


def _is_crate(entry: object) -> bool:
    if isinstance(entry, str):
        return True
    known = {"version", "features", "optional", "default-features"}
    return isinstance(entry, dict) and "version" in entry and known.issuperset(entry)


def _is_node_range(entry: object) -> bool:
    return isinstance(entry, str) and not re.search(r"[:/]", entry)


def _all(table: Table) -> list[object]:
    return [one for many in table.values() if isinstance(many, list) for one in many]


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("no table")  # noqa: TRY004 - of the file, not of ours
    return value


_FORMATS: Final[dict[str, Callable[[str, str, str], str]]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "package.json": _package,
    "Cargo.toml": _cargo,
}
"""From ground and work, and a pattern for the tables of tools that may come from the work."""
MANIFESTS: Final = frozenset(_FORMATS)
