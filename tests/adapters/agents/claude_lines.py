"""Lines as claude prints them, and a program that prints them in its place."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from dwindle.adapters.agents.claude.agent import ClaudeAgent, ClaudeSession
from dwindle.ports.agent import Place
from dwindle.ports.process import Captured, Ended
from dwindle.ports.work import Order
from dwindle.testing.agents import ORDER

FULL = ["Task", "Bash", "Edit", "Read", "Skill", "StructuredOutput", "WebFetch", "Write"]
READING = ["Glob", "Grep", "Read", "StructuredOutput"]
BUILT_IN = {"name": "cc-plugin-privacy", "path": "builtin", "source": "cc-plugin-privacy@builtin"}
NO_COST = {"total_cost_usd": 0, "usage": {}, "modelUsage": {}}


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def init(**changed: Any) -> bytes:
    told = {
        "type": "system",
        "subtype": "init",
        "tools": FULL,
        "mcp_servers": [],
        "permissionMode": "bypassPermissions",
        "plugins": [],
        "claude_code_version": "2.1.197",
    }
    return line(**{**told, **changed})


def said(text: str = "hm", **changed: Any) -> bytes:
    """By the model, in the main conversation."""
    message = {
        "id": "msg_1",
        "model": "claude-opus-4-8",
        "content": [{"type": "text", "text": text}],
        "usage": {"input_tokens": 100, "cache_read_input_tokens": 50, "output_tokens": 1},
    }
    told = {"type": "assistant", "message": message, "parent_tool_use_id": None}
    return line(**{**told, **changed})


def synthetic(error: str, **changed: Any) -> bytes:
    """By the program, in the model's name."""
    message = {"id": "x", "model": "<synthetic>", "content": [], "usage": {"input_tokens": 0}}
    return said(message=message, error=error, **changed)


def result(**changed: Any) -> bytes:
    """With its kind at the end, as newer versions have it."""
    told = {"is_error": False, "subtype": "success", "num_turns": 1, "result": "done", **NO_COST}
    return line(**{**told, **changed, "type": "result"})


def agent(folder: Path, **changed: Any) -> ClaudeAgent:
    """One whose world is this folder."""
    ours = {"PATH": "/usr/bin:/bin", "HOME": str(folder / "home")}
    return ClaudeAgent(**{"ours": ours, "clock": lambda: 1000.0, **changed})


def place_in(folder: Path, prompt: bytes = b"Write it.\n") -> Place:
    place = Place(workspace=folder / "workspace", outbox=folder / "outbox")
    place.workspace.mkdir(parents=True, exist_ok=True)
    place.outbox.mkdir(exist_ok=True)
    place.prompt.write_bytes(prompt)
    return place


def session_in(folder: Path, order: Order = ORDER, **changed: Any) -> ClaudeSession:
    return agent(folder, **changed).session(order, place_in(folder))


def watched(session: ClaudeSession, *lines: bytes) -> str | None:
    """What the first line led to that led to anything."""
    for one in lines:
        if (why := session.watch(one)) is not None:
            return why
    return None


def ended(code: int | None = 0, **changed: Any) -> Ended:
    printed = Captured(head=b"...", size=3)
    return Ended(**{"exit_code": code, "stdout": printed, **changed})


FAKE = """\
#!{python}
import json, subprocess, sys
argv = sys.argv[1:]
def option(name, default):
    return argv[argv.index(name) + 1] if name in argv else default
mode = "bypassPermissions" if "--dangerously-skip-permissions" in argv else "default"
tools = option("--tools", "Bash,Edit,Read,Write").split(",")
def tell(**fields):
    print(json.dumps(fields), flush=True)
tell(type="system", subtype="init", tools=[*tools, "StructuredOutput"], mcp_servers=[], plugins=[],
     permissionMode=option("--permission-mode", mode), claude_code_version="2.1.197")
done = subprocess.run(["sh", "-c", {line!r}], stdout=subprocess.PIPE)
if done.returncode:
    sys.exit(done.returncode)
text = done.stdout[-100_000:].decode("utf-8", "replace")
tell(type="result", subtype="success", is_error=False, num_turns=1, result=text, total_cost_usd=0,
     usage={{}}, modelUsage={{}})
"""


def fake_claude(folder: Path, what: str, *, program: str = FAKE) -> Path:
    """A program that talks like claude; a shell line is all that its model ever thinks of."""
    path = folder / "claude"
    path.write_text(program.format(python=sys.executable, line=what), "utf-8")
    path.chmod(0o755)
    return path
