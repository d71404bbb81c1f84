from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle.adapters.store.event_codec import EventUnfit, decode, encode
from dwindle.kernel.events import (
    AddAtom,
    AtomResolved,
    ChangeObjective,
    Confirmed,
    Event,
    NewAtom,
    Redirected,
    RunStarted,
    SessionStarted,
    SetLimit,
    Usage,
    VerificationEnded,
    Waited,
)
from dwindle.kernel.model import (
    Aligned,
    Answer,
    AtomId,
    BaseCase,
    Check,
    ChecklistItem,
    CheckType,
    CorrectionType,
    Criterion,
    GroupId,
    Role,
)


@cache
def strategy(hint: Any) -> st.SearchStrategy[Any]:
    """Everything that may stand where the type hint stands, and that JSON can say."""
    if hasattr(hint, "__supertype__"):
        return strategy(hint.__supertype__)
    if get_origin(hint) in (Union, UnionType):
        return st.one_of(*map(strategy, get_args(hint)))
    if get_origin(hint) is tuple:
        *items, end = get_args(hint)
        if end is ...:
            return st.lists(strategy(items[0]), max_size=3).map(tuple)
        return st.tuples(*map(strategy, (*items, end)))
    if is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint)
        names = [one.name for one in fields(hint)]
        return st.deferred(
            lambda: st.builds(hint, **{name: strategy(hints[name]) for name in names})
        )
    if issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    return {
        str: st.text(max_size=20),
        int: st.integers(min_value=-(2**63), max_value=2**63 - 1),
        float: st.floats(allow_nan=False, allow_infinity=False),
        bool: st.booleans(),
        NoneType: st.none(),
    }[hint]


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_every_kind_of_event_comes_back_as_it_went_in(kind: type) -> None:
    @given(strategy(kind))
    def comes_back(event: Event) -> None:
        text = encode(event)
        assert decode(text) == event
        assert encode(decode(text)) == text
        assert b"\n" not in text

    comes_back()


STORIES: list[tuple[Event, bytes]] = [
    (Waited(), b'{"kind":"Waited"}'),
    (Waited(elapsed=3), b'{"kind":"Waited","elapsed":3.0}'),
    (Waited(elapsed=0), b'{"kind":"Waited"}'),
    (
        SessionStarted(at="2030-01-01T00:00:00Z", atom=AtomId("A1"), role=Role.WORKER),
        b'{"kind":"SessionStarted","at":"2030-01-01T00:00:00Z","atom":"A1","role":"worker"}',
    ),
    (
        AtomResolved(
            atom=AtomId("A1"), nonce=7, usage=Usage(usd=0.5), summary="äöü\n", artifacts=("a", "b")
        ),
        (
            b'{"kind":"AtomResolved","atom":"A1","nonce":7,"usage":{"usd":0.5},'
            b'"summary":"\xc3\xa4\xc3\xb6\xc3\xbc\\n","artifacts":["a","b"]}'
        ),
    ),
    (
        RunStarted(run_id="01R", aligned=Aligned(commit="c0", pins=("tests/a.py",))),
        b'{"kind":"RunStarted","run_id":"01R","aligned":{"commit":"c0","pins":["tests/a.py"]}}',
    ),
    (
        VerificationEnded(nonce=9, passed=False),
        b'{"kind":"VerificationEnded","nonce":9,"passed":false}',
    ),
    (
        Confirmed(item="looks good", answer=Answer.NO, words="it does not"),
        b'{"kind":"Confirmed","item":"looks good","answer":"no","words":"it does not"}',
    ),
    (
        Redirected(
            type=CorrectionType.OBJECTIVE_CHANGE,
            description="all at once",
            edits=(
                ChangeObjective(
                    protected_paths=(),
                    base_case=BaseCase(
                        checklist=(
                            ChecklistItem(
                                item="one",
                                any_of=(
                                    ChecklistItem(
                                        item="two",
                                        check=Check(
                                            type=CheckType.QUALITY,
                                            rubric=(
                                                Criterion(
                                                    criterion="c", weight=1, levels=((1, "bad"),)
                                                ),
                                            ),
                                        ),
                                    ),
                                ),
                            ),
                        )
                    ),
                ),
                AddAtom(new=NewAtom(description="d"), group=GroupId("g")),
                SetLimit(name="max_atoms", value=3),
                SetLimit(name="max_cost_usd", value=3.0),
                SetLimit(name="early_verify", value=True),
                SetLimit(name="dispatch", value="refill"),
            ),
        ),
        (
            b'{"kind":"Redirected","type":"objective_change","edits":[{"kind":"ChangeObjective",'
            b'"base_case":{"checklist":[{"item":"one","any_of":[{"item":"two","check":{"type":"quality"'
            b',"rubric":[{"criterion":"c","weight":1.0,"levels":[[1,"bad"]]}]}}]}]},'
            b'"protected_paths":[]},{"kind":"AddAtom","new":{"description":"d"},"group":"g"},'
            b'{"kind":"SetLimit","name":"max_atoms","value":3},'
            b'{"kind":"SetLimit","name":"max_cost_usd","value":3.0},'
            b'{"kind":"SetLimit","name":"early_verify","value":true},'
            b'{"kind":"SetLimit","name":"dispatch","value":"refill"}],"description":"all at once"}'
        ),
    ),
]


@pytest.mark.parametrize(("event", "text"), STORIES)
def test_the_text_is_this_and_no_other(event: Event, text: bytes) -> None:
    assert (encode(event), decode(text)) == (text, event)


