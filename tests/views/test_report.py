"""Reports: everything about a run in one file, and nothing in it but text and pictures."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import pytest
from tests.surfaces.command import Ended, dwindle, git, write
from tests.views.recorded import RUN, Recorded, cut_off, plan_to_run, story, stuck

from dwindle.app.plans.next_step import next_step
from dwindle.kernel.events import Redirected, RemoveAtom, StopRequested, Usage
from dwindle.kernel.model import AtomId, CorrectionType
from dwindle.views.read_model.shapes import RunPicture
from dwindle.views.report.html import _certificate, html
from dwindle.views.report.markdown import markdown, plain
from dwindle.views.report.markup import Markup, element, joined
from dwindle.views.report.report import Report, report_of

HOSTILE = (
    '</title></script><script>alert(1)</script><img src=x onerror="alert(1)">'
    "\x1b[2J [a](http://evil.example) ![b](//evil.example) @everyone #12 `x` "
    "<!-- --> &lt; ]]> \u202e"
)
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "h3"),
    *("p", "div", "span", "strong", "code", "pre", "br", "ul", "li", "table", "tr", "th", "td"),
    *("details", "summary", "meter", "svg", "desc", "g", "rect", "line", "path", "circle"),
    *("polyline", "text"),
}
VOID = {"meta", "br"}


class Page(HTMLParser):
    """What a browser would make of a page; refuses everything that could do something."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text = ""
        self.headings: list[str] = []
        self.policy = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS, tag
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name not in {"href", "src", "srcset", "xlink:href", "style", "action"}, name
            assert value is not None
        given = dict(attrs)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside in {"h1", "h2"}:
            self.headings.append(data)
        if inside != "style":
            self.text += data


def hostile(folder: Path) -> Report:
    """A run in which every text is written by an attacker."""
    plan = plan_to_run("A1 G1{A2|A3} A4")
    atoms = {name: replace(atom, description=HOSTILE) for name, atom in plan.atoms.items()}
    plan = replace(plan, atoms=atoms, objective=replace(plan.objective, goal=HOSTILE))
    with Recorded(folder, plan) as made:
        made.begin().start("A1", "A2").resolve("A1", HOSTILE).fail("A2", HOSTILE)
        made.give_up("G1", "A2", HOSTILE).redirect(HOSTILE)
        made.add(StopRequested(reason=HOSTILE))
    logs = f".runner/iterations/{RUN}/0001/A1.1.worker"
    write(folder, f"{logs}/prompt.md", HOSTILE)
    write(folder, f"{logs}/session.log", HOSTILE)
    return report_of(folder, RUN)


# --- HTML ----------------------------------------------------------------------------------------


def test_a_page_has_everything(tmp_path: Path) -> None:
    with story(tmp_path):
        page = Page(html(report_of(tmp_path, RUN)))
    assert page.headings == [
        "g",
        *(
            "Certificate",
            "Changes",
            "Plan",
            "How it dwindled",
            "Sessions",
            "Cost by role",
            "Budgets",
        ),
        *("Trail", "Corrections", "Atoms", "Events"),
    ]
    for said_somewhere in (
        *("Completed", "completed, exit code 0", "every check passed", "7,200 tokens, 1.50 USD"),
        *("Open atoms went from", "7 sessions in 2 slots", "failure: A5, attempt 1", "more time"),
        *("backtrack: G1 \u2192 A3", "on stone", "no paper", "constraint_change"),
    ):
        assert said_somewhere in page.text, said_somewhere


def test_one_file_is_one_file() -> None:
    checked: dict[str, Any] = {"holds": True, "at": "now", "commit": "c0ffee", "tree": "7ee"}
    rest = {"checks": [], "questions": [], "not_needed": [], "pins": ["check.sh"]}
    contained = {"containment": {"strength": "full", "mechanism": "bubblewrap"}}
    seen = cast("RunPicture", {"certificate": {**checked, **rest, **contained}})
    made = _certificate(Report(picture=seen, files={}))
    assert "(bubblewrap), 1 file pinned." in made


