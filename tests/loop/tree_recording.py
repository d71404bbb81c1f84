"""A recorded run of a tree: what its agents wrote, and everything that came of it, to the byte.

The script in `tests/replay/tree/` holds the agents' edits as whole files, so nothing but the runner
has a say in what comes out. After a change that is meant to alter prompts, trees or messages,
`python -m tests.loop.tree_recording` writes down what comes out now; the difference is for a person
to look at.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

from tests.loop.tree_story import TreeStory

FOLDER = Path(__file__).parents[1] / "replay/tree"
SCRIPT = FOLDER / "script.json"
OUTCOME = FOLDER / "outcome.json"
TREE = FOLDER / "tree.json"
PASSING = ("at", "elapsed", "usage", "reason")
"""Of an event: times, and words that hold what a program printed."""


def recorded_story(folder: Path, name: str = "project") -> TreeStory:
    """The repository in which it happened."""
    story = TreeStory(folder, name)
    story.having({".runner/GOAL.md": "# A lexer\n\nIt reads numbers and names.\n"})
    story.having({".runner/ASSUMPTIONS.md": "Texts are UTF-8: größe, 数.\n"})
    story.having({".runner/nodes/numbers/context.md": "Numbers are decimal.\n"})
    story.script = json.loads(SCRIPT.read_bytes())
    del story.files["tools/edit.py"]
    return story


def outcome(story: TreeStory) -> dict[str, Any]:
    """All that a run decides, as far as it must be the same each time."""
    numbers = range(1, len(story.commits()) + 1)
    return {
        "iterations": list(story.iterations()),
        "commits": list(story.commits()),
        "prompts": [digest(story.prompt(number).encode()) for number in numbers],
        "trees": [digest((story.logs(n) / "tree.after.json").read_bytes()) for n in numbers],
        "decisions": [
            {key: value for key, value in event.items() if key not in PASSING}
            for event in story.events()
        ],
    }


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        story = recorded_story(Path(folder))
        assert story.run().code == 0, story.said
        OUTCOME.write_text(json.dumps(outcome(story), indent=1) + "\n", "utf-8")
        TREE.write_bytes(story.tree)


if __name__ == "__main__":
    main()
