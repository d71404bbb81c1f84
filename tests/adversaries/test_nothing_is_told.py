"""Whole runs in which everybody tells every key, in words that a terminal would obey.

Agents of all roles, checks, guard and setup say the keys that they were given, on both streams and
in every field, in several spellings; they write them into files, names of files, plans and commits.
Afterwards no file that we wrote, no object in git, no page and no output has one of them; and no
file and no output has a character in it that is more than text.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from starlette.types import ASGIApp
from tests.adversaries import blabber
from tests.surfaces.bad_plans import TREE, text
from tests.surfaces.command import PLAIN, Ended, dwindle, repository, write
from tests.surfaces.host.guest import entered
from tests.surfaces.web.asgi import asked

from dwindle.kernel.model import AtomId
from dwindle.surfaces.web.access import AccessPolicy
from dwindle.surfaces.web.feed import Feeds
from dwindle.surfaces.web.page import Page, application

pytestmark = pytest.mark.slow

RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
KEYS = {
    "ANTHROPIC_API_KEY": "sk-ant-canary/one+1",
    "OPENAI_API_KEY": "sk-canary-two-22222",
    "CLAUDE_CODE_OAUTH_TOKEN": 'canary-three-"q"-33',
    "ACME_TOKEN": "canary-four\\q44",
    "GH_PAT": "canary-five-55555",
    "DATABASE_URL": "postgres://me:canary-six-66@db/x",
}
CANARIES = ("canary/one", "canary-two", "canary-three", "canary-four", "canary-five", "canary-six")
ALSO_AS = ("canary\\/one", "canary%2Fone")
BY_NUMBERS = "".join(f"\\u{ord(letter):04x}" for letter in "canary")
"""In a report it is a key as any other; in what is merely printed, another spelling."""
NEVER_GIVEN = {"MY_OWN_SECRET": "canary-seven-unseen"}
"""In our environment, and not let through to anybody."""
EVIL = (
    "x\x1b[2J\x1b]8;;http://evil/\x1b\\link\x1b]8;;\x07 no\ryes\b \u202egnp \x9b2J \u200b zero "
    '\U000e0041 <script>alert(1)</script> javascript:alert(1) `|"[x](javascript:1) @/etc/passwd'
)
OBEYED = re.compile(
    rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b\x8e\x8f\xa8-\xae]|"
    rb"\xe2\x81[\xa6-\xa9]|\xef\xbb\xbf|\xf3\xa0[\x80\x81]"
)
BLABBER = Path(blabber.__file__)
SAY = f"{sys.executable} {BLABBER.name}"
"""It is part of every repository: a sandbox need not show where these tests lie."""
WORDS = {"BLAB": " ".join(KEYS), "EVIL_WORDS": EVIL}
SETTINGS = f"""\
[agents]
command = {json.dumps(SAY.split())}
[sandbox]
env = {json.dumps([*KEYS, *WORDS])}
[notify]
command = ["sh", "-c", "cat >> ../notices; env | grep DWINDLE_TEXT >> ../notices"]
"""
DRAFT = f"""\
objective:
  goal: Make the check pass
  background_intent: It does not
  deliverables: A file named done
  definition_of_done: The check passes
  constraints: {{max_attempts: 5, max_parallel_agents: 1, max_stall_count: 9}}
  base_case:
    checklist:
      - item: It is done
        check: {{type: command, value: "{SAY} say; sh check.sh"}}
      - item: It reads well
        check: {{type: assertion, value: A reader finds it pleasant}}
atoms:
  - id: A1
    description: Write done
    check: {{type: command, value: "{SAY} say; test -f done"}}
  - {{id: A2, description: A large one, probe: true}}
  - {{id: A3, description: One with other ways}}
