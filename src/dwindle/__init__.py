"""Dwindle drives coding agents in a loop that provably ends."""

from dwindle._version import __version__

__all__ = ["__version__"]
