"""What a run leaves behind, read again and compared."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.runner.fake_checks import (
    OneTree,
    ToldChecks,
    ToldVerifier,
    assertion,
    both,
    checklist,
    command,
    named,
)
from tests.runner.story import FIRST_PLAN

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.events import Usage
from dwindle.kernel.model import (
    Aligned,
    Answer,
    Atom,
    AtomId,
    BaseCase,
    Check,
    CheckType,
    Criterion,
    GroupId,
    Plan,
    Question,
    Spent,
    Status,
    TrailEntry,
    TrailType,
)
from dwindle.ports.process import Strength
from dwindle.ports.work import VerifierReport
from dwindle.runner.gate.certificate import (
    Certificate,
    Charge,
    CheckRecord,
    Comparison,
    Contained,
    LeftParked,
    NotACertificate,
    certificate,
    compare,
)
from dwindle.runner.gate.certificate_text import certificate_text
from dwindle.runner.gate.verification import By, Jury, verify

BASE_CASE = checklist(
    named("builds", command("make")),
    both("good", named("tests", command("make test")), named("nice", assertion("it is nice"))),
)
PLAN = replace(
    FIRST_PLAN,
    objective=replace(FIRST_PLAN.objective, goal="a log-in for ünïcode users", base_case=BASE_CASE),
    control=replace(
        FIRST_PLAN.control,
        run_id="01RUN",
        aligned=Aligned(commit="a11", pins=("ci/check.sh", "tests/test_a.py")),
    ),
    spent=Spent(sessions=4, created=2, seconds=12.5, tokens=900, usd=0.25),
    atoms={
        AtomId("A1"): Atom(id=AtomId("A1"), description="one", status=Status.RESOLVED),
        AtomId("A2"): Atom(id=AtomId("A2"), description="two"),
    },
    trail=(
        TrailEntry(
            or_group=GroupId("or_A1"), selected=AtomId("A1"), reason="first", timestamp="t1"
        ),
        TrailEntry(type=TrailType.FAILURE, atom="A1", attempt=1, reason="it broke", timestamp="t2"),
    ),
)
STRONG = Contained(strength=Strength.STRONG, mechanism="bubblewrap")


def certified(
    told: dict[str, Verdict] | None = None,
    *,
    base_case: BaseCase = BASE_CASE,
    commit: str = "c0ffee",
    answers: tuple[Question, ...] = (),
    plan: Plan = PLAN,
) -> Certificate:
    verifier = ToldVerifier({"it is nice": VerifierReport(passed=True, evidence="looked")})
    jury = Jury(judge=verifier, answers=answers)
    seen = asyncio.run(verify(base_case, commit, OneTree(), ToldChecks(told or {}), jury))
    return certificate(plan, seen, tree="7ree", contained=STRONG, at="2026-01-02T03:04:05Z")


CONFIRMED = certified().with_answers([Question(item="nice", answer=Answer.YES, words="lovely")])


def test_everything_that_was_found_is_in_it() -> None:
    made = certified()

    assert made == Certificate(
        run="01RUN",
        goal="a log-in for ünïcode users",
        at="2026-01-02T03:04:05Z",
        commit="c0ffee",
        tree="7ree",
        aligned_commit="a11",
        pins=("ci/check.sh", "tests/test_a.py"),
        verdict=Verdict.PASSED,
        checks=(
            CheckRecord(
                place=(0,),
                item="builds",
                type=CheckType.COMMAND,
                command="make",
                verdict=Verdict.PASSED,
                judged_by=By.HARNESS,
                exit_code=0,
                seconds=0.5,
                evidence="make: passed",
            ),
            CheckRecord(
                place=(1, 0),
                item="tests",
                type=CheckType.COMMAND,
                command="make test",
                verdict=Verdict.PASSED,
                judged_by=By.HARNESS,
                exit_code=0,
                seconds=0.5,
                evidence="make test: passed",
            ),
            CheckRecord(
                place=(1, 1),
                item="nice",
                type=CheckType.ASSERTION,
                command="it is nice",
                verdict=Verdict.PASSED,
                judged_by=By.VERIFIER,
                evidence="Passed: the verifier says that this holds: it is nice\nlooked",
            ),
        ),
        questions=(Question(item="nice"),),
        limits=made.limits,
        spent={
            "sessions": 4,
            "created": 2,
            "backjumps": 0,
            "winds": 0,
            "forgiven": 0,
            "redirects": 0,
            "verifications": 0,
            "seconds": 12.5,
            "tokens": 900,
            "usd": 0.25,
        },
        containment=STRONG,
        trail=PLAN.trail,
        not_needed=("A2",),
    )
    assert made.limits["max_wall_seconds"] == 86400
    assert made.limits["max_tokens"] is None
    assert "stated" not in made.limits


def early() -> Certificate:
    """Checked while A2 is parked, and A3 waits for it; a wind has gone by."""
    atoms = {
        **PLAN.atoms,
        AtomId("A2"): replace(PLAN.atoms[AtomId("A2")], attempts=9, probes=9),
        AtomId("A3"): Atom(id=AtomId("A3"), description="three", depends_on=("A2",)),
    }
    failed = TrailEntry(
        type=TrailType.FAILURE, atom="A2", attempt=9, reason="no pen\nand no paper", timestamp="t3"
    )
    wind = TrailEntry(type=TrailType.WIND, attempt=2, reason="only parked work", timestamp="t4")
    plan = replace(
        PLAN, atoms=atoms, trail=(*PLAN.trail, failed, wind), spent=replace(PLAN.spent, winds=2)
    )
    return certified(plan=plan)


def test_what_was_parked_when_it_was_made_is_in_it() -> None:
    made = early()
    assert made.parked == (LeftParked(name="A2", reason="no pen\nand no paper", holds_up=("A3",)),)
    assert (made.not_needed, made.spent["winds"]) == (("A2", "A3"), 2)
    assert Certificate.from_json(made.to_json()) == made
    text = certificate_text(made)
    assert (
        text.partition("OPEN AND NOT NEEDED: ")[2]
        == """\
