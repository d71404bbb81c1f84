"""What ten viewers of the page cost the runner: its processor time per event, with and without.

A real run of short sessions, three at a time, and a real `dwindle serve` beside it. In turns,
no viewer looks for ten seconds and then ten viewers follow the run for ten seconds, a minute
of each. Timed is the runner's own processor time, agents and git not counted; the peer is the run
without viewers. The limit is 1.05: looking at a run must not slow it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script, only this folder is on it

from bench._runs import REPORT_LINE, RUN, Project, draft_of, line, remark, scratch, waited_for

VIEWERS = 10
TURNS = 6
SECONDS = 10.0
AGENT = f"sleep 0.25; {REPORT_LINE}; echo > did.$$"
TICK = os.sysconf("SC_CLK_TCK")


def cpu(process: int) -> float:
    """Seconds that a process has used itself."""
    after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / TICK


class Viewer(threading.Thread):
    """Reads whatever the page is told, as fast as it comes."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._line = HTTPConnection("127.0.0.1", port, timeout=30)
        self._left = False
        self.read = 0

    def run(self) -> None:
        try:
            self._line.request("GET", f"/api/runs/{RUN}/events")
            answer = self._line.getresponse()
            while not self._left and (data := answer.read1(65536)):
                self.read += len(data)
        except (OSError, ValueError, AttributeError, HTTPException):
            return  # we have hung up

    def leave(self) -> None:
        self._left = True
        if self._line.sock is not None:
            self._line.sock.shutdown(2)


def turn(project: Project, runner: int, port: int, viewers: int) -> tuple[float, int]:
    """Processor time of the runner, and events, in one turn."""
    looking = [Viewer(port) for _ in range(viewers)]
    for one in looking:
        one.start()
    if looking:
        waited_for(lambda: all(one.read for one in looking), every=0.05)
    size, spent = project.journal.stat().st_size, cpu(runner)
    time.sleep(SECONDS)
    spent, events = cpu(runner) - spent, sum(1 for _ in project.events(size))
    for one in looking:
        one.leave()
        one.join()
    return spent, events


def main() -> None:
    with scratch() as folder:
        atoms = 2000
        project = Project(folder, draft_of(atoms, max_iterations=4 * atoms), AGENT)
        runner = project.started()
        words = [sys.executable, "-m", "dwindle", "serve", "--port", "0"]
        serve = subprocess.Popen(words, cwd=project.folder, stdout=subprocess.PIPE)
        assert serve.stdout is not None  # noqa: S101 - we asked for it
        try:
            port = urlsplit(serve.stdout.readline().decode()).port or 0
            waited_for(project.journal.exists)
            time.sleep(2)
            began = cpu(serve.pid)
            totals = {0: (0.0, 0), VIEWERS: (0.0, 0)}
            for number in range(2 * TURNS):
                viewers = VIEWERS if number % 2 else 0
                spent, events = turn(project, runner.pid, port, viewers)
                before = totals[viewers]
                totals[viewers] = (before[0] + spent, before[1] + events)
                if runner.poll() is not None:
                    raise SystemExit("the run was over too soon")
            watched = cpu(serve.pid) - began
        finally:
            for process in (serve, runner):
                process.terminate()
                process.wait()
    each = {viewers: spent / events for viewers, (spent, events) in totals.items()}
    ratio = each[VIEWERS] / each[0]
    line("runner-cpu-10-viewers", each[VIEWERS] * 1e3, "ms/event", ratio, 1.05)
    remark(
        f"{totals[0][1]} and {totals[VIEWERS][1]} events in {TURNS * SECONDS:.0f} s each; "
        f"the page's own process took {watched / (TURNS * SECONDS):.1%} of a core"
    )


if __name__ == "__main__":
    main()
