#!/usr/bin/env python3
"""Thin call of `dwindle state add-binding`, with the same arguments."""

import sys

from _dwindle import state

sys.exit(state("add-binding", sys.argv[1:]))
