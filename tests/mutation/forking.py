"""One process for each mutant, forked from one that has everything loaded.

Two ways, because a mutant is told at two different times. One in the body of a function is put
into modules that are loaded: the function gets other code, and only the tests that run its lines
are asked, the quickest first, until one says no. One at the top of a module (a table, a default)
has done its work when the module is loaded; so its process starts from before that, and loads it
changed.

A test that does not come back in many times the time it takes has noticed as well: most mutants
of a loop's condition never end.
"""

from __future__ import annotations

import ast
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import coverage
import pytest
from hypothesis import Phase, settings
from tests.mutation.mutants import Mutant, mutated
from tests.mutation.pool import KILLED, Pool, Told, trust

PACKAGE = "dwindle.kernel"
_CHECKER = "tests/kernel/test_model_check.py"
_REWRITING = "tests/kernel/test_rewriting.py"
TESTS = (
    *("tests/kernel", "-m", "not slow and not nightly"),
    *("-o", "addopts=", "--import-mode=importlib", "--assert=plain"),
    *("-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # of what is loaded here already
    # Too slow to be asked thousands of times; others go through the same plans in fewer ways.
    *("--deselect", f"{_CHECKER}::test_all_plans_of_up_to_three_atoms_keep_the_laws"),
    # These put a wrong rule into the kernel themselves, and judge the laws.
    *("--deselect", f"{_REWRITING}::test_the_laws_catch_a_rule_that_only_looks_right"),
)
PATIENCE = 2.0
"""Seconds of computing that a test has at least; ten times what it takes if that is more."""
SLOW = ("property", "whatever", "test_planted_rules", "test_bound", "test_model_check")
"""What the names of tests have in them that take seconds."""


class Course:
    """A pytest plugin: collects and measures the tests, then runs them on mutants instead."""

    def __init__(self, sources: Path, wanted: Sequence[Mutant], told: Told, jobs: int) -> None:
        self.sources, self.wanted, self.told, self.jobs = sources, wanted, told, jobs
        self.seconds: dict[str, float] = {}
        self.reached: dict[tuple[str, int], set[str]] = {}
        self.killers: dict[tuple[str, str], list[str]] = {}

    def pytest_collection(self) -> None:
        phases = (Phase.explicit, Phase.generate)  # the smallest example is not read
        settings.register_profile("mutants", settings.default, phases=phases, database=None)
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._measure(session.items)
        gc.collect()
        gc.freeze()
        items = {item.nodeid: item for item in session.items}
        trust(partial(self._ask, session.items))
        pool = Pool(self.jobs, self._noted)
        for mutant in self.wanted:
            asked = [items[name] for name in self._order(mutant)]
            pool.start(mutant, partial(self._try, mutant, asked))
        pool.finish()
        return True

    def _noted(self, mutant: Mutant, came: str, by: str) -> None:
        if came == KILLED:
            known = self.killers.setdefault((mutant.module, mutant.function), [])
            known[:] = [by, *(k for k in known if k != by)][:20]
        self.told(mutant, came, by)

    def _measure(self, items: Sequence[pytest.Item]) -> None:
        watch = coverage.Coverage(
            data_file=None, config_file=False, include=[str(self.sources / "*")]
        )
        remembering = _caches()
        watch.start()
        for item in items:
            for forget in remembering:
                forget()
            watch.switch_context(item.nodeid)
            started = time.process_time()
            failed = _failed(item)
            self.seconds[item.nodeid] = time.process_time() - started
            if failed:
                pytest.exit(f"{item.nodeid} fails without any mutant", returncode=2)
        watch.stop()
        data = watch.get_data()
        for name in data.measured_files():
            for line, tests in data.contexts_by_lineno(name).items():
                self.reached[Path(name).stem, line] = {t for t in tests if t}

    def _order(self, mutant: Mutant) -> list[str]:
        """Who noticed others in the same function first, then the quickest."""
        first, last = mutant.lines
        asked: set[str] = set()
        for line in range(first, last + 1):
            asked |= self.reached.get((mutant.module, line), set())
        known = [k for k in self.killers.get((mutant.module, mutant.function), []) if k in asked]
        rest = sorted(asked.difference(known), key=lambda name: (self.seconds[name], name))
        return [*known, *rest]

    def _try(self, mutant: Mutant, items: Sequence[pytest.Item], out: int) -> bool:
        put_in(mutant, (self.sources / f"{mutant.module}.py").read_text(encoding="utf-8"))
        return self._ask(items, out)

    def _ask(self, items: Sequence[pytest.Item], out: int) -> bool:
        for item in items:
            signal.setitimer(signal.ITIMER_PROF, PATIENCE + 10 * self.seconds[item.nodeid])
            if _failed(item):
                os.write(out, item.nodeid.encode())
                return False
        return True


def _failed(item: pytest.Item) -> bool:
    """As pytest does it, but without the report, which takes longer than most of the tests."""
    if isinstance(item, pytest.Function):
        item._initrequest()  # fixtures of an earlier time are spent
    try:
        item.ihook.pytest_runtest_setup(item=item)
        item.ihook.pytest_runtest_call(item=item)
    except pytest.skip.Exception:
        return False
    except BaseException:  # noqa: BLE001 - a mutant may raise whatever it likes
        return True
    finally:
        item.ihook.pytest_runtest_teardown(item=item, nextitem=None)
    return False


def in_bodies(sources: Path, wanted: Sequence[Mutant], told: Told, jobs: int = 1) -> int:
    return int(pytest.main([*TESTS], plugins=[Course(sources, wanted, told, jobs)]))


def _caches() -> list[Callable[[], None]]:
    """A test whose answer is cached runs none of the lines that it came from."""
    modules = [m for name, m in sys.modules.items() if name.startswith(f"{PACKAGE}.")]
    values = [value for module in modules for value in vars(module).values()]
    return [value.cache_clear for value in values if hasattr(value, "cache_clear")]


# --- code of functions that are loaded -----------------------------------------------------------


def put_in(mutant: Mutant, source: str) -> None:
    """Give the loaded function, or the outermost one around the mutant, the mutant's code."""
    module = importlib.import_module(f"{PACKAGE}.{mutant.module}")
    code = compile(mutated(source, mutant.number), module.__file__ or "?", "exec")
    function, name = _outermost(module, mutant.function)
    clear = getattr(function, "cache_clear", None)
    if clear is not None:
        clear()
    function = getattr(function, "__wrapped__", function)
    function.__code__ = next(
        c
        for c in _codes(code)
        if c.co_qualname == name and c.co_firstlineno == function.__code__.co_firstlineno
    )


def _outermost(module: ModuleType, dotted: str) -> tuple[Any, str]:
    found: Any = module
    names = dotted.split(".")
    for depth, name in enumerate(names, start=1):
        found = vars(found)[name] if isinstance(found, type) else getattr(found, name)
        found = found.fget if isinstance(found, property) else found
        if isinstance(found, FunctionType) or hasattr(found, "__wrapped__"):
            return found, ".".join(names[:depth])
    raise LookupError(dotted)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


# --- modules that are loaded changed -------------------------------------------------------------


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, name: str, tree: ast.Module, path: Path) -> None:
        self.name, self.tree, self.path = name, tree, path

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.tree, str(self.path), "exec"), vars(module))  # noqa: S102 - it is a module


