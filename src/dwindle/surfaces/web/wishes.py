"""What a person wants from the page: to stop, to change direction, to give their word.

Each goes the way that the command of the same name goes. A change of direction comes back with the
effect that the person was shown; if it would have another by now, it is not done but shown again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from dwindle.adapters.disk import Locked
from dwindle.adapters.journals.event_codec import EventUnfit, decode
from dwindle.adapters.journals.jsonl import JournalDamaged
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import Redirected, RewriteGraph
from dwindle.kernel.model import PlanKind
from dwindle.ports.store import StoreFailed
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.ledger import OutOfStep
from dwindle.surfaces.cli.confirm import ANSWERS, Word, answered
from dwindle.surfaces.cli.stop import stopped
from dwindle.surfaces.held import held, refused_because
from dwindle.surfaces.redirection import changed_by, effect_lines, redirects
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.tree_only import refuse_for_tree
from dwindle.surfaces.views.plain_text import plain
from dwindle.surfaces.views.run_view import current_run

LONGEST: Final = 4000
"""Characters of a reason."""


class Outdated(Exception):
    """The effect is not the one that was shown; `lines` are the new one."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("the plan has gone on: this would have another effect now")
        self.lines = lines


def stop(root: Path, run: str, kind: PlanKind, asked: dict[str, Any]) -> list[str]:
    _refuse_past(root, run, kind)
    reason = _text(asked, "reason") or "stopped from the page"
    return [stopped(root, (kind,), reason)]


def preview(root: Path, run: str, kind: PlanKind, asked: dict[str, Any]) -> list[str]:
    """What it would do, line by line; nothing is done."""
    events = _redirects(root, run, kind, asked)
    try:
        with held(root, _nothing, pause=False) as now:
            return [plain(line) for line in effect_lines(now.plan, events)]
    except IllegalEvent as refusal:
        raise Refused(refused_because(refusal)) from None


def redirect(root: Path, run: str, kind: PlanKind, asked: dict[str, Any]) -> list[str]:
    events = _redirects(root, run, kind, asked)
    shown = asked.get("effect")
    said: list[str] = []
    try:
        with held(root, said.append, pause=False) as now:
            lines = [plain(line) for line in effect_lines(now.plan, events)]
            if shown is not None and lines != shown:
                raise Outdated(lines)
            done = changed_by(root, now, events, None, said.append)
    except IllegalEvent as refusal:
        raise Refused(refused_because(refusal)) from None
    except WorkspaceFailed as error:
        raise Refused(str(error)) from None
    except (Locked, StoreFailed, JournalDamaged, OutOfStep) as error:
        raise Refused(str(error), hint="`dwindle status` says where it stands") from None
    return [plain(line) for line in [*said, done or ""]]


def confirm(root: Path, run: str, kind: PlanKind, asked: dict[str, Any]) -> list[str]:
    _refuse_past(root, run, kind)
    answer = ANSWERS.get(_text(asked, "answer"))
    if answer is None:
        raise Refused("the answer has to be yes or no")
    word = Word(item=_text(asked, "item") or None, answer=answer)
    try:
        return [plain(line) for line in answered(root, word, _text(asked, "words"))]
    except Locked as error:
        raise Refused(str(error), hint="a run has this plan; it asks when it has stopped") from None
    except (StoreFailed, JournalDamaged, OutOfStep) as error:
        raise Refused(str(error)) from None


def _redirects(
    root: Path, run: str, kind: PlanKind, asked: dict[str, Any]
) -> tuple[Redirected, ...]:
    _refuse_past(root, run, kind)
    refuse_for_tree(root, "a tree is not redirected", "edit .runner/tree.json while it rests")
    if kind is PlanKind.TREE:
        raise Refused("a tree is not redirected", hint="edit .runner/tree.json while it rests")
    why = _text(asked, "why") or "from the page"
    # The journal has a form for edits already, and reads it strictly.
    text = msgspec.json.encode(
        {
            "kind": "Redirected",
            "type": "dag_adjustment",
            "edits": asked.get("edits", []),
            "description": why,
        }
    )
    try:
        found = decode(text)
    except EventUnfit as fault:
        raise Refused(f"these are no edits: {plain(str(fault), LONGEST)}") from None
    edits = found.edits if isinstance(found, Redirected) else ()
    if any(isinstance(edit, RewriteGraph) for edit in edits):
        raise Refused(
            "the whole graph is not rewritten from a page", hint="dwindle redirect --edit"
        )
    if not edits:
        raise Refused("nothing was asked for", hint="add at least one edit")
    return redirects(edits, why)


def _refuse_past(root: Path, run: str, kind: PlanKind) -> None:
    if current_run(root, kind) != run:
        raise Refused("this run is over: another one has its plan now")


def _text(asked: dict[str, Any], name: str) -> str:
    found = asked.get(name, "")
    if not isinstance(found, str) or len(found) > LONGEST:
        raise Refused(f"{name} has to be a text of at most {LONGEST} characters")
    return found.strip()


def _nothing(_: str) -> None:
    """Nobody is there to be told."""
