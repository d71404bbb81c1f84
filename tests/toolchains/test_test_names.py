"""The names of tests, read from the text of a file and from nothing else."""

from __future__ import annotations

import pytest

from dwindle.toolchains.test_names import LARGEST
from dwindle.toolchains.test_names import test_names as names

PYTHON = b"""\
import unittest

def test_plain(): ...
async def test_waits(): ...
def helper():
    def test_inside(): ...

class TestTill(unittest.TestCase):
    def setUp(self): ...
    def test_sum(self): ...

    class TestInner:
        def test_deep(self): ...

    def test_after(self): ...

def test_plain(): ...  # once more
"""
NODE = b"""\
import { it, test } from "node:test";
test("adds up", () => {});
  it.skip('does not', async () => {});
test.each([1])(`takes ${x}`, f);
commit("no test");
obj.test("no test either");
"""
RUST = b"""\
pub fn no_test() {}
#[cfg(test)]
mod tests {
    #[test]
    #[should_panic(expected = "x")]
    fn panics() {}

    #[tokio::test(flavor = "multi_thread")]
    async fn waits() {}
}
"""
GO = b"package x\n\nfunc TestSum(t *testing.T) {}\nfunc helper() {}\nfunc FuzzIt(f *testing.F) {}\n"


@pytest.mark.parametrize(
    ("path", "content", "found"),
    [
        (
            "tests/test_till.py",
            PYTHON,
            (
                "test_plain",
                "test_waits",
                "TestTill::test_sum",
                "TestTill::TestInner::test_deep",
                "TestTill::test_after",
            ),
        ),
        ("src/till.py", PYTHON, ()),
        ("web/sum.test.ts", NODE, ("adds up", "does not")),
        ("src/lib.rs", RUST, ("panics", "waits")),
        ("till/sum_test.go", GO, ("TestSum", "FuzzIt")),
        ("tests/data.json", PYTHON, ()),
        ("tests/test_odd.py", b"\xff\xfedef test_no(): ...\ndef test_yes(): ...\n", ("test_yes",)),
        ("tests/test_large.py", PYTHON + b"#" * LARGEST, ()),
    ],
)
def test_what_a_file_holds(path: str, content: bytes, found: tuple[str, ...]) -> None:
    assert names(path, content) == found


def test_a_hostile_file_is_read_quickly() -> None:
    for piece, path in ((b"#[test(", "a.rs"), (b"#[test]\n", "a.rs"), (b"test('", "a.test.js")):
        assert names(path, piece * 20_000) in ((), names(path, piece * 9))
