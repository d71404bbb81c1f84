"""A program that prints numbered lines until it has printed enough: flood.py BYTES [STREAM]."""

from __future__ import annotations

import sys


def main() -> None:
    left = int(sys.argv[1])
    stream = sys.stderr if sys.argv[2:] == ["stderr"] else sys.stdout
    number = 0
    while left > 0:
        block = b"".join(b"%09d\n" % n for n in range(number, number + 1000))[:left]
        stream.buffer.write(block)
        number += 1000
        left -= len(block)


main()
