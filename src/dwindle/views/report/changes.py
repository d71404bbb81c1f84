"""The part of a report about what the run changed: by atom, tests, what was held fast, lines."""

from __future__ import annotations

from dwindle.app.review import AtomChange, Changes, FileChange, HeldFast, NamedTest
from dwindle.text import amounts
from dwindle.views.report.markup import EMPTY, Markup, element, joined, text
from dwindle.views.report.report import Report, diffstat


def changes_section(report: Report) -> Markup:
    """Nothing where nothing of the run is on a branch."""
    found = report.changes
    if found is None:
        return EMPTY
    return joined(
        element("p", element("strong", text(diffstat(found)))),
        element("p", element("code", text(f"git diff {found['base'][:12]} {found['tip'][:12]}"))),
        _held(found["held"]),
        _tests("Tests removed", found["tests_removed"]),
        _tests("Tests added", found["tests_added"]),
        *(_atom(one) for one in found["atoms"]),
        _lines(report, found),
    )


def _held(held: list[HeldFast]) -> Markup | None:
    if not held:
        return None
    rows = [
        element(
            "li",
            element("strong", text(one["atom"])),
            text(f" session {one['session']}: {one['why']}"),
            element("pre", text("\n".join(one["paths"]))) if one["paths"] else None,
            element("p", text("kept at "), element("code", text(one["ref"])))
            if one["ref"]
            else None,
        )
        for one in held
    ]
    return joined(element("h3", "Held fast or set aside by the gate"), element("ul", *rows))


def _tests(title: str, tests: list[NamedTest]) -> Markup | None:
    if not tests:
        return None
    listed = "\n".join(f"{one['path']}  {one['name']}" for one in tests)
    return joined(element("h3", f"{title}: {len(tests)}"), element("pre", text(listed)))


def _atom(one: AtomChange) -> Markup:
    name = one["atom"] or "commits that no session made"
    heading = joined(
        element("strong", text(name)), " ", text(one["title"][:160]), " ", _counts(one), " "
    )
    files = [element("tr", *_file(file)) for file in one["files"]]
    return element("details", element("summary", heading), element("table", *files))


def _file(file: FileChange) -> tuple[Markup, ...]:
    kind = "" if file["kind"] == "other" else file["kind"]
    became = "" if file["became"] == "changed" else file["became"]
    said = ", ".join(part for part in (became, kind) if part)
    counts = element("span", "binary", class_="soft") if file["added"] is None else _counts(file)
    cells = (element("code", text(file["path"])), counts, element("span", text(said)))
    return tuple(element("td", cell) for cell in cells)


def _counts(one: AtomChange | FileChange) -> Markup:
    return joined(
        element("span", f"+{amounts.count(one['added'] or 0)}", class_="add"),
        " ",
        element("span", f"\u2212{amounts.count(one['removed'] or 0)}", class_="del"),
    )


def _lines(report: Report, found: Changes) -> Markup | None:
    patch = report.patch
    if patch is None or not patch["text"]:
        return None
    more = f"\n[the rest is left out; `dwindle diff --run {found['run']}` has all of it]"
    lines = [_line(line) for line in patch["text"].splitlines(keepends=True)]
    whole = element("pre", *lines, text(more) if patch["is_cut"] else None, class_="patch")
    return element("details", element("summary", "Every line of the run"), whole)


def _line(line: str) -> Markup:
    if line.startswith(("+++", "---")) or line[:1] not in ("+", "-"):
        return text(line)
    return element("span", text(line), class_="add" if line[0] == "+" else "del")
