"""Where a real program is run: folders of its own, no real key, and a model of ours.

The folders are not below /tmp: there codex cannot start its sandbox. A program is started through
our own containment, so it ends with its session. A process that escapes carries a mark in its
environment, and is killed by its id when the stage is removed.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.real.model import ModelServer
from tests.real.programs import Program

from dwindle.adapters.process.environment import MARK
from dwindle.adapters.sandbox import ProcessGroup
from dwindle.adapters.sandbox.choice import choose
from dwindle.ports.process import Command, Containment, Ended

SCRATCH = Path("/var/tmp")  # noqa: S108 - not /tmp, see above
SECONDS = 60.0
OUTPUT_BYTES = 16 << 20

KEY = "sk-not-a-key"
"""What the programs are told to show to the model."""

SUBSCRIPTION = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-not-a-token"}
"""Makes claude behave as for a person who has a subscription instead of a key."""

QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}
"""claude connects only to its model."""

QUIET_CODEX = ("-c", "analytics.enabled=false", "--disable", "plugins", "--disable", "apps")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a program ended, and the JSON lines that it wrote."""

    ended: Ended
    events: tuple[dict[str, Any], ...]

    @property
    def code(self) -> int | None:
        return self.ended.exit_code

    @property
    def stdout(self) -> str:
        return self.ended.stdout.text()

    @property
    def stderr(self) -> str:
        return self.ended.stderr.text()

    def of(self, kind: str) -> tuple[dict[str, Any], ...]:
        return tuple(event for event in self.events if event.get("type") == kind)

    def one(self, kind: str) -> dict[str, Any]:
        found = self.of(kind)
        assert len(found) == 1, f"{len(found)} events {kind!r} in {self.stdout!r:.2000}"
        return found[0]


