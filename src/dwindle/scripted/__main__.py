"""Follow a script: read the order, do the steps, report, exit."""

# ruff: noqa: T201 - what it prints is its part of the contract

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dwindle.ports.work import PLANNER
from dwindle.scripted import tree_step
from dwindle.scripted.script import Entry, ScriptRefused, load

USAGE: Final = 64
"""EX_USAGE of sysexits: started wrongly."""
BAD_SCRIPT: Final = 65
"""EX_DATAERR: nothing that a session could change."""
NO_ENTRY: Final = 66
"""EX_NOINPUT: the script has nothing for this session."""
PLANS: Final = "plan"
WORKER: Final = "worker"
VERIFIER: Final = "verifier"
PLACES: Final = ("atom", "role", "run", "attempt", "nonce", "session_of_atom")
"""Fields of the order that `${...}` in a script may name."""


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or "DWINDLE_ORDER" not in os.environ:
        print(
            "usage: DWINDLE_ORDER=... DWINDLE_REPORT=... python -m dwindle.scripted SCRIPT",
            file=sys.stderr,
        )
        return USAGE
    try:
        script = load(Path(arguments[0]))
    except ScriptRefused as error:
        print(error, file=sys.stderr)
        return BAD_SCRIPT
    order = json.loads(Path(os.environ["DWINDLE_ORDER"]).read_text("utf-8"))
    session = order.get("session_of_atom", 1)
    judged = (check.get("value") or check["type"] for check in order.get("checks", ()))
    names: tuple[str, ...] = (order["atom"], order["description"])
    if order["role"] == VERIFIER:
        names = (*names, *judged)
    if order["role"] == PLANNER:
        names = (order.get("purpose", ""),)
    entry = script.entry(order["role"], names, session)
    if entry is None and order.get("purpose") == PLANS:
        entry = script.entry(WORKER, names, session)  # of a tree: one list for each node
    if entry is None:
        name = order["atom"] or names[-1]
        print(f"the script has nothing for a {order['role']} on {name}", file=sys.stderr)
        return NO_ENTRY
    return follow(entry, {place: str(order.get(place, "")) for place in PLACES})


def follow(entry: Entry, places: Mapping[str, str]) -> int:
    for verb, what in entry.steps:
        try:
            code = _do(verb, _filled(what, places))
        except (OSError, tree_step.NotInTree) as error:
            done = "edit the tree" if verb == "tree" else verb
            print(f"could not {done}: {error}", file=sys.stderr)
            return 1
        if code:
            print(f"{verb} ended with exit code {code}: {what}", file=sys.stderr)
            return code
    if entry.report is not None:
        report = _filled(entry.report, places)
        if entry.on_stdout:
            print(report, flush=True)
        else:
            Path(os.environ["DWINDLE_REPORT"]).write_text(report, "utf-8")
    return entry.exit


def _do(verb: str, what: Any) -> int:
    match verb:
        case "write" | "append":
            for name, text in what.items():
                path = Path(name)
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("w" if verb == "write" else "a", encoding="utf-8") as file:
                    file.write(text)
        case "delete":
            for name in what:
                Path(name).unlink()
        case "run":
            return _run(what)
        case "sleep":
            time.sleep(what)
        case "tree":
            tree_step.edit(what)
        case "print":
            for text in what if isinstance(what, list) else [what]:
                print(text, flush=True)
    return 0


def _run(line: str) -> int:
    code = subprocess.run(["sh", "-c", line], check=False).returncode
    return code if code >= 0 else 128 - code


def _filled(what: Any, places: Mapping[str, str]) -> Any:
    """The same with `${atom}` and the like replaced; any other `${...}` is left to the shell."""
    if isinstance(what, str):
        for name, value in places.items():
            what = what.replace(f"${{{name}}}", value)
        return what
    if isinstance(what, dict):
        return {_filled(k, places): _filled(v, places) for k, v in what.items()}
    if isinstance(what, list):
        return [_filled(entry, places) for entry in what]
    return what


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
