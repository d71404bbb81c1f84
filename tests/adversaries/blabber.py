"""An agent, a check, a guard and a setup that tell every key they know, wherever they can.

`python blabber.py` is an agent by the contract of `command` agents. `python blabber.py say` only
says it, as a check, a guard or a setup would. The keys are the variables named in BLAB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

KEYS = [os.environ[name] for name in os.environ.get("BLAB", "").split() if name in os.environ]
ALL = " and ".join(KEYS) or "nothing is known"
EVIL = os.environ.get("EVIL_WORDS", "")
"""Besides the keys, in all that is said."""


def say() -> None:
    """On both streams: whole, in two pieces, in JSON, in an address, with slashes escaped."""
    for stream in (sys.stdout, sys.stderr):
        for key in KEYS:
            inside = json.dumps(key)
            for text in (key, inside, inside.replace("/", "\\/"), f"https://me:{key}@host/"):
                print(text, EVIL, file=stream, flush=True)
            half = len(key) // 2
            for piece in (key[:half], key[half:], "\n"):
                stream.write(piece)
                stream.flush()
                time.sleep(0.01)
        if EVIL:
            print(EVIL, file=stream, flush=True)


def words(what: str) -> str:
    return f"{what} {ALL} {EVIL}".strip()


def work(atom: str, session: int) -> dict[str, Any]:
    done = {"success": True, "summary": words("with"), "artifacts": ["done"]}
    match atom, session:
        case "A1", 1:
            sys.exit(3)
        case "A1", 2:
            Path("settings.ini").write_text(f"[app]\nkeys = {ALL}\n", "utf-8")
            Path(".ignored").mkdir(exist_ok=True)
            Path(".ignored/cache").write_text(ALL, "utf-8")
            for number, key in enumerate(KEYS):
                Path(key.replace("/", "_")[:60] + f".{number}").touch()
                if "/" not in key:
                    Path(f"named-{key}").touch()
            return done
        case "A1", 3:
            return {"success": False, "reason": words("no pen for"), "wrong_key": KEYS}
        case "A2", 1:
            subprocess.run(["git", "commit", "--allow-empty", "-m", ALL], check=False)
            child = {"description": words("part"), "check": {"type": "command", "value": "true"}}
            return {
                "success": False,
                "decomposition": {"reason": words("large"), "children": [child]},
            }
        case "A3", 1:
            new = [{"description": words("other")}]
            return {"success": False, "reason": words("no"), "alternatives": new}
    with Path("done").open("a", encoding="utf-8") as file:
        file.write(f"{atom}\n")
    return done


def report(order: dict[str, Any]) -> dict[str, Any]:
    match order["role"]:
        case "probe":
            return {"feasible": True, "findings": words("found"), "cost_estimate": words("costs")}
        case "verifier":
            return {"passed": True, "evidence": words("seen"), "failures": []}
        case "planner":
            return {"questions": [words("which?")]}
    return work(order["atom"], order["session_of_atom"])


def by_numbers(text: str) -> str:
    """JSON in which every letter of a key is a number."""
    for key in KEYS:
        spelt = "".join(f"\\u{ord(letter):04x}" for letter in key)
        text = text.replace(json.dumps(key)[1:-1], spelt)
    return text


def main() -> None:
    say()
    if sys.argv[1:] == ["say"]:
        return
    if sys.argv[1:] == ["tree"]:
        tree()
        return
    order = json.loads(Path(os.environ["DWINDLE_ORDER"]).read_bytes())
    said = json.dumps(report(order), ensure_ascii=False)
    printed = order["role"] == "worker" and order["session_of_atom"] % 2 == 0
    if printed:
        sys.stdout.write(by_numbers(said) + "\n")
    else:
        Path(os.environ["DWINDLE_REPORT"]).write_text(by_numbers(said), "utf-8")


def tree() -> None:
    """The agent of a tree plan: each session leaves keys in another place."""
    order = json.loads(Path(os.environ["DWINDLE_ORDER"]).read_bytes())
    Path(os.environ["DWINDLE_REPORT"]).write_text(json.dumps({"success": ALL}), "utf-8")
    plan = Path(".runner/tree.json")
    match order["attempt"]:
        case 1:
            Path("settings.ini").write_text(ALL, "utf-8")
        case 2:
            text = json.loads(plan.read_bytes())
            text["root"]["children"][0]["title"] = words("do")
            plan.write_text(json.dumps(text, ensure_ascii=False), "utf-8")
        case 3:
            plan.write_text(words("no tree"), "utf-8")
        case 4:
            Path("settings.ini").write_text("clean\n", "utf-8")
            sys.exit(7)
        case _:
            Path("done").write_text(f"{order['attempt']}\n", "utf-8")
            Path(".runner/HUMAN_QUESTIONS.md").write_text("which?\n", "utf-8")


if __name__ == "__main__":
    main()
