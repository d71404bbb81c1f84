"""dwindle demo: the whole loop on a small repository, explained step by step.

Only the agent is staged: it follows a script. Repository, checks, sandbox, branch and journal are
those of any other run.
"""

from __future__ import annotations

import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from dwindle.app.console import complain, say
from dwindle.app.refusal import Refused
from dwindle.demo import graph as graph_demo
from dwindle.demo import tree as tree_demo
from dwindle.demo.stage import WentWrong, note
from dwindle.kernel.model import PlanKind
from dwindle.ports.store import StoreFailed
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.text import amounts

FAILED: Final = 1
DEMOS: Final = {
    PlanKind.GRAPH: (graph_demo.show, graph_demo.LOOK_AROUND),
    PlanKind.TREE: (tree_demo.show, tree_demo.LOOK_AROUND),
}


def demo(
    *,
    plan: PlanKind = PlanKind.GRAPH,
    folder: Annotated[Path | None, Parameter(name="--dir")] = None,
) -> int:
    """Show the whole loop on a small repository.

    Args:
        plan: Which kind of plan to show; a graph, if left out.
        folder: Make the repository in this folder, and keep it.
    """
    began = time.monotonic()
    show, look_around = DEMOS[plan]
    try:
        with _place(folder) as root:
            show(root)
            say("")
            note(f"That was all of it, in {amounts.duration(time.monotonic() - began)}.")
            if folder is not None:
                note("The repository is kept. To look around:")
                lines = (f"cd {shlex.quote(str(folder))}", *look_around)
                say("\n".join(f"  {line}" for line in lines))
            return 0
    except (WentWrong, WorkspaceFailed, StoreFailed) as error:
        complain(f"dwindle: the demo went wrong: {error}")
    return FAILED


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    """An empty folder; a temporary one is removed, unless the demo failed."""
    if folder is None:
        root = Path(tempfile.mkdtemp(prefix="dwindle-demo-")).resolve()
    else:
        root = folder.resolve()
        if root.is_dir() and any(root.iterdir()):
            raise Refused("it is not empty", where=str(folder), hint="name a new folder")
        if root.exists() and not root.is_dir():
            raise Refused("it is not a folder", where=str(folder), hint="name a new folder")
        root.mkdir(parents=True, exist_ok=True)
    try:
        yield root
    except BaseException:
        complain(f"dwindle: the repository of the demo is in {root}")
        raise
    if folder is None:
        shutil.rmtree(root, ignore_errors=True)
