"""The case folder gives the same bytes under any hash seed, locale and time zone.

Sets iterate in the order of their hashes, and the hash of a string differs from one process to
the next; a kernel that let such an order through would decide one thing today and another
tomorrow. Each environment is a process of its own, since a seed is drawn when Python starts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parent.parent
ENVIRONMENTS = (
    {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC", "PYTHONUTF8": "0"},
    {"PYTHONHASHSEED": "4242", "LC_ALL": "C.UTF-8", "TZ": "Pacific/Kiritimati", "PYTHONUTF8": "1"},
)


def bytes_told(environment: dict[str, str]) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernel.case_bytes"],
        cwd=HOME,
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def test_every_case_gives_the_same_bytes_everywhere() -> None:
    first, second = (bytes_told(environment) for environment in ENVIRONMENTS)
    stories = len(list((HOME / "tests" / "cases").glob("*.yaml")))
    assert first.count(b"\n=== ") + first.startswith(b"=== ") == stories
    assert first == second


def test_the_environments_would_show_a_set_that_leaks() -> None:
    """Otherwise the test above could not fail."""
    orders = {
        subprocess.run(
            [sys.executable, "-c", "print({f'A{n}' for n in range(20)})"],
            env={**os.environ, **environment},
            capture_output=True,
            check=True,
        ).stdout
        for environment in ENVIRONMENTS
    }
    assert len(orders) == len(ENVIRONMENTS)
