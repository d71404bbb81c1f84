"""Fifty kills of the real command: nothing is lost or done twice, no process is left over."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.loop.kill_sweep import Swept, sweep, undisturbed
from tests.loop.story import Ending

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Ending:
    return undisturbed(tmp_path_factory.mktemp("kills"))


@pytest.mark.parametrize("seed", range(5))
def test_ten_kills(seed: int, tmp_path: Path, expected: Ending) -> None:
    assert expected.stop == "completed"
    swept = sweep(tmp_path, seed, 10, expected)
    assert swept == Swept(kills=10, runs=swept.runs)
