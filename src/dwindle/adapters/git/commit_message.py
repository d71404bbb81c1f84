"""What our commits say, and under which names attempts are kept."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dwindle.kernel.model import AtomId
from dwindle.ports.workspace import Trailers
from dwindle.text.terminal import one_line

SUBJECT = 100
"""Characters of a subject."""

NOTES = 200
"""Lines about what could not be kept."""

ATOM = "Dwindle-Atom"
_NO_ATOM = "root"
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]|\.\.|\.lock$|^[.-]|\.$")


def branch_of(run: str) -> str:
    return f"refs/heads/runner/{run}"


def attempts_of(run: str) -> str:
    return f"refs/dwindle/attempts/{fit(run)}/"


def attempt_ref(run: str, atom: str, number: int) -> str:
    return f"{attempts_of(run)}{fit(atom or _NO_ATOM)}/{number}"


def fit(name: str) -> str:
    """The name, as part of a ref."""
    return _UNFIT.sub("_", name) or "_"


def message(trailers: Trailers, notes: Sequence[str] = (), *, otherwise: str = "done") -> str:
    """A function of its arguments alone: one line for people, then facts for programs."""
    first = next((line.strip() for line in trailers.summary.splitlines() if line.strip()), "")
    clean = one_line(first) or otherwise
    atom = trailers.atom or _NO_ATOM
    subject = f"{atom}: {clean}"
    if len(subject) > SUBJECT:
        subject = subject[: SUBJECT - 3].rstrip() + "..."
    body = ""
    if notes:
        shown = [f"- {one_line(note)}" for note in notes[:NOTES]]
        if len(notes) > NOTES:
            shown.append(f"- and {len(notes) - NOTES} more")
        body = "Not kept:\n" + "\n".join(shown) + "\n\n"
    facts = f"Dwindle-Run: {trailers.run}\n{ATOM}: {atom}\nDwindle-Attempt: {trailers.attempt}\n"
    return f"{subject}\n\n{body}{facts}"


def atom_in(text: str) -> AtomId | None:
    """Whose commit this is, by the trailers at its end; None if it is not one of ours."""
    last = text.rstrip("\n").rpartition("\n\n")[2]
    found = re.search(rf"^{ATOM}: (.+)$", last, re.MULTILINE)
    return AtomId(found[1].strip()) if found else None


def session_in(text: str, run: str) -> int:
    """Which session of this run made the commit, by its trailers; 0 if none did."""
    last = text.rstrip("\n").rpartition("\n\n")[2]
    if f"Dwindle-Run: {run}\n" not in last:
        return 0
    found = re.search(r"^Dwindle-Attempt: (\d{1,18})$", last, re.MULTILINE)
    return int(found[1]) if found else 0
