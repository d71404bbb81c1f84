"""The pure core: a plan and what happened go in, a plan and what to do next come out."""
