from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.adapters.containment.nursed import Nursed
from tests.adapters.containment.survivors import new_token, put_down

from dwindle.adapters.containment import Bare, Bubblewrap, Subreaper, Unshare
from dwindle.adapters.containment.choice import DescribedContainment

STRONG = ("bubblewrap", "unshare")
ALL = (*STRONG, "subreaper")


@pytest.fixture
def token() -> Iterator[str]:
    word = new_token()
    yield word
    put_down(word)


@pytest.fixture
def another_token() -> Iterator[str]:
    word = new_token()
    yield word
    put_down(word)


@pytest.fixture
def named(require_tool: Callable[[str], Path]) -> Callable[[str], DescribedContainment]:
    """A containment by its name; skips where the machine cannot have it."""

    def make(name: str) -> DescribedContainment:
        if name == "bubblewrap":
            return Bubblewrap(program=str(require_tool("bwrap")))
        if name == "unshare":
            return Unshare(
                program=str(require_tool("unshare")), setpriv=str(require_tool("setpriv"))
            )
        if name == "nursery":
            return Nursed()
        return Subreaper() if name == "subreaper" else Bare()

    return make


@pytest.fixture(params=ALL)
def containment(
    request: pytest.FixtureRequest, named: Callable[[str], DescribedContainment]
) -> DescribedContainment:
    return named(request.param)


@pytest.fixture(params=(*ALL, "bare", "nursery"))
def any_containment(
    request: pytest.FixtureRequest, named: Callable[[str], DescribedContainment]
) -> DescribedContainment:
    return named(request.param)
