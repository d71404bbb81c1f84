"""kill -9 of the real command, again and again, at moments drawn from a seed; then it is looked at.

    python -m tests.loop.kill_sweep KILLS [SEED]

A moment is a number: the runner is killed before the so-manyth thing that it does to the world, or
after so many milliseconds while agents are at work. Each kill is followed by another start; a plan
that is completed is followed by a new one, until there were enough.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.adapters.sandbox.survivors import new_token, put_down, survivors_after
from tests.loop.story import PATIENCE, Ending, Story
from tests.loop.test_killed_runner import (
    a_plan_of_everything,
    assert_nothing_was_redone,
    assert_only_ever_more,
    told,
)
from tests.surfaces.command import PLAIN

DYING = str(Path(__file__).with_name("dying_runner.py"))
HUNG = 124
"""Stands for the exit code of a run that came to no end."""
PART = 50
"""Kills from one seed."""
MOST_ACTS = (150, 900)
"""To take up what a killed runner left takes up to a hundred and fifty acts, a whole run some
thousand and a half: so half of the kills hit the start, and most of the others the loop."""


@dataclass(slots=True)
class Swept:
    """What came of it."""

    kills: int = 0
    runs: int = 0
    survivors: int = 0
    violations: list[str] = field(default_factory=list)

    def add(self, other: Swept) -> None:
        self.kills += other.kills
        self.runs += other.runs
        self.survivors += other.survivors
        self.violations += other.violations

    def __str__(self) -> str:
        return (
            f"{self.kills} kills of {self.runs} runs, {self.survivors} survivors,"
            f" {len(self.violations)} violations"
        )


def undisturbed(folder: Path) -> Ending:
    """What every one of them must come to."""
    return told(a_plan_of_everything(folder / "undisturbed", new_token()).run())


def sweep(folder: Path, seed: int, kills: int, expected: Ending) -> Swept:
    swept, token = Swept(), new_token()
    chance = random.Random(f"kills {seed}")  # noqa: S311 - chance that can be repeated
    try:
        while swept.kills < kills:
            story = a_plan_of_everything(folder / f"killed-{swept.runs}", token).aligned()
            swept.runs += 1
            while swept.kills < kills and story.plan.control.status != "completed":
                before = story.plan
                code = _started(story, chance)
                if code > 0:
                    last = story.log.read_text("utf-8").splitlines()[-3:]
                    swept.violations.append(f"seed {seed}: it ended with {code}: {last}")
                if code >= 0:
                    break
                swept.kills += 1
                swept.survivors += len(survivors_after(token, 2.0))
                _hold(swept, seed, lambda b=before, s=story: assert_only_ever_more(b, s.plan))  # type: ignore[misc]
            done = story.plan.control.status == "completed"
            ending = story.ending(0) if done else story.run()
            _hold(swept, seed, lambda s=story: assert_nothing_was_redone(s))  # type: ignore[misc]
            if told(ending) != expected:
                swept.violations.append(f"seed {seed}: another end: {ending}")
        swept.survivors += len(survivors_after(token, 1.0))
    finally:
        put_down(token)
    return swept


def _hold(swept: Swept, seed: int, law: Callable[[], None]) -> None:
    try:
        law()
    except AssertionError as broken:
        *_, where = traceback.extract_tb(broken.__traceback__)
        swept.violations.append(f"seed {seed}: {str(broken) or 'not so'}: {where.line}")


def _started(story: Story, chance: random.Random) -> int:
    """Start it and see it killed; its exit code, below 0 unless it came to its end before."""
    timed = chance.random() < 0.3
    number = 0 if timed else chance.randint(1, chance.choice(MOST_ACTS))
    seconds = chance.uniform(0.5, 2.5)
    with story.log.open("ab") as log:
        runner = subprocess.Popen(
            [sys.executable, DYING, str(number), "run"],
            cwd=story.folder,
            env=PLAIN,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    if timed:
        time.sleep(seconds)
        runner.kill()
    try:
        return runner.wait(10 * PATIENCE)  # a night's machine may have other things to do
    except subprocess.TimeoutExpired:
        runner.kill()
        runner.wait()
        return HUNG


def night(kills: int, seed: int = 1, say: Callable[[Swept], None] = lambda _: None) -> Swept:
    """So many kills, in parts with a seed each; `say` hears how far it has come."""
    total = Swept()
    with tempfile.TemporaryDirectory(prefix="dwindle-kills-") as folder:
        expected = undisturbed(Path(folder))
        while total.kills < kills:
            part = sweep(Path(folder) / str(seed), seed, min(PART, kills - total.kills), expected)
            total.add(part)
            say(total)
            for violation in part.violations:
                print(violation, file=sys.stderr, flush=True)  # noqa: T201 - progress of a long run
            seed += 1
    return total


def main(words: list[str]) -> int:
    kills, seed = int(words[0]), int(words[1]) if len(words) > 1 else 1
    total = night(kills, seed, lambda so_far: print(f"kill -9: {so_far}", flush=True))  # noqa: T201
    return bool(total.violations or total.survivors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
