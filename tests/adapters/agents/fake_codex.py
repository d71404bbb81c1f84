"""A program that speaks as `codex exec --json` does, and does what a shell line says.

    fake_codex.py FOLDER exec --json ... -

The line is in FOLDER/line.sh. What it prints is told as the output of a command, and the end of it
once more as the model's answer, in the middle of other words. A line that fails ends the program as
it ended, in the middle of the turn.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

CHUNK = 1 << 16


def tell(**event: Any) -> None:
    print(json.dumps(event), flush=True)  # noqa: T201 - it is what it is for


def item(kind: str, **fields: Any) -> None:
    tell(type="item.completed", item={"id": "item_0", "type": kind, **fields})


def main(folder: str, *options: str) -> int:
    for wanted in ("exec", "--json", "--ephemeral", "-s"):
        assert wanted in options, f"{wanted} is missing"
    assert options[-1] == "-", "the prompt is not on standard input"
    json.loads(Path(options[options.index("--output-schema") + 1]).read_bytes())
    assert Path(os.environ["CODEX_HOME"]).is_dir()
    tell(type="thread.started", thread_id="0")
    tell(type="turn.started")
    last = b""
    with subprocess.Popen(["sh", f"{folder}/line.sh"], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        while chunk := running.stdout.read(CHUNK):
            said = chunk.decode("utf-8", "replace")
            item("command_execution", aggregated_output=said, exit_code=0, status="completed")
            last = (last + chunk)[-CHUNK:]
    if running.returncode:
        return running.returncode
    if last:
        item("agent_message", text=f"It printed: {last.decode('utf-8', 'replace')}")
    tell(type="turn.completed", usage={"input_tokens": 0, "output_tokens": 0})
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
