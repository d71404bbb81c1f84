"""The prompt of a session on an atom: an order in words, for an agent that knows nothing of us.

The words are files, one for each purpose; here the gaps in them are filled. Nearly all of that was
written by people, by files of the repository or by other agents, so that it stands indented and
cannot pass for ours. Equal orders give equal prompts, and what never changes comes first, where a
prompt cache finds it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from dwindle.kernel.model import Binding, Check, CheckType
from dwindle.ports.work import Purpose, WorkOrder
from dwindle.runner.orders import check_json
from dwindle.runner.template import quoted, template

FILES: Final[Mapping[Purpose, str]] = {
    Purpose.WORK: "worker",
    Purpose.LOOK: "probe",
    Purpose.PLAN: "probe_way_on",
    Purpose.JUDGE: "verifier",
}

SAYS: Final[Mapping[CheckType, str]] = {
    CheckType.COMMAND: "this command must exit with 0",
    CheckType.NOT_COMMAND: "this command must run and exit with something else than 0",
    CheckType.FILE: "this file must exist",
    CheckType.NOT_FILE: "this file must not exist",
    CheckType.ASSERTION: "a reader must find this to be true",
    CheckType.QUALITY: "a reader scores this from 1 to 5",
}
NOTHING: Final = "    (nothing)"


def prompt_for(order: WorkOrder) -> str:
    return template(FILES[order.purpose]).filled(_gaps(order))


def _gaps(order: WorkOrder) -> dict[str, str | bool]:
    told: dict[str, str | bool] = {
        "goal": quoted(order.goal) or NOTHING,
        "path": _named((s.atom, quoted(s.description)) for s in order.path),
        "description": quoted(order.description) or NOTHING,
        "checks": "\n".join(map(_check, order.checks)),
    }
    if order.purpose is Purpose.JUDGE:
        scored = any(check.type is CheckType.QUALITY for check in order.checks)
        return {**told, "scores": scored}
    told |= {
        "atom": order.atom,
        "touches": quoted("\n".join(order.touches)),
        "bindings": _named((name, _binding(one)) for name, one in order.bindings),
        "findings": quoted(order.findings),
        "failures": _named((f"Attempt {f.attempt}", quoted(f.reason)) for f in order.failures),
        "stalled": order.stalled,
    }
    if order.purpose is Purpose.WORK:
        told["protected"] = quoted("\n".join(order.protected))
    return told


def _named(blocks: Iterable[tuple[str, str]]) -> str:
    return "\n\n".join(f"{name}:\n\n{block or NOTHING}" for name, block in blocks)


def _check(check: Check) -> str:
    said = f"- {SAYS[check.type]}"
    if check.type is CheckType.QUALITY:
        shown = json.dumps(check_json(check), ensure_ascii=False, indent=1)
        return f"{said}; the weighted average must reach the threshold:\n{quoted(shown)}"
    said = f"{said}:\n{quoted(check.value or '')}"
    if check.control is None:
        return said
    return f"{said}\n  and this one, which shows that it can tell, with 0:\n{quoted(check.control)}"


def _binding(binding: Binding) -> str:
    files = f"\nFiles: {', '.join(binding.artifacts)}" if binding.artifacts else ""
    return quoted(binding.summary + files)
