"""dwindle state: its command line, parsed without a framework, which would take too long.

Models call it several times in every turn of a hosted loop. So every answer is one JSON object, and
a wrong command line is answered with the usage.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from dwindle.app.console import say
from dwindle.app.host.lease import LOCKED
from dwindle.app.refusal import Refused

STATE_FILE = ".claude/aot-loop-state.md"
USAGE = """usage: dwindle state VERB ...

  read                          the plan, as JSON
  enter                         begin the loop in this session, or take it up again
  next                          what there is to do now
  update-atom ATOM in_progress  charge a start; prints nonce and worktree
  update-atom ATOM resolved [--nonce N] [--summary S] [--artifacts A,B]
                                look at the evidence and bring the work in, or refuse
  update-atom ATOM pending [--nonce N] [--reason R]
                                the attempt failed
  report ATOM --json TEXT|--file FILE [--nonce N]
                                a report in full: findings, decomposition, alternatives
  add-binding ATOM --summary S [--artifacts A,B]
  set-status completed [--judged JSON]
                                run the base case; completed if it holds
  set-status stopped [--reason R]
  pause, resume                 what is in flight is void and nothing starts, until
                                `dwindle redirect` or resume
  headless                      run the loop outside of this session

Every verb takes --state-file PATH. Answers are JSON; ends with 0, with 1 for what
is refused, 2 for a wrong command line, 3 at the gate, 41 for what was tampered
with, 42 if another has the loop, 43 if the disk or git failed."""
REFUSED, WRONG_USAGE, NOT_ALIGNED = 1, 2, 3
TAKES: dict[str, tuple[str, ...]] = {
    "read": (),
    "enter": (),
    "next": (),
    "update-atom": ("--nonce", "--summary", "--artifacts", "--reason"),
    "report": ("--json", "--file", "--nonce"),
    "add-binding": ("--summary", "--artifacts"),
    "set-status": ("--reason", "--judged"),
    "pause": (),
    "resume": (),
    "headless": (),
}

Answer = dict[str, Any]


class WrongUsage(Exception):
    """A command line that cannot be understood, and why."""


def answer(words: Sequence[str]) -> int:
    """One JSON object on stdout; the exit code."""
    if not words or words[0] in ("-h", "--help"):
        return say(USAGE)
    try:
        said, code = _answer_to(words)
    except WrongUsage as error:
        said, code = {"success": False, "error": str(error), "usage": USAGE}, WRONG_USAGE
    return say(json.dumps(said, ensure_ascii=False, indent=2), code)


def _answer_to(words: Sequence[str]) -> tuple[Answer, int]:
    given, options = _parse(words)
    root = _root(options.pop("--state-file", STATE_FILE))
    if root is None:
        hint = "agree on a plan first: /align-goal, or `dwindle align`"
        where = str(Path(STATE_FILE))
        missing = {"exists": False, "success": False, "error": f"State file not found: {where}"}
        return {**missing, "hint": hint}, REFUSED
    from dwindle.app.errors import EditedByHand  # noqa: PLC0415
    from dwindle.app.open_run.shared import NotReady  # noqa: PLC0415
    from dwindle.kernel.errors import IllegalEvent  # noqa: PLC0415 - not for a mere --help
    from dwindle.runner.modes.hosted import NotNow  # noqa: PLC0415

    try:
        said = _call(root, given, options)
    except NotReady as error:
        problems = [p.what for p in error.problems if not p.warning]
        unaligned = any(problem.unaligned for problem in error.problems)
        hint = "/align-goal agrees on it" if unaligned else "`dwindle validate` says where"
        refused = {"success": False, "error": "; ".join(problems), "hint": hint}
        return refused, NOT_ALIGNED if unaligned else WRONG_USAGE
    except Refused as error:
        refused = {"success": False, "error": error.what, "hint": error.hint}
        return refused, error.code if error.code == LOCKED else REFUSED
    except EditedByHand as error:
        hint = "`dwindle redirect --adopt` takes the edit over; or put the file back as it was"
        return {"success": False, "error": str(error), "hint": hint}, REFUSED
    except (NotNow, IllegalEvent) as error:
        return {"success": False, "error": str(error)}, REFUSED
    except _tampering() as error:
        return {
            "success": False,
            "error": str(error),
            "hint": "`dwindle help security` says more",
        }, 41
    except _troubles() as error:
        return {"success": False, "error": str(error)}, 43
    return said, 0 if said.get("success", True) else REFUSED


def _tampering() -> tuple[type[Exception], ...]:
    from dwindle.app.errors import JournalDamaged, OutOfStep, RolledBack  # noqa: PLC0415

    return (JournalDamaged, OutOfStep, RolledBack)


def _troubles() -> tuple[type[Exception], ...]:
    from dwindle.app.errors import StoreFailed, WorkspaceFailed  # noqa: PLC0415

    return (StoreFailed, WorkspaceFailed, OSError)


def _parse(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    verb = words[0].replace("_", "-")
    if verb not in TAKES:
        raise WrongUsage(f"there is no verb {words[0]!r}")
    known = (*TAKES[verb], "--state-file")
    given, options = [verb], dict[str, str]()
    waiting = list(words[1:])
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("--"):
            given.append(word)
        elif name not in known:
            raise WrongUsage(f"{verb} takes no {name}")
        elif name in options:
            raise WrongUsage(f"{name} was given twice")
        elif not equals and not waiting:
            raise WrongUsage(f"{name} needs a value")
        else:
            options[name] = value if equals else waiting.pop(0)
    return given, options


def _root(state_file: str) -> Path | None:
    """The folder that holds `.claude`, from here upwards unless the path says where."""
    asked = Path(state_file)
    if asked.name != "aot-loop-state.md" or asked.parent.name != ".claude":
        raise WrongUsage(f"the state file is always {STATE_FILE}, in the root of a repository")
    if asked.is_absolute():
        return asked.parent.parent if asked.is_file() else None
    here = Path.cwd()
    if state_file != STATE_FILE:
        return (here / asked).resolve().parent.parent if (here / asked).is_file() else None
    for folder in (here, *here.parents):
        if (folder / STATE_FILE).is_file():
            return folder
        if (folder / ".git").exists() and (folder / ".git").is_dir():
            return None
    return None


def _call(root: Path, given: Sequence[str], options: dict[str, str]) -> Answer:
    from dwindle.app.host import verbs  # noqa: PLC0415 - brings the whole loop along

    match given:
        case ["read"]:
            return verbs.read(root)
        case ["headless"]:
            return verbs.run_detached(root)
        case ["enter"]:
            return asyncio.run(verbs.enter(root))
        case ["pause"] | ["resume"]:
            return asyncio.run(verbs.pause(root, active=given[0] == "pause"))
        case ["next"] | ["set-status", "running"]:
            return asyncio.run(verbs.next_actions(root))
        case [verb, atom, *more]:
            return asyncio.run(_call_with_atom(root, (verb, atom, *more), options))
    raise WrongUsage(f"{' '.join(given)}: there is no such form")


def _call_with_atom(
    root: Path, given: tuple[str, ...], options: dict[str, str]
) -> Coroutine[None, None, Answer]:
    from dwindle.app.host import verbs  # noqa: PLC0415
    from dwindle.kernel.model import AtomId  # noqa: PLC0415 - as above

    summary, reason = options.get("--summary", ""), options.get("--reason", "")
    match given:
        case ("update-atom", atom, "in_progress"):
            return verbs.begin(root, AtomId(atom))
        case ("update-atom", atom, "resolved"):
            nonce = _number(options)
            return verbs.resolve(root, AtomId(atom), nonce, summary, _names(options))
        case ("update-atom", atom, "pending"):
            return verbs.fail(root, AtomId(atom), _number(options), reason)
        case ("report", atom):
            data = _text(options, "--json", "--file")
            return verbs.report(root, AtomId(atom), data, _number(options))
        case ("add-binding", atom):
            return verbs.bind(root, AtomId(atom), summary, _names(options))
        case ("set-status", "completed"):
            judged = options.get("--judged")
            return verbs.complete(root, judged.encode() if judged is not None else None)
        case ("set-status", "stopped"):
            return verbs.stop(root, reason)
    raise WrongUsage(f"{' '.join(given)}: there is no such form")


def _number(options: dict[str, str]) -> int | None:
    text = options.get("--nonce")
    if text is None:
        return None
    if not text.isdecimal():
        raise WrongUsage(f"--nonce is a number, and not {text!r}")
    return int(text)


def _names(options: dict[str, str]) -> tuple[str, ...]:
    return tuple(n.strip() for n in options.get("--artifacts", "").split(",") if n.strip())


def _text(options: dict[str, str], inline: str, file: str) -> bytes:
    if (inline in options) == (file in options):
        raise WrongUsage(f"either {inline} or {file}")
    if inline in options:
        return options[inline].encode()
    if options[file] == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(options[file]).read_bytes()
    except OSError as error:
        raise WrongUsage(f"{options[file]}: {error.strerror}") from None
