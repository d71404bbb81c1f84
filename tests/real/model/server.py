"""The scripted model itself: takes requests, finds their step, answers, and remembers.

One thread for each connection. Leaving the block ends all of them: a thread that waits (a delay, a
hang) waits on an event that is set then, one that reads finds the connection shut, and then every
thread is joined. What was not understood is raised at that point, so that no test can overlook it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from tests.real.model import messages, responses
from tests.real.model.conversation import (
    Api,
    Conversation,
    NotUnderstood,
    read_messages,
    read_responses,
)
from tests.real.model.http import Exchange, Listener
from tests.real.model.script import Failure, Lane, Script, Step

KEPT = (
    "anthropic-beta",
    "anthropic-version",
    "authorization",
    "originator",
    "session-id",
    "session_id",
    "thread-id",
    "user-agent",
    "x-api-key",
    "x-app",
    "x-claude-code-session-id",
    "x-stainless-retry-count",
)
SESSION = ("x-claude-code-session-id", "thread-id", "session-id", "session_id")

READ = {Api.ANTHROPIC: read_messages, Api.OPENAI: read_responses}

MODELS: dict[str, Any] = {"data": [], "models": [], "has_more": False, "object": "list"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request for an answer, as it came."""

    conversation: Conversation
    lane: str
    """Its name, or its number."""
    step: int
    at: float
    """Of the monotonic clock."""
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any] = field(repr=False)

    @property
    def session(self) -> str:
        return next((self.headers[name] for name in SESSION if name in self.headers), "")


class Speech(Protocol):
    """What the modules of both APIs can say."""

    def whole(self, conversation: Conversation, step: Step, ident: str) -> dict[str, Any]: ...

    def events(self, whole: dict[str, Any], /) -> Iterator[dict[str, Any]]: ...

    def failed(self, whole: dict[str, Any], failure: Failure, /) -> dict[str, Any]: ...

    def error(self, failure: Failure) -> dict[str, Any]: ...