"""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A repository, and all that was said in it."""

    folder: Path
    said: dict[str, bytes] = field(default_factory=dict)

    def asks(self, *words: str) -> Ended:
        ended = dwindle(self.folder, *words, **KEYS, **WORDS, **NEVER_GIVEN)
        self.said[" ".join(words)] = (ended.out + ended.err).encode("utf-8", "surrogateescape")
        return ended

    def asks_everything(self, *more: tuple[str, ...]) -> None:
        for words in (
            *(("status",), ("status", "--json"), ("graph",), ("graph", "--format", "dot")),
            *(("log",), ("log", "--json"), ("replay",), ("report",), ("report", "--format=md")),
            *(("report", "--format=json"), ("doctor",), ("doctor", "--json"), ("validate",)),
            *more,
        ):
            assert self.asks(*words).code in {0, 1, 2}, self.said

    def looks_at_the_page(self) -> None:
        page = Page(self.folder)
        app: ASGIApp = application(page, AccessPolicy(token="t"))  # noqa: S106 - for the test
        runs = asked(app, "/api/runs").body
        self.said["/api/runs"] = runs
        whole = asyncio.run(first_event(self.folder, json.loads(runs)["runs"][0]["run"]))
        self.said["/events"] = whole
        for line in whole.splitlines():
            if line.startswith(b"data: "):
                for session in json.loads(line[6:]).get("sessions", []):
                    self._looks_at(app, f"/api/runs/current/sessions/{session['nonce']}")
        page.close()

    def _looks_at(self, app: ASGIApp, where: str) -> None:
        listed = asked(app, where)
        self.said[where] = listed.body
        for part in listed.data:
            shown = asked(app, f"{where}/part?name={part['name']}")
            self.said[f"{where} {part['name']}"] = shown.body

    def written(self) -> Iterator[tuple[str, bytes]]:
        """Every file by its name, but those of git; and the names themselves."""
        for path in sorted(self.folder.parent.rglob("*")):
            name = str(path.relative_to(self.folder.parent))
            yield f"name {name}", path.name.encode()
            if path.is_file() and not path.is_symlink() and "/.git/" not in f"/{name}":
                yield name, path.read_bytes()

    def objects(self) -> bytes:
        words = ["git", "cat-file", "--batch-all-objects", "--batch"]
        asked_for = subprocess.run(
            words, cwd=self.folder, env=PLAIN, capture_output=True, check=True
        )
        return asked_for.stdout

    def messages(self) -> bytes:
        words = ["git", "log", "--all", "--glob=refs/*", "--format=%B"]
        return subprocess.run(
            words, cwd=self.folder, env=PLAIN, capture_output=True, check=True
        ).stdout

    def tells(self) -> list[tuple[str, str]]:
        """Where a key can be read."""
        places = [*self.written(), *self.said.items(), ("git", self.objects())]
        keys = (*CANARIES, *ALSO_AS, *NEVER_GIVEN.values())
        found = [(place, key) for place, data in places for key in keys if key.encode() in data]
        unprinted = ((n, d) for n, d in places if not n.endswith(".log"))
        return found + [(n, BY_NUMBERS) for n, d in unprinted if BY_NUMBERS.encode() in d]

    def obeys(self) -> list[tuple[str, bytes]]:
        """Where something stands that is more than text; what is built lies in its own trees."""
        own = (".git", ".runner/worktrees", "done")
        places = [
            *((n, d) for n, d in self.written() if not any(part in n for part in own)),
            *self.said.items(),
            ("messages", self.messages()),
        ]
        found = ((place, OBEYED.search(data)) for place, data in places)
        return [(place, hit.string[max(0, hit.start() - 40) :][:80]) for place, hit in found if hit]


async def first_event(root: Path, run: str) -> bytes:
    feeds = Feeds(root)
    async for event in feeds.of(run).stream():
        feeds.close()
        return event
    return b""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    stage = Stage(folder=tmp_path_factory.mktemp("graph") / "here")
    folder = stage.folder
    write(folder, "check.sh", "test -f done\n")
    write(folder, ".gitignore", ".ignored/\n")
    write(folder, BLABBER.name, BLABBER.read_bytes())
    repository(folder)
    setup = f"[workspace]\nsetup = {json.dumps([*SAY.split(), 'say'])}\n"
    write(folder, ".runner/config.toml", SETTINGS + setup)
    write(folder, ".runner/draft.yaml", DRAFT)
    aligned = stage.asks("align", "--from", ".runner/draft.yaml", "--yes", "--run-id", RUN)
    assert aligned.code == 0, aligned
    ended = stage.asks("run")
    assert ended.code == 11, ended
    stage.asks_everything(("explain", "A1"), ("verify",), ("confirm",))
    stage.looks_at_the_page()
    return stage


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    stage = Stage(folder=tmp_path_factory.mktemp("tree") / "here")
    settings = SETTINGS.replace('blabber.py"]', 'blabber.py", "tree"]')
    guard = f'{SAY} say; printf %s \\"$ACME_TOKEN\\" > guarded; test -f done'
    write(stage.folder, ".runner/config.toml", f'{settings}[guard]\ncommand = "{guard}"\n')
    write(stage.folder, BLABBER.name, BLABBER.read_bytes())
    repository(stage.folder, tree=text(TREE))
    ended = stage.asks("run", "--run-id", RUN)
    assert ended.code == 0, ended
    stage.asks_everything(("explain",))
    stage.looks_at_the_page()
    return stage


