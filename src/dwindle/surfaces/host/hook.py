"""dwindle hook: what the host is told when somebody in one of its sessions comes to an end.

The host calls this at every end of every agent of every session, so it has to be quick, and it must
never be the reason that a session goes wrong. Nearly always there is nothing to say: no loop here,
another session's, some other agent's end. That is found out from one small file, and so is what
there is to say (`outlook`). Only where something has to be recorded or put away is the loop itself
brought in (`endings`).

The host ends a turn after it was told a certain number of times in a row to go on (eight, unless
its person has raised that). So a coordinator is let go before that, and whoever started it starts
another: the command says so, and so does the hook at the end of the session's own turn.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dwindle.surfaces.host.outlook import Outlook, noted, sentence
from dwindle.surfaces.host.tenancy import NOTE, Tenancy, take, tenancy

COORDINATOR: Final = "dwindle:aot-coordinator"
IN_A_ROW: Final = 6
"""How often one coordinator is told to go on."""
LEFT: Final = "the session that ran the loop has ended"
PRESSED: Final = 3
"""How often a session is, when that comes to nothing."""
TOO_LONG: Final = 1 << 22

USAGE: Final = """usage: dwindle hook

For the Claude Code plugin: reads what happened from stdin, as the host tells its
hooks, and prints what the host should make of it, or nothing. Takes no words, and
always ends with 0. docs/plugin.md says more."""

Answer = dict[str, Any]


def answer() -> int:
    """Read what happened from stdin, print what the host should make of it; always 0."""
    try:
        said = _said(json.loads(sys.stdin.buffer.read(TOO_LONG)))
    except Exception as error:
        if os.environ.get("DWINDLE_TRACEBACK"):
            raise
        said = _trouble(error)
    if said:
        print(json.dumps(said, ensure_ascii=False), flush=True)
    return 0


def _said(given: object) -> Answer | None:
    if not isinstance(given, Mapping):
        return None
    session = given.get("session_id")
    if not isinstance(session, str) or not session:
        return None  # only one that says who it is
    root = _root(given)
    found = tenancy(root, session) if root is not None else None
    if root is None or found is None or session != found.session:
        return None
    match given.get("hook_event_name"):
        case "SubagentStop" if given.get("agent_type") == COORDINATOR:
            return _coordinator_ended(root, found, given)
        case "StopFailure" if given.get("agent_type") == COORDINATOR:
            _coordinator_died(root, found)
        case "Stop":
            return _turn_ended(root, found, given)
        case "SessionEnd":
            _left(root)
    return None


def _root(given: Mapping[str, Any]) -> Path | None:
    """The folder whose loop it is: from where the session began upwards, else from where it is."""
    for place in (os.environ.get("CLAUDE_PROJECT_DIR"), given.get("cwd")):
        if isinstance(place, str) and place:
            folder = Path(place)
            here = (folder, *folder.parents)
            if (root := next((one for one in here if (one / NOTE).exists()), None)) is not None:
                return root
    return None


def _trouble(error: Exception) -> Answer | None:
    """Where there is no loop, nobody wants to hear of it."""
    try:
        root = _root({"cwd": os.getcwd()})  # noqa: PTH109 - as cheap as it gets
    except OSError:
        root = None
    if root is None:
        return None
    return {"systemMessage": f"dwindle: the loop could not be looked at: {error}"}


# --- the coordinator -----------------------------------------------------------------------------


def _coordinator_ended(root: Path, found: Tenancy, given: Mapping[str, Any]) -> Answer:
    now = _outlook(root, found)
    agent = str(given.get("agent_id", ""))
    told = found.told + 1 if agent and agent == found.coordinator else 1
    if now.paused:
        return {"decision": "approve", "reason": "A redirect is under way: nothing starts."}
    if now.in_flight and _still_running(given):
        take(root, replace(found, coordinator=agent, told=told))
        is_or_are = "is" if len(now.in_flight) == 1 else "are"
        said = f"{', '.join(now.in_flight)} {is_or_are} still at work in the background"
        if told > IN_A_ROW:
            return {"decision": "approve", "reason": f"{said}: they are recorded when they end."}
        return _go_on(f"{said}: wait for what they report, then record it.")
    idle = found.idle + 1 if now.sessions == found.started else 0
    if now.in_flight or now.over or idle >= now.most_stalls:
        from dwindle.surfaces.host.endings import gathered  # noqa: PLC0415 - the whole loop

        now = gathered(root, found.session, idle=idle)
    if now.over:
        return {"decision": "approve", "reason": f"The loop is over: {now.reason}"}
    after = replace(
        tenancy(root) or found,
        coordinator=agent,
        told=told,
        started=now.sessions,
        idle=idle,
        open_count=now.open_count,
    )
    take(root, after)
    said = sentence(now, found.open_count, idle)
    if told > IN_A_ROW:
        return {"decision": "approve", "reason": f"{said} Another coordinator takes over."}
    return _go_on(said)


def _outlook(root: Path, found: Tenancy) -> Outlook:
    said = noted(found.outlook, root)
    if said is None:
        from dwindle.surfaces.host.endings import foreseen  # noqa: PLC0415 - the kernel

        said = foreseen(root)
    return said


def _still_running(given: Mapping[str, Any]) -> bool:
    """Agents in the background; a server that somebody left running there is none of them."""
    tasks = given.get("background_tasks")
    return isinstance(tasks, list) and any(
        isinstance(task, dict)
        and task.get("status") in ("running", "pending")
        and task.get("type") == "subagent"
        for task in tasks
    )


def _coordinator_died(root: Path, found: Tenancy) -> None:
    """The coordinator died of the host's trouble: nobody else has to answer for that."""
    from dwindle.surfaces.host.endings import gathered  # noqa: PLC0415

    gathered(root, found.session, forgive=True)


# --- the session ---------------------------------------------------------------------------------


def _turn_ended(root: Path, found: Tenancy, given: Mapping[str, Any]) -> Answer | None:
    if _still_running(given):
        return None  # the host wakes the session when they are done
    now = _outlook(root, found)
    if now.over or now.paused:
        return None  # a person is being asked, or nothing is left to do
    pressed = found.pressed + 1 if now.sessions == found.at else 1
    take(root, replace(found, pressed=pressed, at=now.sessions))
    if pressed > PRESSED:
        return {"systemMessage": "dwindle: the loop rests here; /enter-recursion goes on with it"}
    return _go_on(
        f"The loop is not over: {now.open_count} open. Start {COORDINATOR} again, in the "
        "foreground, for the next iteration. Only a person ends it: /exit-recursion."
    )


def _left(root: Path) -> None:
    """A host that ends waits for nobody, so whoever ends the run has to outlive it."""
    words = [sys.executable, "-m", "dwindle", "stop", "--plan", "graph", "--reason", LEFT]
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    os.chdir(root)
    os.posix_spawn(sys.executable, words, os.environ, file_actions=nowhere, setsid=True)


def _go_on(reason: str) -> Answer:
    """The reason is what the model reads; it never sees a `systemMessage`."""
    return {"decision": "block", "reason": reason}
