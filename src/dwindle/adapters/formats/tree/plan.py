"""The tree plan, `.runner/tree.json`: everything the rest of the program needs of it.

The file itself is `tree_file`, what it may hold `tree_wire` and `tree_rules`, what an agent may do
to it `tree_changes`, what the kernel makes of it `tree_atoms`.
"""

from dwindle.adapters.formats.tree.atoms import TREE_LIMITS, to_plan
from dwindle.adapters.formats.tree.changes import changes_refused
from dwindle.adapters.formats.tree.file import DecodedTree, decode, encode
from dwindle.adapters.formats.tree.walk import derive_passes, leftmost_open_leaf
from dwindle.adapters.formats.tree.wire import TreeDocument, TreeNode

__all__ = [
    "TREE_LIMITS",
    "DecodedTree",
    "TreeDocument",
    "TreeNode",
    "changes_refused",
    "decode",
    "derive_passes",
    "encode",
    "leftmost_open_leaf",
    "to_plan",
]
