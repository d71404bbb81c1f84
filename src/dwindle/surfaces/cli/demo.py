"""dwindle demo: the whole loop on a small repository, with what one sees explained.

Nothing of it is staged but the agent, which follows a script: the repository, the checks, the
containment, the branch and the certificate are what any other run has. The steps are those that a
person would type.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from dwindle import wiring
from dwindle.adapters.formats.strict_yaml import parse
from dwindle.adapters.workspaces.git import environment
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    ChoiceFailed,
    Decomposed,
    Event,
    SessionStarted,
)
from dwindle.kernel.model import ROOT, Plan, Role, StopCode
from dwindle.ports.process import Strength
from dwindle.ports.store import StoreFailed
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.surfaces import running
from dwindle.surfaces.cli import align
from dwindle.surfaces.cli.land import land
from dwindle.surfaces.cli.output import complain, say
from dwindle.surfaces.cli.text import WIDTH, painted, wrapped
from dwindle.surfaces.progress import Progress
from dwindle.surfaces.refusal import Refused

DATA: Final = files("dwindle") / "demo_data"
BRANCH: Final = "main"
FAILED: Final = 1
UNITTEST: Final = ("python3", "-m", "unittest")
ON_ITS_OWN: Final = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
"""What a person has set for all repositories (signing, hooks, templates) is not for this one."""
CERTIFICATE_LINES: Final = 14
"""Down to the checks."""
NOBODY: Final = ("-c", "user.name=Dwindle demo", "-c", "user.email=demo@example.invalid")


class WentWrong(Exception):
    """The demo did not come to its end."""


def demo(*, folder: Annotated[Path | None, Parameter(name="--dir")] = None) -> int:
    """Show the whole loop on a small repository.

    Args:
        folder: Make the repository here, and leave it there to look around in.
    """
    began = time.monotonic()
    try:
        with _place(folder) as root:
            _shown(root)
            say("")
            _note(f"That was all of it, in {time.monotonic() - began:.0f} s.")
            if folder is not None:
                _note("The repository stays where it is. To look around:")
                say(f"  cd {shlex.quote(str(folder))}\n  git log --stat")
                say("  dwindle status\n  dwindle explain A3\n  dwindle verify")
            return 0
    except (WentWrong, WorkspaceFailed, StoreFailed) as error:
        complain(f"dwindle: the demo went wrong: {error}")
    return FAILED


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    """An empty folder; one of ours is removed, unless there is something to find out in it."""
    if folder is None:
        root = Path(tempfile.mkdtemp(prefix="dwindle-demo-")).resolve()
    else:
        root = folder.resolve()
        if root.is_dir() and any(root.iterdir()):
            raise Refused("it is not empty", where=str(folder), hint="name a new folder")
        if root.exists() and not root.is_dir():
            raise Refused("it is not a folder", where=str(folder), hint="name a new folder")
        root.mkdir(parents=True, exist_ok=True)
    try:
        yield root
    except BaseException:
        complain(f"dwindle: the repository of the demo is in {root}")
        raise
    if folder is None:
        shutil.rmtree(root, ignore_errors=True)


def _shown(root: Path) -> None:
    """The story; raises where it ends otherwise than it should."""
    _note(f"A small project in {root}: tests, and none of the code they ask for.")
    _made(root)
    with _python_on_path(), chdir(root):
        _command(*UNITTEST)
        say(_tests(passing=False))

        _heading("A draft says what is wanted and how it is checked. Aligning agrees on it.")
        _command("dwindle", "align", "--from", "draft.yaml", "--yes")
        if align.answer(align.Wish(source=Path("draft.yaml"), yes=True), None):
            raise WentWrong("the draft could not be aligned")
        _note("The check was run first and is red, so that green will mean something.")
        _note("A worker that touches a pinned file has failed.")

        _heading(f"Now it runs. {_contained(root)}")
        _command("dwindle", "run")
        halted = asyncio.run(running.run(root, running.Wish(), Story(root)))
        if halted.stop is None or halted.stop.code is not StopCode.COMPLETED:
            why = "nothing" if halted.stop is None else halted.stop.reason
            raise WentWrong(f"the run ended without its goal: {why}")
        run = str(halted.plan.control.run_id)

        _heading("What was checked, on which commit, and what it took, is written down.")
        certificate = root / running.LOGS / run / "certificate.txt"
        _command("head", f"-{CERTIFICATE_LINES}", str(certificate.relative_to(root)))
        written = certificate.read_text(encoding="utf-8").splitlines()
        say("\n".join(written[:CERTIFICATE_LINES]))

        _heading("The result is on a branch of its own. Nobody has touched yours; now you ask.")
        _command("dwindle", "land")
        if land():
            raise WentWrong("the branch could not be landed")
        _command("git", "log", "--oneline")
        say(_git(root, "log", "--oneline", "--no-decorate", BRANCH))
        _command(*UNITTEST)
        say(_tests(passing=True))


# --- the steps -----------------------------------------------------------------------------------


def _made(root: Path) -> None:
    """The repository, with everything that the run needs in its first commit."""
    project = parse((DATA / "project.yaml").read_text(encoding="utf-8")).data
    assert isinstance(project, dict)  # noqa: S101 - shipped with us
    script = (DATA / "script.yaml").read_text(encoding="utf-8")
    draft = (DATA / "draft.yaml").read_text(encoding="utf-8")
    contents: Mapping[str, str] = {**project, "draft.yaml": draft, ".runner/script.yaml": script}
    for name, content in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    _git(root, "init", "--quiet", f"--initial-branch={BRANCH}")
    _git(root, "add", "--all", "--force")
    _git(root, *NOBODY, "commit", "--quiet", "--message=What the till should do")


@contextmanager
def _python_on_path() -> Iterator[None]:
    """The checks say python3; the one that runs us is there, and works where they run."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), before))
    try:
        yield
    finally:
        os.environ["PATH"] = before


