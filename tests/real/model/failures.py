"""The failures that both services know, in the words that each of them uses for it."""

from __future__ import annotations

from tests.real.model.conversation import Api
from tests.real.model.script import Failure


def unauthorised(api: Api) -> Failure:
    if api is Api.ANTHROPIC:
        return Failure(status=401, type="authentication_error", message="invalid x-api-key")
    return Failure(
        status=401,
        type="invalid_request_error",
        code="invalid_api_key",
        message="Incorrect API key provided.",
    )


def out_of_credit(api: Api) -> Failure:
    if api is Api.ANTHROPIC:
        return Failure(
            status=400,
            type="invalid_request_error",
            message="Your credit balance is too low to access the Anthropic API.",
        )
    return Failure(
        status=429,
        type="insufficient_quota",
        code="insufficient_quota",
        message="You exceeded your current quota, please check your plan and billing details.",
    )


def rate_limited(
    api: Api,
    *,
    retry_after: int | None = None,
    resets_at: int | None = None,
    should_retry: bool | None = None,
) -> Failure:
    """`resets_at` in seconds since 1970: a header of one service, a field of the other."""
    headers: dict[str, str] = {}
    if retry_after is not None:
        headers["retry-after"] = str(retry_after)
    if should_retry is not None:
        headers["x-should-retry"] = "true" if should_retry else "false"
    if api is Api.ANTHROPIC:
        if resets_at is not None:
            headers["anthropic-ratelimit-unified-status"] = "rejected"
            headers["anthropic-ratelimit-unified-reset"] = str(resets_at)
            headers["anthropic-ratelimit-unified-representative-claim"] = "five_hour"
        return Failure(
            status=429,
            type="rate_limit_error",
            message="This request would exceed your rate limit.",
            headers=headers,
        )
    if resets_at is not None:
        return Failure(
            status=429,
            type="usage_limit_reached",
            message="The usage limit has been reached",
            headers=headers,
            details={"resets_at": resets_at, "plan_type": "plus"},
        )
    return Failure(
        status=429,
        type="rate_limit_exceeded",
        code="rate_limit_exceeded",
        message="Rate limit reached.",
        headers=headers,
    )


def unknown_model(api: Api, model: str) -> Failure:
    if api is Api.ANTHROPIC:
        return Failure(status=404, type="not_found_error", message=f"model: {model}")
    return Failure(
        status=404,
        type="invalid_request_error",
        code="model_not_found",
        message=f"The model `{model}` does not exist or you do not have access to it.",
    )


def overloaded(api: Api) -> Failure:
    if api is Api.ANTHROPIC:
        return Failure(status=529, type="overloaded_error", message="Overloaded")
    return Failure(
        status=503,
        type="server_error",
        code="server_is_overloaded",
        message="The server is overloaded. Please try again later.",
    )


def broken(api: Api) -> Failure:
    name = "api_error" if api is Api.ANTHROPIC else "server_error"
    return Failure(status=500, type=name, message="Internal server error")


def too_long(api: Api) -> Failure:
    if api is Api.ANTHROPIC:
        return Failure(
            status=400,
            type="invalid_request_error",
            message="prompt is too long: 1000001 tokens > 1000000 maximum",
        )
    return Failure(
        type="invalid_request_error",
        code="context_length_exceeded",
        message="Your input exceeds the context window of this model.",
        in_stream=True,
    )
