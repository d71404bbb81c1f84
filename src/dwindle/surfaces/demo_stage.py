"""What both demos stand on: a small repository, and the ways to show and to explain something."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Final

from dwindle import wiring
from dwindle.adapters.formats.strict_yaml import parse
from dwindle.adapters.workspaces.git import environment
from dwindle.kernel.model import PlanKind
from dwindle.ports.process import Strength
from dwindle.surfaces.cli.output import say
from dwindle.surfaces.cli.text import WIDTH, painted, wrapped

DATA: Final = files("dwindle") / "demo_data"
BRANCH: Final = "main"
UNITTEST: Final = ("python3", "-m", "unittest")
ON_ITS_OWN: Final = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
"""What a person has set for all repositories (signing, hooks, templates) is not for this one."""
NOBODY: Final = ("-c", "user.name=Dwindle demo", "-c", "user.email=demo@example.invalid")


class WentWrong(Exception):
    """The demo did not come to its end."""


def shipped(kind: PlanKind, name: str) -> str:
    return (DATA / kind / name).read_text(encoding="utf-8")


def project(kind: PlanKind) -> dict[str, str]:
    """The files of the repository, the script among them."""
    found = parse(shipped(kind, "project.yaml")).data
    assert isinstance(found, dict)  # noqa: S101 - shipped with us
    return {**found, ".runner/script.yaml": shipped(kind, "script.yaml")}


def make(root: Path, contents: Mapping[str, str], message: str) -> None:
    """The repository, with everything that the run needs in its first commit."""
    for name, content in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    git(root, "init", "--quiet", f"--initial-branch={BRANCH}")
    git(root, "add", "--all", "--force")
    git(root, *NOBODY, "commit", "--quiet", f"--message={message}")


@contextmanager
def python_on_path() -> Iterator[None]:
    """The checks say python3; the one that runs us is there, and works where they run."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), before))
    try:
        yield
    finally:
        os.environ["PATH"] = before


def tests(*, passing: bool) -> str:
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


def contained(root: Path) -> str:
    """What keeps agents in, in the words of whoever does it."""
    settings = wiring.settings_for(root).settings
    assert settings is not None  # noqa: S101 - shipped with us
    found = wiring.containment_for(settings)
    said = f"Containment of agents and checks: {found.strength}, by {found.mechanism}."
    if found.strength is Strength.STRONG:
        return said
    return f"{said} Nothing stronger works on this machine; bubblewrap might."


def git(root: Path, *words: str) -> str:
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


def heading(text: str) -> None:
    say("")
    note(text)


def note(text: str, tell: Callable[[str], object] = say) -> None:
    lines = (line for part in text.splitlines() for line in wrapped(part, WIDTH - 2))
    for line in lines:
        tell(painted(f"# {line}", "blue"))


def command(*words: str) -> None:
    say(painted(f"$ {' '.join(words)}", "bold"))
