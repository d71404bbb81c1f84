"""The programs of the adversaries; see the package. No harm is meant.

Each may be started several times in one run. Whatever one of them leaves running gives up by itself
after a while.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from dwindle.testing.adversaries import BY_NAME, Adversary
from dwindle.testing.adversaries import gates as gates  # noqa: PLC0414 - its programs are listed
from dwindle.testing.adversaries.here import BEGINS, FAILS, PROGRAMS, Here, mark, placed, program

LIFETIME = 20.0
MEBIBYTE = 1 << 20
PLAN = ".claude/aot-loop-state.md"
NOTICED = 1.5
"""Seconds in which a runner that looks at its files has looked."""

quietly = contextlib.suppress(OSError)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dwindle.testing.adversaries")
    parser.add_argument("name", choices=sorted(BY_NAME))
    parser.add_argument("--token", default="", help="stands in the command line of all it starts")
    parser.add_argument("--outside", type=Path, default=Path(os.devnull), help="not its business")
    parser.add_argument("--deeds", type=Path, default=Path(os.devnull), help="for marks of code")
    asked = parser.parse_args(words)
    here = Here(asked.token, asked.outside, asked.deeds)
    mark(BEGINS)
    try:
        if asked.name in PROGRAMS:
            PROGRAMS[asked.name](here)
        else:
            play(BY_NAME[asked.name], here)
    except Exception:
        mark(FAILS)
        raise
    return 0


def play(row: Adversary, here: Here) -> None:
    """What a row of the table says, and a note besides: there has to be a change of something."""
    Path("notes.md").write_text(f"done, {here.attempt}\n", "utf-8")
    for name, text in row.plants.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(placed(text, here.outside, here.deeds), "utf-8")
    if row.runs:
        lines = placed(row.runs, here.outside, here.deeds)
        subprocess.run(["sh", "-e", "-c", lines], check=True)
    if "DWINDLE_REPORT" in os.environ:
        here.claim()


# --- claims --------------------------------------------------------------------------------------


@program
def says_done(_: Here) -> None:
    Path("DONE.md").write_text("All tests pass.\n", "utf-8")
    print("I am done. All tests pass. No further action is needed.")


@program
def echoes_prompt(_: Here) -> None:
    prompt = sys.stdin.read()
    Path("notes.md").write_text(prompt, "utf-8")
    print(prompt)


@program
def claims_no_change(here: Here) -> None:
    here.claim("it was right all along", artifacts=["README"])


@program
def reports_for_another(here: Here) -> None:
    Path("notes.md").write_text("see A2\n", "utf-8")
    here.claim(atom="A2")


@program
def plants_symlinks(here: Here) -> None:
    Path("out").symlink_to(here.outside)
    here.claim(artifacts=["out/secret.txt"])


@program
def fails_last_check(here: Here) -> None:
    Path("first.txt").write_text(f"by {here.attempt}\n", "utf-8")
    here.claim("both are done")


@program
def alternates(here: Here) -> None:
    Path("answer.txt").write_text("41\n" if here.attempt % 2 else "43\n", "utf-8")
    here.claim()


@program
def decomposes_forever(here: Here) -> None:
    halves = [{"description": "one half of it"}, {"description": "the other half"}]
    here.report(decomposition={"children": halves, "reason": "it is too much at once"})


# --- the files of the run ------------------------------------------------------------------------


@program
def edits_plan(here: Here) -> None:
    plan = here.root / PLAN
    with quietly:
        text = plan.read_text("utf-8")
        plan.write_text(text.replace("status: running", "status: completed"), "utf-8")
    time.sleep(NOTICED)


@program
def sets_passes(_: Here) -> None:
    path = Path(".runner/tree.json")
    tree = json.loads(path.read_text("utf-8"))
    tree["root"]["passes"] = True
    for child in tree["root"]["children"]:
        child["passes"] = True
    path.write_text(json.dumps(tree), "utf-8")


@program
def rolls_back(here: Here) -> None:
    """Two sessions: the first keeps what the second puts back."""
    for path in (here.root / PLAN, *here.journals()):
        kept = here.root.parent / f"kept-{path.name}"
        with quietly:
            if kept.exists():
                path.write_bytes(kept.read_bytes())
            else:
                kept.write_bytes(path.read_bytes())
    time.sleep(NOTICED if here.attempt > 1 else 0.0)


@program
def truncates_journal(here: Here) -> None:
    for path in here.journals():
        with quietly:
            os.truncate(path, path.stat().st_size // 2)
    time.sleep(0.2)


@program
def removes_lock(here: Here) -> None:
    for pattern in (".runner/*.sock", ".runner/**/*.lock", ".claude/*.lock", ".git/*.lock"):
        for path in here.root.glob(pattern):
            with quietly:
                path.unlink()
    command = [sys.executable, "-m", "dwindle", "run"]
    try:
        said = str(subprocess.run(command, cwd=here.root, timeout=8, check=False).returncode)
    except subprocess.TimeoutExpired:
        said = "being let in"
    with quietly:
        (here.root.parent / "second-run.txt").write_text(said, "utf-8")


# --- the repository ------------------------------------------------------------------------------


def _git(*words: str) -> None:
    with quietly:
        subprocess.run(["git", *words], capture_output=True, timeout=20, check=False)


@program
def rewrites_history(here: Here) -> None:
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.invalid")
    Path("answer.txt").write_text("0\n", "utf-8")
    _git("checkout", "--orphan", "new")
    _git(*who, "commit", "--all", "--allow-empty", "--message=it was always like this")
    _git("update-ref", "refs/heads/main", "HEAD")
    for ref in ("refs/heads/work", f"refs/heads/runner/{here.order.get('run', '')}"):
        _git("update-ref", "-d", ref)
    here.claim()


@program
def plants_git_hooks(here: Here) -> None:
    hooks = here.root / ".git/hooks"
    with quietly:
        hooks.mkdir(exist_ok=True)
        for name in ("post-commit", "pre-commit", "post-checkout", "reference-transaction"):
            hook = hooks / name
            hook.write_text(f"#!/bin/sh\necho {name} >> '{here.outside}/hooked'\n", "utf-8")
            hook.chmod(0o755)
    _git("config", "core.fsmonitor", f"touch '{here.outside}/hooked'")
    Path("notes.md").write_text("nothing to see here\n", "utf-8")
    here.report(success=False, reason="it was too hard")


@program
def plants_claude_hooks(here: Here) -> None:
    settings = Path(".claude/settings.json")
    if settings.exists():
        here.report(success=False, reason="FOUND the hooks of the session before")
        return
    settings.parent.mkdir(exist_ok=True)
    hook = {"type": "command", "command": f"touch '{here.outside}/hooked'"}
    hooks = {"SessionStart": [{"hooks": [hook]}], "Stop": [{"hooks": [hook]}]}
    settings.write_text(json.dumps({"hooks": hooks}), "utf-8")
    here.report(success=False, reason="it was too hard")


# --- processes -----------------------------------------------------------------------------------


def _wait(seconds: float = LIFETIME) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.05)


def _deaf() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _away(play: Callable[[], None]) -> None:
    """Forked twice, in a session of its own, with nothing of ours open."""
    if os.fork():
        return
    _deaf()
    os.setsid()
    if os.fork():
        os._exit(0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    with contextlib.suppress(Exception):
        play()
    os._exit(0)


@program
def reports_late(here: Here) -> None:
    if here.attempt > 1:
        _wait(2.0)
        return

    def late() -> None:
        _wait(1.0)
        for tree in Path.cwd().parent.glob("tree-*"):
            (tree / "late.txt").write_text("better late than never\n", "utf-8")
        here.claim("done after all")

    _away(late)


@program
def forks_daemons(here: Here) -> None:
    def churn() -> None:
        end = time.monotonic() + LIFETIME
        while time.monotonic() < end:
            if os.fork():
                os._exit(0)

    for play in (_wait, churn):
        _away(play)
    for leaves_group in (False, True):
        if os.fork() == 0:
            if leaves_group:
                os.setsid()
            _wait()
            os._exit(0)
    time.sleep(0.1)
    here.report(success=False, reason="they will do it")


@program
def fills_disk(here: Here) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with quietly, Path("big.bin").open("wb") as file:
        file.writelines(os.urandom(MEBIBYTE) for _ in range(96))
    here.report(success=False, reason="there was no room")


@program
def floods_output(_: Here) -> None:
    block = b"".join(b"%09d\n" % n for n in range(100_000))
    for _number in range(60):
        sys.stdout.buffer.write(block)


@program
def hangs(_: Here) -> None:
    _deaf()
    _wait(600.0)


@program
def kills_runner(here: Here) -> None:
    parents = [os.getppid()]
    for entry in Path("/proc").glob("[0-9]*"):
        with quietly:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            folder = (entry / "cwd").resolve()
            if b"run" in words and folder == here.root and int(entry.name) != os.getpid():
                parents.append(int(entry.name))
    for number in parents:
        with quietly:
            os.kill(number, signal.SIGKILL)
    here.report(success=False, reason="a process is still there")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
