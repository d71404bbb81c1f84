"""Secrets are taken out of a stream, however it is cut into pieces."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dwindle.adapters.containment.choice import DescribedContainment
from dwindle.adapters.containment.mask import Mask
from dwindle.ports.process import Captured, Command, Secret

SHOWN = b"[*]"


def secrets(*values: bytes) -> tuple[Secret, ...]:
    return tuple(Secret(value, SHOWN) for value in values)


def masked(pieces: list[bytes], *values: bytes) -> bytes:
    mask = Mask(secrets(*values))
    return b"".join([*map(mask.add, pieces), mask.end()])


@given(
    pieces=st.lists(st.text("abc", max_size=5).map(str.encode), max_size=8),
    values=st.lists(st.text("abc", min_size=2, max_size=5).map(str.encode), max_size=4),
)
def test_the_pieces_make_no_difference_property(pieces: list[bytes], values: list[bytes]) -> None:
    text = b"".join(pieces)
    told = masked(pieces, *values)
    assert told == masked([text], *values)
    pattern = b"|".join(map(re.escape, sorted(values, key=len, reverse=True)))
    assert told == (re.sub(pattern, SHOWN, text) if values else text)
    assert not any(value in told for value in values)


def test_a_secret_that_begins_with_another_waits_for_its_end() -> None:
    mask = Mask((Secret(b"sk-1", b"[short]"), Secret(b"sk-123", b"[long]")))
    assert [mask.add(b"a sk-1"), mask.add(b"2"), mask.add(b"3."), mask.end()] == [
        *(b"a ", b"", b"[long].", b""),
    ]
    assert [mask.add(b"a sk-1"), mask.add(b"2, "), mask.end()] == [b"a ", b"[short]2, ", b""]


def test_what_ends_inside_of_a_doubt_leaves_a_smaller_doubt() -> None:
    assert masked([b"1abXY"], b"1ab", b"abXYcd", b"XY") == SHOWN * 2


def test_a_line_that_has_ended_is_told_at_once() -> None:
    mask = Mask(secrets(b"sk-123"))
    assert mask.add(b"as is\nsk-12\n") == b"as is\nsk-12\n"


def test_without_secrets_nothing_is_held_back() -> None:
    mask = Mask(secrets(b""))
    assert (mask.add(b"abc"), mask.end()) == (b"abc", b"")


def test_a_long_secret_is_found_wherever_it_is_cut() -> None:
    value = b"eyeye" + bytes(range(32, 120)) + b"eyeye"
    for at in range(len(value) + 1):
        mask = Mask(secrets(value))
        first = mask.add(b"an eye: " + value[:at])
        assert first == (b"an eye: " if 0 < at < len(value) else b"an eye: " + SHOWN * (at > 0))
        assert first + mask.add(value[at:] + b" ey") + mask.end() == b"an eye: " + SHOWN + b" ey"


# --- with a program -------------------------------------------------------------------------------


def test_what_a_program_prints_is_kept_and_shown_without_it(
    any_containment: DescribedContainment, tmp_path: Path
) -> None:
    key = b"sk-canary"
    script = "printf 'out sk-can'; sleep 0.1; printf 'ary.\\nsk-'; printf 'err sk-canary' >&2"
    command = replace(
        Command(argv=("/bin/sh", "-c", script), cwd=Path("/")),
        log=tmp_path / "log",
        secrets=(Secret(key, b"[KEY]"),),
    )
    seen: list[bytes] = []
    ended = asyncio.run(any_containment.run(command, seen.append))
    assert (ended.exit_code, ended.error) == (0, "")
    assert ended.stdout == Captured(head=b"out [KEY].\nsk-", size=14)
    assert ended.stderr == Captured(head=b"err [KEY]", size=9)
    assert seen == [b"out [KEY].", b"sk-"]
    log = (tmp_path / "log").read_bytes()
    assert (key in log, log.count(b"[KEY]"), len(log)) == (False, 2, 23)


def test_a_program_whose_time_is_over_has_said_the_beginning_of_one(
    any_containment: DescribedContainment, tmp_path: Path
) -> None:
    command = Command(
        argv=("/bin/sh", "-c", "printf 'so sk-'; exec sleep 60"),
        cwd=Path("/"),
        timeout_seconds=0.5,
        log=tmp_path / "log",
        secrets=secrets(b"sk-canary"),
    )
    ended = asyncio.run(any_containment.run(command))
    assert (ended.timed_out, ended.stdout.text()) == (True, "so sk-")
    assert (tmp_path / "log").read_bytes().endswith(b"sk-")


def test_a_command_does_not_show_its_secrets() -> None:
    command = Command(argv=("true",), cwd=Path("/"), secrets=secrets(b"sk-canary"))
    assert "canary" not in repr(command)
    assert command.told(b"it is sk-canary") == b"it is [*]"
