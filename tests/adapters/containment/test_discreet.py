"""What a person let through under a telling name is in nothing that anybody reads."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dwindle.adapters.containment import Bare
from dwindle.adapters.containment.discreet import Discreet
from dwindle.ports.process import Command, Ended, Secret


def played(command: Command) -> tuple[Ended, list[bytes]]:
    seen: list[bytes] = []

    def watch(line: bytes) -> None:
        seen.append(line)

    contained = Discreet(Bare())
    assert (contained.strength, contained.mechanism) == (Bare().strength, Bare().mechanism)
    return asyncio.run(contained.run(command, watch)), seen


def test_it_is_in_no_output_and_in_no_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    told = "printf 'npm_%s' \"$NPM_TOKEN\"; echo; echo $NPM_TOKEN >&2; echo $LANGUAGE $KNOWN $LONG"
    ended, seen = played(
        Command(
            argv=("sh", "-c", told),
            cwd=tmp_path,
            environment={
                "NPM_TOKEN": "canary-1",
                "LANGUAGE": "klingon",
                "KNOWN": "canary-2",
                "LONG_KEY": "canary-1-and-more",
                "LONG": "canary-1-and-more",
                "EMPTY_TOKEN": "",
            },
            secrets=(Secret(b"canary-2", b"[as told]"),),
            log=log,
        )
    )
    assert ended.stdout.text() == "npm_[NPM_TOKEN]\nklingon [as told] [LONG_KEY]\n"
    assert ended.stderr.text() == "[NPM_TOKEN]\n"
    assert seen == [b"npm_[NPM_TOKEN]", b"klingon [as told] [LONG_KEY]"]
    assert b"canary" not in log.read_bytes()


def test_what_is_known_already_keeps_its_name(tmp_path: Path) -> None:
    ended, _ = played(
        Command(
            argv=("sh", "-c", "echo $MY_TOKEN"),
            cwd=tmp_path,
            environment={"MY_TOKEN": "canary"},
            secrets=(Secret(b"canary", b"[mine]"),),
        )
    )
    assert ended.stdout.text() == "[mine]\n"
