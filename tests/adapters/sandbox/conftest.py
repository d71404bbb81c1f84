from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.adapters.sandbox.survivors import new_token, put_down

from dwindle.adapters.sandbox import Bubblewrap, ProcessGroup, Subreaper, Unshare
from dwindle.ports.process import Containment

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
def named(require_tool: Callable[[str], Path]) -> Callable[[str], Containment]:
    """A containment by its name; skips where the machine cannot have it."""

    def make(name: str) -> Containment:
        if name == "bubblewrap":
            return Bubblewrap(program=str(require_tool("bwrap")))
        if name == "unshare":
            return Unshare(
                program=str(require_tool("unshare")), setpriv=str(require_tool("setpriv"))
            )
        return Subreaper() if name == "subreaper" else ProcessGroup()

    return make


@pytest.fixture(params=ALL)
def containment(request: pytest.FixtureRequest, named: Callable[[str], Containment]) -> Containment:
    return named(request.param)


@pytest.fixture(params=(*ALL, "bare"))
def any_containment(
    request: pytest.FixtureRequest, named: Callable[[str], Containment]
) -> Containment:
    return named(request.param)
