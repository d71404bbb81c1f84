"""How fast the transcript of a claude session is taken in, and how much memory that needs.

A hundred megabytes in the proportions of a session that reads and tests a lot: long results of
tools, short messages of the model, one line of every other kind. It comes in chunks, as from a
pipe, goes through the cutting into lines that every watched program goes through, and into the
parser. The goals: at least 50 MB/s, so the ratio is our time divided by that of 50 MB/s; and not
more than 8 MB of memory, however long the transcript. The peer, for comparison, is `json.loads` of
every line.
"""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
from collections.abc import Iterator

from dwindle.adapters.agents.claude.stream import ClaudeStream
from dwindle.adapters.process.capture import Lines

MEGABYTE = 1_000_000
GOAL = 50 * MEGABYTE
MEMORY = 8 * MEGABYTE
CHUNK = 1 << 16
ROUNDS = 3


def line(**fields: object) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def block() -> bytes:
    """Half a megabyte or so: a few turns."""
    printed = "".join(f'tests/test_{n}.py::test_{n} PASSED [{n}%] "ok"\n' for n in range(700))
    usage = {"input_tokens": 12, "cache_read_input_tokens": 90_000, "output_tokens": 1}
    found = []
    for turn in range(12):
        said = {"type": "text", "text": "I will look at the next file. " * 20}
        call = {
            "type": "tool_use",
            "id": f"toolu_{turn}",
            "name": "Bash",
            "input": {"command": "ls"},
        }
        for content in (said, call):
            message = {
                "id": f"msg_{turn}",
                "model": "claude-opus-4-8",
                "content": [content],
                "usage": usage,
            }
            found.append(line(type="assistant", message=message, parent_tool_use_id=None))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{turn}", "content": printed}
        message = {"role": "user", "content": [result]}
        found.append(
            # Newer versions put the kind of a line last.
            line(message=message, tool_use_result={"stdout": printed[:2000]}, type="user")
        )
    return b"".join(found)


def chunks(size: int) -> Iterator[bytes]:
    yield line(type="system", subtype="init", tools=["Read"], permissionMode="dontAsk")
    whole = block()
    pieces = [whole[at : at + CHUNK] for at in range(0, len(whole), CHUNK)]
    for _ in range(size // len(whole) + 1):
        yield from pieces
    yield line(is_error=False, result="done", total_cost_usd=1.0, type="result")


def take_in(size: int) -> ClaudeStream:
    stream = ClaudeStream()

    def watch(text: bytes) -> None:
        stream.feed(text)

    lines = Lines(watch)
    for chunk in chunks(size):
        lines.add(chunk)
    if stream.result is None or stream.odd:
        raise SystemExit(f"the transcript was not understood: {stream.odd} odd lines")
    return stream


def peer(size: int) -> None:
    lines = Lines(lambda text: json.loads(text) and None)
    for chunk in chunks(size):
        lines.add(chunk)


def seconds(size: int, rounds: int) -> tuple[float, float]:
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        take_in(size)
        between = time.perf_counter()
        peer(size)
        ours.append(between - began)
        theirs.append(time.perf_counter() - between)
    return min(ours), min(theirs)


def memory(size: int) -> int:
    tracemalloc.start()
    take_in(size)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def main(megabytes: int = 100, rounds: int = ROUNDS) -> None:
    size = megabytes * MEGABYTE
    ours, theirs = seconds(size, rounds)
    speed = size / ours / MEGABYTE
    print(f"agent_stream {speed:.0f} MB/s ratio={ours * GOAL / size:.2f} limit=1")
    print(f"agent_stream_of_json_loads {ours * 1000:.0f} ms ratio={ours / theirs:.2f}")
    peak = memory(size)
    print(f"agent_stream_memory {peak / MEGABYTE:.2f} MB ratio={peak / MEMORY:.2f} limit=1")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