def test_what_agents_did_not_report_has_no_column(tmp_path: Path) -> None:
    with Recorded(tmp_path / "silent", plan_to_run("A1 A2")) as made:
        made.begin().start("A1", "A2").resolve("A1").resolve("A2").complete()
        silent = html(report_of(made.root, RUN))
    assert columns_of(silent) == ["role", "sessions", "time of sessions"]
    assert "The agents reported neither tokens nor cost." in silent
    with Recorded(tmp_path / "priced", plan_to_run("A1")) as made:
        made.begin().start("A1").resolve("A1", usage=Usage(tokens=9, written=4, usd=0.5)).complete()
        priced = html(report_of(made.root, RUN))
    assert columns_of(priced) == [
        "role",
        "sessions",
        "time of sessions",
        "tokens",
        "written",
        "cost",
    ]


def columns_of(page: str) -> list[str]:
    return re.findall(r'<th[^>]*scope="col">([^<]*)', page)


def test_the_time_of_the_clock_and_the_sum_of_sessions_are_told_apart(tmp_path: Path) -> None:
    with Recorded(tmp_path, plan_to_run("A1 A2")) as made:
        made.begin().start("A1", "A2").resolve("A1").resolve("A2")
        report = report_of(tmp_path, RUN)
    # Five events of a second each; both sessions lasted two of them, side by side.
    assert report.time == "5 s by the clock; all sessions together 4 s"
    text = Page(html(report)).text
    assert "together24 s" in text  # two sessions, four seconds
    assert "The run took 5 s by the clock; sessions side by side each count" in text


def test_the_end_of_a_run_says_what_to_do_next_unless_it_is_past(tmp_path: Path) -> None:
    with cut_off(tmp_path) as made:
        report = report_of(tmp_path, RUN)
        assert report.next == next_step(made.plan)
        assert f"Next: {report.next}" in Page(html(report)).text
        assert f"\nNext: {report.next}\n" in markdown(report)
    with Recorded(tmp_path, plan_to_run("A1", run="01NEWER"), run="01NEWER"):
        assert report_of(tmp_path, RUN).next == ""


def test_a_hostile_run_is_nothing_but_text(tmp_path: Path) -> None:
    made = html(hostile(tmp_path))
    page = Page(made)
    assert "<script>alert(1)</script>" in page.text  # read as text, by a parser that knows
    assert all(c.isprintable() or c in "\n\t" for c in made)
    assert page.policy == "default-src 'none'; style-src 'unsafe-inline'"
    assert not re.search(r"url\(|@import|<link|<iframe", made)


def test_a_run_that_was_cut_short_has_a_report(tmp_path: Path) -> None:
    with Recorded(tmp_path, plan_to_run("A1 A2")) as made:
        made.begin().start("A1")
        report = report_of(tmp_path, RUN)
    assert (report.title, report.code) == ("Cut short", "")
    assert "in the middle of its work" in Page(html(report)).text
    assert "**Cut short**: its runner was ended" in markdown(report)


def test_a_run_of_which_only_the_journal_is_left_has_a_report(tmp_path: Path) -> None:
    with story(tmp_path):
        (tmp_path / ".claude/aot-loop-state.md").unlink()
        (tmp_path / f".runner/journal/{RUN}.start.md").unlink()
        report = report_of(tmp_path, RUN)
    note = "no plan of this run is left, neither the first nor the last"
    assert note in Page(html(report)).text
    assert f"> {note}" in markdown(report)


def test_what_is_put_into_an_element_is_escaped_unless_it_is_one() -> None:
    made = element("p", "a < b", element("b", '"c"'), class_='x" onload="y')
    assert made == '<p class="x&quot; onload=&quot;y">a &lt; b<b>"c"</b></p>'
    assert joined(made, f"{made}").startswith(made)
    assert "&lt;p" in joined(f"{made}")
    assert isinstance(made, Markup)


