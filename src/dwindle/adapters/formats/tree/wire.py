"""Task Tree v1 as it stands in the file: two shapes, and no field beyond them, ever.

The constraints written here are read twice: by the decoder, and by the JSON Schema that is
generated from these types. What no single field can say (unique ids, derived `passes`, depth)
is in `tree_rules`.

A tree in memory is one of these values too, with its children in canonical order: there is
nothing in the file that a second set of classes would say better.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

LARGEST: Final = 2**53 - 1
"""The largest whole number that every reader of JSON agrees about."""

ID_PATTERN: Final = r"^(?!.*\.\.)(?!.*\.lock$)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$(?!\n)"
"""Ids become git refs and folders. The end of it is for readers whose `$` forgives a newline."""

NOT_BLANK: Final = r"\S"

Id = Annotated[
    str,
    Meta(
        pattern=ID_PATTERN,
        description="Unique in the whole tree. Letters, digits, '_', '.', '-'; at most 64; "
        "no '..', no '.lock' at the end.",
    ),
]
Order = Annotated[
    int,
    Meta(
        ge=-LARGEST,
        le=LARGEST,
        description="Place among the siblings: ascending, then by id.",
    ),
]
Title = Annotated[str, Meta(pattern=NOT_BLANK, description="A short label.")]
Goal = Annotated[str, Meta(pattern=NOT_BLANK, description="What holds when the node is done.")]
Acceptance = Annotated[
    tuple[str, ...], Meta(description="Criteria for people and agents; may be empty.")
]
Passes = Annotated[
    bool,
    Meta(
        description="Written by the runner only: for a leaf after a green guard, for an inner "
        "node when all its children pass. A node that passes never changes again.",
    ),
]
Attempts = Annotated[
    int, Meta(ge=0, le=LARGEST, description="Attempts used. Written by the runner only.")
]
MaxAttempts = Annotated[
    int,
    Meta(
        ge=1,
        le=LARGEST,
        description="Attempts before the node must be split or replaced. An agent may choose "
        "1 to 10 for a new node and may not change it later.",
    ),
]


class NodeV1(Struct, frozen=True, forbid_unknown_fields=True):
    """One goal. A node without children is a leaf, and only leaves are worked on."""

    id: Id
    order: Order
    title: Title
    goal: Goal
    acceptance: Acceptance
    passes: Passes
    attempts: Attempts
    max_attempts: MaxAttempts
    children: Annotated[
        tuple[NodeV1, ...],
        Meta(description="Sorted by (order, id) when the runner writes them."),
    ]


class TreeV1(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file. The root's id is `root`."""

    version: Literal[1]
    root: NodeV1


TreeNode = NodeV1
TreeDocument = TreeV1
