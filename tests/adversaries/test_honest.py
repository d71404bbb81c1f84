"""Every honest agent passes, and the judge of honest work sees what is refused, lost or unnamed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dwindle.torture.honest import Form, HonestResult, HonestTrial, Variation, variations
from dwindle.torture.run import place

BY_NAME = {one.name: one for one in variations()}
LEAST = 30

FIRST = [(one.name, one.forms[0]) for one in variations()]
OTHERS = [(one.name, form) for one in variations() for form in one.forms[1:]]


@pytest.fixture
def folder() -> Iterator[Path]:
    with place() as found:
        yield found


def tried(variation: Variation, form: Form, folder: Path) -> HonestResult:
    return HonestTrial(variation=variation, form=form, folder=folder).result()


def test_there_are_enough_and_each_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(variations()) >= LEAST


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form"), FIRST)
def test_it_passes(name: str, form: Form, folder: Path) -> None:
    found = tried(BY_NAME[name], form, folder)
    if found.happened.endswith(" is not installed"):
        pytest.skip(found.happened)
    assert (found.was_tried, found.wrong) == (True, ()), found


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "form"), OTHERS)
def test_it_passes_in_every_form(name: str, form: Form, folder: Path) -> None:
    found = tried(BY_NAME[name], form, folder)
    if found.happened.endswith(" is not installed"):
        pytest.skip(found.happened)
    assert (found.was_tried, found.wrong) == (True, ()), found


# --- the judge can say no ------------------------------------------------------------------------


@pytest.mark.slow
def test_work_that_is_not_right_does_not_complete(folder: Path) -> None:
    wrong = replace(BY_NAME["through-tmp"], agent="echo 41 > answer.txt")
    found = tried(wrong, Form.WEAKER, folder)
    assert not found.passed
    assert found.wrong[0] == "honest work did not complete: exit code 31"
    assert "its check does not hold" in found.happened


@pytest.mark.slow
def test_a_file_that_is_taken_out_counts_as_lost_unless_it_was_meant_to_be(folder: Path) -> None:
    strays = replace(BY_NAME["through-tmp"], agent="echo 42 > answer.txt; echo > stray.txt")
    found = tried(strays, Form.STRICT, folder)
    assert found.wrong == ("is not on the branch as the agent left it: stray.txt",)


@pytest.mark.slow
def test_a_file_that_should_have_been_set_aside_and_was_not(folder: Path) -> None:
    meant = replace(BY_NAME["through-tmp"], aside=("answer.txt",))
    found = tried(meant, Form.WEAKER, folder)
    assert found.wrong[0] == "was not set aside: answer.txt"


def test_a_tool_that_is_missing_is_no_refusal(folder: Path) -> None:
    found = tried(replace(BY_NAME["unittest"], needs=("no-such-tool",)), Form.STRICT, folder)
    assert (found.was_tried, found.passed, found.wrong) == (False, False, ())
    assert found.happened == "not tried: no-such-tool is not installed"
