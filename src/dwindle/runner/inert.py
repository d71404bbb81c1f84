r"""A prompt in which nothing is more than words.

Claude Code takes `@path` in a prompt for a file to attach, wherever on the machine it lies and
whatever its tools may read; and a prompt is made of what others said. Our own adapter switches that
off, but any program may have a claude inside, and none but the person may make it reach out of the
workspace. So a `@` that begins a path which leads out of there is written `\@`, which claude leaves
alone. Inside of the workspace an agent may read what it likes; and `@decorator` and
`@scope/package` stay as they are.
"""

from __future__ import annotations

import re
from typing import Final

from dwindle.ports.legible import legible

_REACHING_OUT: Final = re.compile(
    r"""(?<![\w\\`'"./-])@(?="?[/~]|"[^"\n]*\.\.|[^\s"]*\.\.)""",
)


def inert(prompt: str) -> str:
    """The same prompt, with nothing in it that a terminal or a program would obey."""
    prompt = legible(prompt)
    return _REACHING_OUT.sub(r"\\@", prompt) if "@" in prompt else prompt
