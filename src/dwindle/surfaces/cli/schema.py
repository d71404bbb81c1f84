"""dwindle schema: the JSON Schema of a plan file."""

from __future__ import annotations

from dwindle.kernel.model import PlanKind
from dwindle.surfaces.cli.output import say
from dwindle.wiring import schema_text


def schema(kind: PlanKind, /) -> int:
    """Print the schema that came with the program.

    Args:
        kind: Of which plan file.
    """
    return say(schema_text(kind).removesuffix("\n"))
