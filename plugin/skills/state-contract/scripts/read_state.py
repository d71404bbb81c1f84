#!/usr/bin/env python3
"""Thin call of `dwindle state read`, with the same arguments."""

import sys

from _dwindle import state

sys.exit(state("read", sys.argv[1:]))
