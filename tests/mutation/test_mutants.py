"""The tool itself: what is changed, what is left alone, and that a change is noticed."""

from __future__ import annotations

import io
import os
import signal
from functools import partial
from pathlib import Path

import pytest
from tests.mutation.forking import put_in
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.pool import KILLED, SURVIVED, TIMED_OUT, Pool, trust
from tests.mutation.run import KERNEL, Tally, judge, of_the_kernel, sample
from tests.mutation.survivors import explained

from dwindle.kernel import pace

# A run of these tests side by side has threads; a mutant's process has no use for them.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")


def changes(source: str) -> list[tuple[str, str]]:
    return [(m.before, m.after) for m in mutants("m", source)]


@pytest.mark.parametrize(
    ("line", "others"),
    [
        ("return a < b", ["return None", "return a <= b"]),
        ("return a is b", ["return None", "return a is not b"]),
        ("return a + 1", ["return None", "return a - 1", "return a + 2"]),
        ("return not a", ["return None", "return a"]),
        ("return max(a, b)", ["return None", "return min(a, b)"]),
        ("return f'{a}'", ["return None", "return f'?{a}'"]),
        ("return replace(a, x=b)", ["return None", "return replace(a)"]),
        ("return False", ["return True"]),
        ("return", []),
        ("a += 1", ["pass", "a -= 1", "a += 2"]),
        ("a = b", ["pass"]),
        ("c = b", []),
        ("raise a", ["pass"]),
        ("assert a", ["not a"]),
    ],
)
def test_what_is_changed_in_a_function(line: str, others: list[str]) -> None:
    source = f"def f(a, b):\n    '''Docs are left alone.'''\n    {line}\n"
    assert [after for _, after in changes(source)] == others


def test_each_operand_and_each_filter_may_be_gone() -> None:
    assert changes("def f(a):\n    return (a.x and a.y and a.z)\n") == [
        ("return a.x and a.y and a.z", "return None"),
        ("return a.x and a.y and a.z", "return a.x or a.y or a.z"),
        ("return a.x and a.y and a.z", "return a.y and a.z"),
        ("return a.x and a.y and a.z", "return a.x and a.z"),
        ("return a.x and a.y and a.z", "return a.x and a.y"),
    ]
    assert ("return [x for x in a if x]", "return [x for x in a]") in changes(
        "def f(a):\n    return [x for x in a if x]\n"
    )


def test_tables_lose_their_entries_one_by_one() -> None:
    assert changes("T = (A, B)\nD = {A: B, B: A}\n") == [
        ("T = (A, B)", "T = (B,)"),
        ("T = (A, B)", "T = (A,)"),
        ("A: B", "(gone)"),
        ("B: A", "(gone)"),
    ]
    assert [m.function for m in mutants("m", "T = (A, B)\n")] == ["T", "T"]


def test_what_says_nothing_at_run_time_is_left_alone() -> None:
    source = (
        "'''Docs.'''\nimport a\nfrom b import c\n__all__ = ['x']\nN = NewType('N', str)\n"
        "U = A | B\nif TYPE_CHECKING:\n    x = 1\n@cached(size=1)\ndef f(a: 'int') -> 'str': ...\n"
    )
    assert changes(source) == []


def test_mutants_that_look_alike_are_told_apart() -> None:
    found = mutants("m", "def f(a):\n    a.g(1)\n    a.g(1)\n")
    assert len({m.key for m in found}) == len(found) == 4


def test_a_sample_takes_its_share_of_every_module_and_is_repeatable() -> None:
    whole = of_the_kernel(["pace", "settle", "measure"])
    few = sample(whole, 20, seed=1)
    assert few == sample(whole, 20, seed=1) != sample(whole, 20, seed=2)
    assert {m.module for m in few} == {"pace", "settle", "measure"}
    assert 20 <= len(few) <= 22


