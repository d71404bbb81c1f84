"""Which atoms touch the same files, and so do not run together."""

from __future__ import annotations

import pytest

from dwindle.kernel.decide import overlapping


@pytest.mark.parametrize(
    ("mine", "taken", "meet"),
    [
        ("src/a?", "src/ab", True),  # a wildcard at the end
        ("src/*/a?.py", "src/b/c.py", True),  # it might name anything below its first wildcard
        ("src/a?/b*.py", "src/ab", True),
        ("src/a[12]?.py", "src/b", True),
        ("docs//", "docs/a.md", True),
        ("/*.py", "src/a.py", False),  # outside of what the other one is in
        ("/*.py", "/etc/x", True),
    ],
)
def test_a_glob_is_the_folder_of_its_first_wildcard(mine: str, taken: str, meet: bool) -> None:
    assert overlapping((mine,), [taken]) is meet
    assert overlapping((taken,), [mine]) is meet


def test_any_two_of_them_are_enough() -> None:
    assert overlapping(("docs", "src/a.py"), ["tests", "src"])
    assert not overlapping(("docs", "src/a.py"), ["tests", "bench"])
    assert not overlapping((), ["tests"])
    assert not overlapping(("docs",), [])
