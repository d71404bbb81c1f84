"""dwindle land: bring the result of a run to the user's branch."""

from __future__ import annotations

from pathlib import Path

from dwindle.app.console import as_json, complain, say
from dwindle.app.errors import Locked
from dwindle.app.land import LandRequest, land_run
from dwindle.app.refusal import Refused
from dwindle.kernel.model import EXIT_CODES, StopCode
from dwindle.ports.workspace import LandingStyle


def land(  # noqa: PLR0913 - options of the command
    *,
    onto: str | None = None,
    squash: bool = False,
    merge: bool = False,
    dry_run: bool = False,
    even_if_stopped: bool = False,
    json: bool = False,
) -> int:
    """Put the branch of the run on yours.

    Args:
        onto: The branch to land on; the one that the run began on, if left out.
        squash: As one commit.
        merge: With a merge commit, also where a fast-forward is possible.
        dry_run: Say what would be done, and do nothing.
        even_if_stopped: Land also the work of a run that is not completed.
        json: Print one JSON object.
    """
    style = _style(squash=squash, merge=merge)
    request = LandRequest(onto=onto, style=style, even_if_stopped=even_if_stopped, dry_run=dry_run)
    try:
        done = land_run(Path.cwd(), request)
    except Locked as error:
        complain(f"dwindle: {error}\n  the run goes on; land when it has ended")
        return EXIT_CODES[StopCode.LOCKED]
    lines = (done["text"], *(f"  {line}" for line in done["next"]))
    return say(as_json(done) if json else "\n".join(lines))


def _style(*, squash: bool, merge: bool) -> LandingStyle:
    if squash and merge:
        raise Refused("--squash makes one commit, --merge keeps them all", hint="name one of them")
    return LandingStyle.SQUASH if squash else LandingStyle.MERGE if merge else LandingStyle.KEEP
