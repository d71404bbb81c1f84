"""dwindle land: bring the result of a run to the user's branch."""

from __future__ import annotations

from pathlib import Path

from dwindle.app.console import complain, say
from dwindle.app.errors import Locked
from dwindle.app.land import land_run
from dwindle.kernel.model import EXIT_CODES, StopCode


def land(*, onto: str | None = None, even_if_stopped: bool = False) -> int:
    """Put the branch of the run on yours.

    Args:
        onto: The branch to land on; the one that is checked out, if left out.
        even_if_stopped: Land also the work of a run that is not completed.
    """
    try:
        return say(land_run(Path.cwd(), onto, even_if_stopped=even_if_stopped))
    except Locked as error:
        complain(f"dwindle: {error}\n  the run goes on; land when it has ended")
        return EXIT_CODES[StopCode.LOCKED]
