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
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.adapters.containment.survivors import new_token, put_down, survivors_after
from tests.loop.story import PATIENCE, Ending, Story
from tests.loop.test_killed_runner import (
    a_plan_of_everything,
    assert_nothing_was_redone,
    assert_only_ever_more,
    told,
)
from tests.surfaces.command import PLAIN

DYING = str(Path(__file__).with_name("dying_runner.py"))
MOST_ACTS = 150
"""A run does some thousand things; so a plan lives through ten kills and more."""


@dataclass(slots=True)
class Swept:
    """What came of it."""

    kills: int = 0
    runs: int = 0
    survivors: int = 0
    violations: list[str] = field(default_factory=list)

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
                if not _killed(story, chance):
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
        swept.violations.append(f"seed {seed}: {broken}")


def _killed(story: Story, chance: random.Random) -> bool:
    """Start it and see it killed; False if it came to its end before."""
    timed = chance.random() < 0.3
    number = 0 if timed else chance.randint(1, MOST_ACTS)
    seconds = chance.uniform(0.5, 1.2)
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
    return runner.wait(PATIENCE) < 0


def main(words: list[str]) -> int:
    kills, seed = int(words[0]), int(words[1]) if len(words) > 1 else 1
    total = Swept()
    with tempfile.TemporaryDirectory(prefix="dwindle-kills-") as folder:
        expected = undisturbed(Path(folder))
        while total.kills < kills:
            part = sweep(Path(folder) / str(seed), seed, min(50, kills - total.kills), expected)
            total.kills += part.kills
            total.runs += part.runs
            total.survivors += part.survivors
            total.violations += part.violations
            print(f"kill -9: {total}", flush=True)  # noqa: T201 - the figures of the night
            seed += 1
    print(*total.violations, sep="\n")  # noqa: T201
    return bool(total.violations or total.survivors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