A2, A3

PARKED (1)
  A2: last: no pen and no paper; it holds up A3

TRAIL (4)
  choice or_A1 -> A1: first
  failure A1: it broke
  failure A2: no pen and no paper
  wind 2: only parked work
"""
    )
    assert "  winds                     2 of 15\n" in text


def test_one_that_parked_nothing_does_not_mention_it() -> None:
    content = json.loads(certified().to_json())
    assert "parked" not in content
    spelt = json.dumps({**content, "parked": []}, indent=2, ensure_ascii=False) + "\n"
    with pytest.raises(NotACertificate):
        Certificate.from_json(spelt.encode())


CHARGES = (
    Charge(
        role="worker",
        sessions=3,
        seconds=61.5,
        tokens=12_345,
        read=12_000,
        cached=0,
        written=345,
        usd=0.118,
        estimated=True,
        unpriced=0,
    ),
    Charge(
        role="verifier",
        sessions=1,
        seconds=2.0,
        tokens=0,
        read=0,
        cached=0,
        written=0,
        usd=0.0,
        estimated=False,
        unpriced=0,
    ),
)


def charged(judging: Usage) -> Certificate:
    seen = asyncio.run(verify(BASE_CASE, "c0ffee", OneTree(), ToldChecks()))
    return certificate(
        PLAN, seen, tree="t", contained=STRONG, at="", charges=CHARGES, judging=judging
    )


def test_what_each_role_cost_is_in_it_with_the_judges_of_this_very_round() -> None:
    made = charged(Usage(tokens=100, read=60, cached=30, written=10, usd=0.25))
    assert made.charges == (
        CHARGES[0],
        replace(CHARGES[1], tokens=100, read=60, cached=30, written=10, usd=0.25),
    )
    assert (made.spent["tokens"], made.spent["usd"]) == (1000, 0.5)
    assert Certificate.from_json(made.to_json()) == made
    lines = certificate_text(made).splitlines()
    start = lines.index("  usd                    0.50") + 1
    assert lines[start : start + 2] == [
        "  by worker: 3 sessions, 1 min 1 s, 12,345 tokens, about 0.12 USD",
        "  by verifier: 1 session, 2 s, 100 tokens, 0.25 USD",
    ]


def test_judges_whose_cost_is_not_known() -> None:
    made = charged(Usage(tokens=100))
    assert made.charges[1] == replace(CHARGES[1], tokens=100, unpriced=100)
    told = replace(made, charges=(replace(made.charges[1], usd=0.5),))
    assert (
        "  by verifier: 1 session, 2 s, 100 tokens, 0.50 USD, 100 tokens of unknown price"
        in " ".join(certificate_text(told).split("\n")).replace("     ", " ")
    )


def test_it_holds_when_everything_passed_and_the_person_said_yes() -> None:
    no = certified().with_answers([Question(item="nice", answer=Answer.NO, words="ugly")])

    assert [c.holds for c in (certified(), CONFIRMED, no)] == [False, True, False]
    assert not certified({"make": Verdict.FAILED}).holds
    assert (CONFIRMED.checks[2].judged_by, CONFIRMED.checks[2].verdict) == (
        By.PERSON,
        Verdict.PASSED,
    )
    assert (no.checks[2].judged_by, no.checks[2].verdict) == (By.PERSON, Verdict.FAILED)


def test_quality_says_what_was_asked_for() -> None:
    rubric = (Criterion(criterion="clear", weight=0.4), Criterion(criterion="short", weight=1))
    weighed = Check(type=CheckType.QUALITY, rubric=rubric, pass_threshold=3.5, scope="src")
    simple = Check(type=CheckType.QUALITY, criteria="good names", pass_threshold=3)
    base_case = checklist(named("q", weighed), named("s", simple))

    seen = asyncio.run(verify(base_case, "c", OneTree(), ToldChecks()))
    made = certificate(PLAN, seen, tree="t", contained=STRONG, at="")

    assert [record.command for record in made.checks] == [
        "clear x 0.4; short x 1 >= 3.5 in src",
        "good names >= 3",
    ]


# --- JSON ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [certified(), CONFIRMED, certified({"make": Verdict.FAILED})])
def test_it_is_read_back_as_it_was_written(made: Certificate) -> None:
    assert Certificate.from_json(made.to_json()) == made
    assert made.to_json().decode().splitlines()[:4] == [
        "{",
        '  "format": "dwindle-certificate-1",',
        '  "run": "01RUN",',
        '  "goal": "a log-in for ünïcode users",',
    ]


def edited(change: Callable[[dict[str, object]], object]) -> bytes:
    content = json.loads(CONFIRMED.to_json())
    change(content)
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        CONFIRMED.to_json() + b" ",
        CONFIRMED.to_json().replace(b'"run"', b'"run": "x",\n  "run"', 1),
        json.dumps(json.loads(CONFIRMED.to_json())).encode(),
        edited(lambda c: c.update(more=1)),
        edited(lambda c: c.pop("pins")),
        edited(lambda c: c.pop("trail")),
        edited(lambda c: c.update(format="dwindle-certificate-2")),
        edited(lambda c: c.update(verdict="fine")),
        edited(lambda c: c.update(commit=7)),
        edited(lambda c: c.update(containment={"strength": "strong"})),
    ],
)
def test_anything_but_its_own_bytes_is_refused(content: bytes) -> None:
    with pytest.raises(NotACertificate) as refused:
        Certificate.from_json(content)

    assert str(refused.value).startswith("this is not a certificate as it was written: ")


def test_an_unchanged_edit_is_read() -> None:
    assert Certificate.from_json(edited(lambda _: None)) == CONFIRMED


def test_a_name_that_is_no_text_does_not_break_it() -> None:
    odd = replace(CONFIRMED, pins=("a\udcff",))

    assert Certificate.from_json(odd.to_json()).pins == ("a?",)


# --- text ----------------------------------------------------------------------------------------


def test_it_reads_well_in_80_columns() -> None:
    long = replace(CONFIRMED, goal="a goal " * 40, pins=("deep/" * 30 + "file",))

    assert max(map(len, certificate_text(long).splitlines())) <= 80


def test_the_text_says_what_was_found() -> None:
    failed = certified({"make test": Verdict.COULD_NOT_RUN})

    assert (
        certificate_text(failed)
        == """\
