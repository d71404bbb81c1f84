"""What a test is, what configures a tool, and where work usually lies."""

from __future__ import annotations

import pytest

from dwindle.toolchains.test_files import decides, is_configuration, is_test
from dwindle.toolchains.work_areas import usual_areas


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_a.py",
        "tests/__init__.py",
        "src/pkg/test_b.py",
        "pkg/a_test.go",
        "src/a.spec.ts",
        "src/__tests__/a.js",
        "crates/x/tests/it.rs",
        "integration-tests/a.sh",
    ],
)
def test_tests_and_what_lies_among_them(path: str) -> None:
    assert is_test(path)
    assert decides(path)


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py",
        "src/conftest.py",
        "Makefile",
        "Makefile.sh",
        "rules.mk",
        "babel.config.js",
        "vite.config.mts",
        ".coveragerc",
        ".gitattributes",
        ".babelrc",
        "node_modules/.bin/jest",
        ".cargo/config.toml",
        "tsconfig.build.json",
        "setup.py",
        "build.rs",
    ],
)
def test_what_configures_a_tool(path: str) -> None:
    assert is_configuration(path)
    assert decides(path)


@pytest.mark.parametrize(
    "path",
    [
        "models/weights.pth",
        "docs/pytest/guide.md",
        "src/latest.py",
        "src/contest.py",
        "a/data.toml",
    ],
)
def test_plain_files(path: str) -> None:
    assert not decides(path)


def test_a_module_with_the_name_of_a_tool_decides() -> None:
    assert decides("src/pytest.py")
    assert decides("src/unittest/case.py")


def test_a_typical_python_project() -> None:
    files = ["pyproject.toml", "README.md", "pkg/a.py", "tests/test_a.py", "setup.py", ".x/y.py"]
    assert usual_areas(files) == (
        *("pkg/**", "tests/**", "*.md", "*.rst", "docs/**", "pyproject.*"),
    )


def test_scripts_in_the_top_folder_and_other_languages() -> None:
    assert usual_areas(["run.sh", "src/a.ts", "package.json", "vite.config.ts"]) == (
        *("*.sh", "src/**", "*.md", "*.rst", "docs/**", "package.*"),
    )


def test_a_repository_without_sources_is_all_work() -> None:
    assert usual_areas(["README.md", "Makefile"]) == ("**",)
