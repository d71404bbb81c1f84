"""The page as a person sees it, in a real browser, with real runs behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench._recorded import plan_of, record
from playwright.sync_api import Browser, expect
from tests.surfaces.command import dwindle, write
from tests.surfaces.small_runs import ASSERTED, DRAFT, RUN, asked_git, journal_of, project, ran
from tests.surfaces.small_runs import plan_of as plan_in
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.served_runs import Served, running, served, until
from tests.views.recorded import Recorded, cut_off, plan_to_run, stuck

from dwindle.app.plans.next_step import next_step
from dwindle.demo import stage as demo_stage
from dwindle.kernel.events import Usage
from dwindle.kernel.model import Answer, PlanKind

pytestmark = pytest.mark.slow

HOSTILE = (
    "</script><img src=x onerror=\"document.title='owned'\"><b>bold</b> \x1b[31mred \u202eback"
)
SLOW = """\
worker:
  A1:
    - do:
        - print: the first line
        - sleep: 60
      report: {success: true, summary: done is written, artifacts: [done]}
  "*":
    - do:
        - print: another atom
        - sleep: 60
      report: {success: true, summary: done, artifacts: [done]}
"""


@pytest.fixture
def till(tmp_path: Path) -> Path:
    """The repository of the demo, aligned and not begun."""
    draft = demo_stage.shipped_text(PlanKind.GRAPH, "draft.yaml")
    contents = {**demo_stage.project(PlanKind.GRAPH), "draft.yaml": draft}
    demo_stage.make(tmp_path, contents, "What the till should do")
    said = dwindle(tmp_path, "align", "--from", "draft.yaml", "--yes")
    assert said.code == 0, said
    return tmp_path


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Served]:
    """A run whose agent takes its time, and its page."""
    folder = project(tmp_path / "slow", script=SLOW)
    with running(folder), served(folder) as page:
        until((folder / ".runner/journal" / f"{RUN}.jsonl").exists, "a journal")
        until(lambda: len(journal_of(folder)) >= 2, "a session")
        yield page


def test_the_demo_is_watched_from_its_plan_to_its_certificate(till: Path, look: Open) -> None:
    with served(till) as page:
        mine = look(page.link)
        expect(mine.page.locator(".phase")).to_have_text("not begun")
        expect(mine.box("A5")).to_contain_text("Sum up what was spent")
        with running(till) as run:
            # How soon a program starts is up to the machine.
            expect(mine.page.locator(".phase")).to_have_text("running", timeout=20_000)
            expect(mine.page.locator("#now .session")).not_to_have_count(0)
            mine.picture("running")
            run.wait(60)
            # The plan has grown, a way was given up, and all of it came by itself.
            expect(mine.page.locator(".phase")).to_have_text("completed", timeout=3000)
        expect(mine.box("A3")).to_have_class("box atom failed")
        expect(mine.box("A7")).to_have_class("box atom left")
        expect(mine.box("A4")).to_have_class("box atom resolved")
        expect(mine.page.locator(".fact").nth(1)).to_contain_text("nothing")
        expect(mine.page.locator("#curve .mark.backtrack")).to_have_count(1)
        expect(mine.page.locator(".bar-of")).to_have_count(9)
        for tab, text in (
            ("spending", "verifier"),
            ("trail", "the test wants a file that people can read"),
            ("corrections", "This run was not redirected"),
            ("checks", "it holds"),
            ("events", "A5"),
        ):
            mine.page.click(f"#tabs-{tab}")
            expect(mine.page.locator("#tab")).to_contain_text(text)
        mine.picture("completed")


def test_an_atom_is_opened_and_shows_all_that_is_kept_of_it(till: Path, look: Open) -> None:
    assert dwindle(till, "run").code == 0
    with served(till) as page:
        mine = look(page.link)
        mine.box("A2").click()
        detail = mine.page.locator("#detail")
        for tab, text in (
            ("about", "parts() reads a line, and keeps blanks in its words"),
            ("attempts", "success was reported, but its check does not hold"),
            ("diff", "+    return tuple(line.split(maxsplit=2))"),
            ("prompt", "Read a line as a day, an amount and words"),
            ("checks", "python3 -m unittest tests.test_line"),
        ):
            mine.page.click(f"#detail-{tab}")
            expect(detail).to_contain_text(text)
        mine.page.click("#detail-diff")
        mine.page.get_by_role("button", name="1: failed").click()
        expect(detail).to_contain_text("+    return tuple(line.split())")
        mine.picture("difference")
        mine.page.keyboard.press("Escape")
        expect(detail).to_be_hidden()
        expect(mine.box("A2")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_parked_says_why_and_what_it_holds_up(
    tmp_path: Path, look: Open, scheme: str
) -> None:
    with stuck(tmp_path), served(tmp_path) as page:
        mine = look(page.link, scheme=scheme)
        expect(mine.box("A1")).to_have_class("box atom parked")
        expect(mine.box("A1")).to_have_attribute(
            "aria-label", "A1, A1, parked, last: no pen no paper"
        )
        expect(mine.box("A2")).to_have_class("box atom pending")
        parked = mine.page.locator("#parked")
        expect(parked.locator(".stuck")).to_have_text(
            "A1A1parked, failed 2 times, last: no pen no paperholds up A2, A3"
        )
        expect(parked).to_contain_text("No wind is left (1 of 1 winds used)")
        expect(mine.page.locator("#curve .key")).to_contain_text("a new wind")
        expect(mine.page.locator("#curve .mark.wind")).to_have_count(1)
        expect(mine.page.locator("#legend .parked")).to_have_count(1)
        mine.picture(scheme)
        parked.get_by_role("button", name="A1").click()
        detail = mine.page.locator("#detail")
        expect(detail.locator(".word").first).to_have_text("parked")
        expect(detail.locator("dl")).to_contain_text("Holds upA2, A3")
        mine.page.keyboard.press("Escape")
        mine.page.click("#tabs-trail")
        expect(mine.page.locator("#tab")).to_contain_text("wind 1")


def test_a_run_that_a_limit_ended_shows_what_failed_beside_what_is_parked(
    tmp_path: Path, look: Open
) -> None:
    with cut_off(tmp_path), served(tmp_path) as page:
        mine = look(page.link)
        expect(mine.page.locator("#parked-title")).to_have_text("Parked and failing")
        expect(mine.page.locator("#parked .stuck")).to_have_text(
            [
                "A1A1parked, failed 2 times, last: no inkholds up A2, A3",
                "A4A4failing, failed once, last: no paper",
            ]
        )
        expect(mine.page.locator("#parked")).to_contain_text("ended while there was something left")
        mine.box("A4").click()
        expect(mine.page.locator("#detail dl")).to_contain_text("Failed, lastno paper")


WRONG = """\
worker:
  A1:
    - do:
        - write: {notes.txt: "a draft"}
        - print: I looked for a pen everywhere
      report: {success: true, summary: done is written, artifacts: [notes.txt]}
  A2:
    - do: [{write: {other: "yes"}}]
      report: {success: true, summary: the other file is written, artifacts: [other]}