def test_what_is_parked_has_a_section_of_its_own(tmp_path: Path) -> None:
    with stuck(tmp_path):
        report = report_of(tmp_path, RUN)
    page = Page(html(report))
    assert page.headings[:5] == ["g", "Parked", "Certificate", "Changes", "Plan"]
    assert "A1A1parked, failed twice, last: no pen no paperholds up A2, A3" in page.text
    for said_somewhere in (
        *("1 of 4 resolved, 3 open, 1 parked", "began a new wind", "wind 1"),
        *("a new wind, event", "parked, 1 of 1 attempts (last: no pen no paper)"),
    ):
        assert said_somewhere in page.text, said_somewhere


def test_what_failed_is_named_beside_what_is_parked_when_a_limit_ends_the_run(
    tmp_path: Path,
) -> None:
    """A wind has given A4 its attempts back, so that it is ready and not parked."""
    with cut_off(tmp_path):
        report = report_of(tmp_path, RUN)
    page = Page(html(report))
    assert page.headings[:5] == ["g", "Parked and failing", "Certificate", "Changes", "Plan"]
    assert "A1A1parked, failed twice, last: no inkholds up A2, A3" in page.text
    assert "A4A4failing, failed once, last: no paper" in page.text
    text = markdown(report).partition("### Parked and failing\n\n")[2].partition("\n\n")[0]
    assert text.splitlines() == [
        "- `A1` A1: parked, failed twice, last: no ink; it holds up A2, A3",
        "- `A4` A4: failing, failed once, last: no paper",
    ]
    found = {node["id"]: node for node in report.as_json()["nodes"]}
    assert {
        name: (node["undone"], node["failures"], node["note"], node["holds_up"])
        for name, node in found.items()
        if node["undone"]
    } == {
        "A1": ("parked", 2, "no ink", ["A2", "A3"]),
        "A4": ("failing", 1, "no paper", []),
    }
    assert (report.picture["head"]["parked"], report.picture["head"]["failing"]) == (1, 1)
    assert "0 of 4 resolved, 4 open, 1 parked, 1 failing" in page.text


# --- Markdown ------------------------------------------------------------------------------------


def test_markdown_names_what_is_parked(tmp_path: Path) -> None:
    with stuck(tmp_path):
        text = markdown(report_of(tmp_path, RUN))
    parked = text.partition("### Parked\n\n")[2].partition("### Cost")[0]
    assert (
        parked
        == """\
- `A1` A1: parked, failed twice, last: no pen no paper; it holds up A2, A3

### Plan

- \u2016 `A1` A1 *parked* (2 sessions)
- \u00b7 `A2` A2 *pending*
- \u00b7 `A3` A3 *pending*
- \u2713 `A4` A4 \u2014 done

"""
    )
    assert text.endswith("""\
- failure: A1, attempt 1: no pen
- wind 1: only parked work is left: wind 1 of 1
- failure: A1, attempt 2: no pen no paper
""")


def test_the_text_of_a_pull_request(tmp_path: Path) -> None:
    with story(tmp_path):
        text = markdown(report_of(tmp_path, RUN))
    assert (
        text
        == f"""\
## g

**Completed** (`completed`, exit code 0): every check passed

- run: {RUN} (graph plan)
- branch: runner/{RUN}
- begun: 2026-11-15T10:00:01Z
- last event: 2026-11-15T10:00:18Z
- time: 18 s by the clock; all sessions together 9 s
- atoms: 3 of 5 resolved, 2 given up
- iterations: 5 of 12
- sessions: 7 sessions
- cost: 7,200 tokens, 1.50 USD
- gauge: {report_of(tmp_path, RUN).picture["head"]["gauge"]:,}, \
from {report_of(tmp_path, RUN).picture["head"]["first_gauge"]:,}
- can still follow: nothing

### Checks

There is no certificate: none that can be read is left.

- The base case: `true`

### Plan

- \u2713 `A1` A1 \u2014 a pen
- \u2713 `G1` one of, `A3` taken
  - \u2717 `A2` A2 *failed*
    - \u21a9 `A5` A5 *left* (3 sessions)
  - \u2713 `A3` A3 \u2014 on stone
- \u2713 `A4` A4 \u2014 read aloud

### Cost

- worker: 6 sessions, 7,200 tokens, 1.50 USD
- verifier: 1 session, no cost reported

### Trail

- failure: A5, attempt 1: no paper
- failure: A5, attempt 2: no paper
- failure: A5, attempt 3: no paper
- backtrack: G1 \u2192 A3: no way

### Corrections

- 2026-11-15T10:00:11Z `constraint_change`: more time
"""
    )


