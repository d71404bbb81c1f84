"""Tree runs: one leaf at a time, in place; the branch is the memory."""
