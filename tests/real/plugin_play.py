"""Models that do what the plugin's files tell them, for the real program to talk to.

Each of them looks at what it was answered last and takes the next step that its instructions name.
They are as literal as a model can be: what the files do not say, they do not do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tests.real.model import Conversation, Lane, Step, ToolCall

FEEDBACK = "Stop hook feedback"
ONE_ITERATION = "Do one iteration of the loop."

Main = Callable[[Conversation], Step]


def bash(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command, "description": "dwindle"})


def agent(kind: str, prompt: str) -> ToolCall:
    return ToolCall(
        "Agent",
        {
            "description": "part of the loop",
            "subagent_type": f"dwindle:{kind}",
            "prompt": prompt,
            "run_in_background": False,
        },
    )


def answered(text: str) -> dict[str, Any]:
    """The JSON object in what a command printed."""
    found: dict[str, Any] = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return found


def results(conversation: Conversation) -> list[str]:
    return [result.text for result in conversation.tool_results]


def enters(conversation: Conversation) -> Step:
    """/enter-recursion: enter, then one coordinator after the other until it is over."""
    said = results(conversation)
    if not said:
        return Step(tools=(bash("dwindle state enter"),))
    if '"next"' in said[-1]:
        coming = answered(said[-1])["next"]
        if coming["over"]:
            return Step(f"over: {coming['stop_code']}: {coming['reason']}")
        return Step(tools=(agent("aot-coordinator", ONE_ITERATION),))
    if '"error"' in said[-1]:
        return Step(f"refused: {answered(said[-1])['error']}")
    return Step(tools=(bash("dwindle state next"),))


def coordinates(conversation: Conversation) -> Step:
    said = results(conversation)
    kinds = [_kind(text) for text in said]
    if not said:
        return Step(tools=(bash("dwindle state next"),))
    if kinds[-1] == "next":
        coming = answered(said[-1])["next"]
        if coming["over"]:
            return Step("It is over.")
        if coming["verify"]:
            return Step(tools=(bash("dwindle state set-status completed"),))
        starts = [f"dwindle state update-atom {s['atom_id']} in_progress" for s in coming["start"]]
        return Step(tools=tuple(map(bash, starts)))
    if kinds[-1] == "started":
        return Step(tools=tuple(_ordered(answered(t)) for t in _tail(said, kinds, "started")))
    if kinds[-1] == "worked":
        return Step(tools=tuple(_recorded(text) for text in _tail(said, kinds, "worked")))
    if kinds[-1] == "recorded":
        rounds = sum(
            kind == "recorded" and (n == 0 or kinds[n - 1] != "recorded")
            for n, kind in enumerate(kinds)
        )
        told = sum(FEEDBACK in user for user in conversation.users)
        return Step(tools=(bash("dwindle state next"),)) if told >= rounds else Step("Done.")
    return Step(f"I do not know what this is: {said[-1]:.300}")


def works(conversation: Conversation) -> Step:
    """Reads its orders, does what they say, reports. `Fail` fails, unless it is asked to differ."""
    given = conversation.user
    atom, nonce = re.findall(r"Atom (\S+), nonce (\d+)", given)[-1]
    prompt, tree, report = (
        re.findall(rf"{name} (\S+)", given)[-1]
        for name in ("orders are in", "Work in", "as JSON, to")
    )
    prompt, tree, report = prompt.rstrip("."), tree.rstrip("."), report.rstrip(".")
    said = results(conversation)
    if not said:
        return Step(tools=(ToolCall("Read", {"file_path": prompt}),))
    if len(said) > 1:
        return Step(f"worker ended: {atom} {nonce}")
    orders = said[0]
    name = re.findall(r"[Mm]ake (\w+\.txt)", orders)
    stuck = "Stumble" in orders and "another approach" not in orders.lower()
    if "Fail" in orders or stuck or not name:
        failed = {"success": False, "reason": "there is no pen"}
        return Step(tools=(ToolCall("Write", _file(report, json.dumps(failed))),))
    done = {"success": True, "summary": f"made {name[0]}", "artifacts": [name[0]]}
    return Step(
        tools=(
            ToolCall("Write", _file(f"{tree}/{name[0]}", "hello\n")),
            ToolCall("Write", _file(report, json.dumps(done))),
        )
    )


def probes(conversation: Conversation) -> Step:
    atom, nonce = re.findall(r"Atom (\S+), nonce (\d+)", conversation.user)[-1]
    return Step(f'probe ended: {atom} {nonce} {{"feasible": true, "findings": "nothing new"}}')


def lanes(main: Main = enters) -> tuple[Lane, ...]:
    return (
        Lane(name="worker", system="You do one atom", steps=(works,), repeats=True),
        Lane(name="probe", system="You look, and change", steps=(probes,), repeats=True),
        Lane(name="coordinator", system="You coordinate one", steps=(coordinates,), repeats=True),
        Lane(name="main", steps=(main,), repeats=True),
    )


def _kind(text: str) -> str:
    if "worker ended:" in text or "probe ended:" in text:
        return "worked"
    if '"worktree"' in text:
        return "started"
    if '"executable_atoms"' in text:
        return "next"
    return "recorded" if '"success"' in text else "other"


def _tail(said: list[str], kinds: list[str], kind: str) -> list[str]:
    """The last results, as long as they are of this kind; in the order in which they came."""
    found = []
    for text, one in zip(reversed(said), reversed(kinds), strict=True):
        if one != kind:
            break
        found.append(text)
    return found[::-1]


def _ordered(started: dict[str, Any]) -> ToolCall:
    return agent(
        started["agent"],
        f"Atom {started['atom_id']}, nonce {started['nonce']}.\n"
        f"Your orders are in {started['prompt']}. Read that file first.\n"
        f"Work in {started['worktree']} and nowhere else.\n"
        f"Write your report, as JSON, to {started['report']}.",
    )


def _recorded(text: str) -> ToolCall:
    if found := re.findall(r"probe ended: (\S+) (\d+) ({.*?})", text):
        atom, nonce, report = found[-1]
        return bash(f"dwindle state report {atom} --nonce {nonce} --json '{report}'")
    atom, nonce = re.findall(r"worker ended: (\S+) (\d+)", text)[-1]
    return bash(f"dwindle state update-atom {atom} resolved --nonce {nonce}")


def _file(path: str, content: str) -> dict[str, str]:
    return {"file_path": path, "content": content}
