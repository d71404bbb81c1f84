#!/usr/bin/env python3
"""Thin call of `dwindle state set-status`, with the same arguments."""

import sys

from _dwindle import state

sys.exit(state("set-status", sys.argv[1:]))
