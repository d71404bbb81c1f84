"""The repository keeps its own promises: links lead somewhere, layers hold, nothing local leaks."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Written with brackets, so that this file does not find itself. No user has /home/me.
LEAKS = {
    "a package index": r"pypi[.]org|python[h]osted|registry[.]npmjs|artifac[t]ory",
    "an index option": r"--(extra-)?index[-]url|--find[-]links|--trusted[-]host",
    "a home directory": r"(?<![\w.])/(home|Users)/(?!me\b)\w|(?<![\w.])/roo[t]/",
    "a build machine": r"(?<![\w.])/(work|opt|builds)/\w",
    "a folder outside": r"[.][.]/share[d]",
}
LOCK_FILES = r"(.*\.lock|.*-lock\.(json|ya?ml)|.*\.lockb|npm-shrinkwrap\.json)"
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?:|mailto:)([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
MADE = re.compile(r"(?:^|`)make +([a-z][a-z -]*[a-z])", re.MULTILINE)
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)


@pytest.fixture(scope="module")
def files(require_tool: Callable[[str], Path]) -> list[Path]:
    """Everything that is tracked or would be."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        [require_tool("git"), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    return sorted(
        ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()
    )


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def pages(files: list[Path]) -> list[Path]:
    """Markdown for readers; what tests feed to decoders is not meant to be read."""
    return [path for path in files if path.suffix == ".md" and ROOT / "tests" not in path.parents]


def anchors(page: Path) -> list[str]:
    titles = HEADING.findall(FENCE.sub("", text_of(page)))
    return [re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles]


def targets() -> list[str]:
    return TARGET.findall(text_of(ROOT / "Makefile"))


def leaks(text: str) -> list[str]:
    return [
        f"{number}: {what}: {line.strip()}"
        for number, line in enumerate(text.splitlines(), start=1)
        for what, pattern in LEAKS.items()
        if re.search(pattern, line)
    ]


def test_nothing_local_leaks(files: list[Path]) -> None:
    assert ROOT / "README.md" in files
    found = [f"{relative(path)}:{leak}" for path in files for leak in leaks(text_of(path))]
    assert found == []


def test_a_leak_is_found() -> None:
    lines = ["fine: examples/home/x", "see /ho" + "me/ada/plan", "-" + "-index" + "-url x"]
    assert leaks("\n".join(lines)) == [
        f"2: a home directory: {lines[1]}",
        f"3: an index option: {lines[2]}",
    ]


def test_there_are_no_lock_files(files: list[Path]) -> None:
    assert [relative(path) for path in files if re.fullmatch(LOCK_FILES, path.name)] == []


def test_constraints_are_exact_pins_and_nothing_else() -> None:
    lines = text_of(ROOT / "constraints.txt").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    exact = re.compile(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.]*( ; .+)?")
    assert [pin for pin in pins if not exact.fullmatch(pin)] == []
    names = [pin.partition("==")[0].lower() for pin in pins]
    assert names == sorted(set(names))


def test_links_lead_somewhere(files: list[Path]) -> None:
    broken = []
    for page in pages(files):
        for link in LINK.findall(FENCE.sub("", text_of(page))):
            path, _, anchor = link.partition("#")
            goal = (page.parent / path).resolve() if path else page
            if not goal.exists():
                broken.append(f"{relative(page)}: {link}")
            elif anchor and anchor not in anchors(goal):
                broken.append(f"{relative(page)}: {link} (no such heading)")
    assert broken == []


def test_pages_name_only_make_targets_that_exist(files: list[Path]) -> None:
    known = targets()
    named = [
        (relative(page), name)
        for page in pages(files)
        for names in MADE.findall(text_of(page))
        for name in names.split()
    ]
    assert ("README.md", "ci") in named
    assert [(page, name) for page, name in named if name not in known] == []


