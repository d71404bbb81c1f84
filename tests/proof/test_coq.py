"""The Coq files are compiled, and nothing in them rests on an axiom."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROOF = Path(__file__).resolve().parents[2] / "proof"


def test_every_theorem_is_proved_without_axioms(
    require_tool: Callable[[str], Path], tmp_path: Path
) -> None:
    coqc = require_tool("coqc")
    for name in ("Halt.v", "Sessions.v"):
        text = (PROOF / name).read_text(encoding="utf-8")
        asked = re.findall(r"^Print Assumptions (\w+)\.$", text, re.MULTILINE)
        stated = re.findall(r"^(?:Theorem|Corollary|Example) (\w+)", text, re.MULTILINE)
        assert sorted(asked) == sorted(stated)
        shutil.copy(PROOF / name, tmp_path)
        done = subprocess.run(
            [coqc, "-q", name],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines() == ["Closed under the global context"] * len(asked)


def test_nothing_is_admitted_or_assumed() -> None:
    for file in sorted(PROOF.glob("*.v")):
        text = re.sub(r"\(\*.*?\*\)", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert re.findall(r"\b(?:Admitted|admit|Axiom|Parameter|Conjecture)\b", text) == []
