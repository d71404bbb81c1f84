"""The files that `dwindle init` writes for a tree plan; each says what it is for.

Agents read these files too (the goal first, the notes in full), so the texts are short and written
for both. Every line of the settings is a comment: prose after `# `, a setting right after `#`.
Removing that one character sets the default, or an example.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from dwindle.adapters.formats.tree.plan import TreeDocument, TreeNode, encode
from dwindle.toolchains.work_areas import EVERYTHING, usual_areas

GOAL: Final = """\
# Goal

Write here, at length, what shall be true in the end. Every session begins with this page and knows
nothing else of what you want, so say it as you would to a new colleague.

## Why

What is missing or in the way today, and for whom.

## What

What there is when it is done: behaviour, interfaces, files. Examples help more than adjectives.

## How to tell that it is done

What the guard checks, and what a person would look at. Where tests are missing, ask for them.

## What to leave alone

Parts, dependencies and decisions that stay as they are.
"""

QUESTIONS: Final = """\
# Questions for people

Sessions cannot ask and do not wait. What a person should decide is written here: the question, what
was done for now, and which node it is about. Answer below a question, or take it out, and commit.
"""

ASSUMPTIONS: Final = """\
# Assumptions

What was taken for granted in order to go on: one line each, with the node that it was needed for
and what would have to change if it is wrong.
"""

FEEDBACK: Final = """\
# Mistakes and what they taught

What went wrong, why, and how the next session avoids it. The latest stands at the end.
"""

IMPROVEMENTS: Final = """\
# What would have helped

Tools, checks, documents or ways of working that would have made a session quicker or safer.
"""

SETTINGS: Final = """\
# How this repository is worked on. Nothing is set as long as every line is a comment; take away the
# first character of a line, and of its [table], to set it. What stands there is the default, unless
# it says: example. Agents may not change this file.
#
# Who works. One of these is needed before the first run.
#[agents]
# "command" (any program), "scripted" (a file of answers), "claude" or "codex"; example:
#backend = "command"
# The program of backend "command", as a list of words, or as a text for the shell; example:
#command = ["my-agent", "--quiet"]
# Handed on to the agent; left out, it chooses for itself; example:
#model = "large"
# How hard the model of claude or codex should think; example:
#effort = "high"
# Turns of one session of claude; example:
#max_turns = 100
# The file that backend "scripted" plays; example:
#script = ".runner/script.yaml"
# Seconds for one session; left out, iteration_timeout_seconds alone counts; example:
#timeout_seconds = 1200
# Several agents, the first for a first attempt, the next after each failure; example:
#escalate = ["claude:sonnet", "claude:opus", "codex"]
# A role may have an agent of its own, with the same keys. The probe looks before a worker works,
# the verifier judges what no command can, the planner helps to align; examples:
#[agents.probe]
#backend = "claude"
#[agents.verifier]
#backend = "codex"
#[agents.planner]
#backend = "claude"
#
# What has to end with 0 before anything counts as done.
#[guard]
#command = ["just", "ci"]
# Its recipes and scripts, and what steers the test tools that it runs (conftest.py, pytest.ini),
# are put back before it runs, but for what is named here. Example, for a guard that an agent
# shall write or extend:
#deliverables = ["justfile"]
# Where agents may change files: what they change elsewhere is put back and named. Left out, they
# may change anything but what steers the guard, which is weaker. Example, from the files here:
#work_paths = ["**"]
# Whether it may pass with fewer tests than there were before.
#fewer_tests = false
# Whether it has to be green in a clean checkout too, before the last leaf passes.
#clean_checkout = true
#
# What a fresh checkout needs besides the files of the commit.
#[workspace]
# Run once in it; example:
#setup = "npm ci"
# Run before the guard in a clean checkout, on the work.
#build = "npm run build"
# Ignored paths of your own checkout that it gets too, read-only, such as ".venv".
#share = []
#
# Where it ends.
#[limits]
# Iterations that may be started.
#max_iterations = 50
# Nodes that may ever be made, those that were removed included.
#max_nodes = 200
# How often a new node may fail, unless the agent that adds it says otherwise.
#max_attempts = 3
# Agent and guard of one iteration together.
#iteration_timeout_seconds = 1800
# Running time of all iterations.
#max_wall_seconds = 86400
# Tokens and dollars of the whole run; left out, there is no limit; examples:
#max_tokens = 20000000
#max_cost_usd = 50.0
# Whether the root may be worked on while it has no children; false: it is only planned.
#execute_root = true
# Bytes that are kept of each log: the beginning and the end.
#output_bytes = 1048576
# One check that names no time of its own.
#check_timeout_seconds = 600
# Processes, memory (four fifths of the machine's if left out) and the size of one file.
#processes = 4096
#memory_bytes = 8589934592
#file_bytes = 17179869184
# What has to stay free of a disk that is written to, whichever is more.
#free_disk_bytes = 1073741824
#free_disk_percent = 5.0
#
# What agents and the guard are kept from.
#[sandbox]
#enabled = true
#network = true
# Further paths that they may write to, and environment variables that they see.
#writable = []
#env = []
#
# Filters (such as git LFS) that git may run on files of this repository, and those to do without.
#[git]
#filters = []
#unfiltered = []
#
# How you hear of a stop, a completed run or a nearly spent budget: `dwindle help notifications`.
#[notify]
# Gets the notice as JSON on its standard input; example:
#command = ["notify-send", "dwindle"]
# An address that it is posted to, or the variable that holds the address; examples:
#webhook = "https://example.org/hook"
#webhook_env = "DWINDLE_WEBHOOK"
# Variables that the command sees, and the seconds that it gets.
#env = []
#timeout_seconds = 10
"""

ROOT: Final = TreeNode(
    id="root",
    order=0,
    title="The goal",
    goal="All that .runner/GOAL.md asks for holds.",
    acceptance=(),
    passes=False,
    attempts=0,
    max_attempts=3,
    children=(),
)

FILES: Final[Mapping[str, bytes]] = {
    ".runner/GOAL.md": GOAL.encode(),
    ".runner/HUMAN_QUESTIONS.md": QUESTIONS.encode(),
    ".runner/ASSUMPTIONS.md": ASSUMPTIONS.encode(),
    ".runner/FEEDBACK_LOG.md": FEEDBACK.encode(),
    ".runner/IMPROVEMENTS.md": IMPROVEMENTS.encode(),
    ".runner/config.toml": SETTINGS.encode(),
    ".runner/tree.json": encode(TreeDocument(version=1, root=ROOT)),
}
"""Path and content. The tree comes last: with it, there is a plan."""


def files_for(tracked: Iterable[str], max_attempts: int) -> Mapping[str, bytes]:
    """The files, with work paths that fit what git tracks, and a root that may fail so often."""
    tree = encode(TreeDocument(version=1, root=replace(ROOT, max_attempts=max_attempts)))
    settings = settings_text(tracked).encode()
    return {**FILES, ".runner/config.toml": settings, ".runner/tree.json": tree}


def settings_text(tracked: Iterable[str] = ()) -> str:
    """Every setting as a comment, with work paths that fit what git tracks."""
    areas = [area for area in usual_areas(tracked) if area.isprintable()]
    proposed = json.dumps(areas or [EVERYTHING], ensure_ascii=False)
    return SETTINGS.replace(f'["{EVERYTHING}"]', proposed)
