"""What a report is made from: the picture of a run, and where its sessions left their papers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dwindle.app.errors import JournalDamaged, StoreFailed
from dwindle.app.plans.undone import times
from dwindle.app.refusal import Refused
from dwindle.app.review import Changes, Patch, changes_of, patch_of
from dwindle.kernel.model import TrailType
from dwindle.text import amounts
from dwindle.text.terminal import without_rulers
from dwindle.views.read_model.attempt_files import Part, parts_of
from dwindle.views.read_model.run_view import Follower, current_run
from dwindle.views.read_model.shapes import NodeView, RunPicture, SessionView

PHASES: Final = {
    "pending": "Not begun",
    "running": "Running",
    "paused": "Paused",
    "stopping": "Stopping",
    "resting": "Resting",
    "cut_short": "Cut short",
    "stopped": "Stopped",
    "completed": "Completed",
}
WHY: Final = {
    "pending": "no session has been started yet",
    "running": "it was going on when this was written",
    "paused": "a person is about to redirect it",
    "stopping": "a stop was asked for",
    "resting": "nothing runs; `dwindle run` goes on",
    "cut_short": "its runner was ended in the middle of its work; `dwindle run` goes on",
}

LINES: Final = 256 << 10
"""Bytes of the lines that a run changed; `dwindle diff` has all."""
UNKNOWN: Final = "no reason is on record"
"""Of something that is not done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    picture: RunPicture
    files: dict[int, list[Part]]
    """By nonce of the session."""
    changes: Changes | None = None
    """What the run changed; None where nothing of it is on a branch."""
    patch: Patch | None = None
    is_current: bool = True
    """It is the run of the plan that is here now."""

    @property
    def title(self) -> str:
        return PHASES[self.picture["head"]["phase"]]

    @property
    def why(self) -> str:
        head = self.picture["head"]
        return head["reason"] or WHY.get(head["phase"], "")

    @property
    def next(self) -> str:
        """What the user does next; empty while a runner is at work, and of a run in the past."""
        return self.picture["head"]["next"] if self.is_current else ""

    @property
    def code(self) -> str:
        """The reason's name, with its exit code; empty while there is none."""
        head = self.picture["head"]
        if not head["stop_code"] or head["phase"] in {"running", "paused", "stopping"}:
            return ""
        return f"{head['stop_code']}, exit code {head['exit_code']}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What one wants to know first, in rows of a name and its value."""
        head, picture = self.picture["head"], self.picture
        begun, ended = span_of(picture)
        resolved = f"{head['resolved']} of {head['atoms']} resolved"
        left = f", {head['left']} given up" if head["left"] else ""
        still_open = f", {head['open']} open" if head["open"] else ""
        parked = f", {head['parked']} parked" if head["parked"] else ""
        failing = f", {head['failing']} failing" if head["failing"] else ""
        rows = [
            ("run", f"{head['run']} ({head['kind']} plan)"),
            ("branch", picture["branch"]),
            ("begun", begun),
            ("last event", ended),
            ("time", self.time),
            ("atoms", f"{resolved}{left}{still_open}{parked}{failing}"),
            ("iterations", f"{head['iteration']} of {head['max_iterations']}"),
            ("sessions", amounts.count(len(picture["sessions"]), "session")),
            ("cost", self.cost),
            ("gauge", f"{amounts.count(head['gauge'])}, from {amounts.count(head['first_gauge'])}"),
            ("can still follow", _bound(head["bound"])),
        ]
        return [(name, value) for name, value in rows if value]

    @property
    def session_seconds(self) -> float:
        """The sum over all sessions; of sessions side by side, each counts."""
        return float(sum(one["seconds"] for one in self.picture["spending"]["by_role"].values()))

    @property
    def time(self) -> str:
        """By the clock, which passes only while a runner is there; and the sum of sessions."""
        clock = f"{amounts.duration(self.picture['head']['seconds'])} by the clock"
        if not self.picture["sessions"]:
            return clock
        return f"{clock}; all sessions together {amounts.duration(self.session_seconds)}"

    @property
    def cost(self) -> str:
        head = self.picture["head"]
        if not head["tokens"] and not head["usd"]:
            return "none was reported"
        estimated = self.picture["spending"]["run"]["estimated"]
        return amounts.cost(head["tokens"], head["usd"], estimated=estimated)

    @property
    def without_certificate(self) -> str:
        """What there is in its place."""
        if self.picture["head"]["kind"] == "graph":
            judged = any(one["role"] == "verifier" for one in self.sessions_of(""))
            why = "none that can be read is left" if judged else "the base case was not judged"
            return f"There is no certificate: {why}."
        guarded = [one for one in self.picture["sessions"] if one["guard"] in {"pass", "fail"}]
        if not guarded:
            return "A tree has no certificate, and its guard has not been run yet."
        last = guarded[-1]
        green = "green" if last["guard"] == "pass" else "red"
        where = f"in iteration {last['iteration']:04}, commit {last['commit'][:12]}"
        return f"A tree has no certificate, its guard decides: last {green}, {where}."

    def sessions_of(self, atom: str) -> list[SessionView]:
        return [session for session in self.picture["sessions"] if session["atom"] == atom]

    def atoms(self) -> list[NodeView]:
        return [node for node in self.picture["nodes"] if node["kind"] == "atom"]

    def undone(self) -> list[NodeView]:
        """What is parked, or failed and is not done; what holds up most first."""
        found = [node for node in self.picture["nodes"] if node["undone"]]
        return sorted(found, key=lambda node: -node["holds_up_count"])

    def as_json(self) -> dict[str, Any]:
        """The documented object."""
        files = {str(nonce): parts for nonce, parts in self.files.items()}
        return {**self.picture, "files": files, "changes": self.changes}


