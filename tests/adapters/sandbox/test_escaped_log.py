"""A log can be shown on any terminal: what a program printed is escaped, not obeyed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle.adapters.process.capture import Log, Output
from dwindle.text.escape import escape_bytes

STORIES = {
    "colours": (b"\x1b[31mred\x1b[0m\n", b"\\x1b[31mred\\x1b[0m\n"),
    "a title and a link": (b"\x1b]0;me\x07\x1b]8;;http://x\x1b\\", None),
    "a line over another": (b"no\ryes\n", b"no\\ryes\n"),
    "lines of another system": (b"one\r\ntwo\r\n", b"one\ntwo\n"),
    "text that turns around": ("\u202egnp\u2066\n".encode(), b"\\u202egnp\\u2066\n"),
    "nothing": (b"a\0b\n", b"a\\x00b\n"),
    "letters of all kinds": ("äöü 漢字 \N{GRINNING FACE}\n".encode(), None),
    "no end": ("ends in ä".encode()[:-1], b"ends in \\xc3"),
    "an end that may go on": (b"ends so\r", b"ends so\\r"),
}


def written(path: Path, pieces: Iterable[bytes], limit: int = 1 << 20) -> bytes:
    async def story() -> None:
        log = Log(path, limit, asyncio.get_running_loop())
        for piece in pieces:
            log.add(piece)
        log.close()

    asyncio.run(story())
    return path.read_bytes() if path.exists() else b""


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize("story", STORIES)
def test_it_is_escaped_however_it_comes(tmp_path: Path, story: str, size: int) -> None:
    printed, shown = STORIES[story]
    pieces = [printed[at : at + size] for at in range(0, len(printed), size)]
    assert written(tmp_path / "log", pieces) == (escape_bytes(printed) if shown is None else shown)


def test_head_and_tail_are_escaped_and_the_bounds_are_those_of_what_was_printed(
    tmp_path: Path,
) -> None:
    printed = b"\x1b[1m" * 10 + b"x" * 100 + b"\x1b[2m" * 10
    shown = written(tmp_path / "log", [printed], limit=24)
    assert shown == (b"\\x1b[1m" * 3 + b"\n[... 156 bytes left out ...]\n" + b"\\x1b[2m" * 3)


def test_of_a_longer_tail_before_nothing_is_left(tmp_path: Path) -> None:
    async def story() -> bytes:
        log = Log(tmp_path / "log", 16, asyncio.get_running_loop())
        log.add(b"head....\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b")
        log._write_tail()  # as it does every half second
        log.add(b"the end.")
        log.close()
        return (tmp_path / "log").read_bytes()

    assert asyncio.run(story()) == b"head....\n[... 8 bytes left out ...]\nthe end."


def test_only_the_log_is_escaped(tmp_path: Path) -> None:
    """Whoever watches, and whoever reads the report, gets what was printed."""
    seen: list[bytes] = []

    async def story() -> bytes:
        output = Output(
            limit=1000,
            log=tmp_path / "log",
            watch=lambda line: seen.append(line),  # noqa: PLW0108 - it returns nothing
            loop=asyncio.get_running_loop(),
        )
        output.take_stdout(b"\x1b[1mbold\n")
        output.close()
        return output.stdout.captured().head

    assert asyncio.run(story()) == b"\x1b[1mbold\n"
    assert seen == [b"\x1b[1mbold"]
    assert (tmp_path / "log").read_bytes() == b"\\x1b[1mbold\n"


@given(pieces=st.lists(st.text("a\x1b\r\nä漢\u202e", max_size=6).map(str.encode), max_size=8))
def test_log_property(pieces: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    assert written(path, pieces) == escape_bytes(b"".join(pieces))
