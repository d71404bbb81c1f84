"""dwindle run: go on until the base case holds, or until there is a reason to stop."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from dwindle.adapters.disk import Locked
from dwindle.adapters.journals.jsonl import JournalDamaged
from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.model import StopCode
from dwindle.ports.store import StoreFailed
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.ledger import EditedByHand, OutOfStep
from dwindle.surfaces import running
from dwindle.surfaces.cli.output import USAGE, complain
from dwindle.surfaces.cli.problem_list import problem_lines
from dwindle.surfaces.progress import Progress
from dwindle.surfaces.refusal import Refused

EDITED = "put it back, and change the plan by `dwindle redirect`"


def run(*, no_sandbox: bool = False, run_id: str | None = None) -> int:
    """Run the plan of this repository.

    Args:
        no_sandbox: Let agents and checks do what they like; said in the certificate.
        run_id: The id of a run that begins now, instead of a new one.
    """
    return answered(running.Wish(sandbox=not no_sandbox, run_id=run_id))


def answered(wish: running.Wish) -> int:
    """The exit code of a run or of one iteration; every other end is told here."""
    if not wish.sandbox:
        complain("dwindle: NO SANDBOX: agents and checks can do all that you can do")
    try:
        halted = asyncio.run(running.run(Path.cwd(), wish, Progress(_line)))
    except running.NotReady as error:
        complain("\n".join(problem_lines(running.PLAN_FILE, error.problems)))
        unaligned = any(problem.unaligned for problem in error.problems)
        return EXIT_CODES[StopCode.NOT_ALIGNED] if unaligned else USAGE
    except EditedByHand as error:
        raise Refused(
            str(error),
            where=running.PLAN_FILE,
            hint=EDITED,
        ) from None
    except Locked as error:
        complain(f"dwindle: {error}\n  another run has this plan")
        return EXIT_CODES[StopCode.LOCKED]
    except (StoreFailed, JournalDamaged, OutOfStep) as error:
        complain(f"dwindle: {error}")
        return EXIT_CODES[StopCode.IO_ERROR]
    except WorkspaceFailed as error:
        raise Refused(str(error)) from None
    except (asyncio.CancelledError, KeyboardInterrupt):
        complain("dwindle: ended at once; `dwindle run` goes on from here")
        return EXIT_CODES[StopCode.STOPPED_BY_USER]
    return 0 if halted.stop is None else EXIT_CODES[halted.stop.code]


def _line(text: str) -> None:
    print(text, flush=True, file=sys.stdout)
