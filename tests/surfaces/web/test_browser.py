"""The page as a person sees it, in a real browser, with real runs behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench._recorded import plan_of, record
from playwright.sync_api import expect
from tests.surfaces.command import dwindle
from tests.surfaces.small_runs import ASSERTED, DRAFT, RUN, journal_of, project, ran
from tests.surfaces.small_runs import plan_of as plan_in
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.served_runs import Served, running, served, until
from tests.views.recorded import cut_off, stuck

from dwindle.demo import stage as demo_stage
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
            expect(mine.page.locator(".phase")).to_have_text("running")
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
    expect(mine.page.locator(".fact").first).to_contain_text("time for tea")
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
        mine.page.uncheck("#fold")
        until(lambda: mine.page.locator(".box").count() >= 300, "all boxes")
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