def test_markdown_of_a_hostile_run_has_no_markup_of_theirs(tmp_path: Path) -> None:
    text = markdown(hostile(tmp_path))
    for line in text.splitlines():
        plain = re.sub(r"`[^`]*`", "", line.replace("\\`", ""))
        assert not re.search(r"(?<!\\)[<\[]", plain), line
    assert not re.search(r"@\w|#\d|https?://", text)


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ("a_b *c* <d>", r"a\_b \*c\* \<d\>"),
        ("two\nlines", "two lines"),
        ("mail @ada", "mail @\u200bada"),
        ("see #7", "see #\u200b7"),
        ("http://a.b", "http:\u200b//a.b"),
        ("x" * 300, "x" * 237 + "..."),
    ],
)
def test_words_stay_words(words: str, read: str) -> None:
    assert plain(words) == read


def test_a_large_plan_is_told_by_what_is_not_resolved(tmp_path: Path) -> None:
    text = " ".join(f"A{n}" for n in range(1, 101))
    with Recorded(tmp_path, plan_to_run(text)) as made:
        made.begin().start("A1").resolve("A1")
        listed = markdown(report_of(tmp_path, RUN)).split("### Plan")[1].split("###")[0]
    lines = listed.strip().splitlines()
    assert (lines[0], lines[-1], len(lines)) == (
        "- \u00b7 `A2` A2 *pending*",
        "- and 40 more",
        61,
    )


# --- the command ---------------------------------------------------------------------------------


def repository(folder: Path) -> Path:
    git(folder, "init", "--quiet")
    with story(folder):
        pass
    return folder


@pytest.mark.slow
def test_the_format_is_told_by_the_name_of_the_file(tmp_path: Path) -> None:
    folder = repository(tmp_path)
    for name, begins in (("r.html", "<!doctype html>"), ("r.md", "## g"), ("r.json", "{")):
        assert dwindle(folder, "report", "-o", name) == Ended(code=0, out=f"{name}\n")
        assert (folder / name).read_text().startswith(begins)
    data = json.loads((folder / "r.json").read_bytes())
    assert (data["format"], data["head"]["run"], sorted(data["files"], key=int)) == (
        1,
        RUN,
        ["2", "3", "6", "8", "12", "14", "16"],
    )
    assert dwindle(folder, "report", RUN, "--format", "md").out == (folder / "r.md").read_text()


@pytest.mark.slow
def test_a_report_that_cannot_be_had(tmp_path: Path) -> None:
    folder = repository(tmp_path)
    unknown = dwindle(folder, "report", "01NOBODY")
    assert (unknown.code, unknown.err.splitlines()[0]) == (
        2,
        "dwindle: .runner/journal: there is no run 01NOBODY",
    )
    outside = dwindle(folder, "report", "../x")
    assert (outside.code, outside.err.splitlines()[0]) == (
        2,
        "dwindle: .runner/journal: there is no run ../x",
    )
    nowhere = dwindle(folder, "report", "-o", "no/such/folder.html")
    assert (nowhere.code, nowhere.out) == (2, "")
    assert "the report cannot be written" in nowhere.err


def test_atoms_that_a_redirect_removed_keep_their_attempts(tmp_path: Path) -> None:
    with Recorded(tmp_path, plan_to_run("A1 A2")) as made:
        made.begin().start("A1").fail("A1", "never again")
        edits = (RemoveAtom(atom=AtomId("A1")),)
        kind = CorrectionType.DAG_ADJUSTMENT
        made.add(Redirected(type=kind, edits=edits, description="without it"))
        page = Page(html(report_of(tmp_path, RUN)))
    assert "never again" in page.text
