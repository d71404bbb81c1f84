"""An honest agent: does what a shell script says, reports it, and lists every file that it leaves.

    python honest_agent.py SCRIPT REPORT

The script finds the number of the attempt in ATTEMPT. REPORT has fields of the report in JSON; a
script that reports by itself gets `null`. The list goes to the log of the session: the judge of
`dwindle torture --honest` looks there for what must not be lost.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

LEFT = "the honest agent leaves: "


def files_left() -> dict[str, str]:
    """Mode and id, as git has them, of every file here that git does not ignore."""
    words = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(words, capture_output=True, check=True).stdout
    found = {}
    for name in sorted(set(filter(None, listed.split(b"\0")))):
        path = Path(os.fsdecode(name))
        if path.is_symlink():
            mode, content = "120000", os.fsencode(path.readlink())
        elif path.is_file():
            mode = "100755" if path.stat().st_mode & 0o100 else "100644"
            content = path.read_bytes()
        else:
            continue  # deleted, or a submodule
        found[str(path)] = f"{mode} {blob_id(content)}"
    return found


def blob_id(content: bytes) -> str:
    blob = b"blob %d\0%b" % (len(content), content)
    return hashlib.sha1(blob, usedforsecurity=False).hexdigest()


def main(script: str, report: str) -> int:
    order = json.loads(Path(os.environ["DWINDLE_ORDER"]).read_bytes())
    own = {"ATTEMPT": str(order["attempt"]), "PYTHON": sys.executable}
    ended = subprocess.run(
        ("sh", "-euc", script), env={**os.environ, **own}, stdin=subprocess.DEVNULL, check=False
    )
    if ended.returncode:
        return ended.returncode
    fields = json.loads(report)
    if fields is not None:
        text = json.dumps({"success": True, "summary": "done", "artifacts": [], **fields})
        Path(os.environ["DWINDLE_REPORT"]).write_text(text, "utf-8")
    sys.stderr.write(f"{LEFT}{json.dumps(files_left())}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
