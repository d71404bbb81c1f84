"""What an agent says is passed on without keys, and as words; also what its adapter says of it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.adapters.agents.reports import WORK

from dwindle.adapters.agents.command import CommandAgent
from dwindle.adapters.agents.reticent import Reticent
from dwindle.ports.agent import Agent, Place
from dwindle.ports.process import Captured, Ended, Secret
from dwindle.ports.secrecy import spelt
from dwindle.ports.work import NoReport, Result, Trouble, WorkerReport

KEY = Secret(b"canary-1", b"[KEY]")
PROGRAM = CommandAgent(argv=("true",), environment={"OWN_TOKEN": "canary-2"})
AGENT = Reticent(agent=PROGRAM, secrets=(KEY,))


def place(folder: Path) -> Place:
    found = Place(workspace=folder, outbox=folder)
    found.prompt.write_text("do it")
    return found


def printed(text: str) -> Ended:
    data = text.encode()
    return Ended(exit_code=0, stdout=Captured(head=data, size=len(data)))


def concluded(agent: Agent, folder: Path, ended: Ended) -> Result:
    return agent.session(WORK, place(folder)).conclude(ended)


def test_it_is_the_same_agent_and_its_command_knows_of_more(tmp_path: Path) -> None:
    session = AGENT.session(WORK, place(tmp_path))
    assert (AGENT.name, session.watch(b"anything")) == ("command", None)
    assert session.command.secrets == (Secret(b"canary-2", b"[OWN_TOKEN]"), KEY)
    assert session.command.argv == ("true",)
    plain = Reticent(agent=PROGRAM).session(WORK, place(tmp_path))
    assert plain.command.secrets == (Secret(b"canary-2", b"[OWN_TOKEN]"),)


def test_a_key_that_only_a_decoder_sees_is_taken_out(tmp_path: Path) -> None:
    spelt_out = "".join(f"\\u{ord(letter):04x}" for letter in "canary-1")
    said = f'{{"success": true, "summary": "{spelt_out}\\u001b[2J", "artifacts": ["a"]}}'
    assert concluded(AGENT, tmp_path, printed(said)).report == WorkerReport(
        success=True, summary="[KEY]\\x1b[2J", artifacts=("a",)
    )
    (tmp_path / "report.json").write_text(said)
    assert concluded(AGENT, tmp_path, printed("")).report == WorkerReport(
        success=True, summary="[KEY]\\x1b[2J", artifacts=("a",)
    )


def test_words_for_its_end_are_no_different(tmp_path: Path) -> None:
    data = b"it was canary-1 \x1b]0;title\x07 \xe2\x80\xae\n"
    ended = Ended(exit_code=3, stderr=Captured(head=data, size=len(data)))
    assert concluded(AGENT, tmp_path, ended).report == NoReport(
        trouble=Trouble.FAILED,
        reason="it ended with exit code 3\nit was [KEY] \\x1b]0;title\\x07 \\u202e",
    )


def test_a_report_that_is_kept_has_no_key_in_any_spelling(tmp_path: Path) -> None:
    agent = Reticent(agent=PROGRAM, secrets=spelt([("KEY", 'can"ary/1')]))
    command = agent.session(WORK, place(tmp_path)).command
    said = json.dumps({"a": 'can"ary/1'}).encode()
    for data in (said, said.replace(b"/", b"\\/"), said.replace(b"y", b"\\u0079")):
        assert command.told(data) == b'{"a": "[KEY]"}'