class ModelServer:
    def __init__(self, *script: Lane | Script) -> None:
        """Lanes in order, or one whole script."""
        lanes: list[Lane] = []
        for part in script:
            lanes += part.lanes if isinstance(part, Script) else (part,)
        self._script = Script(tuple(lanes))
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._requests: list[Request] = []
        self._visits: list[str] = []
        self._problems: list[str] = []
        self._left = 0
        self._asked: dict[tuple[str, str, int], int] = {}

    # --- life ------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._http = Listener(self._answer, self._complain)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, name="scripted model"
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.hang_up()
        self._http.server_close()  # joins every thread
        if self._problems:
            said = "\n".join(self._problems)
            if raised is None:
                raise NotUnderstood(said)
            raised.add_note(f"the model was asked what it did not understand:\n{said}")

    # --- what a test asks ------------------------------------------------------------------------

    @property
    def port(self) -> int:
        return self._http.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> tuple[Request, ...]:
        """All that asked for an answer, in the order in which they came."""
        with self._lock:
            return tuple(self._requests)

    @property
    def visits(self) -> tuple[str, ...]:
        """Everything that was ever asked for, `GET /v1/models` too."""
        with self._lock:
            return tuple(self._visits)

    @property
    def problems(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(self._problems)

    @property
    def left(self) -> int:
        """How many answers no client waited for."""
        with self._lock:
            return self._left

    def wait_for(self, requests: int, seconds: float) -> bool:
        """Whether that many have come within the time."""
        until = time.monotonic() + seconds
        while len(self.requests) < requests and time.monotonic() < until:
            self._closing.wait(0.01)
        return len(self.requests) >= requests

    # --- answering -------------------------------------------------------------------------------

    def _answer(self, exchange: Exchange) -> None:
        """Called in the thread of the connection."""
        path = exchange.path.partition("?")[0]
        with self._lock:
            self._visits.append(f"{exchange.command} {path}")
        try:
            body = exchange.body()
            match exchange.command, path:
                case "HEAD", "/" | "/api/hello":  # claude opens its connection ahead of time
                    exchange.say_json(200, {})
                case "GET", "/v1/models":
                    exchange.say_json(200, MODELS)
                case "POST", "/v1/messages/count_tokens":
                    read_messages({"max_tokens": 1, **_decoded(body)})
                    exchange.say_json(200, {"input_tokens": max(1, len(body) // 4)})
                case "POST", "/v1/messages":
                    self._converse(exchange, _decoded(body), Api.ANTHROPIC)
                case "POST", "/v1/responses":
                    self._converse(exchange, _decoded(body), Api.OPENAI)
                case _:
                    self._refuse(exchange, "there is no such place")
        except (ConnectionError, TimeoutError):
            with self._lock:
                self._left += 1
            exchange.close_connection = True
        except NotUnderstood as problem:
            self._refuse(exchange, str(problem))
        except Exception as problem:  # noqa: BLE001 - a mistake in the script is the test's failure
            self._refuse(exchange, repr(problem))

    def _complain(self, problem: str) -> None:
        with self._lock:
            self._problems.append(problem)

    def _refuse(self, exchange: Exchange, problem: str) -> None:
        self._complain(f"{exchange.command} {exchange.path}: {problem}")
        exchange.close_connection = True
        failure = Failure(status=400, type="invalid_request_error", message=problem)
        exchange.say_json(400, messages.error(failure), {"x-should-retry": "false"})

    def _converse(self, exchange: Exchange, body: dict[str, Any], api: Api) -> None:
        _need_credentials(exchange, api)
        conversation = READ[api](body)
        lane = self._script.lane(conversation)
        name = "" if lane is None else lane.name or str(self._script.lanes.index(lane))
        request = Request(
            conversation=conversation,
            lane=name,
            step=conversation.turn,
            at=time.monotonic(),
            path=exchange.path,
            headers={key: exchange.headers[key] for key in KEPT if key in exchange.headers},
            body=body,
        )
        with self._lock:
            self._requests.append(request)
            ident = f"{len(self._requests):06d}"
        if lane is None:
            raise NotUnderstood(f"no lane for {conversation.last_user!r:.200}")
        step = lane.answer(conversation)
        if step is None:
            raise NotUnderstood(f"lane {name} is at its end after {conversation.turn} answers")
        self._say(exchange, conversation, self._in_turn(request, step), ident)

    def _in_turn(self, request: Request, step: Step) -> Step:
        """The step as this request meets it: a failure may be for the first ones only."""
        if step.fail_first is None:
            return step
        key = (request.lane, request.session, request.step)
        with self._lock:
            before = self._asked.get(key, 0)
            self._asked[key] = before + 1
        return step if before < step.fail_first else step.without_trouble()

    def _say(self, exchange: Exchange, conversation: Conversation, step: Step, ident: str) -> None:
        speech: Speech = messages if conversation.api is Api.ANTHROPIC else responses
        self._wait(step.delay)
        failure = step.failure
        if failure is not None and not (failure.in_stream and conversation.stream):
            exchange.say_json(failure.status, speech.error(failure), failure.headers)
            return
        whole = speech.whole(conversation, step, ident)
        if not conversation.stream:
            self._wait(step.hang)
            if step.drop:
                exchange.cut()
            else:
                exchange.say_json(200, whole, step.headers)
            return
        said = list(speech.events(whole))
        exchange.open_stream(step.headers)
        exchange.say_event(said[0])
        self._wait(step.hang)
        if failure is not None:
            exchange.say_event(speech.failed(whole, failure))
        elif step.drop:
            for event in said[1 : len(said) // 2]:
                exchange.say_event(event)
            exchange.cut()
            return
        else:
            for event in said[1:]:
                exchange.say_event(event)
        exchange.close_stream()

    def _wait(self, seconds: float) -> None:
        if seconds and self._closing.wait(seconds):
            raise ConnectionAbortedError


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError as problem:
        raise NotUnderstood(f"a body that is not JSON: {problem}") from None
    if not isinstance(value, dict):
        raise NotUnderstood(f"a body that is no object: {value!r:.80}")
    return value


def _need_credentials(exchange: Exchange, api: Api) -> None:
    """The services refuse a request without them; so a program that lost its key is noticed."""
    needed = ["anthropic-version"] if api is Api.ANTHROPIC else []
    if "x-api-key" not in exchange.headers:
        needed.append("authorization")
    if missing := [name for name in needed if name not in exchange.headers]:
        raise NotUnderstood(f"no header {' and no header '.join(missing)}")
