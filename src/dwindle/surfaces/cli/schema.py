"""dwindle schema: the JSON Schema of a plan file."""

from __future__ import annotations

from dwindle.app.console import say
from dwindle.app.plans.load import schema_text
from dwindle.kernel.model import PlanKind


def schema(kind: PlanKind, /) -> int:
    """Print the schema that came with the program.

    Args:
        kind: Which plan file.
    """
    return say(schema_text(kind).removesuffix("\n"))