def test_scripts_name_only_tests_that_exist() -> None:
    """With several workers, pytest says of a file that is gone no more than that no test ran."""
    scripts = (ROOT / "Makefile", *sorted((ROOT / ".ci").iterdir()))
    named = {
        (script.name, name)
        for script in scripts
        for name in re.findall(r"(?<![\w/])tests/[\w/.]+", text_of(script))
    }
    assert ("ordinary-user", "tests/adapters/sandbox") in named
    assert [(script, name) for script, name in sorted(named) if not (ROOT / name).exists()] == []


def test_make_lists_every_target_with_a_sentence() -> None:
    listed = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    assert [line.split()[1] for line in listed.stdout.splitlines()] == targets()


def test_the_changelog_has_a_place_for_the_next_change() -> None:
    assert "Unreleased" in HEADING.findall(text_of(ROOT / "CHANGELOG.md"))


def test_decisions_are_numbered_and_have_three_parts() -> None:
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [path.name[:4] for path in decisions]
    assert numbers == [f"{number:04d}" for number in range(1, len(decisions) + 1)]
    for path in decisions:
        titles = HEADING.findall(text_of(path))
        assert titles[0].startswith(f"{path.name[:4]}: "), path.name
        assert titles[1:] == ["Context", "Decision", "Consequences"], path.name


def test_every_ignored_lint_rule_says_why() -> None:
    rule = re.compile(r'^ +"[A-Z]+[0-9]*", *(?P<why># .+)?$', re.MULTILINE)
    config = text_of(ROOT / "pyproject.toml")
    silent = [match.group() for match in rule.finditer(config) if match["why"] is None]
    assert rule.search(config)
    assert silent == []


def modules() -> dict[str, ast.Module]:
    """Every module of the package, parsed, by its dotted name."""
    source = ROOT / "src"
    found = {}
    for path in sorted(source.glob("dwindle/**/*.py")):
        name = ".".join(path.relative_to(source).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = ast.parse(text_of(path))
    return found


def imported(tree: ast.Module, known: dict[str, ast.Module]) -> Iterator[str]:
    """Modules of ours that a module imports: at its top, in functions and for type checking."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in known else node.module for name in names)


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """The names along one cycle; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_leads_back_to_itself_by_its_imports() -> None:
    known = modules()
    assert cycle({name: set(imported(tree, known)) for name, tree in known.items()}) == []


def test_a_cycle_of_imports_is_found() -> None:
    source = {
        "a": "import b",
        "b": "def call():\n    from c import answer\n    return answer()",
        "c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a",
        "d": "import a",
    }
    known = {name: ast.parse(text) for name, text in source.items()}
    found = cycle({name: set(imported(tree, known)) for name, tree in known.items()})
    assert set(found) == {"a", "b", "c"}


WIRE = "dwindle.adapters.formats.graph.wire"
"""Has the file's own shape of each class of the kernel's model, is used as `wire.Atom`, and names
the definitions of the published JSON Schema: the same words on purpose."""


def test_no_two_modules_have_a_class_of_the_same_name() -> None:
    homes: dict[str, list[str]] = {}
    for name, tree in modules().items():
        for node in ast.walk(tree) if name != WIRE else ():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(name)
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def lint_imports(root: Path) -> tuple[int, str]:
    """The import linter on the sources below `root`."""
    ended = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "NO_COLOR": "1"},
        capture_output=True,
        check=False,
        text=True,
    )
    return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_imports_point_inward(copy: Path) -> None:
    code, said = lint_imports(copy)
    assert code == 0, said


@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("kernel/model.py", "import time", "The kernel has no clock, no chance and no I/O"),
        ("kernel/model.py", "import dwindle.runner", "Dependencies point inward"),
        ("runner/__init__.py", "import dwindle.adapters", "Dependencies point inward"),
        ("stray.py", "", "Dependencies point inward"),
        (
            "adapters/formats/__init__.py",
            "import dwindle.adapters.store",
            "Adapters do not know each other",
        ),
    ],
)
def test_an_import_that_points_outward_is_found(
    copy: Path, file: str, line: str, broken: str
) -> None:
    with (copy / "src" / "dwindle" / file).open("a", encoding="utf-8") as source:
        source.write(f"\n{line}\n")
    code, said = lint_imports(copy)
    assert code == 1
    assert f"{broken} BROKEN" in said