def test_a_loop_inside_of_a_session_tells_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the agents have all of the host's environment, and so have we."""
    for name, value in {**KEYS, **NEVER_GIVEN}.items():
        monkeypatch.setenv(name, value)
    stage = Stage(folder=tmp_path / "here")
    stage.folder.mkdir()
    evil = f"{' and '.join(KEYS.values())} {EVIL}"
    guest = entered(stage.folder)

    def says(*words: str) -> None:
        stage.said[f"{len(stage.said)} {words[0]}"] = json.dumps(
            guest.state(*words).answer
        ).encode()

    tree = Path(guest.starts("A1")["worktree"])
    says("add-binding", "A1", "--summary", evil)
    write(tree, "a.txt", "a\n")
    write(tree, "settings.ini", evil)
    says("update-atom", "A1", "resolved")
    guest.starts("A1")
    says("update-atom", "A1", "pending", "--reason", evil)
    started = guest.starts("A1")
    write(Path(started["worktree"]), "a.txt", "a\n")
    told = {"success": True, "summary": evil, "artifacts": ["a.txt"]}
    Path(started["report"]).write_text(json.dumps(told).replace("/", "\\/"))
    says("update-atom", "A1", "resolved")
    guest.starts("A2")
    says("report", "A2", "--json", json.dumps({"success": False, "reason": evil, "no": evil}))
    guest.starts("A2")
    says("report", "A2", "--json", json.dumps({"success": False, "reason": evil}))
    stage.said["hook"] = json.dumps(guest.coordinator_ends()).encode()
    says("set-status", "completed", "--judged", json.dumps([{"item": evil}]))
    says("set-status", "stopped", "--reason", evil)
    stage.asks_everything()
    assert guest.status("A1") == "resolved"
    assert (stage.tells(), stage.obeys()) == ([], [])
    assert "[ACME_TOKEN]" in guest.plan.bindings[AtomId("A1")].summary


def test_a_graph_run_tells_no_key(graph: Stage) -> None:
    assert graph.tells() == []


def test_and_a_tree_run_tells_none(tree: Stage) -> None:
    assert tree.tells() == []


def test_nothing_that_a_graph_run_leaves_is_obeyed(graph: Stage) -> None:
    assert graph.obeys() == []


def test_and_nothing_of_a_tree_run(tree: Stage) -> None:
    assert tree.obeys() == []


def test_the_keys_were_told_and_their_names_stand_in_their_places(graph: Stage) -> None:
    """Else all this would show nothing."""
    logs = [path.read_bytes() for path in graph.folder.rglob("session.log")]
    assert len(logs) > 8
    for name in KEYS:
        assert all(f"[{name}]".encode() in log for log in logs), name
    journal = (graph.folder / f".runner/journal/{RUN}.jsonl").read_text()
    assert "with [ANTHROPIC_API_KEY] and [OPENAI_API_KEY]" in journal
    assert "settings.ini had the value of" in journal


def test_a_page_shows_markup_as_text(graph: Stage) -> None:
    page = graph.said["report"]
    assert b"&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert b"<script>alert" not in page
    assert b"\\x1b[2J" in page
    assert re.search(rb"(?:href|src)=[\"']?javascript:", page) is None


def test_no_prompt_reaches_out_of_the_workspace(graph: Stage, tree: Stage) -> None:
    prompts = [d for stage in (graph, tree) for n, d in stage.written() if n.endswith("prompt.md")]
    assert any(b"\\@/etc/passwd" in prompt for prompt in prompts)
    assert not any(re.search(rb"(?<!\\)@/etc/passwd", prompt) for prompt in prompts)
