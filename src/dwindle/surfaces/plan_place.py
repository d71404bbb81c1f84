"""Where the graph plan of a repository is written, and what stood there before is kept."""

from __future__ import annotations

from pathlib import Path

from dwindle import wiring
from dwindle.adapters.disk import DirectoryLock, DurableFile, RealDisk, make_directory
from dwindle.adapters.formats.graph_writer import GraphWriter
from dwindle.adapters.journals.jsonl import path_of
from dwindle.kernel.model import Plan, PlanKind, RunStatus
from dwindle.runner import alignment
from dwindle.runner.alignment import RUN_ID, Alignment
from dwindle.surfaces.refusal import Refused

JOURNALS = ".runner/journal"
PLAN_FILE = wiring.PLAN_FILES[PlanKind.GRAPH]


class Place:
    """The plan file below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.disk = RealDisk()
        self.file = DurableFile(self.disk, self.root / PLAN_FILE)

    def refuse_to_overwrite(self, *, replace: bool) -> None:
        """Said before anybody has answered ten questions."""
        if replace or not self.file.exists():
            return
        old = self._old()
        if old is None or old.control.status is not RunStatus.COMPLETED:
            state = "that cannot be read" if old is None else f"that is {old.control.status}"
            raise Refused(
                f"there is a plan {state}",
                where=PLAN_FILE,
                hint="--replace puts another in its place and keeps this one beside it;\n"
                "  `dwindle redirect` changes it and goes on",
            )

    def refuse_in_use(self) -> None:
        """Raises Locked while a run is going on: nobody should answer questions in vain."""
        folder = self.file.path.parent
        if folder.is_dir():
            DirectoryLock(folder).release()

    def refuse_used(self, run_id: str) -> None:
        """A journal belongs to one run."""
        if DurableFile(self.disk, path_of(self.root / JOURNALS, run_id)).exists():
            hint = "leave out --run-id for a new one"
            raise Refused(f"{run_id} has been run already", where="--run-id", hint=hint)

    def write(self, ready: Alignment, body: bytes, *, replace: bool) -> str | None:
        """Write the plan; the name under which the old one is kept, if there was one."""
        folder = self.file.path.parent
        make_directory(self.disk, folder)
        with DirectoryLock(folder):
            self.refuse_to_overwrite(replace=replace)
            self.file.sweep()
            name = kept = None
            if self.file.exists():
                old = self._old()
                former = old.control.run_id if old is not None else None
                former = former if former and RUN_ID.fullmatch(former) else None
                name = alignment.kept_name(self.file.path.name, former, self._is_taken)
                kept = DurableFile(self.disk, folder / name)
            alignment.record(ready, writer=GraphWriter(body), file=self.file, kept=kept)
        return None if name is None else str(Path(PLAN_FILE).with_name(name))

    def _old(self) -> Plan | None:
        return wiring.load(PlanKind.GRAPH, self.file.read()).plan

    def _is_taken(self, name: str) -> bool:
        return DurableFile(self.disk, self.file.path.with_name(name)).exists()
