"""A report as one HTML file that needs nothing else: no script, no font, no picture from elsewhere.

Its policy forbids the browser to run or to fetch anything, so that whatever an agent has written
could do nothing even if it were not escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import Any, Final

from dwindle.text import amounts
from dwindle.views.read_model.shapes import BudgetView, CheckView, NodeView, RunPicture
from dwindle.views.report.atoms import atom_sections
from dwindle.views.report.changes import changes_section
from dwindle.views.report.curve import curve
from dwindle.views.report.drawing import MARKS, drawing
from dwindle.views.report.markup import EMPTY, Markup, element, joined, text
from dwindle.views.report.report import (
    Report,
    trail_line,
    undone_title,
    undone_words,
    waiting_names,
)
from dwindle.views.report.timeline import timeline

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
SHOWN_EVENTS: Final = 300
NOT_YET: Final = {
    "Changes": "Nothing of this run is on a branch: no work was taken over yet.",
    "Plan": "No plan of this run is on record.",
    "How it dwindled": "Nothing has happened yet: `dwindle run` begins.",
    "Sessions": "No session yet: `dwindle run` starts the first one.",
    "Cost by role": "Nothing was spent: no session was started.",
    "Budgets": "No limits are on record.",
    "Trail": "Nothing was chosen, given up or failed.",
    "Corrections": "This run was not redirected; `dwindle redirect` changes the direction.",
    "Atoms": "No atoms are on record.",
    "Events": "Nothing has happened yet: `dwindle run` begins.",
}
"""In place of an empty section."""
COLUMNS: Final = ("tokens", "read", "cached", "written")


def html(report: Report) -> str:
    picture = report.picture
    goal = picture["goal"] or picture["head"]["run"]
    heads = (
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{report.title}: {goal[:120]}"),
        element("style", Markup(files(__package__).joinpath("report.css").read_text("utf-8"))),
    )
    body = element("main", *_sections(report))
    page = element("html", element("head", *heads), element("body", body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _sections(report: Report) -> Iterator[Markup]:
    picture = report.picture
    head = picture["head"]
    yield element("h1", picture["goal"] or head["run"])
    yield _verdict(report)
    yield _notes(picture["notes"])
    yield _facts(report)
    if undone := report.undone():
        yield _section(undone_title(undone), _undone(undone))
    yield _section("Certificate", _certificate(report))
    yield _section("Changes", changes_section(report))
    yield _section("Plan", _plan(picture["nodes"]))
    yield _section("How it dwindled", _curve_section(picture))
    yield _section("Sessions", _wide(timeline(picture["sessions"], head["seconds"])))
    yield _section("Cost by role", _spending(report))
    yield _section("Budgets", _budgets(picture["budgets"]))
    yield _section("Trail", _trail(picture["trail"]))
    yield _section("Corrections", _corrections(picture["corrections"]))
    yield _section("Atoms", atom_sections(report))
    yield _section("Events", _events(report))


def _curve_section(picture: RunPicture) -> Markup:
    drawn = curve(picture["points"], picture["marks"])
    if not drawn:
        return EMPTY
    said = (
        "The line is the number of open atoms, the dashed one the gauge, which falls with every "
        "step. A triangle marks where the run turned back to another choice, began a new wind, or "
        "was redirected."
    )
    return joined(_wide(drawn), element("p", said, class_="soft"))


def _section(title: str, inside: Markup) -> Markup:
    empty = element("p", NOT_YET.get(title, "None."), class_="soft")
    return element("section", element("h2", title), inside or empty)


def _wide(inside: Markup) -> Markup:
    return element("div", inside, class_="wide", tabindex="0") if inside else EMPTY


def _verdict(report: Report) -> Markup:
    code = element("span", text(f" ({report.code})"), class_="soft") if report.code else None
    questions = report.picture["head"]["questions"]
    asked = element("p", text(f"A person is asked: {'; '.join(questions)}")) if questions else None
    return element(
        "div",
        element("strong", report.title),
        code,
        element("p", report.why),
        asked,
        element("p", element("strong", "Next: "), text(report.next)) if report.next else None,
        class_=f"verdict {report.picture['head']['phase']}",
    )


def _notes(notes: Iterable[str]) -> Markup:
    listed = [element("li", note) for note in notes]
    return element("ul", *listed, class_="notes") if listed else EMPTY


def _facts(report: Report) -> Markup:
    rows = [
        element("tr", element("th", name, scope="row"), element("td", value))
        for name, value in report.facts
    ]
    return element("table", *rows, class_="facts")


# --- the certificate -----------------------------------------------------------------------------


def _certificate(report: Report) -> Markup:
    certificate = report.picture["certificate"]
    if certificate is None:
        return joined(
            element("p", report.without_certificate), _checks(report.picture["base_case"])
        )
    contained = certificate["containment"]
    holds = "The base case holds" if certificate["holds"] else "The base case does not hold"
    facts = (
        f"{holds}: judged {certificate['at']} on commit {certificate['commit'][:12]}, "
        f"tree {certificate['tree'][:12]}, containment {contained['strength']} "
        f"({contained['mechanism']}), {amounts.count(len(certificate['pins']), 'file')} pinned."
    )
    words = [
        element("li", text(f"{q['item']}: {q['answer']} {q['words']}".rstrip()))
        for q in certificate["questions"]
    ]
    return joined(
        element("p", facts),
        _checks(certificate["checks"]),
        element("ul", *words) if words else None,
        _not_needed(certificate["not_needed"]),
    )


def _not_needed(names: list[str]) -> Markup | None:
    return element("p", text(f"Open and not needed: {', '.join(names)}")) if names else None


def _checks(checks: list[CheckView]) -> Markup:
    return element("table", *(_check(check) for check in checks)) if checks else EMPTY


def _check(check: CheckView) -> Markup:
    verdict = check["verdict"] or check["type"]
    ended = f"exit {check['exit_code']}" if check["exit_code"] is not None else ""
    tests = amounts.count(check["tests"], "test") if check["tests"] is not None else ""
    lasted = amounts.duration(check["seconds"]) if check["verdict"] else ""
    facts = ", ".join(part for part in (ended, tests, lasted) if part)
    evidence = check["evidence"] if check["verdict"] != "passed" else ""
    return element(
        "tr",
        element("td", element("span", verdict, class_=f"tag {verdict.replace(' ', '_')}")),
        element(
            "td",
            text(check["item"]),
            element("br"),
            element("code", check["command"]) if check["command"] else None,
            element("pre", evidence) if evidence else None,
        ),
        element("td", facts, class_="soft"),
    )


# --- the plan ------------------------------------------------------------------------------------


def _undone(nodes: list[NodeView]) -> Markup:
    """Where the run did not get on, why not, and what waits for it."""
    said = "Nothing was left to try for what is parked. Beside each stands what waits for it."
    rows = [
        element(
            "tr",
            element("td", element("strong", node["id"]), class_="what"),
            element(
                "td",
                text(node["description"]),
                element("p", undone_words(node), class_="soft"),
            ),
            element(
                "td",
                text(f"holds up {waiting_names(node)}" if node["holds_up"] else ""),
                class_="what",
            ),
        )
        for node in nodes
    ]
    return joined(element("p", said, class_="soft"), element("table", *rows, class_="story"))


def _plan(nodes: list[NodeView]) -> Markup:
    known = {node["id"]: node for node in nodes}
    if not nodes or not nodes[0]["children"]:
        return EMPTY
    listed = element("details", element("summary", "The plan as a list"), _tree(known))
    return joined(drawing(nodes), listed)


def _tree(known: dict[str, NodeView]) -> Markup:
    """Nested lists, made from below: a plan may be deeper than Python likes to call."""
    made: dict[str, Markup] = {}
    for name in reversed(known):
        node = known[name]
        below = [made.pop(kid) for kid in node["children"]]
        inner = element("ul", *below) if below else None
        made[name] = joined(inner) if not name else element("li", _row(node), inner)
    return element("div", Markup(made[""].replace("<ul>", '<ul class="tree">', 1)))


def _row(node: NodeView) -> Markup:
    mark = f"{MARKS[node['status']]} {node['status']}"
    tag = element("span", mark, class_=f"tag {node['status']}")
    said = "one of these" if node["kind"] == "group" else node["description"]
    return joined(tag, " ", element("strong", node["id"]), " ", text(said))


# --- numbers -------------------------------------------------------------------------------------


def _spending(report: Report) -> Markup:
    """Columns in which nothing is known are left out: agents need not report tokens or money."""
    spending = report.picture["spending"]
    if not spending["by_role"]:
        return EMPTY
    run = {**spending["run"], "seconds": report.session_seconds}
    shown = [name for name in COLUMNS if run[name]]
    priced = ["cost"] if run["usd"] or run["unpriced"] else []
    names = ("role", "sessions", "time of sessions", *shown, *priced)
    header = element("tr", *(element("th", n, class_=_cell(n), scope="col") for n in names))
    rows = [*spending["by_role"].items(), ("together", run)]
    lines = [element("tr", *_amounts(role, total, names)) for role, total in rows]
    clock = amounts.duration(spending["run"]["seconds"])
    said = f"The run took {clock} by the clock; sessions side by side each count their own time."
    unknown = "" if shown or priced else " The agents reported neither tokens nor cost."
    table = _wide(element("table", header, *lines))
    return joined(table, element("p", said + unknown, class_="soft"))


def _cell(name: str) -> str | None:
    return None if name == "role" else "number"


def _amounts(role: str, total: dict[str, Any], names: tuple[str, ...]) -> Iterator[Markup]:
    usd, unpriced = total["usd"], total["unpriced"]
    values = {
        **{name: amounts.count(total[name]) for name in ("sessions", *COLUMNS)},
        "time of sessions": amounts.duration(total["seconds"]),
        "cost": amounts.cost(0, usd, estimated=total["estimated"], unpriced=unpriced),
    }
    yield element("th", role, scope="row")
    for name in names[1:]:
        yield element("td", values[name], class_="number")


def _budgets(budgets: list[BudgetView]) -> Markup:
    known = [one for one in budgets if one["spent"] or one["limit"] is not None]
    return element("table", *map(_budget, known)) if known else EMPTY


def _budget(one: BudgetView) -> Markup:
    name, limit = one["name"], one["limit"]
    filled = amounts.share(one["spent"], limit)
    meter = None if filled is None else element("meter", f"{filled:.0%}", value=filled, max=1)
    return element(
        "tr",
        element("th", name, scope="row"),
        element("td", amounts.amount(name, one["spent"]), class_="number"),
        element("td", "no limit" if limit is None else f"of {amounts.amount(name, limit)}"),
        element("td", meter),
    )


# --- what happened -------------------------------------------------------------------------------


def _trail(trail: list[dict[str, Any]]) -> Markup:
    lines = []
    for entry in trail:
        at, about, why = trail_line(entry)
        cells = (_when(at), element("td", about, class_="what"), element("td", why[:600]))
        lines.append(element("tr", *cells))
    return element("table", *lines, class_="story") if lines else EMPTY


def _when(at: str) -> Markup:
    return element("td", at.replace("T", " ").removesuffix("Z"), class_="soft mono when")


def _corrections(corrections: list[dict[str, Any]]) -> Markup:
    lines = [
        element(
            "tr",
            _when(one["timestamp"]),
            element("td", text(str(one["type"]))),
            element("td", one["description"]),
            element("td", "trail cleared" if one["trail_cleared"] else "", class_="soft"),
        )
        for one in corrections
    ]
    return element("table", *lines, class_="story") if lines else EMPTY


def _events(report: Report) -> Markup:
    events = report.picture["events"][-SHOWN_EVENTS:]
    if not events:
        return EMPTY
    rows = [
        element(
            "tr",
            element("td", str(event["n"]), class_="number soft"),
            _when(event["at"]),
            element("td", event["text"][:600]),
        )
        for event in events
    ]
    first = f"The last {len(rows)} events; `dwindle log {report.picture['head']['run']}` has all"
    return element("details", element("summary", first), element("table", *rows, class_="story"))
