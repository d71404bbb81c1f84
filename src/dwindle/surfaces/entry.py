"""From the command line to an exit code, whatever happens in between."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

from dwindle.app.console import USAGE, complain, say
from dwindle.app.refusal import IO_ERROR, Refused

INTERRUPTED = 130
BUG = 70


def answer(words: Sequence[str]) -> int:
    """Run a command; the exit code. No exception gets past this."""
    _open_closed_streams()
    try:
        return call(words)
    except Refused as error:
        complain(str(error))
        return error.code
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        complain(f"dwindle: {place}{error.strerror or error}")
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return IO_ERROR
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # the last line of defence
        if os.environ.get("DWINDLE_TRACEBACK"):
            raise
        complain(
            f"dwindle: this is a bug: {type(error).__name__}: {error}\n"
            "  DWINDLE_TRACEBACK=1 shows where; `dwindle status` says where a run stands"
        )
        return USAGE if words[:1] == ["validate"] else BUG
    return USAGE


def _open_closed_streams() -> None:
    """`dwindle status >&-` has no stream to write to, and Python none at all."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - as long as we live


def call(words: Sequence[str]) -> int:
    """Answer frequent commands without the command-line framework, all others with it."""
    if not words:
        from dwindle.app.plans.first_minute import first_minute  # noqa: PLC0415

        return say(first_minute())
    if (asked := plain_status(words)) is not None:
        from dwindle.kernel.model import PlanKind  # noqa: PLC0415
        from dwindle.surfaces.cli.status import status  # noqa: PLC0415 - only what is needed

        plan = asked.get("--plan")
        return status(json="--json" in asked, plan=PlanKind(plan) if plan else None)
    if words[:1] == ["hook"]:
        from dwindle.surfaces.host.hook import USAGE as HOOK  # noqa: PLC0415

        return say(HOOK, 0 if words[1:] in (["-h"], ["--help"]) else USAGE)
    if words[:1] == ["state"]:
        from dwindle.surfaces.host.state_command import answer as state  # noqa: PLC0415

        return state(words[1:])
    from dwindle.surfaces.cli.app import run  # noqa: PLC0415 - ten times as much as the rest

    return run(words)


def plain_status(words: Sequence[str]) -> dict[str, str] | None:
    """`status` with `--json` and `--plan graph|tree`, each at most once; None if it is not that."""
    if words[:1] != ["status"]:
        return None
    asked: dict[str, str] = {}
    waiting = [part for word in words[1:] for part in _parts(word)]
    while waiting:
        name = waiting.pop(0)
        if name in asked:
            return None
        if name == "--json":
            asked[name] = ""
        elif name == "--plan" and waiting and waiting[0] in ("graph", "tree"):
            asked[name] = waiting.pop(0)
        else:
            return None
    return asked


def _parts(word: str) -> list[str]:
    """`--plan=tree` is `--plan tree`."""
    return word.split("=", 1) if word.startswith("--plan=") else [word]