def _tests(*, passing: bool) -> str:
    """The last line that the tests say; they were written by us, so nothing contains them."""
    ended = subprocess.run(
        [*UNITTEST],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    last = (ended.stderr.strip().splitlines() or ["nothing was said"])[-1]
    if (ended.returncode == 0) is not passing:
        raise WentWrong(f"the tests should {'pass' if passing else 'fail'}: {last}")
    return last


def _contained(root: Path) -> str:
    """What keeps agents in, in the words of whoever does it."""
    settings = wiring.settings_for(root).settings
    assert settings is not None  # noqa: S101 - shipped with us
    found = wiring.containment_for(settings)
    said = f"Containment of agents and checks: {found.strength}, by {found.mechanism}."
    if found.strength is Strength.STRONG:
        return said
    return f"{said} Nothing stronger works on this machine; bubblewrap might."


def _git(root: Path, *words: str) -> str:
    ended = subprocess.run(
        ["git", *words],
        cwd=root,
        env={**environment(), **ON_ITS_OWN},
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise WentWrong(f"git {' '.join(words)}: {ended.stderr.strip()}")
    return ended.stdout.strip()


# --- what is said --------------------------------------------------------------------------------


class Story(Progress):
    """The lines of a run, and after some of them what they mean."""

    def __init__(self, root: Path) -> None:
        super().__init__(_line)
        self._root = root
        self._told: set[str] = set()

    def told(self, plan: Plan, event: Event) -> None:
        super().told(plan, event)
        meaning = self._meaning(plan, event)
        if meaning and meaning not in self._told:
            self._told.add(meaning)
            _note(meaning)

    def _meaning(self, plan: Plan, event: Event) -> str:
        match event:
            case SessionStarted(role=Role.VERIFIER):
                return (
                    "Everything is resolved. Now the whole base case, in a fresh checkout\n"
                    "and with the tests as they were agreed on."
                )
            case SessionStarted() if len(plan.sessions) == 2 and ROOT not in plan.sessions:
                return (
                    "Two workers at once, each in a work tree of its own; yours is not touched.\n"
                    "The gauge falls with every line and cannot fall for ever: so the run ends."
                )
            case AttemptFailed(atom="A2"):
                return (
                    "The agent said that it was done. What counts is the check, and that is red.\n"
                    "The next session is told why."
                )
            case AtomResolved(atom="A2"):
                return "The same check is green now. One commit for each resolved atom."
            case Decomposed():
                return (
                    "The agent asked to split its atom. The parts are paid from a budget that\n"
                    "cannot grow, so that no plan grows for ever."
                )
            case AtomResolved(atom="A6"):
                return f"The branch has {self._on_branch(plan)}"
            case ChoiceFailed():
                return (
                    "A part cannot be done, so this way is given up, with all that was done for\n"
                    f"it: the branch has {self._on_branch(plan)}\n"
                    "Nothing is lost: git keeps what was on it under refs/dwindle/attempts/.\n"
                    "Next is the other choice."
                )
        return ""

    def _on_branch(self, plan: Plan) -> str:
        branch = f"runner/{plan.control.run_id}"
        return _git(self._root, "ls-tree", "-r", "--name-only", branch, "till/").replace("\n", " ")


def _line(text: str) -> None:
    say(text)


def _heading(text: str) -> None:
    say("")
    _note(text)


def _note(text: str) -> None:
    lines = (line for part in text.splitlines() for line in wrapped(part, WIDTH - 2))
    for line in lines:
        say(painted(f"# {line}", "blue"))


def _command(*words: str) -> None:
    say(painted(f"$ {' '.join(words)}", "bold"))
