"""What a guard is made of, and what a person is told about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwindle.runner.guard_files import changed, digests, uncommitted

FILES = {
    "justfile": "ci: lint\n    @sh check.sh\nlint:\n    @ruff check --config=ruff.toml src\n",
    "check.sh": "true\n",
    "ruff.toml": "\n",
    "src/a.py": "1\n",
    "Makefile": "ci:\n\tsh check.sh\n",
    "tools/ci.py": "print()\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (("just", "ci"), ["justfile", "check.sh", "ruff.toml"]),
        (("make", "ci"), ["Makefile", "check.sh"]),
        (("sh", "check.sh"), ["check.sh"]),
        (("sh", "-c", "cd . && python tools/ci.py --all"), ["tools/ci.py"]),
        (("./check.sh",), ["check.sh"]),
        (("true",), []),
        (("sh", "-c", "unbalanced 'quote; sh check.sh"), ["check.sh"]),
    ],
)
def test_the_files_that_a_guard_rests_on(
    checkout: Path, command: tuple[str, ...], found: list[str]
) -> None:
    assert list(digests(command, checkout)) == found


def test_nothing_outside_and_nothing_odd_is_read(checkout: Path) -> None:
    (checkout.parent / "outside.sh").write_text("x")
    odd = ("sh", "../outside.sh", "/etc/passwd", "a\0b", "x" * 5000, "src")
    assert digests(odd, checkout) == {}


def test_a_change_is_told_and_a_new_file_is_none(checkout: Path) -> None:
    before = digests(("just", "ci"), checkout)
    (checkout / "justfile").write_text(FILES["justfile"] + "    @sh src/a.py\n")
    (checkout / "check.sh").unlink()
    after = digests(("just", "ci"), checkout)
    assert list(changed(before, after)) == [
        "what the guard is made of was changed in this iteration: justfile, check.sh"
    ]
    assert list(changed(after, after)) == []


def test_what_is_in_no_commit_is_told() -> None:
    assert list(uncommitted(())) == []
    assert list(uncommitted(["a", "b", "c", "d", "e", "f", "g"])) == [
        "the guard rests on what git ignores, and no commit has: a, b, c, d, e and 2 more"
    ]
