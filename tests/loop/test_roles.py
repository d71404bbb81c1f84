"""What each role can write to, and what it could get hold of, seen from inside of real sessions.

The repositories are not under /tmp or HOME, which the sandbox hides anyway. What is asserted
needs bubblewrap: other kinds of containment do not restrict files, and say so.
"""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.loop.story import RUN, Story
from tests.surfaces.command import dwindle, git, write

pytestmark = pytest.mark.slow

LOOK = r"""
import json, os, subprocess, sys
root, role = "ROOT", sys.argv[1:2] or [json.load(open(os.environ["DWINDLE_ORDER"]))["role"]]
outbox = os.path.dirname(os.environ.get("DWINDLE_REPORT", "/nowhere/at-all"))
places = {
    "work": ".", "outbox": outbox, "tmp": "/tmp", "home": os.environ["HOME"], "shared": "/var/tmp",
    "checkout": root, "git": root + "/.git", "hooks": root + "/.git/hooks",
    "runner": root + "/.runner", "journal": root + "/.runner/journal",
    "logs": root + "/.runner/iterations", "plan": root + "/.claude", "system": "/etc",
}
written = []
for name, place in places.items():
    path = os.path.join(place, "planted")
    try:
        open(path, "w").close()
        os.unlink(path)
        written.append(name)
    except OSError:
        pass
for name in (".runner/config.toml", ".runner/tree.json"):
    try:
        open(os.path.join(root, name), "r+").close()
        written.append(name)
    except OSError:
        pass
status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines()
              if ":\t" in line)
rights = sorted({status[name] for name in status if name.startswith("Cap")})
nested = subprocess.run(["unshare", "--user", "true"], stderr=subprocess.DEVNULL).returncode == 0
sockets = [name for name in os.environ if "SOCK" in name or "DISPLAY" in name or "DBUS" in name]
seen = {"writes": written, "rights": rights, "new privileges": status["NoNewPrivs"],
        "nested": nested, "sockets": sockets, "home": os.listdir(os.environ["HOME"])}
print("SEEN", json.dumps({"role": role[0], **seen}))
if role[0] == "check":
    sys.exit(seen != json.loads(sys.argv[2]))
said = {
    "worker": {"success": True, "summary": "made it", "artifacts": ["a.txt"]},
    "probe": {"feasible": True, "findings": "it can be done"},
    "verifier": {"passed": True, "evidence": "I looked", "failures": []},
}.get(role[0])
if role[0] in ("worker", "agent"):
    open("a.txt", "w").write("a\n")
if said and outbox != "/nowhere":
    json.dump(said, open(os.environ["DWINDLE_REPORT"], "w"))
"""


@pytest.fixture
def folder(require_tool: Callable[[str], Path]) -> Iterator[Path]:
    require_tool("bwrap")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


def seen(root: Path) -> dict[str, dict[str, Any]]:
    """By role, from the logs."""
    found = {}
    for log in sorted((root / ".runner/iterations").rglob("*.log")):
        for line in log.read_text("utf-8").splitlines():
            if line.startswith("SEEN "):
                told = json.loads(line.removeprefix("SEEN "))
                found[told.pop("role")] = told
    return found


def held(*writes: str) -> dict[str, Any]:
    return {
        "writes": list(writes),
        "rights": ["0000000000000000"],
        "new privileges": "1",
        "nested": False,
        "sockets": [],
        "home": [],
    }


def surroundings(folder: Path) -> dict[str, str]:
    """Of a person at a desk."""
    write(folder, "home/.ssh/id", "secret")
    named = ("SSH_AUTH_SOCK", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS")
    return {"HOME": str(folder / "home"), **dict.fromkeys(named, "/run/user/1000/there")}


def test_roles_of_a_graph_plan(folder: Path) -> None:
    story = Story(folder, "project")
    story.having({"look.py": LOOK.replace("ROOT", str(story.folder))})
    story.agent("/usr/bin/python3", "look.py").atom("A1", probe=True)
    as_check = shlex.quote(json.dumps(held("work", "tmp", "home")))
    story.done_when("test -f a.txt", f"/usr/bin/python3 look.py check {as_check}")
    story.done_when_all({"type": "assertion", "value": "it is good"})

    ended = story.called("run", **surroundings(folder))

    assert ended.code == 11, ended
    assert seen(story.folder) == {
        "probe": held("outbox", "tmp", "home"),
        "worker": held("work", "outbox", "tmp", "home"),
        "verifier": held("outbox", "tmp", "home"),
    }


NODE: dict[str, Any] = {
    "acceptance": [],
    "attempts": 0,
    "children": [],
    "goal": "make a.txt",
    "max_attempts": 1,
    "order": 0,
    "passes": False,
}


def test_the_agent_and_the_guard_of_a_tree_plan(folder: Path) -> None:
    root = folder / "project"
    root.mkdir()
    leaf = {**NODE, "id": "leaf", "title": "leaf"}
    tree = {"root": {**NODE, "id": "root", "title": "root", "children": [leaf]}, "version": 1}
    write(root, "look.py", LOOK.replace("ROOT", str(root)))
    write(root, ".runner/tree.json", json.dumps(tree))
    write(
        root,
        ".runner/config.toml",
        '[agents]\nbackend = "command"\ncommand = ["/usr/bin/python3", "look.py", "agent"]\n'
        '[guard]\ncommand = ["/usr/bin/python3", "look.py", "guard"]\n',
    )
    write(root, ".gitignore", "/.runner/journal/\n/.runner/iterations/\n/.runner/outbox/\n")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all", "--force")
    git(root, "commit", "--quiet", "--message=first")

    ended = dwindle(root, "step", "--run-id", RUN, **surroundings(folder))

    assert ended.code == 0, ended
    tree_writes = ("work", "tmp", "home", "checkout", "runner", ".runner/tree.json")
    assert seen(root) == {
        "agent": held("work", "outbox", *tree_writes[1:]),
        "guard": held(*tree_writes),
    }