@dataclass(slots=True)
class Stage:
    root: Path
    """Everything is in here, and it is the session's to write."""
    is_island: bool
    """Whether the network ends at loopback; if not, a proxy that does not exist stands in."""
    mark: str = field(init=False)

    def __post_init__(self) -> None:
        self.mark = self.root.name
        for folder in (self.home, self.claude_config, self.codex_home, self.work, self.scratch):
            folder.mkdir(mode=0o700)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def claude_config(self) -> Path:
        return self.root / "claude"

    @property
    def codex_home(self) -> Path:
        return self.root / "codex"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def scratch(self) -> Path:
        return self.root / "tmp"

    # --- what the programs are told --------------------------------------------------------------

    def environment(self, model: ModelServer | None) -> dict[str, str]:
        """For either program: the address of the model, a key, and no other server."""
        here = {
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.claude_config),
            "CODEX_HOME": str(self.codex_home),
            **QUIET,
        }
        if model is not None:
            here |= {
                "ANTHROPIC_BASE_URL": model.url,
                "ANTHROPIC_API_KEY": KEY,
                "SCRIPTED_MODEL_KEY": KEY,
            }
        if not self.is_island:
            nowhere = "http://127.0.0.1:9"
            names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
            here |= dict.fromkeys(names, nowhere)
            here |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        return here

    def provider(self, model: ModelServer, *, retries: int = 1) -> tuple[str, ...]:
        """Options that make the scripted model the one that codex asks."""
        table = (
            f'{{name="scripted",base_url="{model.url}/v1",env_key="SCRIPTED_MODEL_KEY",'
            f'wire_api="responses",request_max_retries={retries},stream_max_retries={retries}}}'
        )
        return ("-c", 'model_provider="scripted"', "-c", f"model_providers.scripted={table}")

    def claude(
        self,
        program: Program,
        model: ModelServer | None,
        *options: str,
        prompt: str = "go on",
        environment: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
    ) -> Command:
        """A session of claude that leaves nothing behind, and tells as it goes."""
        return self.command(
            program,
            *("-p", "--output-format", "stream-json", "--verbose", "--no-session-persistence"),
            *options,
            prompt=prompt,
            environment={**self.environment(model), **(environment or {})},
            seconds=seconds,
        )

    def codex(
        self,
        program: Program,
        model: ModelServer,
        *options: str,
        prompt: str = "go on",
        asks_for: str = "gpt-5.5",
        environment: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
    ) -> Command:
        """The same of codex. Its own sandbox cannot work inside ours: it wants `bare` to run."""
        return self.command(
            program,
            *("exec", "--json", "--ephemeral", "--skip-git-repo-check", "-m", asks_for),
            *(*self.provider(model), *QUIET_CODEX, *options, "-"),
            prompt=prompt,
            environment={**self.environment(model), **(environment or {})},
            seconds=seconds,
        )

    # --- running ---------------------------------------------------------------------------------

    def command(
        self,
        program: Program,
        *options: str,
        prompt: str = "",
        environment: Mapping[str, str],
        seconds: float = SECONDS,
        cwd: Path | None = None,
    ) -> Command:
        return Command(
            argv=(str(program.path), *options),
            cwd=cwd or self.work,
            stdin=prompt.encode(),
            environment=environment,
            timeout_seconds=seconds,
            output_bytes=OUTPUT_BYTES,
            writable=(self.root,),
            readable=(program.folder,),
        )

    def run(
        self,
        command: Command,
        *,
        containment: Containment | None = None,
        watch: Callable[[bytes], str | None] | None = None,
    ) -> Ran:
        """Under the strongest containment that works here, unless told otherwise."""
        runner = containment or choose(mark=self.mark)
        ended = asyncio.run(runner.run(command, watch))
        return Ran(ended=ended, events=_events(ended.stdout.text()))

    def interrupt(
        self,
        command: Command,
        when: Callable[[], object],
        *,
        containment: Containment,
        how: Callable[[], object] | None = None,
    ) -> Ran | None:
        """Run, and as soon as it is time do `how`; or cancel the session, as our runner does."""

        async def both() -> Ended | None:
            running = asyncio.create_task(containment.run(command))
            until = time.monotonic() + command.timeout_seconds
            while not when():
                assert not running.done(), f"it was over before it was time: {running.result()}"
                assert time.monotonic() < until, "it was never time"
                await asyncio.wait((running,), timeout=0.02)
            if how is None:
                running.cancel()
            else:
                how()
            with suppress(asyncio.CancelledError):
                return await running
            return None

        ended = asyncio.run(both())
        return None if ended is None else Ran(ended=ended, events=_events(ended.stdout.text()))

    def bare(self) -> ProcessGroup:
        return ProcessGroup(mark=self.mark)

    # --- who is still there ----------------------------------------------------------------------

    def running(self, word: str) -> int | None:
        """The number of a process of ours with this in its command line; the oldest of them."""
        return min((pid for pid, line in self.survivors().items() if word in line), default=None)

    def survivors(self) -> dict[int, str]:
        """Processes that carry our mark: number and command line. Zombies are not counted."""
        wanted = f"{MARK}={self.mark}".encode()
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(entry.name)] = line.decode("utf-8", "replace").strip()
        return found

    def strike(self) -> None:
        """Kill every process that is left; then remove the folders."""
        until = time.monotonic() + 10
        while (left := self.survivors()) and time.monotonic() < until:
            for number in left:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            time.sleep(0.02)
        shutil.rmtree(self.root, ignore_errors=True)
        assert not left, f"still running after a kill: {left}"


def raise_stage(*, is_island: bool) -> Stage:
    return Stage(Path(tempfile.mkdtemp(prefix="dwindle-real-", dir=SCRATCH)), is_island)


def _events(text: str) -> tuple[dict[str, Any], ...]:
    """Lines that are JSON objects; a program that dies may leave half a line."""
    found = []
    for line in text.splitlines():
        with suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                found.append(value)
    return tuple(found)
