"""One policy for every command: secrets are redacted, paths shown and hidden, bounds set."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dwindle.adapters.sandbox import ProcessGroup
from dwindle.adapters.sandbox.policy import Sandbox, SandboxPolicy
from dwindle.ports.process import Bounds, Command, Ended, Secret


def played(command: Command) -> tuple[Ended, list[bytes]]:
    seen: list[bytes] = []

    def watch(line: bytes) -> None:
        seen.append(line)

    kind = ProcessGroup()
    contained = Sandbox(kind, SandboxPolicy())
    assert (contained.strength, contained.mechanism) == (kind.strength, kind.mechanism)
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


def test_all_of_a_policy_is_in_the_command_that_runs(tmp_path: Path) -> None:
    """What the command asks for comes first, and nothing stands twice."""
    for name in ("asked", "shared"):
        (tmp_path / name).mkdir()
    asked, shared, gone = (tmp_path / name for name in ("asked", "shared", "gone"))
    policy = SandboxPolicy(
        bounds=Bounds(processes=7),
        secrets=(Secret(b"longer-one", b"[two]"),),
        readable=(asked, shared, gone),
        hidden=(tmp_path / "socket", asked),
    )
    command = Command(
        argv=("true",),
        cwd=tmp_path,
        readable=(asked,),
        hidden=(asked,),
        secrets=(Secret(b"one", b"[one]"),),
        bounds=Bounds(processes=9),
    )
    assert policy.apply(command) == Command(
        argv=("true",),
        cwd=tmp_path,
        readable=(asked, shared),
        hidden=(asked, tmp_path / "socket"),
        secrets=(Secret(b"longer-one", b"[two]"), Secret(b"one", b"[one]")),
        bounds=Bounds(processes=7),
    )
