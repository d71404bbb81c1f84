"""The part of a report about single atoms: what each came to, and how it was tried."""

from __future__ import annotations

from typing import Final

from dwindle.text import amounts
from dwindle.views.read_model.attempt_files import Part
from dwindle.views.read_model.shapes import NodeView, SessionView
from dwindle.views.report.drawing import MARKS
from dwindle.views.report.markup import EMPTY, Markup, element, joined, text
from dwindle.views.report.report import Report, waiting_names
from dwindle.views.report.timeline import outcome_class

ORDER: Final = {
    status: place
    for place, status in enumerate(
        ("running", "parked", "pending", "unwritten", "resolved", "failed", "left")
    )
}
"""Behind what failed and is not done, which comes first."""


def atom_sections(report: Report) -> Markup:
    by_atom: dict[str, list[SessionView]] = {}
    for session in report.picture["sessions"]:
        by_atom.setdefault(session["atom"], []).append(session)
    atoms = sorted(report.atoms(), key=lambda node: (not node["undone"], ORDER[node["status"]]))
    known = {node["id"] for node in atoms}
    made = [_atom(report, node, by_atom.get(node["id"], [])) for node in atoms]
    gone = [name for name in by_atom if name and name not in known]
    made += [_without_node(report, name, by_atom[name]) for name in gone]
    if "" in by_atom:
        made.append(_without_node(report, "base case", by_atom[""]))
    return joined(*made)


def _atom(report: Report, node: NodeView, sessions: list[SessionView]) -> Markup:
    status = node["status"]
    tag = element("span", text(f"{MARKS[status]} {status}"), class_=f"tag {status}")
    heading = joined(tag, " ", element("strong", text(node["id"])), " ", text(_first(node)))
    return element(
        "details",
        element("summary", heading),
        _full_description(node),
        _line("parked, last" if node["undone"] == "parked" else "failed, last", node["note"]),
        _line("holds up", waiting_names(node)),
        _line("depends on", ", ".join(node["depends_on"])),
        _line("split because", node["reason"]) if node["children"] else None,
        _line("check", node["check"]),
        _binding(node),
        _attempts(report, sessions),
        id=f"atom-{node['id']}",
        open="" if node["undone"] else None,
    )


def _without_node(report: Report, name: str, sessions: list[SessionView]) -> Markup:
    heading = joined(element("strong", text(name)), text(f" ({len(sessions)})"))
    return element("details", element("summary", heading), _attempts(report, sessions))


def _first(node: NodeView) -> str:
    return next(iter(node["description"].splitlines()), "")[:160]


def _full_description(node: NodeView) -> Markup | None:
    is_shown = node["description"] == _first(node)
    return None if is_shown else element("pre", text(node["description"]))


def _line(name: str, value: str) -> Markup | None:
    if not value:
        return None
    return element("p", element("span", text(f"{name}: "), class_="soft"), text(value))


def _binding(node: NodeView) -> Markup | None:
    binding = node["binding"]
    if binding is None:
        return None
    artifacts = ", ".join(binding["artifacts"])
    return joined(_line("binding", binding["summary"]), _line("artifacts", artifacts))


def _attempts(report: Report, sessions: list[SessionView]) -> Markup:
    if not sessions:
        return EMPTY
    return element("table", *(_attempt(session, report.files) for session in sessions))


def _attempt(session: SessionView, files: dict[int, list[Part]]) -> Markup:
    parts = files.get(session["nonce"], [])
    kept = [part["path"] for part in parts if part["path"] and part["kind"] != "file"]
    lasted = "" if session["end"] is None else amounts.duration(session["end"] - session["start"])
    cost = amounts.cost(session["tokens"], session["usd"], estimated=session["estimated"])
    guard = f"guard {session['guard']}" if session["guard"] else ""
    commit = session["commit"][:12]
    facts = ", ".join(part for part in (session["start_at"], lasted, cost, guard, commit) if part)
    outcome = session["outcome"]
    return element(
        "tr",
        element("td", element("span", text(outcome), class_=f"tag {outcome_class(outcome)}")),
        element(
            "td",
            text(f"{session['role']} {session['number']}: "),
            element("span", text(facts), class_="soft"),
            element("pre", text(session["words"])) if session["words"] else None,
            element("p", element("code", text(" ".join(kept))), class_="soft") if kept else None,
        ),
    )
