"""A report as Markdown, for the text of a pull request: short, and nothing left out that counts.

Every text of an agent or a user stays text in it: no link, no picture, no mention of a person, no
markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dwindle.text import amounts
from dwindle.text.terminal import one_line
from dwindle.views.read_model.shapes import NodeView
from dwindle.views.report.drawing import MARKS
from dwindle.views.report.report import (
    Report,
    diffstat,
    trail_line,
    undone_title,
    undone_words,
    waiting_names,
)

ACTIVE: Final = re.compile(r"([\\`*_\[\]<>~$&|])")
REFERENCE: Final = re.compile(r"(?<=#)(?=\d)|(?<=@)(?=\w)|(?<=:)(?=//)|(?<=\bwww)(?=\.)")
"""A mention would send mail, and a bare address would become a link."""
LONGEST: Final = 240
FEW: Final = 60
"""Atoms that are listed one by one; of larger plans only what is not resolved."""
LAST: Final = 20
LEVELS: Final = 8
"""Deeper lists are drawn as code by some readers of Markdown."""


def markdown(report: Report) -> str:
    return "\n".join(_lines(report)).rstrip() + "\n"


def plain(words: str, longest: int = LONGEST) -> str:
    """Foreign text in one line that no renderer takes for markup."""
    flat = one_line(words)
    flat = flat if len(flat) <= longest else f"{flat[: longest - 3]}..."
    return REFERENCE.sub("\u200b", ACTIVE.sub(r"\\\1", flat))


def code(words: str) -> str:
    flat = one_line(words).replace("`", "'")
    return f"`{flat}`" if flat else ""


def _lines(report: Report) -> Iterator[str]:
    picture, head = report.picture, report.picture["head"]
    yield f"## {plain(picture['goal'] or head['run'])}"
    yield ""
    reason = f" ({code(head['stop_code'])}, exit code {head['exit_code']})" if report.code else ""
    yield f"**{report.title}**{reason}: {plain(report.why, 600)}"
    yield ""
    if report.next and head["phase"] != "completed":  # the reader of a pull request has it already
        yield from (f"Next: {report.next}", "")
    for note in picture["notes"]:
        yield from (f"> {plain(note)}", "")
    yield from (f"- {name}: {plain(value)}" for name, value in report.facts)
    yield ""
    yield from _changes(report)
    yield from _certificate(report)
    yield from _undone(report)
    yield from _plan(report)
    yield from _spending(report)
    yield from _trail(report)
    yield from _corrections(report)


def _changes(report: Report) -> Iterator[str]:
    found = report.changes
    if found is None:
        return
    yield "### Changes"
    yield ""
    yield f"{diffstat(found)}."
    yield ""
    for one in found["atoms"][:FEW]:
        name = code(one["atom"]) if one["atom"] else "commits that no session made"
        lines = f"{amounts.count(len(one['files']), 'file')}, +{one['added']:,} -{one['removed']:,}"
        yield f"- {name} {plain(one['title'], 120)}: {lines}"
    for what, tests in (("removed", found["tests_removed"]), ("added", found["tests_added"])):
        listed = ", ".join(code(f"{test['path']} {test['name']}") for test in tests[:LAST])
        more = f" and {len(tests) - LAST} more" if len(tests) > LAST else ""
        yield from [f"- tests {what}: {listed}{more}"] * bool(tests)
    for held in found["held"][-LAST:]:
        paths = f": {', '.join(map(code, held['paths']))}" if held["paths"] else ""
        yield f"- the gate held fast, {code(held['atom'])}: {plain(held['why'])}{paths}"
    yield ""


def _certificate(report: Report) -> Iterator[str]:
    found = report.picture["certificate"]
    yield "### Checks"
    yield ""
    checks = report.picture["base_case"] if found is None else found["checks"]
    if found is None:
        yield plain(report.without_certificate)
    else:
        holds = "holds" if found["holds"] else "does **not** hold"
        contained = found["containment"]
        yield (
            f"The base case {holds}, judged {plain(found['at'])} on {code(found['commit'][:12])}; "
            f"containment {plain(contained['strength'])} ({plain(contained['mechanism'])})."
        )
    yield ""
    for check in checks:
        verdict = f"**{plain(check['verdict'])}** " if check["verdict"] else ""
        command = f": {code(check['command'][:200])}" if check["command"] else ""
        yield f"{'  ' * check['depth']}- {verdict}{plain(check['item'])}{command}"
    for question in found["questions"] if found else ():
        yield f"- a person says {plain(question['answer'])}: {plain(question['item'])}"
    if checks:
        yield ""


def _undone(report: Report) -> Iterator[str]:
    found = report.undone()
    if not found:
        return
    yield f"### {undone_title(found)}"
    yield ""
    for node in found[:FEW]:
        words = f" {plain(node['description'], 120)}" if node["description"] else ""
        waits = f"; it holds up {plain(waiting_names(node))}" if node["holds_up"] else ""
        yield f"- {code(node['id'])}{words}: {plain(undone_words(node))}{waits}"
    if len(found) > FEW:
        yield f"- and {len(found) - FEW} more"
    yield ""


def _plan(report: Report) -> Iterator[str]:
    nodes = [node for node in report.picture["nodes"] if node["kind"] != "root"]
    if not nodes:
        return
    yield "### Plan"
    yield ""
    known = {node["id"]: node for node in nodes}
    shown = nodes if len(nodes) <= FEW else [n for n in nodes if n["status"] != "resolved"]
    for node in shown[:FEW]:
        depth = _depth(known, node) if len(nodes) <= FEW else 0
        tries = len(report.sessions_of(node["id"]))
        yield f"{'  ' * min(depth, LEVELS)}- {_node(node, tries)}"
    left_out = len(nodes) - len(shown[:FEW])
    if left_out:
        yield f"- and {left_out} more"
    yield ""


def _depth(known: dict[str, NodeView], node: NodeView) -> int:
    depth = 0
    while node["parent"] and node["parent"] in known:
        node = known[node["parent"]]
        depth += 1
    return depth


def _node(node: NodeView, sessions: int) -> str:
    mark = f"{MARKS[node['status']]} {code(node['id'])}"
    if node["kind"] == "group":
        taken = f", {code(node['selected'])} taken" if node["selected"] else ""
        return f"{mark} one of{taken}"
    words = plain(node["description"] or "not written yet", 120)
    binding = f" \u2014 {plain(node['binding']['summary'], 120)}" if node["binding"] else ""
    tries = f" ({sessions} sessions)" if sessions > 1 else ""
    status = "" if node["status"] == "resolved" else f" *{node['status']}*"
    return f"{mark} {words}{status}{tries}{binding}"


def _spending(report: Report) -> Iterator[str]:
    by_role = report.picture["spending"]["by_role"]
    if not by_role:
        return
    yield "### Cost"
    yield ""
    for role, total in by_role.items():
        cost = amounts.cost(total["tokens"], total["usd"], estimated=total["estimated"])
        reported = cost or "no cost reported"
        yield f"- {plain(role)}: {amounts.count(total['sessions'], 'session')}, {reported}"
    yield ""


def _trail(report: Report) -> Iterator[str]:
    trail = report.picture["trail"]
    if not trail:
        return
    yield "### Trail"
    yield ""
    if len(trail) > LAST:
        yield f"- {len(trail) - LAST} earlier entries"
    for entry in trail[-LAST:]:
        _, about, why = trail_line(entry)
        yield f"- {plain(about)}: {plain(why)}"
    yield ""


def _corrections(report: Report) -> Iterator[str]:
    corrections = report.picture["corrections"]
    if not corrections:
        return
    yield "### Corrections"
    yield ""
    for one in corrections[-LAST:]:
        yield f"- {plain(one['timestamp'])} {code(str(one['type']))}: {plain(one['description'])}"
    yield ""
