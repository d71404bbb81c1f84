"""What a session of claude may do in each role, and whether the program has understood it.

Options that claude does not like it often drops without a word: a setting of the wrong type, a
plugin that is not there, a server that does not start. But at its beginning it tells which tools it
has, in which mode, and what else was loaded. A session is trusted only if that is what was asked
for.

A probe and a planner get tools that read, and nothing of the workspace's own settings: a worker
could have left a hook there. A verifier may also run commands, but only where our sandbox keeps the
file system from being written to. A worker may do everything inside our sandbox. Without one it may
edit its workspace and run commands, hooks stay off, and what lies beyond is refused by claude
itself, as far as it can tell.

An order may name the only tools that its session is to have. That takes tools away and never adds
one: what the role does not have, it does not get by being named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dwindle.adapters.agents.claude.stream import Init
from dwindle.kernel.model import Role

READING: Final = ("Read", "Grep", "Glob")
WRITING: Final = ("Bash", "Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch")
"""What a worker is allowed beforehand where claude would ask for each."""
ADDED: Final = ("StructuredOutput", "ToolSearch", "DeferredToolPlaceholder")
"""Tools that come with a report's schema, or that newer versions add by themselves."""
FOREIGN: Final = "mcp__"
"""How the names of tools begin that a server brings."""
BUILT_IN: Final = "builtin"
NO_HOOKS: Final = json.dumps({"disableAllHooks": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    options: tuple[str, ...]
    mode: str
    tools: tuple[str, ...] | None = None
    """None: all that the program has."""


def allowance(
    role: str, *, sandboxed: bool, outbox: Path, only: tuple[str, ...] | None = None
) -> Allowance:
    if role == Role.WORKER:
        tools = None if only is None else tuple(t for t in only if not t.startswith(FOREIGN))
        return _full(tools) if sandboxed else _trusted(outbox, tools)
    tools = (*READING, "Bash") if role == Role.VERIFIER and sandboxed else READING
    tools = tools if only is None else tuple(tool for tool in tools if tool in only)
    allowed = ("--allowedTools", "Bash") if "Bash" in tools else ()
    return Allowance(
        options=(
            *("--tools", ",".join(tools), *allowed),
            *("--permission-mode", "dontAsk", "--setting-sources", ""),
        ),
        mode="dontAsk",
        tools=tools,
    )


def _full(tools: tuple[str, ...] | None) -> Allowance:
    return Allowance(
        options=(
            *_only(tools),
            *("--dangerously-skip-permissions", "--setting-sources", "project"),
        ),
        mode="bypassPermissions",
        tools=tools,
    )


def _trusted(outbox: Path, tools: tuple[str, ...] | None) -> Allowance:
    allowed = [tool for tool in WRITING if tools is None or tool in tools]
    return Allowance(
        options=(
            *(*_only(tools), "--permission-mode", "acceptEdits"),
            *(("--allowedTools", ",".join(allowed)) if allowed else ()),
            *("--add-dir", str(outbox), "--setting-sources", "project", "--settings", NO_HOOKS),
        ),
        mode="acceptEdits",
        tools=tools,
    )


def _only(tools: tuple[str, ...] | None) -> tuple[str, ...]:
    return () if tools is None else ("--tools", ",".join(tools))


# --- did it understand? --------------------------------------------------------------------------


def distrust(init: Init | None, allowed: Allowance) -> str:
    """Why a session that begins like this must not go on; empty if it may."""
    if init is None:
        return "claude said how it was set up in a way that is not understood"
    wrong = "; ".join(_differences(init, allowed))
    return f"claude was not set up as it was asked to be: {wrong}" if wrong else ""


def _differences(init: Init, allowed: Allowance) -> Iterator[str]:
    if not _is_list_of(init.tools, str):
        yield "it does not say which tools it has"
    else:
        extra = [tool for tool in init.tools if not _is_allowed(tool, allowed.tools)]
        if extra:
            yield f"it has tools that it should not have ({_named(extra)})"
    if init.permission_mode != allowed.mode:
        yield f"its permission mode is {_shown(init.permission_mode)}, not {allowed.mode}"
    plugins = [] if init.plugins is None else init.plugins
    if not _is_list_of(plugins, dict):
        yield "it does not say which plugins it has"
    elif foreign := [_name_of(one) for one in plugins if not _is_built_in(one)]:
        yield f"it has plugins that dwindle did not ask for ({_named(foreign)})"
    servers = [] if init.mcp_servers is None else init.mcp_servers
    if not _is_list_of(servers, dict):
        yield "it does not say which MCP servers it has"
    elif servers:
        yield f"it has MCP servers that dwindle did not ask for ({_named(map(_name_of, servers))})"


def _is_allowed(tool: str, allowed: tuple[str, ...] | None) -> bool:
    if allowed is None:
        return not tool.startswith(FOREIGN)
    return tool in allowed or tool in ADDED


def _is_built_in(plugin: dict[str, object]) -> bool:
    source = plugin.get("source")
    is_ours = isinstance(source, str) and source.endswith(f"@{BUILT_IN}")
    return is_ours and plugin.get("path") == BUILT_IN


def _name_of(entry: dict[str, object]) -> str:
    return _shown(entry.get("name"))


def _is_list_of(value: object, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)


def _named(names: Iterator[str] | list[str] | map[str], most: int = 5) -> str:
    found = list(names)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(name[:60] for name in found[:most]) + more


def _shown(value: object) -> str:
    return value[:60] if isinstance(value, str) else "not given"
