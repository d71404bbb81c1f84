"""A model made of a script, for the real programs to talk to.

    with ModelServer(Lane(steps=(Step(tools=(ToolCall("Bash", {"command": "ls"}),)), Step("done"))))
        as model:
        ...  # point a program at model.url
    model.requests  # what was asked

It speaks the Anthropic Messages API and the OpenAI Responses API on 127.0.0.1, and nothing else.
Leaving the block raises `NotUnderstood` if a request came that it has no answer for.
"""

from __future__ import annotations

from tests.real.model import failures
from tests.real.model.conversation import Api, Conversation, NotUnderstood, ToolResult
from tests.real.model.script import Failure, Lane, Script, Step, ToolCall, Usage
from tests.real.model.server import ModelServer, Request

__all__ = [
    "Api",
    "Conversation",
    "Failure",
    "Lane",
    "ModelServer",
    "NotUnderstood",
    "Request",
    "Script",
    "Step",
    "ToolCall",
    "ToolResult",
    "Usage",
    "failures",
]
