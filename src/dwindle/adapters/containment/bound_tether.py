"""A tether that also sets bounds, as early as it can: while process 1 waits, where there is a gate.

Without a gate the program may have begun by then; what it started in that moment is not bound.
"""

from __future__ import annotations

from dataclasses import replace

from dwindle.adapters.containment.bounds import Bound
from dwindle.adapters.containment.proc import children
from dwindle.adapters.containment.tether import Fate, Launch, Tether
from dwindle.ports.process import Bounds, Captured, Limit


class BoundTether:
    def __init__(self, tether: Tether, bounds: Bounds) -> None:
        self._tether = tether
        self._bound = Bound(bounds)
        self._is_gated = False
        self._starter: int | None = None

    def launch(self) -> Launch:
        launch = self._tether.launch()
        self._is_gated = launch.gated
        return replace(launch, opening=self._opening)

    def attach(self, pid: int) -> None:
        self._tether.attach(pid)
        self._starter = pid
        if not self._is_gated:
            self._bound.set_on(pid, own_users=False)

    def _opening(self) -> None:
        if self._starter is not None:
            for first in children(self._starter):
                self._bound.set_on(first, own_users=True)

    def ask(self) -> None:
        self._tether.ask()

    def kill(self) -> None:
        self._tether.kill()

    def last(self) -> int | None:
        return self._tether.last()

    def fate(self, returncode: int, stderr: Captured, *, began: bool) -> Fate:
        fate = self._tether.fate(returncode, stderr, began=began)
        if fate == Fate(exit_code=0) or not (broken := self._bound.broken()):
            return fate
        return replace(fate, error=fate.error or broken, limit=Limit.MEMORY)

    def close(self) -> None:
        self._tether.close()
        self._bound.close()
