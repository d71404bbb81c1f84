"""The names of failing tests, as the tools print them."""

from __future__ import annotations

import pytest

from dwindle.toolchains.failing import failing_tests

PYTEST = """\
E       assert 1 == 2
=========================== short test summary info ============================
FAILED tests/test_x.py::test_a - assert 1 == 2
FAILED tests/test_x.py::test_b[one two]
ERROR tests/test_y.py::test_c - fixture 'z' not found
FAILED tests/test_x.py::test_a - assert 1 == 2
2 failed, 1 error in 0.02s
"""
CARGO = "test parse::empty ... FAILED\ntest parse::full ... ok\n"
GO = "--- FAIL: TestParse (0.00s)\n    --- FAIL: TestParse/empty (0.00s)\nFAIL\n"
UNITTEST = "FAIL: test_a (tests.test_x.Case)\nERROR: test_b (tests.test_x.Case.test_b)\n"
TAP = "ok 1 - reads\nnot ok 2 - writes # time=1ms\n"
JEST = "  \u25cf totals \u203a rounds up\n"


@pytest.mark.parametrize(
    ("output", "names"),
    [
        (
            PYTEST,
            (
                "tests/test_x.py::test_a",
                "tests/test_x.py::test_b[one two]",
                "tests/test_y.py::test_c",
            ),
        ),
        (CARGO, ("parse::empty",)),
        (GO, ("TestParse", "TestParse/empty")),
        (UNITTEST, ("test_a (tests.test_x.Case)", "test_b (tests.test_x.Case.test_b)")),
        (TAP, ("writes",)),
        (JEST, ("totals \u203a rounds up",)),
        ("FAILED to open a file\nERROR 404\n", ()),
    ],
)
def test_failing_tests_are_named(output: str, names: tuple[str, ...]) -> None:
    assert failing_tests(output) == names
