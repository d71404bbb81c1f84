"""The prompt: an order in words, for an agent that has never heard of this program.

Sections come in one fixed order and an empty one is left out, so that equal orders give equal
prompts and a prompt cache finds the same beginning. The part that never changes for a role comes
first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from dwindle.kernel.model import Binding, Check, CheckType
from dwindle.ports.work import Purpose, WorkOrder
from dwindle.runner.orders import check_json

READ_ONLY: Final = (
    "Change nothing: the file system is read-only for you, and whatever you changed would be "
    "thrown away."
)

CONTRACTS: Final[Mapping[Purpose, str]] = {
    Purpose.WORK: """\
You are a worker. You are given one task out of a larger plan; other agents have the other tasks.
- Work in the current directory only. It is a checkout of your own; nobody else uses it.
- Do this task and no other. If it turns out to be too large, or impossible, say so in the report:
  that is a good answer.
- Your word is not evidence. After you have ended, the checks below are run on what you left.
- You need not commit. If you do, add plain commits only: no rewriting of history, no other
  branches, no tags.
- Leave no process running.""",
    Purpose.LOOK: f"""\
You are a probe. Before a worker starts on the task below, find out whether it can be done as it is
described, and what the worker should know: where to look, what to use, what to avoid.
- {READ_ONLY}
- Be brief. Your findings are handed to the worker as they are.""",
    Purpose.PLAN: f"""\
You are a planner. Workers have tried the task below and failed; what went wrong is told below.
Propose a way on: either split it into smaller tasks that together are the whole of it, or name
other approaches that would reach the same.
- {READ_ONLY}
- Every task that you propose must be doable by one worker, and checkable by a machine if possible.
- If it cannot be done at all, say that it is not feasible, and why.""",
    Purpose.JUDGE: f"""\
You are a verifier. Judge whether the claim below holds for the files in the current directory.
- {READ_ONLY}
- Look for yourself; believe no summary and no comment. What you cannot see to hold does not hold.
- Give evidence that somebody else can look up: file names, lines, output.""",
}

_CHILD: Final = """\
{"description": "what is to be done", "depends_on": ["#1"], "check": {"type": "command", "value":
"a command that exits with 0 when it is done"}}"""

_CHILDREN: Final = f"""\
Each of the new tasks is written as
```
{_CHILD}
```
`depends_on` and `check` may be left out. `depends_on` names tasks of the plan by their id, or
earlier ones of your own list as `#1`, `#2`."""

REPORTS: Final[Mapping[Purpose, str]] = {
    Purpose.WORK: f"""\
One of these objects:
- done: `{{"success": true, "summary": "what there is now, in one to three sentences, for those who
  build on it", "artifacts": ["relative/path", ...]}}`
- not done: `{{"success": false, "reason": "what went wrong, for whoever tries next"}}`
- cannot be done this way: `{{"success": false, "infeasible": true, "reason": "why"}}`
- too large: `{{"success": false, "decomposition": {{"reason": "why", "children": [...]}}}}`
- give it up for other approaches: `{{"success": false, "reason": "why", "alternatives": [...]}}`

{_CHILDREN}""",
    Purpose.LOOK: f"""\
`{{"feasible": true, "findings": "what a worker should know", "cost_estimate": "a guess"}}`, where
`cost_estimate` may be left out. If it is not feasible, `findings` says why. If it should be split,
add `"decomposition": {{"reason": "why", "children": [...]}}`; if other approaches are better, add
`"alternatives": [...]`; not both.

{_CHILDREN}""",
    Purpose.PLAN: f"""\
One of these objects:
- split: `{{"feasible": true, "findings": "what you saw", "decomposition": {{"reason": "why",
  "children": [...]}}}}`
- other approaches: `{{"feasible": true, "findings": "what you saw", "alternatives": [...]}}`
- no way: `{{"feasible": false, "findings": "why"}}`

{_CHILDREN}""",
    Purpose.JUDGE: """\
