"""What differs between the three kinds of run: graph, tree and hosted. The loop is the same."""