def test_every_survivor_that_is_explained_is_a_mutant() -> None:
    """So that the list does not outlive the code that it is about."""
    known = {m.key for m in of_the_kernel()}
    assert [key for key in explained() if key not in known] == []


# --- processes -----------------------------------------------------------------------------------


def goes_on_for_ever(_out: int) -> bool:
    signal.setitimer(signal.ITIMER_PROF, 0.05)
    while True:
        pass


def test_each_end_is_told_apart() -> None:
    came: dict[int, str] = {}
    pool = Pool(2, lambda mutant, what, _: came.update({mutant.number: what}))
    three = of_the_kernel(["pace"])[:3]
    for mutant, attempt in zip(
        three, (lambda _: True, lambda _: False, goes_on_for_ever), strict=True
    ):
        pool.start(mutant, attempt)
    pool.finish()
    assert came == {0: SURVIVED, 1: KILLED, 2: TIMED_OUT}


def test_a_kill_is_believed_only_where_nothing_is_killed_without_a_mutant() -> None:
    trust(lambda _: True)
    with pytest.raises(RuntimeError, match="noticed, although nothing was changed"):
        trust(lambda _: False)


def is_still_one(mutant: Mutant, _out: int) -> bool:
    """An iteration that has not begun does so with its first start."""
    put_in(mutant, (KERNEL / "pace.py").read_text(encoding="utf-8"))
    from tests.kernel.story import running  # noqa: PLC0415 - in the other process only

    return pace.begins_iteration(running("A1")) and not pace.crew_size(running("A1"))


def test_a_mutant_lives_in_its_own_process_only() -> None:
    came: list[tuple[str, str]] = []
    pool = Pool(1, lambda mutant, what, _: came.append((mutant.after, what)))
    for mutant in of_the_kernel(["pace"]):
        if mutant.function == "begins_iteration" and "crew_size" in mutant.before:
            pool.start(mutant, partial(is_still_one, mutant))
    pool.finish()
    assert came == [
        ("return None", KILLED),
        ("return crew_size(plan) != 0", KILLED),
        ("return crew_size(plan) == 1", KILLED),
    ]


def is_killed(_out: int) -> bool:
    os.kill(os.getpid(), signal.SIGKILL)
    return True


def test_a_process_that_another_process_killed_proves_nothing() -> None:
    with pytest.raises(RuntimeError, match="another process has killed"):
        trust(is_killed)


# --- the end -------------------------------------------------------------------------------------


def told(*ends: str) -> Tally:
    tally = Tally(len(ends), io.StringIO())
    for mutant, what in zip(of_the_kernel(["pace"]), ends, strict=False):
        tally.told(mutant, what, "")
    return tally


def test_the_table_adds_up() -> None:
    tally = told(KILLED, KILLED, TIMED_OUT, SURVIVED)
    assert [line.split() for line in tally.table().splitlines()[1:]] == [
        ["pace", "4", "3", "1", "1", "75.0%"],
        ["all", "4", "3", "1", "1", "75.0%"],
    ]
    assert tally.score == 75.0


def test_it_is_red_for_a_low_score_and_for_a_survivor_without_an_explanation() -> None:
    high, low = told(*[KILLED] * 9, SURVIVED), told(*[KILLED] * 8, SURVIVED)
    assert judge(high, dict.fromkeys(high.survivors, "why")) == 0
    assert judge(high, {}) == 1
    assert judge(low, dict.fromkeys(low.survivors, "why")) == 1
    assert judge(told(KILLED), {"elsewhere": "why"}) == 0


def test_a_reason_stands_above_what_it_is_the_reason_for(tmp_path: Path) -> None:
    page = tmp_path / "survivors.md"
    page.write_text("# All\n\n## One\n\nWords.\n\n- a:b `c` -> `d`\n\n## Two\n\n- e:f `g` -> `h`\n")
    assert explained(page) == {"a:b `c` -> `d`": "One", "e:f `g` -> `h`": "Two"}
