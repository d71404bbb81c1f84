"""kill -9 of a runner in the middle of 1,000 atoms, and `dwindle run` again.

Everything is real: the command, the repository, the processes, the sandbox. The runner is killed
three times while it is at work. Measured is from the moment the command is started again until a
new session is on record and its program is being started (its log is there); the limit is one
second. Then nothing that was on record when the runner died may have been done again. The peak of
the runner's memory is printed, too.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script, only this folder is on it

from bench._runs import ATOM, REPORT_LINE, RUN, Project, draft_of, line, scratch, waited_for

ATOMS = 1_000
KILLS = 3
BETWEEN = 100
"""Atoms that are resolved before a kill, and after the last."""
LIMIT_SECONDS = 1
LIMIT_MB = 100
AGENT = f"{ATOM} > $({ATOM}).txt; {REPORT_LINE}"


def resolved(project: Project) -> list[str]:
    return [e["atom"] for e in project.events() if e["kind"] == "AtomResolved"]


def has_resolved(project: Project, least: int) -> bool:
    return project.journal.exists() and len(resolved(project)) >= least


def peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def is_begun(project: Project, size: int, older: set[Path]) -> bool:
    """Is a session on record that was not when the journal had this size, and its log there?"""
    started = [e["atom"] for e in project.events(size) if e["kind"] == "SessionStarted"]
    logs = project.folder / ".runner/iterations" / RUN
    found = (log for atom in started for log in logs.glob(f"*/{atom}.*/session.log"))
    return any(log.parent not in older for log in found)


def done_again(project: Project, size: int, known: set[str]) -> int:
    started = (e["atom"] for e in project.events(size) if e["kind"] == "SessionStarted")
    return sum(atom in known for atom in started)


def main(folder: Path | None = None) -> None:
    seconds: list[float] = []
    memory: list[float] = []
    redone = 0
    with scratch(folder) as place:
        draft = draft_of(ATOMS, max_iterations=ATOMS, max_forgiven=100)
        project = Project(place, draft, AGENT)
        runner = project.started()
        wanted = 0
        for _ in range(KILLS):
            wanted += BETWEEN
            waited_for(partial(has_resolved, project, wanted), every=0.1)
            memory.append(peak_mb(runner.pid))
            runner.kill()
            runner.wait()
            known, size = set(resolved(project)), project.journal.stat().st_size
            older = set((project.folder / ".runner/iterations" / RUN).glob("*/*"))
            began = time.monotonic()
            runner = project.started()
            waited_for(partial(is_begun, project, size, older))
            seconds.append(time.monotonic() - began)
            waited_for(partial(has_resolved, project, len(known) + 20), every=0.1)
            redone += done_again(project, size, known)
        runner.terminate()
        runner.wait()
    slowest = max(seconds)
    line("first_new_atom_after_kill_-9", slowest, "s", slowest / LIMIT_SECONDS, 1)
    line("recorded_atoms_done_again", redone, "atoms", redone, 0)
    line("memory_of_dwindle_run", max(memory), "MB", max(memory) / LIMIT_MB, 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