def test_the_type_of_a_limit_survives() -> None:
    event = decode(STORIES[-1][1])
    assert isinstance(event, Redirected)
    values = [edit.value for edit in event.edits if isinstance(edit, SetLimit)]
    assert [(type(value), value) for value in values] == [
        (int, 3),
        (float, 3.0),
        (bool, True),
        (str, "refill"),
    ]


REFUSED_TEXTS = [
    (b"", "event: not JSON: Input data was truncated"),
    (b'{"kind":"Waited","note":"\xff"}', "event: not JSON: "),
    (b"[]", "kind: no such kind: None"),
    (b"{}", "kind: no such kind: None"),
    (b'{"kind":["Waited"]}', "kind: no such kind: ['Waited']"),
    (b'{"kind":"Abducted"}', "kind: no such kind: 'Abducted'"),
    (b'{"kind":"Usage"}', "kind: no such kind: 'Usage'"),
    (b'{"kind":"Waited","nte":"x"}', "nte: Waited has no such field"),
    (b'{"kind":"RunEnded","reason":"x"}', "event: RunEnded lacks code"),
    (b'{"kind":"SessionStarted"}', "event: SessionStarted lacks atom, role"),
    (b'{"kind":"Waited","note":3}', "note: expected str, got 3"),
    (b'{"kind":"Waited","note":null}', "note: expected str, got None"),
    (b'{"kind":"Waited","elapsed":true}', "elapsed: expected float, got True"),
    (b'{"kind":"Waited","elapsed":9007199254740993}', "elapsed: expected float, got 90071"),
    (b'{"kind":"Waited","elapsed":1e400}', "event: not JSON: "),
    (b'{"kind":"Waited","elapsed":"1"}', "elapsed: expected float, got '1'"),
    (b'{"kind":"SessionReaped","atom":"A","nonce":1.0}', "nonce: expected int, got 1.0"),
    (b'{"kind":"SessionReaped","atom":"A","nonce":true}', "nonce: expected int, got True"),
    (b'{"kind":"EarlyChecked","passed":1}', "passed: expected bool, got 1"),
    (b'{"kind":"RunStarted","aligned":[]}', "aligned: expected an object, got []"),
    (b'{"kind":"RunStarted","aligned":{"kind":"Aligned"}}', "aligned.kind: Aligned has no such"),
    (
        b'{"kind":"RunStarted","aligned":{"commit":"c","pins":"abc"}}',
        "aligned.pins: expected a list, got 'abc'",
    ),
    (
        b'{"kind":"RunStarted","aligned":{"commit":"c","pins":["a",3]}}',
        "aligned.pins.1: expected str, got 3",
    ),
    (
        b'{"kind":"SessionStarted","atom":"A1","role":"boss"}',
        "role: expected one of worker, probe, verifier, got 'boss'",
    ),
    (
        b'{"kind":"SessionStarted","atom":"A1","role":[]}',
        "role: expected one of worker, probe, verifier, got []",
    ),
    (
        b'{"kind":"Redirected","type":"dag_adjustment","description":"","edits":[{"kind":"Waited"}]}',
        "edits.0.kind: no such kind: 'Waited'",
    ),
    (
        (
            b'{"kind":"Redirected","type":"dag_adjustment","description":"",'
            b'"edits":[{"kind":"SetLimit","name":"x","value":null}]}'
        ),
        "edits.0.value: expected int or float or str or bool, got None",
    ),
    (
        (
            b'{"kind":"Decomposed","atom":"A","nonce":1,"reason":"r","children":[{"description":"d",'
            b'"check":{"type":"quality","rubric":[{"criterion":"c","weight":1,"levels":[[1]]}]}}]}'
        ),
        "children.0.check.rubric.0.levels.0: expected a list of 2, got [1]",
    ),
    (b'{"kind":' * 100_000, "event: nested too deeply"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED_TEXTS, ids=range(len(REFUSED_TEXTS)))
def test_what_is_no_event_is_refused_with_the_spot(text: bytes, message: str) -> None:
    with pytest.raises(EventUnfit) as refusal:
        decode(text)
    assert str(refusal.value)[: len(message)] == message


def deep() -> Event:
    item = ChecklistItem(item="the innermost")
    for _ in range(2_000):
        item = ChecklistItem(item="one more", group=(item,))
    edit = ChangeObjective(base_case=BaseCase(checklist=(item,)))
    return Redirected(type=CorrectionType.OBJECTIVE_CHANGE, description="", edits=(edit,))


WRONG: Any = ["not", "what", "the", "annotation", "says"]

REFUSED_EVENTS = [
    (Waited(elapsed=float("nan")), "elapsed: expected a finite number, got nan"),
    (Waited(elapsed=float("inf")), "elapsed: expected a finite number, got inf"),
    (Waited(note="\ud800"), "event: 'utf-8' codec can't encode character"),
    (VerificationEnded(nonce=10**5000, passed=True), "event: "),
    (Usage(), "event: expected one of RunStarted, StopRequested,"),
    (RunStarted(aligned=WRONG), "aligned: expected Aligned, got ['not'"),
    (Confirmed(item="i", answer=WRONG), "answer: expected a Answer, got ['not'"),
    (AtomResolved(atom=AtomId("A"), nonce=1, summary="", artifacts=WRONG), "artifacts: expected a"),
    (deep(), "event: nested too deeply"),
]


@pytest.mark.parametrize(("event", "message"), REFUSED_EVENTS, ids=range(len(REFUSED_EVENTS)))
def test_what_no_journal_can_hold_is_refused(event: Event, message: str) -> None:
    with pytest.raises(EventUnfit) as refusal:
        encode(event)
    assert str(refusal.value)[: len(message)] == message
