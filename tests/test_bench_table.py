"""`bench/run.py` on folders of made-up benchmarks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / "bench" / "run.py"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    shutil.copy(RUN, tmp_path)
    return tmp_path


def run(bench: Path, *names: str) -> tuple[int, str, list[str]]:
    ended = subprocess.run(
        [sys.executable, str(bench / "run.py"), *names], capture_output=True, text=True, check=False
    )
    said = [line for line in ended.stderr.splitlines() if not line.startswith("running ")]
    return ended.returncode, ended.stdout, said


def test_measurements_become_one_table(bench: Path) -> None:
    (bench / "save.py").write_text("print('save-10k 1.25 ms ratio=0.0125 limit=0.02')")
    (bench / "load.py").write_text("print('warming up')\nprint('load-10k 80 ms ratio=1.1 of=yaml')")
    assert run(bench) == (
        0,
        (
            "script  what      value    ratio   limit\n"
            "load    load-10k  80 ms    1.1\n"
            "save    save-10k  1.25 ms  0.0125  0.02\n"
        ),
        [],
    )


def test_a_ratio_over_its_limit_fails(bench: Path) -> None:
    (bench / "save.py").write_text("print('save 9 ms ratio=4 limit=3')")
    assert run(bench) == (
        1,
        "script  what  value  ratio  limit\nsave    save  9 ms   4      3      over\n",
        ["save: ratio 4 is over 3"],
    )


def test_a_script_that_fails_or_measures_nothing_is_named(bench: Path) -> None:
    (bench / "silent.py").write_text("print('x 1 ms'); print('y one ms ratio=1')")
    (bench / "broken.py").write_text("print('x 1 ms ratio=1'); raise SystemExit(3)")
    code, _, said = run(bench)
    assert (code, said) == (1, ["broken ended with 3", "silent measured nothing"])


def test_only_the_named_ones_run(bench: Path) -> None:
    (bench / "one.py").write_text("print('one 1 ms ratio=1')")
    (bench / "two.py").write_text("raise SystemExit(1)")
    assert run(bench, "one")[0] == 0
    assert run(bench, "three") == (2, "", ["no such benchmark: three"])


def test_what_several_of_them_use_is_no_benchmark(bench: Path) -> None:
    (bench / "_shared.py").write_text("raise SystemExit(1)")
    (bench / "one.py").write_text("print('one 1 ms ratio=1')")
    assert run(bench)[0] == 0
    assert run(bench, "_shared") == (2, "", ["no such benchmark: _shared"])
