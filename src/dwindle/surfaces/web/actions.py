"""The actions of the page: stop, preview, redirect, confirm, land.

Each does what the command of the same name does. A redirect and a landing come with the effect that
the user was shown; if the effect would be another by now, nothing is done and the new effect is
shown.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dwindle.app.confirm import ANSWERS, Word, record_answer
from dwindle.app.errors import (
    JournalDamaged,
    Locked,
    OutOfStep,
    StoreFailed,
    WorkspaceFailed,
)
from dwindle.app.land import LandRequest, LandResult, land_run
from dwindle.app.plans.plan_files import refuse_for_tree
from dwindle.app.redirect.dialogue import apply_change, effect_lines, redirects
from dwindle.app.redirect.planned_edits import edits_from
from dwindle.app.redirect.target import redirect_target, refusal_reason
from dwindle.app.refusal import Refused
from dwindle.app.stop import stop_run
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import Redirected, RewriteGraph
from dwindle.kernel.model import PlanKind
from dwindle.ports.workspace import LandingStyle
from dwindle.text import amounts
from dwindle.text.escape import excerpt
from dwindle.views.read_model.run_view import current_run

LONGEST: Final = 4000
"""Characters of a reason."""


class Outdated(Exception):
    """The effect is not the one that was shown; `lines` are the new one."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("the plan has changed: this would have another effect now")
        self.lines = lines


def stop(root: Path, run: str, kind: PlanKind, asked: dict[str, Any]) -> list[str]:
    _refuse_past(root, run, kind)
    reason = _text(asked, "reason") or "stopped from the page"
    return [stop_run(root, (kind,), reason)]


def preview(root: Path, run: str, kind: PlanKind, asked: dict[str, Any]) -> list[str]:
    """What it would do, line by line; nothing is done."""
    events = _redirects(root, run, kind, asked)
    try:
        with redirect_target(root, _nothing, pause=False) as now:
            return [excerpt(line) for line in effect_lines(now.plan, events)]
    except IllegalEvent as refusal:
        raise Refused(refusal_reason(refusal)) from None


def redirect(root: Path, run: str, kind: PlanKind, asked: dict[str, Any]) -> list[str]:
    events = _redirects(root, run, kind, asked)
    shown = asked.get("effect")
    said: list[str] = []
    try:
        with redirect_target(root, said.append, pause=False) as now:
            lines = [excerpt(line) for line in effect_lines(now.plan, events)]
            if shown is not None and lines != shown:
                raise Outdated(lines)
            done = apply_change(root, now, events, None, said.append)
    except IllegalEvent as refusal:
        raise Refused(refusal_reason(refusal)) from None
    except WorkspaceFailed as error:
        raise Refused(str(error)) from None
    except (Locked, StoreFailed, JournalDamaged, OutOfStep) as error:
        raise Refused(str(error), hint="`dwindle status` says where it stands") from None
    return [excerpt(line) for line in [*said, done or ""]]


def confirm(root: Path, run: str, kind: PlanKind, asked: dict[str, Any]) -> list[str]:
    _refuse_past(root, run, kind)
    answer = ANSWERS.get(_text(asked, "answer"))
    if answer is None:
        raise Refused("the answer has to be yes or no")
    word = Word(item=_text(asked, "item") or None, answer=answer)
    try:
        return [excerpt(line) for line in record_answer(root, word, _text(asked, "words"))]
    except Locked as error:
        raise Refused(
            str(error), hint="a run is using this plan; it asks when it has stopped"
        ) from None
    except (StoreFailed, JournalDamaged, OutOfStep) as error:
        raise Refused(str(error)) from None


def land(root: Path, run: str, kind: PlanKind, asked: dict[str, Any]) -> list[str]:
    """With `preview`: what it would do, and nothing is done."""
    _refuse_past(root, run, kind)
    styles = {style.value: style for style in LandingStyle}
    style = styles.get(_text(asked, "style"))
    if style is None:
        raise Refused(f"the style has to be one of {', '.join(styles)}")
    request = LandRequest(
        onto=_text(asked, "onto") or None,
        style=style,
        even_if_stopped=asked.get("even_if_stopped") is True,
        dry_run=True,
    )
    try:
        would = land_run(root, request)
        if would["run"] != run:
            raise Refused("this plan is not the one that would land", hint="dwindle land")
        lines = _landing_lines(would)
        if asked.get("preview") is True:
            return lines
        if asked.get("effect") != lines:
            raise Outdated(lines)
        done = land_run(root, replace(request, dry_run=False))
    except Locked as error:
        raise Refused(str(error), hint="the run goes on; land when it has ended") from None
    return [excerpt(line) for line in (done["text"], *done["next"])]


def _landing_lines(would: LandResult) -> list[str]:
    """Without the commit: of a merge that was only tried, it is another one each time."""
    branch, of_run = would["onto"], f"runner/{would['run']}"
    if not would["checkouts"] and would["how"] == "already there":
        return [excerpt(f"{branch} has all of {of_run} already")]
    what = f"{amounts.count(would['commits'], 'commit')} of {of_run}"
    files = [f"files in {path} are written" for path in would["checkouts"]]
    return [excerpt(line) for line in (f"{what} on {branch}: {would['how']}", *files)]


def _redirects(
    root: Path, run: str, kind: PlanKind, asked: dict[str, Any]
) -> tuple[Redirected, ...]:
    _refuse_past(root, run, kind)
    refuse_for_tree(root, "a tree is not redirected", "edit .runner/tree.json while it rests")
    if kind is PlanKind.TREE:
        raise Refused("a tree is not redirected", hint="edit .runner/tree.json while it rests")
    why = _text(asked, "why") or "from the page"
    edits = edits_from(asked.get("edits", []))
    if any(isinstance(edit, RewriteGraph) for edit in edits):
        raise Refused("the page cannot rewrite the whole graph", hint="dwindle redirect --edit")
    if not edits:
        raise Refused("there are no edits", hint="add at least one edit")
    return redirects(edits, why)


def _refuse_past(root: Path, run: str, kind: PlanKind) -> None:
    if current_run(root, kind) != run:
        raise Refused("this run is over: the plan belongs to another run now")


def _text(asked: dict[str, Any], name: str) -> str:
    found = asked.get(name, "")
    if not isinstance(found, str) or len(found) > LONGEST:
        raise Refused(f"{name} has to be a text of at most {LONGEST} characters")
    return found.strip()


def _nothing(_: str) -> None:
    """A preview prints nothing."""