def report_of(root: Path, run: str) -> Report:
    """As the run stands now; StoreFailed if this can be no run's name."""
    followed = Follower(root, run)
    followed.poll()
    picture = followed.picture()
    files = {one["nonce"]: parts_of(root, run, one) for one in picture["sessions"]}
    changes, patch = _changes(root, run)
    return Report(
        picture=picture,
        files=files,
        changes=changes,
        patch=patch,
        is_current=current_run(root, followed.kind) == run,
    )


def _changes(root: Path, run: str) -> tuple[Changes | None, Patch | None]:
    try:
        return changes_of(root, run), patch_of(root, run, most=LINES)
    except (Refused, StoreFailed, JournalDamaged):  # there is no branch, or no record to go by
        return None, None


def diffstat(changes: Changes) -> str:
    """`3 files changed, +20 -3; tests: 2 added, 1 removed`."""
    files = amounts.count(len(changes["files"]), "file")
    lines = f"+{amounts.count(changes['added'])} -{amounts.count(changes['removed'])}"
    came, went = len(changes["tests_added"]), len(changes["tests_removed"])
    tests = f"; tests: {came} added, {went} removed" if came or went else ""
    return f"{files} changed, {lines}{tests}"


def _bound(bound: int) -> str:
    return f"at most {amounts.count(bound, 'session')}" if bound else "nothing"


def span_of(picture: RunPicture) -> tuple[str, str]:
    """The times of the first and the last event."""
    starts = [mark["at"] for mark in picture["marks"] if mark["kind"] == "start"]
    first = starts[0] if starts else (picture["events"][0]["at"] if picture["events"] else "")
    return first, picture["head"]["at"]


def trail_line(entry: dict[str, Any]) -> tuple[str, str, str]:
    """When, about what, why."""
    return (
        str(entry["timestamp"]),
        f"{entry['type']}{_about(entry)}",
        without_rulers(str(entry["reason"])),
    )


def _about(entry: dict[str, Any]) -> str:
    if entry["type"] == TrailType.WIND:
        return f" {entry['attempt']}"
    if entry["or_group"]:
        return f": {entry['or_group']} \u2192 {entry['selected']}"
    attempt = f", attempt {entry['attempt']}" if entry["attempt"] else ""
    return f": {entry['atom']}{attempt}"


def undone_title(nodes: Iterable[NodeView]) -> str:
    """Of the list of them."""
    only = all(node["undone"] == "parked" for node in nodes)
    return "Parked" if only else "Parked and failing"


def undone_words(node: NodeView) -> str:
    """`parked, failed twice, last: no pen`."""
    often = f", failed {times(node['failures'])}" if node["failures"] else ""
    last = ", last" if often and node["kind"] == "atom" else ""
    return f"{node['undone']}{often}{last}: {node['note'] or UNKNOWN}"


def waiting_names(node: NodeView) -> str:
    """The names of what waits for something that is not done; empty if nothing does."""
    more = node["holds_up_count"] - len(node["holds_up"])
    return ", ".join(node["holds_up"]) + (f" and {more} more" if more else "")