"""
LOUD = "for n in $(seq 60); do echo line $n; done; echo FAILED: no file done; test -f done"


def test_a_run_that_has_failed_says_why_and_what_to_do(tmp_path: Path, look: Open) -> None:
    checked = (
        f"Write done\n    check: {{type: command, value: {json.dumps(LOUD)}}}\n"
        "  - id: A2\n    description: Write the other file\n"
        "  - id: A3\n    description: Describe both\n    depends_on: [A1]\n"
    )
    limits = "{max_attempts: 1, max_winds: 0, max_probes: 0}"
    draft = DRAFT.replace("Write done\n", checked).replace(
        "  base_case:", f"  constraints: {limits}\n  base_case:"
    )
    folder = project(tmp_path / "wrong", draft=draft, script=WRONG)
    ran(folder, 31)
    with served(folder) as page:
        mine = look(page.link, width=390, height=844)
        banner = mine.page.locator("#banner")
        expect(banner.locator("h2")).to_contain_text("Stopped: atom exhausted")
        expect(banner.locator("h2 small")).to_have_text("exit code 31")
        expect(banner.locator(".next")).to_have_text(
            f"Next: {next_step(plan_in(folder)).replace('`', '')}"
        )
        expect(mine.page.locator(".fact.bad")).to_have_text("Resultatom exhaustedexit code 31")
        assert "goes on from here" not in mine.page.locator("body").inner_text()
        mine.picture("banner")
        # What failed comes first, in the list as well as on the small screen.
        rows = mine.page.locator("#outline .row .id")
        expect(rows).to_have_text(["A1", "A3", "A2"])
        expect(mine.page.locator("#outline .because").first).to_contain_text("check does not hold")
        high = mine.page.evaluate(
            """() => ["parked", "plan", "curve"].map(
                (id) => document.getElementById(id).getBoundingClientRect().top)"""
        )
        assert high == sorted(high)
        mine.page.get_by_role("button", name="Why A1 failed").click()
        expect(mine.page.locator("#detail-about")).to_have_text("Why it failed")
        why, log = (mine.page.locator(f"#detail pre.tail >> nth={n}") for n in (0, 1))
        expect(why).to_contain_text("FAILED: no file done")
        expect(log).to_have_text("I looked for a pen everywhere")
        assert "monospace" in why.evaluate("(one) => getComputedStyle(one).fontFamily")
        hidden = "(one) => one.scrollHeight - one.clientHeight - one.scrollTop"
        assert why.evaluate(hidden) < 2  # its end can be seen
        expect(mine.page.locator("#detail .failure")).to_contain_text("A1.1.worker/session.log")
        mine.picture("why")


REVIEWED = """\
worker:
  A1:
    - do:
        - write: {"tests/test_new.py": "def test_new(): ...\\n", "tests/test_old.py": "x = 1\\n"}
        - write: {done: "</script><b>bold</b>", stray.txt: "stray"}
      report: {success: true, summary: done is written, artifacts: [done]}
