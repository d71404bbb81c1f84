"""What both demos share: a small repository, and functions that show and explain."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Final

from dwindle.adapters.formats.strict_yaml import parse
from dwindle.adapters.git.command import environment
from dwindle.app.console import painted, say
from dwindle.app.sandbox import containment_for
from dwindle.app.settings import settings_for
from dwindle.kernel.model import PlanKind
from dwindle.ports.process import Strength
from dwindle.text.terminal import WIDTH, wrapped

DATA: Final = files("dwindle") / "demo_data"
BRANCH: Final = "main"
UNITTEST: Final = ("python3", "-m", "unittest")
ON_ITS_OWN: Final = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
"""Global settings of the user (signing, hooks, templates) do not apply to the demo."""
COMMITTER: Final = ("-c", "user.name=Dwindle demo", "-c", "user.email=demo@example.invalid")


class WentWrong(Exception):
    """The demo did not go as its script says."""


def shipped_text(kind: PlanKind, name: str) -> str:
    return (DATA / kind / name).read_text(encoding="utf-8")


def project(kind: PlanKind) -> dict[str, str]:
    """The files of the repository, the script among them."""
    found = parse(shipped_text(kind, "project.yaml")).data
    assert isinstance(found, dict)  # noqa: S101 - shipped with us
    return {**found, ".runner/script.yaml": shipped_text(kind, "script.yaml")}


def make(root: Path, contents: Mapping[str, str], message: str) -> None:
    """The repository, with everything that the run needs in its first commit."""
    for name, content in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    git(root, "init", "--quiet", f"--initial-branch={BRANCH}")
    git(root, "add", "--all", "--force")
    git(root, *COMMITTER, "commit", "--quiet", f"--message={message}")


@contextmanager
def python_on_path() -> Iterator[None]:
    """Put our own Python first: the checks call python3."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), before))
    try:
        yield
    finally:
        os.environ["PATH"] = before


def tests(*, passing: bool) -> str:
    """The last line of the test output; the tests are ours, so they run without a sandbox."""
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


def sandbox_sentence(root: Path) -> str:
    """Which sandbox is used, in a sentence."""
    settings = settings_for(root).settings
    assert settings is not None  # noqa: S101 - shipped with us
    found = containment_for(settings)
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
