"""What one session is told, and the folder where that is kept.

To make two files and their folder takes a file system longer than we need for all that is in them.
So they may be written by anybody, while the loop waits for its disk anyway; whoever starts the
session hears then whether it could be done.
"""

from __future__ import annotations

import os
from pathlib import Path

from dwindle.ports.agent import ORDER, PROMPT
from dwindle.ports.work import WorkOrder
from dwindle.runner.orders import order_json
from dwindle.runner.outboxes import write
from dwindle.runner.prompt import prompt_for


class Told:
    __slots__ = ("_problem", "_written", "folder", "order", "prompt")

    def __init__(self, order: WorkOrder, folder: Path) -> None:
        self.order = order_json(order)
        self.prompt = prompt_for(order).encode()
        self.folder = folder
        self._written = False
        self._problem: OSError | None = None

    def write(self) -> None:
        """Never raises: see `kept`."""
        try:
            self._write()
        except OSError as problem:
            self._problem = problem
        self._written = True

    def kept(self) -> None:
        """See to it that it is written; raises OSError if it is not."""
        if not self._written:
            self.write()
        if self._problem is not None:
            raise self._problem

    def _write(self) -> None:
        name = str(self.folder)
        try:
            os.mkdir(name)  # noqa: PTH102 - cheap
        except OSError:  # the first of its iteration, or there already
            os.makedirs(name, exist_ok=True)  # noqa: PTH103 - cheap
        write(f"{name}/{ORDER}", self.order, new=True)
        write(f"{name}/{PROMPT}", self.prompt, new=True)
