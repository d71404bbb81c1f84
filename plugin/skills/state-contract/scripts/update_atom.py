#!/usr/bin/env python3
"""Thin call of `dwindle state update-atom`, with the same arguments."""

import sys

from _dwindle import state

sys.exit(state("update-atom", sys.argv[1:]))
