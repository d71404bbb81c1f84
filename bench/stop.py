"""How long it takes until every agent is gone after `dwindle stop`, with three of them at work.

Everything is real: the command, the repository, the processes, the sandbox. Each agent is a shell
that ignores the request to end, with a child in a session of its own and one in the background, all
of them busy for as long as they are let. Timed is from the request until the last process of the
three is gone, 50 times; the limit, one second, is for the 99th percentile. Also timed, a few times,
is the whole command, which waits until the run has put everything away.
"""

from __future__ import annotations

import os
import secrets
import select
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script, only this folder is on it

from bench._runs import WIDTH, Project, draft_of, line, scratch, waited_for

from dwindle.adapters.store import event_codec
from dwindle.kernel.events import StopRequested
from dwindle.runner.control import ControlClient

STOPS = 50
COMMANDS = 5
LIMIT_SECONDS = 1
TOKEN = f"bench-{secrets.token_hex(8)}"
PROCESSES = 3 * WIDTH
AGENT = f"""\
trap '' TERM
busy='while :; do sleep 0.05; done'
setsid sh -c "$busy" {TOKEN} &
sh -c "$busy" {TOKEN} &
sh -c "$busy; :" {TOKEN}"""
"""Three shells in a loop each; the token is how they are found."""


def agents() -> list[int]:
    """The shells of all agents, under the numbers that they have outside of their sandboxes."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - hundreds of entries; names are enough
        if name.isdecimal():
            try:
                words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0] == b"sh" and TOKEN.encode() in words:
                found.append(int(name))
    return found


def are_at_work(runner: subprocess.Popen[bytes]) -> bool:
    if runner.poll() is not None:
        raise SystemExit(f"the run has ended by itself, with {runner.returncode}")
    return len(agents()) >= PROCESSES


def until_gone(pidfds: list[int]) -> None:
    poll = select.poll()
    for fd in pidfds:
        poll.register(fd, select.POLLIN)
    left = len(pidfds)
    while left:
        for fd, _ in poll.poll():
            poll.unregister(fd)
            os.close(fd)
            left -= 1


def one_stop(project: Project, *, by_command: bool) -> tuple[float, float]:
    """Seconds until the agents are gone, and until the run has ended."""
    runner = project.started()
    waited_for(partial(are_at_work, runner), every=0.02)
    pidfds = [os.pidfd_open(pid) for pid in agents()]
    began = time.monotonic()
    if by_command:
        asking = subprocess.Popen(
            [sys.executable, "-m", "dwindle", "stop"],
            cwd=project.folder,
            stdout=subprocess.DEVNULL,
        )
        until_gone(pidfds)
        gone = time.monotonic() - began
        if asking.wait() != 0:
            raise SystemExit("`dwindle stop` failed")
        ended = time.monotonic() - began
    else:
        connected = ControlClient.to(project.folder / ".runner")
        if connected is None:
            raise SystemExit("no run is listening")
        connected.ask(event_codec.encode(StopRequested(reason="bench")))
        until_gone(pidfds)
        gone = time.monotonic() - began
        connected.close()
        runner.wait()
        ended = time.monotonic() - began
    runner.wait()
    if left := agents():
        raise SystemExit(f"still there: {left}")
    return gone, ended


def main(folder: Path | None = None) -> None:
    with scratch(folder) as place:
        draft = draft_of(WIDTH, max_iterations=10_000, max_forgiven=10_000)
        project = Project(place, draft, AGENT)
        stops = [one_stop(project, by_command=False) for _ in range(STOPS)]
        commands = [one_stop(project, by_command=True) for _ in range(COMMANDS)]
    gone = sorted(seconds for seconds, _ in stops)
    p99 = gone[min(len(gone) - 1, int(0.99 * len(gone)))]
    line("agents_gone_after_stop_p99", p99, "s", p99 / LIMIT_SECONDS, 1)
    line("agents_gone_after_stop_median", median(gone), "s", median(gone) / LIMIT_SECONDS)
    ended = median(seconds for _, seconds in stops)
    line("run_ended_after_stop_median", ended, "s", ended / LIMIT_SECONDS)
    whole = median(seconds for _, seconds in commands)
    line("dwindle_stop_as_a_command_median", whole, "s", whole / LIMIT_SECONDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
