"""How a disk that says no is told."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from dwindle.ports.workspace import WorkspaceFailed

P = ParamSpec("P")
T = TypeVar("T")


def of_the_world(
    method: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """A disk that says no is a failure of the workspace, like a git that does."""

    @wraps(method)
    async def told(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(*args, **kwargs)
        except OSError as error:
            what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            raise WorkspaceFailed(what) from error

    return told
