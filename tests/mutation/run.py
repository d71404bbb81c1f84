"""`make mutation`: does any test notice when the kernel is changed?

    python -m tests.mutation.run                      every mutant of the kernel
    python -m tests.mutation.run --module pace        of one module (may be given again)
    python -m tests.mutation.run --sample 1000        so many, from every module its share
    python -m tests.mutation.run --again              only those that survived the last time

Ends with 1 if fewer than 90 % were noticed, or one survived that `survivors.md` does not explain.
What came of each is kept in build/mutation.json.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from tests.mutation.mutants import Mutant, mutants
from tests.mutation.survivors import explained

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "src" / "dwindle" / "kernel"
KEPT = ROOT / "build" / "mutation.json"
LEAST = 90.0


def of_the_kernel(modules: Sequence[str] = ()) -> list[Mutant]:
    return [
        mutant
        for path in sorted(KERNEL.glob("*.py"))
        if not modules or path.stem in modules
        for mutant in mutants(path.stem, path.read_text(encoding="utf-8"))
    ]


def sample(all_of_them: Sequence[Mutant], size: int, seed: int) -> list[Mutant]:
    """From every module its share, rounded up; the same ones for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - dice, no secrets
    by_module: dict[str, list[Mutant]] = {}
    for mutant in all_of_them:
        by_module.setdefault(mutant.module, []).append(mutant)
    return [
        mutant
        for found in by_module.values()
        for mutant in sorted(
            chance.sample(found, min(len(found), -(-size * len(found) // len(all_of_them)))),
            key=lambda m: m.number,
        )
    ]


class Tally:
    """What came of each mutant, told as it comes."""

    def __init__(self, total: int, out: TextIO = sys.stdout) -> None:
        self.total, self.out, self.started = total, out, time.monotonic()
        self.came: dict[str, tuple[Mutant, str, str]] = {}

    def say(self, text: str) -> None:
        self.out.write(f"{text}\n")
        self.out.flush()

    def told(self, mutant: Mutant, what: str, by: str) -> None:
        self.came[mutant.key] = (mutant, what, by)
        if what == "survived":
            self.say(f"survived: {mutant.key}  (line {mutant.lines[0]})")
        if len(self.came) % 100 == 0:
            self.say(f"{len(self.came)} of {self.total}, {self.seconds} s")

    @property
    def seconds(self) -> int:
        return round(time.monotonic() - self.started)

    @property
    def survivors(self) -> list[str]:
        return [key for key, (_, what, _) in self.came.items() if what == "survived"]

    @property
    def score(self) -> float:
        return 100 - 100 * len(self.survivors) / len(self.came)

    def table(self) -> str:
        row = "{:<14}{:>9}{:>9}{:>10}{:>10}{:>9}"
        rows = [row.format("module", "mutants", "killed", "by time", "survived", "score")]
        modules = dict.fromkeys(m.module for m, _, _ in self.came.values())
        for module in (*modules, "all"):
            ends = [what for m, what, _ in self.came.values() if module in (m.module, "all")]
            survived, late = ends.count("survived"), ends.count("timed out")
            killed = len(ends) - survived
            score = f"{100 * killed / len(ends):.1f}%"
            rows.append(row.format(module, len(ends), killed, late, survived, score))
        return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _arguments(arguments)
    wanted = of_the_kernel(asked.module)
    if asked.again:
        last = json.loads(KEPT.read_text(encoding="utf-8"))
        wanted = [m for m in wanted if last.get(m.key, ["survived"])[0] == "survived"]
    if asked.sample:
        wanted = sample(wanted, asked.sample, asked.seed)
    tally = Tally(len(wanted), os.fdopen(os.dup(1), "w"))  # pytest has the other one
    from tests.mutation import forking  # noqa: PLC0415 - slow, and --help should not wait for it

    forking.at_the_top(KERNEL, [m for m in wanted if not m.in_body], tally.told, asked.jobs)
    code = forking.in_bodies(KERNEL, [m for m in wanted if m.in_body], tally.told, asked.jobs)
    if code or len(tally.came) < len(wanted):
        tally.say(
            f"{len(tally.came)} of {len(wanted)} mutants were tried; pytest ended with {code}"
        )
        return 2
    if not wanted:
        tally.say("no mutants")
        return 0
    _keep(tally)
    return judge(tally, explained())


def judge(tally: Tally, known: Mapping[str, str]) -> int:
    unexplained = [key for key in tally.survivors if key not in known]
    tally.say(tally.table())
    tally.say(
        f"runs {len(tally.came)}, killed {len(tally.came) - len(tally.survivors)}, survivors "
        f"{len(tally.survivors)}, of which not explained {len(unexplained)}; score "
        f"{tally.score:.1f} %; {tally.seconds} s"
    )
    for key in unexplained:
        tally.say(f"not explained in tests/mutation/survivors.md: {key}")
    for key in known:
        if key in tally.came and key not in tally.survivors:
            tally.say(f"explained there, but it was killed: {key}")
    if tally.score < LEAST:
        tally.say(f"{tally.score:.1f} % is less than {LEAST:.0f} %")
    return int(bool(unexplained) or tally.score < LEAST)


def _keep(tally: Tally) -> None:
    KEPT.parent.mkdir(exist_ok=True)
    last = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    last |= {key: [what, by] for key, (_, what, by) in tally.came.items()}
    KEPT.write_text(json.dumps(last, indent=0), encoding="utf-8")


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--module", action="append", default=[], help="only mutants of this one")
    parser.add_argument("--sample", type=int, default=0, help="only so many")
    parser.add_argument("--seed", type=int, default=0, help="which ones: same seed, same mutants")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default 1)")
    parser.add_argument("--again", action="store_true", help="only survivors of the last time")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
