"""Every table of check types has a row for each of them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dwindle.app.align.dialogue import VALUES
from dwindle.kernel.base_case import CHECK_NEEDS, COMMANDS, MECHANICAL
from dwindle.kernel.model import Check, CheckType
from dwindle.runner.gate.judgement import is_judged
from dwindle.runner.orders.prompt import SAYS


@pytest.mark.parametrize("table", [CHECK_NEEDS, SAYS, VALUES], ids=["kernel", "prompt", "dialogue"])
def test_a_table_has_every_type(table: Mapping[CheckType, str]) -> None:
    assert set(table) == set(CheckType)


def test_what_follows_from_the_table() -> None:
    assert COMMANDS == (CheckType.COMMAND, CheckType.NOT_COMMAND)
    assert MECHANICAL == (
        CheckType.COMMAND,
        CheckType.FILE,
        CheckType.NOT_COMMAND,
        CheckType.NOT_FILE,
    )


@pytest.mark.parametrize("kind", list(CheckType))
def test_a_verifier_judges_what_the_harness_cannot_decide(kind: CheckType) -> None:
    assert is_judged(Check(type=kind)) == (kind not in MECHANICAL)
