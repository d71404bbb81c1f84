"""The tests that failed, by name, from what a test tool printed.

Only lines that a tool prints for the purpose count; output that names no test gives no name.
"""

from __future__ import annotations

import re
from typing import Final

FAILED: Final = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^(?:FAILED|ERROR) (\S+::[^\n]+?)(?: - [^\n]*)?$",  # pytest
        r"^(?:FAIL|ERROR): (\w+ \([\w.]+\))",  # unittest
        r"^\s*--- FAIL: (\S+)",  # go
        r"^test (\S+) \.\.\. FAILED$",  # cargo
        r"^\s*not ok \d+ - ([^\n#]+?)\s*(?:#[^\n]*)?$",  # TAP, node
        "^\\s*\u25cf ([^\\n]+ \u203a [^\\n]+)$",  # jest
    )
)


def failing_tests(output: str) -> tuple[str, ...]:
    """Each once, in the order of the output for each tool."""
    found = (match[1].strip() for pattern in FAILED for match in pattern.finditer(output))
    return tuple(dict.fromkeys(found))
