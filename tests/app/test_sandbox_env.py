"""`[sandbox] env` lets a variable through to agents and checks, and redacts it from all output."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.command import dwindle, write
from tests.surfaces.small_runs import DRAFT, journal_of, project

pytestmark = pytest.mark.slow

CANARY = "canary-4f1d9c"
AGENT = """\
#!/bin/sh
echo "the token is $ACME_TOKEN"; echo "$ACME_TOKEN" >&2
case $(cat "$DWINDLE_ORDER") in
*'"role": "verifier"'* | *'"role":"verifier"'*)
    echo '{"passed": true, "evidence": "'"$ACME_TOKEN"'", "failures": []}' > "$DWINDLE_REPORT" ;;
*) if test -f seen; then echo yes > done; fi; touch seen
    echo '{"success": true, "summary": "with '"$ACME_TOKEN"'", "artifacts": ["seen"]}' \\
        > "$DWINDLE_REPORT" ;;
esac
"""


def test_a_token_is_used_and_written_nowhere(tmp_path: Path) -> None:
    draft = DRAFT.replace("value: sh check.sh", 'value: "echo $ACME_TOKEN; sh check.sh"')
    folder = project(tmp_path / "here", draft)
    tool = write(tmp_path, "agent", AGENT)
    tool.chmod(0o755)
    settings = f'[agents]\ncommand = ["{tool}"]\n[sandbox]\nenv = ["ACME_TOKEN"]\n'
    write(folder, ".runner/config.toml", settings)
    said = dwindle(folder, "run", ACME_TOKEN=CANARY)
    assert said.code == 0, said
    (first, *_) = (e["event"] for e in journal_of(folder) if e["event"]["kind"] == "AtomResolved")
    assert first["summary"] == "with [ACME_TOKEN]"
    logs = [path.read_text() for path in folder.rglob("session.log")]
    assert logs
    assert all("the token is [ACME_TOKEN]\n" in log for log in logs)
    kept = [path for path in folder.rglob("*") if path.is_file() and path.parts[-2] != ".git"]
    assert len(kept) > 20
    assert [path for path in kept if CANARY.encode() in path.read_bytes()] == []
    assert CANARY not in said.out + said.err
    assert CANARY not in dwindle(folder, "doctor", "--json", ACME_TOKEN=CANARY).out