"""


def test_what_a_run_changed_is_reviewed(tmp_path: Path, look: Open, browser: Browser) -> None:
    paths = "[done, tests/test_old.py, tests/test_new.py]"
    draft = DRAFT.replace("  base_case:", f"  work_paths: {paths}\n  base_case:")
    folder = tmp_path / "reviewed"
    write(folder, "tests/test_old.py", "def test_old(): ...\n")
    project(folder, draft=draft, script=REVIEWED)
    ran(folder, 0)
    with served(folder) as page:
        mine = look(page.link)
        mine.page.get_by_role("button", name="See the changes").click()
        place = mine.page.locator("#tab")
        expect(place.locator(".sum")).to_have_text(
            "3 files changed, +3 −1; tests: 1 added, 1 removed"  # noqa: RUF001 - a minus sign
        )
        expect(place.locator(".held")).to_contain_text("outside of the work paths")
        expect(place.locator(".held .mono").last).to_have_text("stray.txt")
        expect(place).to_contain_text("Tests removed: 1tests/test_old.py  test_old")
        expect(place).to_contain_text("Tests added: 1tests/test_new.py  test_new")
        place.locator("summary", has_text="A1").click()
        expect(place.locator(".files li")).to_have_count(3)
        expect(place.locator("pre .add").first).to_have_text("+</script><b>bold</b>")
        expect(place.locator("b:text('bold')")).to_have_count(0)
        mine.picture("changes")
        # It is landed after the page has said what that would do.
        before = asked_git(folder, "rev-parse", "main")
        mine.page.get_by_role("button", name="Land …").click()
        effect = mine.page.locator("dialog .effect")
        expect(effect).to_contain_text(f"1 commit of runner/{RUN} on main: fast-forward")
        mine.page.get_by_label("Squash").check()
        expect(effect).to_contain_text("on main: squash")
        mine.picture("land")
        assert asked_git(folder, "rev-parse", "main") == before
        mine.page.get_by_role("button", name="Land now").click()
        expect(mine.page.locator("#notice")).to_contain_text(f"landed 1 commit of runner/{RUN}")
        expect(mine.page.locator("dialog")).to_be_hidden()
        assert asked_git(folder, "rev-parse", "main^") == before
        assert (folder / "done").exists()
    # The report has the same.
    report = folder / "report.html"
    assert dwindle(folder, "report", "-o", str(report)).code == 0
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    paper = context.new_page()
    paper.goto(report.as_uri())
    section = paper.locator("section", has=paper.locator("h2", has_text="Changes"))
    expect(section).to_contain_text("3 files changed, +3 -1; tests: 1 added, 1 removed")
    expect(section).to_contain_text("Held fast or set aside by the gate")
    section.locator("summary", has_text="Every line").click()
    expect(section.locator("pre.patch .add").first).to_have_text("+</script><b>bold</b>\n")
    context.close()
    text = dwindle(folder, "report", "--format", "md").out
    assert "- `A1` Write done: 3 files, +3 -1\n" in text
    assert "- tests removed: `tests/test_old.py test_old`\n" in text


def test_no_plan_is_cut_off_in_a_report(tmp_path: Path, browser: Browser) -> None:
    journal, _ = record(tmp_path, plan_of(12, 24), 300)
    journal.close()
    report = tmp_path / "report.html"
    assert dwindle(tmp_path, "report", "-o", str(report)).code == 0
    for wide in (1280, 390):
        context = browser.new_context(viewport={"width": wide, "height": 900})
        paper = context.new_page()
        paper.goto(report.as_uri())
        cut = (
            """(one) => [one.scrollWidth > one.clientWidth, one.scrollHeight > one.clientHeight]"""
        )
        assert paper.locator(".whole").evaluate(cut) == [False, False]
        assert paper.evaluate("document.querySelector('.whole svg').clientWidth") <= wide
        paper.locator(".own-size summary").click()
        assert paper.locator(".whole").evaluate(cut)[0] is True
        context.close()


def test_an_empty_repository_says_how_to_begin(tmp_path: Path, look: Open) -> None:
    with served(tmp_path) as page:
        mine = look(page.link)
        expect(mine.page.locator("#welcome")).to_contain_text(f"No run in {tmp_path.name} yet")
        expect(mine.page.locator("#welcome")).to_contain_text("dwindle go")
        expect(mine.page.locator("main")).to_be_hidden()
        mine.picture("empty")
        # The run is shown as soon as there is one.
        with stuck(tmp_path):
            expect(mine.box("A1")).to_be_visible()
            expect(mine.page.locator("#welcome")).to_be_hidden()


NUMBERS = """() => {
    const all = (select) => document.querySelector(select)?.innerText ?? "";
    const budget = (name) => [...document.querySelectorAll(".budget")].find(
        (one) => one.firstChild.innerText === name)?.querySelector("b").innerText;
    const fact = (label) => [...document.querySelectorAll(".fact")].find(
        (one) => one.querySelector(".label").innerText === label);
    const foot = [...document.querySelectorAll("#tab tfoot td")].map((cell) => cell.innerText);
    return {
        cost: [fact("Cost").querySelector(".value").innerText, budget("money"), foot[3]],
        tokens: [fact("Cost").querySelector(".more").innerText.split(" ")[0], budget("tokens")],
        iteration: [fact("Time").innerText.match(/iteration (\\d+)/)[1], budget("iterations")],
    };
}"""


def test_numbers_agree_with_each_other_in_every_frame(tmp_path: Path, look: Open) -> None:
    names = [f"A{n}" for n in range(1, 9)]
    with Recorded(tmp_path, plan_to_run(" ".join(names))) as made:
        made.begin().start("A1").resolve("A1", usage=Usage(tokens=1000, usd=0.5))
        with served(tmp_path) as page:
            mine = look(page.link)
            mine.page.click("#tabs-spending")
            seen = set()
            for name in names[1:]:
                made.start(name).resolve(name, usage=Usage(tokens=1000, usd=0.5))
                for _ in range(8):
                    found = mine.page.evaluate(NUMBERS)
                    different = {what: all_ for what, all_ in found.items() if len(set(all_)) > 1}
                    assert different == {}
                    seen.add(found["cost"][0])
                    mine.page.wait_for_timeout(50)
            expect(mine.page.locator(".budget", has_text="money").locator("b")).to_have_text(
                "4.00 USD"
            )
            assert len(seen) > 1


def test_nothing_is_said_of_parking_where_nothing_is_parked(till: Path, look: Open) -> None:
    with served(till) as page:
        expect(look(page.link).page.locator("#parked")).to_be_hidden()


def test_stop_is_clicked_and_the_run_ends(slow: Served, look: Open, tmp_path: Path) -> None:
    mine = look(slow.link)
    expect(mine.page.locator("#now .tail")).to_contain_text("the first line")
    mine.page.click("#stop")
    mine.page.get_by_label("Why (may be left empty)").fill("time for tea")
    mine.picture("asked")
    mine.page.locator("dialog").get_by_role("button", name="Stop").click()
    expect(mine.page.locator("#notice")).to_contain_text("stopped; `dwindle run` goes on from here")
    expect(mine.page.locator(".phase")).to_have_text("stopped")
    expect(mine.page.locator("#banner .reason")).to_have_text("time for tea")
    assert plan_in(tmp_path / "slow").control.stop_reason == "time for tea"


def test_a_redirect_is_previewed_and_made_while_it_runs(
    slow: Served, look: Open, tmp_path: Path
) -> None:
    mine = look(slow.link)
    mine.page.click("#redirect")
    act = mine.page.get_by_role("button", name="Redirect now")
    expect(act).to_be_disabled()
    mine.page.get_by_label("What is to be done").fill("Write the manual")
    mine.page.get_by_label("Waits for").fill("A1")
    mine.page.get_by_role("button", name="Show the effect").click()
    effect = mine.page.locator(".effect")
    expect(effect).to_contain_text("dag_adjustment: the Trail is kept and a correction is added")
    expect(effect).to_contain_text("new: A2")
    mine.picture("effect")
    act.click()
    expect(mine.page.locator("dialog")).to_be_hidden()
    expect(mine.box("A2")).to_contain_text("Write the manual")
    mine.page.click("#tabs-corrections")
    expect(mine.page.locator("#tab")).to_contain_text("dag adjustment")
    until(lambda: "A2" in plan_in(tmp_path / "slow").atoms, "the plan file")
    expect(mine.page.locator("#now .session")).to_have_count(1)


def test_what_cannot_be_is_refused_in_the_dialogue_and_the_run_goes_on(
    slow: Served, look: Open
) -> None:
    mine = look(slow.link)
    mine.box("A1").click()
    mine.page.get_by_role("button", name="Remove").click()
    mine.page.get_by_role("button", name="Show the effect").click()
    expect(mine.page.locator(".effect.bad")).to_be_visible()
    expect(mine.page.get_by_role("button", name="Redirect now")).to_be_disabled()
    mine.page.get_by_role("button", name="Cancel").click()
    expect(mine.page.locator(".phase")).to_have_text("running")


def test_without_the_token_one_may_look_and_nothing_else(slow: Served, look: Open) -> None:
    mine = look(slow.link.partition("#")[0])
    expect(mine.page.locator(".phase")).to_have_text("running")
    expect(mine.page.locator("#stop")).to_be_disabled()
    expect(mine.page.locator("#redirect")).to_be_disabled()


def test_from_another_address_the_link_opens_everything(till: Path, look: Open) -> None:
    with served(till, "--host", "0.0.0.0") as page:  # noqa: S104 - that is what is tested
        link = f"http://127.0.0.1:{page.port}/?token={page.token}"
        mine = look(link)
        expect(mine.box("A1")).to_be_visible()
        assert "token" not in mine.page.url
        mine.page.reload()
        expect(mine.box("A1")).to_be_visible()
        expect(mine.page.locator("#redirect")).to_be_enabled()


def test_a_persons_word_is_given(tmp_path: Path, look: Open) -> None:
    folder = project(tmp_path / "asked", draft=ASSERTED)
    ran(folder, 11)
    with served(folder) as page:
        mine = look(page.link)
        expect(mine.page.locator("#questions")).to_contain_text("It reads well")
        mine.page.get_by_label("Why, about: It reads well").fill("twice")
        mine.picture("asked")
        mine.page.get_by_role("button", name="Yes", exact=True).click()
        expect(mine.page.locator("#notice")).to_contain_text("`dwindle run` completes the run.")
        expect(mine.page.locator("#questions")).to_be_hidden()
    question = plan_in(folder).verification.questions[0]
    assert (question.answer, question.words) == (Answer.YES, "twice")


def test_what_a_hostile_agent_says_is_text_and_nothing_else(tmp_path: Path, look: Open) -> None:
    draft = DRAFT.replace("description: Write done", f"description: {json.dumps(HOSTILE)}")
    draft = draft.replace("goal: Make the check pass", f"goal: {json.dumps(HOSTILE)}")
    hostile = json.dumps(HOSTILE)
    script = (
        "worker:\n  A1:\n"
        f"    - do: [{{print: {hostile}}}]\n"
        f"      report: {{success: false, reason: {hostile}}}\n"
        f"    - do: [{{print: {hostile}}}, {{write: {{done: {hostile}}}}}]\n"
        f"      report: {{success: true, summary: {hostile}, artifacts: [done]}}\n"
    )
    folder = project(tmp_path / "hostile", draft=draft, script=script)
    ran(folder, 0)
    with served(folder) as page:
        mine = look(page.link)
        shown = "</script><img src=x onerror=\"document.title='owned'\"><b>bold</b> "
        spelt = shown + "\\x1b[31mred \\u202eback"
        expect(mine.page.locator("#goal")).to_have_text(spelt)
        expect(mine.box("A1")).to_contain_text(spelt)
        mine.box("A1").click()
        for tab in ("about", "attempts", "diff", "prompt", "log", "checks"):
            mine.page.click(f"#detail-{tab}")
            expect(mine.page.locator("#detail .body")).to_contain_text(shown.strip())
        mine.picture("shown")
        mine.page.keyboard.press("Escape")
        for tab in ("timeline", "spending", "trail", "corrections", "checks", "events"):
            mine.page.click(f"#tabs-{tab}")
        assert mine.page.locator("main img, #detail img, b:text('bold')").count() == 0
        assert "owned" not in mine.page.title().replace(shown, "")
        assert mine.page.evaluate("document.body.innerText.includes('\\u001b')") is False


def test_it_is_dark_where_one_likes_it_dark(till: Path, look: Open) -> None:
    with served(till) as page:
        mine = look(page.link, scheme="dark")
        ground = "getComputedStyle(document.body).backgroundColor"
        assert mine.page.evaluate(ground) == "rgb(20, 23, 26)"
        mine.picture("dark")
        mine.page.get_by_role("button", name="Light or dark").click()
        assert mine.page.evaluate(ground) == "rgb(246, 245, 241)"
        mine.page.reload()
        mine.drawn()
        assert mine.page.evaluate(ground) == "rgb(246, 245, 241)"


def test_it_fits_a_phone(till: Path, look: Open) -> None:
    assert dwindle(till, "run").code == 0
    with served(till) as page:
        mine = look(page.link, width=360, height=740)
        assert mine.page.evaluate("document.documentElement.scrollWidth") <= 360
        expect(mine.page.locator("#outline .row")).to_have_count(8)
        mine.picture("list")
        mine.page.locator("#outline .row", has_text="A2").click()
        expect(mine.page.locator("#detail")).to_contain_text("parts() reads a line")
        assert mine.page.evaluate("document.getElementById('detail').offsetWidth") == 360
        mine.picture("detail")
        mine.page.get_by_role("button", name="Close").click()
        mine.page.get_by_role("button", name="Graph").click()
        expect(mine.box("A1")).to_be_visible()


def test_the_plan_is_walked_with_the_keyboard(till: Path, look: Open) -> None:
    with served(till) as page:
        mine = look(page.link)
        mine.box("A1").focus()
        mine.page.keyboard.press("ArrowDown")
        expect(mine.box("A2")).to_be_focused()
        mine.page.keyboard.press("ArrowRight")
        expect(mine.box("store")).to_be_focused()
        mine.page.keyboard.press("f")
        expect(mine.box("A3")).to_have_count(0)
        expect(mine.box("store")).to_be_focused()
        mine.page.keyboard.press("f")
        expect(mine.box("A3")).to_be_visible()
        mine.page.keyboard.press("Enter")
        expect(mine.page.locator("#detail-title")).to_have_text("one of these ways")
        nameless = mine.page.evaluate(
            """() => [...document.querySelectorAll("button, select, input, textarea")].filter(
                (one) => !(one.textContent.trim() || one.ariaLabel || one.labels?.length)).length"""
        )
        assert nameless == 0


def test_past_runs_are_listed_and_shown(till: Path, look: Open) -> None:
    assert dwindle(till, "run").code == 0
    said = dwindle(till, "align", "--from", "draft.yaml", "--yes", "--already-green-ok")
    assert said.code == 0, said
    with served(till) as page:
        mine = look(page.link)
        expect(mine.page.locator(".phase")).to_have_text("not begun")
        expect(mine.page.locator("#runs option")).to_have_count(2)
        mine.page.select_option("#runs", index=0)
        expect(mine.page.locator(".phase")).to_have_text("completed")
        expect(mine.page.locator("#redirect")).to_be_disabled()


OVERLAPS = """() => {
    const boxes = [...document.querySelectorAll(".box")].map((box) => {
        const { left, top, right, bottom } = box.getBoundingClientRect();
        return { name: box.dataset.name, left, top, right, bottom };
    });
    const found = [];
    boxes.forEach((a, at) => boxes.slice(0, at).forEach((b) => {
        if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
            found.push([a.name, b.name]);
    }));
    for (const path of document.querySelectorAll(".paper path")) {
        const length = path.getTotalLength(), grid = path.getScreenCTM();
        for (let at = 3; at < length - 3; at += 9) {
            const point = path.getPointAtLength(at).matrixTransform(grid);
            const hit = boxes.find((box) => point.x > box.left + 0.5 && point.x < box.right - 0.5
                && point.y > box.top + 0.5 && point.y < box.bottom - 0.5);
            if (hit) found.push([path.getAttribute("d"), hit.name]);
        }
    }
    return [boxes.length, found.slice(0, 5)];
}"""


def test_three_hundred_atoms_as_drawn_neither_overlap_nor_are_crossed(
    tmp_path: Path, look: Open
) -> None:
    journal, _ = record(tmp_path, plan_of(12, 24), 300)
    journal.close()
    with served(tmp_path) as page:
        mine = look(page.link)
        # At first: what is left to do, large enough to be read, and where something failed.
        expect(mine.page.locator("#folded")).to_have_text("(142)")
        expect(mine.page.locator(".paper")).to_have_class("paper")
        expect(mine.page.locator(".box.failed .text").first).to_be_in_viewport()
        shown = mine.page.locator(".box.running .text").first.bounding_box()
        assert shown is not None
        assert shown["height"] >= 10
        mine.page.click("#as-list")
        rows = mine.page.locator("#outline > ul > li:first-child > ul .row.atom .note")
        words = list(dict.fromkeys(rows.all_inner_texts()))
        first = ["given up", "running", "out of attempts", "ready to start"]
        assert [one for one in words if one in first] == first
        mine.page.click("#as-graph")
        mine.page.uncheck("#fold")
        until(lambda: mine.page.locator(".box").count() >= 300, "all boxes")
        mine.page.click("#zoom-fit")
        mine.picture("whole")
        boxes, found = mine.page.evaluate(OVERLAPS)
        assert (boxes >= 300, found) == (True, [])
        mine.page.check("#fold")
        until(lambda: mine.page.locator(".box").count() < 300, "fewer boxes")
        mine.picture("folded")
        for _ in range(5):
            mine.page.get_by_role("button", name="Larger").click()
        mine.picture("near")


def test_a_connection_that_is_lost_is_said_and_found_again(till: Path, look: Open) -> None:
    with served(till) as page:
        mine = look(page.link)
        port = page.port
    expect(mine.page.locator("#notice")).to_contain_text("connection is lost")
    mine.complaints.clear()  # the browser says it, too
    with served(till, port=port):
        expect(mine.page.locator("#notice")).to_be_hidden(timeout=15000)
    mine.page.goto("about:blank")
    mine.complaints.clear()