CERTIFICATE: the base case does not hold (could_not_run)
================================================================================
goal        a log-in for ünïcode users
run         01RUN
checked at  2026-01-02T03:04:05Z
commit      c0ffee
tree        7ree
aligned at  a11
contained   strong (bubblewrap)
network     open

CHECKS (2 of 3 passed)
  [pass] builds
         command: make
         by harness, exit 0, 0.5 s
  [????] tests
         command: make test
         by harness, exit 0, 0.5 s
         make test: could_not_run
  [pass] nice
         assertion: it is nice
         by verifier, 0 s

PINS (2)
  ci/check.sh
  tests/test_a.py

JUDGED BY: the list of files that steer tools (no work paths: the weaker form)

SPENT
  sessions                  4
  created                   2 of 100
  verifications             0 of 3
  backjumps                 0 of 3
  winds                     0 of 15
  forgiven                  0 of 50
  redirects                 0 of 20
  time                   12 s of 24 h
  tokens                  900
  usd                    0.25

OPEN AND NOT NEEDED: A2

TRAIL (2)
  choice or_A1 -> A1: first
  failure A1: it broke
"""
    )


def test_the_text_says_what_a_person_opened_and_what_was_bounded() -> None:
    opened = replace(
        STRONG,
        network=False,
        writable=("/var/cache", "/data"),
        env=("NPM_TOKEN",),
        processes=4096,
        memory_bytes=3 << 29,
        file_bytes=1 << 30,
    )
    lines = certificate_text(replace(certified(), containment=opened)).splitlines()
    at = lines.index("contained   strong (bubblewrap)")
    assert lines[at + 1 : at + 6] == [
        "network     none",
        "writable    /var/cache, /data",
        "env         NPM_TOKEN",
        "bounds      4096 processes, 1.5 GiB of memory, files of 1 GiB",
        "",
    ]


def test_the_text_says_whose_word_is_missing_and_that_containment_was_weak() -> None:
    weak = Contained(strength=Strength.WEAK, mechanism="subreaper")

    lines = certificate_text(replace(certified(), containment=weak)).splitlines()

    assert lines[0] == "CERTIFICATE: the base case holds if a person confirms it"
    assert "  nice: not answered yet" in lines
    assert lines[8:10] == [
        "contained   weak (subreaper): a process that forks fast enough might have",
        "            escaped",
    ]
    assert '  nice: yes "lovely"' in certificate_text(CONFIRMED).splitlines()


def test_the_text_of_a_check_has_its_control_its_tests_and_its_digest() -> None:
    tests = replace(CONFIRMED.checks[1], control="true", tests=12, digest="0123456789abcdef" * 4)

    text = certificate_text(replace(CONFIRMED, checks=(tests,), not_needed=(), trail=()))

    assert (
        text.partition("CHECKS (1 of 1 passed)\n")[2].partition("\n\n")[0]
        == """\
  [pass] tests
         command: make test
         control: true
         by harness, exit 0, 12 tests, 0.5 s, output 0123456789abcdef"""
    )
    assert "NOT NEEDED" not in text
    assert "TRAIL" not in text


# --- comparing -----------------------------------------------------------------------------------

YES = (Question(item="nice", answer=Answer.YES),)


def test_a_second_run_that_finds_the_same_still_holds() -> None:
    assert compare(CONFIRMED, certified(answers=YES)) == Comparison(
        holds=True, because="every check passed again"
    )


def test_a_check_that_fails_now_breaks_it() -> None:
    again = certified({"make test": Verdict.FAILED}, answers=YES, commit="d00d")

    assert compare(CONFIRMED, again) == Comparison(
        holds=False,
        because="not passed now: tests",
        differences=(
            "the commit: c0ffee then, d00d now",
            "tests: passed then, failed now",
        ),
    )


def test_a_person_who_was_not_asked_again_is_missed() -> None:
    assert compare(CONFIRMED, certified()).because == "not passed now: nice"


def test_another_base_case_is_another_claim_even_if_it_holds() -> None:
    other = checklist(named("builds", command("true")), BASE_CASE.checklist[1])

    assert compare(CONFIRMED, certified(base_case=other, answers=YES)) == Comparison(
        holds=False,
        because="the base case is not the one that was certified",
        differences=(
            "builds: no longer checked: make",
            "builds: was not checked then: true",
        ),
    )


def test_a_check_that_passes_again_may_print_how_long_it_took() -> None:
    tests = replace(CONFIRMED.checks[1], digest="5 passed in 0.02s")
    slower = replace(tests, digest="5 passed in 0.31s", seconds=0.31)
    old, new = (
        replace(CONFIRMED, checks=(CONFIRMED.checks[0], one, CONFIRMED.checks[2]))
        for one in (tests, slower)
    )
    assert compare(old, new) == Comparison(holds=True, because="every check passed again")


def test_a_check_that_fails_otherwise_than_before_is_said_to() -> None:
    red = replace(CONFIRMED.checks[1], verdict=Verdict.FAILED, digest="aa")
    old, new = (
        replace(CONFIRMED, checks=(CONFIRMED.checks[0], one, CONFIRMED.checks[2]))
        for one in (red, replace(red, digest="bb"))
    )
    assert compare(old, new).differences == ("tests: printed something else",)


def test_what_is_different_is_said_also_where_it_breaks_nothing() -> None:
    tests = replace(CONFIRMED.checks[1], tests=12, digest="aa")
    old = replace(CONFIRMED, checks=(CONFIRMED.checks[0], tests, CONFIRMED.checks[2]))
    new = replace(
        old,
        checks=(old.checks[0], replace(tests, tests=11, digest="bb"), old.checks[2]),
        containment=Contained(strength=Strength.WEAK, mechanism="subreaper"),
        pins=("ci/check.sh",),
    )

    assert compare(old, new) == Comparison(
        holds=True,
        because="every check passed again",
        differences=(
            "the pins: ci/check.sh, tests/test_a.py then, ci/check.sh now",
            "the containment: strong then, weak now",
            "tests: 12 tests then, 11 now",
        ),
    )
