"""dwindle hook: answers the host's hooks when a session or an agent of it ends.

The host calls this at every end of every agent of every session, so it has to be quick, and it must
never be the reason that a session goes wrong. Nearly always there is nothing to say: no loop here,
another session's, some other agent's end. The hook reads that, and a summary of the run, from one
small file (`app/host/lease`). It imports the loop itself (`open_hosted`) only to record something.

The host ends a turn that hooks have continued a number of times in a row (eight by default). So a
coordinator is released before that, and its session starts another: the command says so, and so
does the hook at the end of the session's own turn.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dwindle.app.host.lease import (
    NOTE,
    HostLease,
    RunSummary,
    current_lease,
    go_on_text,
    renew_lease,
    summary_in,
)

COORDINATOR: Final = "dwindle:aot-coordinator"
IN_A_ROW: Final = 6
"""How often the hook makes one coordinator go on."""
LEFT: Final = "the session that ran the loop has ended"
PRESSED: Final = 3
"""How often the hook makes a session go on without progress."""
TOO_LONG: Final = 1 << 22

USAGE: Final = """usage: dwindle hook

For the Claude Code plugin: reads what happened from stdin, as the host tells its
hooks, and prints what the host should make of it, or nothing. Takes no words, and
always ends with 0. `dwindle help plugin` says more."""

Answer = dict[str, Any]


def answer() -> int:
    """Read what happened from stdin, print what the host should make of it; always 0."""
    try:
        said = _answer_to(json.loads(sys.stdin.buffer.read(TOO_LONG)))
    except Exception as error:
        if os.environ.get("DWINDLE_TRACEBACK"):
            raise
        said = _trouble(error)
    if said:
        print(json.dumps(said, ensure_ascii=False), flush=True)
    return 0


def _answer_to(given: object) -> Answer | None:
    if not isinstance(given, Mapping):
        return None
    session = given.get("session_id")
    if not isinstance(session, str) or not session:
        return None  # not from a session
    root = _root(given)
    found = current_lease(root, session) if root is not None else None
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
            _stop_run(root)
    return None


def _root(given: Mapping[str, Any]) -> Path | None:
    """The folder of the loop: upwards from where the session began, else from where it is."""
    for place in (os.environ.get("CLAUDE_PROJECT_DIR"), given.get("cwd")):
        if isinstance(place, str) and place:
            folder = Path(place)
            here = (folder, *folder.parents)
            if (root := next((one for one in here if (one / NOTE).exists()), None)) is not None:
                return root
    return None


def _trouble(error: Exception) -> Answer | None:
    """A message for the user, but only where there is a loop."""
    try:
        root = _root({"cwd": os.getcwd()})  # noqa: PTH109 - as cheap as it gets
    except OSError:
        root = None
    if root is None:
        return None
    return {"systemMessage": f"dwindle: the loop could not be looked at: {error}"}


# --- the coordinator -----------------------------------------------------------------------------


def _coordinator_ended(root: Path, found: HostLease, given: Mapping[str, Any]) -> Answer:
    now = _summary(root, found)
    agent = str(given.get("agent_id", ""))
    nudges = found.nudges + 1 if agent and agent == found.coordinator else 1
    if now.paused:
        return {"decision": "approve", "reason": "A redirect is under way: nothing starts."}
    if now.in_flight and _still_running(given):
        renew_lease(root, replace(found, coordinator=agent, nudges=nudges))
        is_or_are = "is" if len(now.in_flight) == 1 else "are"
        said = f"{', '.join(now.in_flight)} {is_or_are} still at work in the background"
        if nudges > IN_A_ROW:
            return {"decision": "approve", "reason": f"{said}: they are recorded when they end."}
        return _go_on(f"{said}: wait for what they report, then record it.")
    idle = found.idle + 1 if now.sessions == found.started else 0
    if now.in_flight or now.over or idle >= now.most_stalls:
        from dwindle.app.host.open_hosted import conclude_flights  # noqa: PLC0415 - the whole loop

        now = conclude_flights(root, found.session, idle=idle)
    if now.over:
        return {"decision": "approve", "reason": f"The loop is over: {now.reason}"}
    after = replace(
        current_lease(root) or found,
        coordinator=agent,
        nudges=nudges,
        started=now.sessions,
        idle=idle,
        open_count=now.open_count,
    )
    renew_lease(root, after)
    said = go_on_text(now, found.open_count, idle)
    if nudges > IN_A_ROW:
        return {"decision": "approve", "reason": f"{said} Another coordinator takes over."}
    return _go_on(said)


def _summary(root: Path, found: HostLease) -> RunSummary:
    said = summary_in(found, root)
    if said is None:
        from dwindle.app.host.open_hosted import summarize  # noqa: PLC0415 - the whole loop

        said = summarize(root)
    return said


def _still_running(given: Mapping[str, Any]) -> bool:
    """Whether agents run in the background; other programs do not count."""
    tasks = given.get("background_tasks")
    return isinstance(tasks, list) and any(
        isinstance(task, dict)
        and task.get("status") in ("running", "pending")
        and task.get("type") == "subagent"
        for task in tasks
    )


def _coordinator_died(root: Path, found: HostLease) -> None:
    """The host failed, not the agents: their starts are forgiven."""
    from dwindle.app.host.open_hosted import conclude_flights  # noqa: PLC0415

    conclude_flights(root, found.session, forgive=True)


# --- the session ---------------------------------------------------------------------------------


def _turn_ended(root: Path, found: HostLease, given: Mapping[str, Any]) -> Answer | None:
    if _still_running(given):
        return None  # the host wakes the session when they are done
    now = _summary(root, found)
    if now.over or now.paused:
        return None  # a person is being asked, or nothing is left to do
    nudges = found.session_nudges + 1 if now.sessions == found.nudged_at else 1
    renew_lease(root, replace(found, session_nudges=nudges, nudged_at=now.sessions))
    if nudges > PRESSED:
        return {"systemMessage": "dwindle: the loop rests here; /enter-recursion goes on with it"}
    return _go_on(
        f"The loop is not over: {now.open_count} open. Start {COORDINATOR} again, in the "
        "foreground, for the next iteration. Only a person ends it: /exit-recursion."
    )


def _stop_run(root: Path) -> None:
    """Stop the run in a process that outlives the host, which does not wait."""
    words = [sys.executable, "-m", "dwindle", "stop", "--plan", "graph", "--reason", LEFT]
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    os.chdir(root)
    os.posix_spawn(sys.executable, words, os.environ, file_actions=nowhere, setsid=True)


def _go_on(reason: str) -> Answer:
    """The reason is what the model reads; it never sees a `systemMessage`."""
    return {"decision": "block", "reason": reason}
