"""The commands, for a command-line framework that is imported only when it is needed.

A command is named by a string and imported when it is called; what `--help` says about it stands
here, so that asking for the list imports none of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter
from rich.console import Console

from dwindle.surfaces.cli.text import WIDTH
from dwindle.surfaces.refusal import Refused

ABOUT = """Drives coding agents in a loop that provably ends.

A repository keeps its plan in .claude/aot-loop-state.md (a graph) or in
.runner/tree.json (a tree). Commands look for it here and in the folders above,
up to the root of the repository."""

AFTERWARDS = """Exit codes: 0, or 2 with the reason on stderr. `dwindle COMMAND --help` says
more about a command; `dwindle --version` prints the version."""

COMMANDS = (
    (
        "validate",
        "Say everything that is wrong with a plan, at once.",
        (
            "Without PATH: the plans of this repository. A tree is also compared with the\n"
            "version in HEAD: what has passed may not change. Ends with 0 or 2, and\n"
            "changes no file."
        ),
        ("dwindle validate", "dwindle validate .runner/tree.json --against main --json"),
    ),
    (
        "status",
        "Say where the run stands: open, ready, gauge, bound, budgets.",
        "",
        ("dwindle status", "dwindle status --plan tree --json"),
    ),
    (
        "explain",
        "Say why each atom runs or waits.",
        "A plan that is not running is explained as if it were run now.",
        ("dwindle explain", "dwindle explain A6"),
    ),
    (
        "graph",
        "Draw the plan: atoms, choices, dependencies, decompositions.",
        "",
        ("dwindle graph > plan.mmd", "dwindle graph --format dot | dot -Tsvg > plan.svg"),
    ),
    (
        "schema",
        "Print the JSON Schema of a plan file.",
        "A graph plan's schema is that of its front matter.",
        ("dwindle schema graph", "dwindle schema tree > tree.schema.json"),
    ),
)


def app() -> App:
    """All commands; nothing is run."""
    commands = App(
        name="dwindle",
        help=ABOUT,
        help_epilogue=AFTERWARDS,
        help_format="plaintext",
        help_formatter="plain",
        version_flags=(),
        default_parameter=Parameter(negative=(), show_default=False),
        console=Console(width=WIDTH, color_system=None, highlight=False, soft_wrap=False),
    )
    for place, (name, summary, more, examples) in enumerate(COMMANDS):
        text = f"{summary}\n\n{more}" if more else summary
        shown = "\n".join(f"  {example}" for example in examples)
        commands.command(
            f"dwindle.surfaces.cli.{name}:{name}",
            name=name,
            help=text,
            help_epilogue=f"Examples:\n{shown}",
            sort_key=place,
        )
    return commands


def run(words: Sequence[str]) -> int:
    """Call the command that the words ask for."""
    try:
        ended = app()(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        known = [name for name, *_ in COMMANDS]
        named = words[0] if words and words[0] in known else ""
        asked = f"dwindle {named}".rstrip()
        raise Refused(str(error), hint=f"`{asked} --help` says what there is") from None
    return ended if isinstance(ended, int) else 0