def at_the_top(sources: Path, wanted: Sequence[Mutant], told: Told, jobs: int = 1) -> None:
    if any(name.startswith(PACKAGE) for name in sys.modules):
        raise RuntimeError(f"{PACKAGE} is loaded already")
    if wanted:
        trust(_load_nothing_and_try)
    pool = Pool(jobs, told)
    for mutant in wanted:
        pool.start(mutant, partial(_load_and_try, mutant, sources / f"{mutant.module}.py"))
    pool.finish()


def _load_and_try(mutant: Mutant, path: Path, out: int) -> bool:
    tree = mutated(path.read_text(encoding="utf-8"), mutant.number)
    sys.meta_path.insert(0, Changed(f"{PACKAGE}.{mutant.module}", tree, path))
    return _load_nothing_and_try(out)


def _load_nothing_and_try(out: int) -> bool:
    once = Once()
    code = pytest.main([*TESTS], plugins=[once])
    os.write(out, once.noticed.encode())
    return code == 0 and not once.noticed


class Once:
    """A pytest plugin: asks one test after the other until one fails, the slow ones last."""

    noticed = "collecting the tests"

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            return True
        self.noticed = ""
        for item in sorted(session.items, key=_late):
            signal.setitimer(signal.ITIMER_PROF, 30)
            if _failed(item):
                self.noticed = item.nodeid
                break
        return True


def _late(item: pytest.Item) -> int:
    """Words and tables are what stands at the top of a module; most is noticed by their tests."""
    if any(word in item.nodeid for word in SLOW):
        return 2
    return int(not any(word in item.nodeid for word in ("test_words", "test_tables")))