`{"passed": true, "evidence": "what you saw", "failures": []}`, or with `false` and one sentence in
`failures` for each thing that is wrong.""",
}

SCORES: Final = """\
Add `"scores": [{"criterion": "its name", "score": 1 to 5, "evidence": "why"}, ...]`, one for each
criterion, each a whole number, with evidence."""

HOW_TO_REPORT: Final = """\
When you have ended, write one JSON object to the file whose path is in the environment variable
DWINDLE_REPORT. If you cannot write files, print it as the last thing on standard output. Without a
valid report the session counts as failed. No other keys than these:"""

NO_CHECK: Final = """\
No check is set for this task. It counts as done only if there is something to show for it: files
that you changed, or artifacts in your report that were not there, or were different, before."""

SAYS: Final[Mapping[CheckType, str]] = {
    CheckType.COMMAND: "this command must exit with 0",
    CheckType.NOT_COMMAND: "this command must run and exit with something else than 0",
    CheckType.FILE: "this file must exist",
    CheckType.NOT_FILE: "this file must not exist",
    CheckType.ASSERTION: "a reader must find this to be true",
    CheckType.QUALITY: "a reader scores this from 1 to 5",
}


def prompt_for(order: WorkOrder) -> str:
    return "\n\n".join(_sections(order)) + "\n"


def _sections(order: WorkOrder) -> Iterator[str]:
    yield f"# Your role\n\n{CONTRACTS[order.purpose]}"
    yield f"# The goal of the whole\n\n{order.goal.strip()}"
    if order.path:
        above = "\n".join(f"- {s.atom}: {_indented(s.description)}" for s in order.path)
        yield f"# What this is a part of, the outermost first\n\n{above}"
    title = "What to judge" if order.purpose is Purpose.JUDGE else f"Your task: {order.atom}"
    yield f"# {title}\n\n{order.description.strip()}"
    if order.touches:
        yield f"# Where the change is expected\n\n{_listed(order.touches)}"
    if order.protected and order.purpose is Purpose.WORK:
        warning = "An attempt that touches one of these, or adds a file below one, has failed."
        yield f"# What must not be touched\n\n{warning}\n\n{_listed(order.protected)}"
    if order.bindings:
        done = "\n".join(f"- {name}: {_binding(binding)}" for name, binding in order.bindings)
        yield f"# What is there already, and this builds on\n\n{done}"
    if order.findings.strip():
        yield f"# What a look at it found before\n\n{order.findings.strip()}"
    if order.failures:
        tried = "\n\n".join(f"Attempt {f.attempt}:\n{_quoted(f.reason)}" for f in order.failures)
        yield f"# What was tried before and failed, the latest last\n\n{tried}"
    if order.stalled:
        yield (
            "# Nothing has moved lately\n\nWhat was tried so far did not help. "
            "Take another approach than the attempts before you."
        )
    yield from _judgement(order)
    schema = REPORTS[order.purpose]
    if any(check.type is CheckType.QUALITY for check in order.checks):
        schema = f"{schema} {SCORES}" if order.purpose is Purpose.JUDGE else schema
    yield f"# Your report\n\n{HOW_TO_REPORT}\n\n{schema}"


def _judgement(order: WorkOrder) -> Iterator[str]:
    if order.checks:
        title = "The claim" if order.purpose is Purpose.JUDGE else "How the task will be checked"
        yield f"# {title}\n\n" + "\n".join(_check(check) for check in order.checks)
    elif order.purpose is Purpose.WORK:
        yield f"# How the task will be checked\n\n{NO_CHECK}"


def _check(check: Check) -> str:
    said = f"- {SAYS[check.type]}"
    if check.type is CheckType.QUALITY:
        shown = json.dumps(check_json(check), ensure_ascii=False, indent=1)
        return f"{said}; the weighted average must reach the threshold:\n{_quoted(shown)}"
    said = f"{said}:\n{_quoted(check.value or '')}"
    if check.control is None:
        return said
    return (
        f"{said}\n  and this one, which shows that it can tell, with 0:\n{_quoted(check.control)}"
    )


def _binding(binding: Binding) -> str:
    said = _indented(binding.summary)
    files = ", ".join(f"`{path}`" for path in binding.artifacts)
    return f"{said}\n  Files: {files}" if files else said


def _listed(paths: tuple[str, ...]) -> str:
    return "\n".join(f"- `{path}`" for path in paths)


def _indented(text: str) -> str:
    return text.strip().replace("\n", "\n  ")


def _quoted(text: str) -> str:
    """As a block that no text can break out of, since none of its lines begins at the margin."""
    return "\n".join(f"    {line}" for line in text.strip().splitlines())
