"""The commands, for a command-line framework that is imported only when it is needed.

A command is named by a string and imported when it is called. Its help text is here, so that
`dwindle --help` imports none of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from cyclopts import App, CycloptsError, Group, Parameter
from rich.console import Console

from dwindle.app.refusal import Refused
from dwindle.text.terminal import WIDTH

ABOUT = """Drives coding agents in a loop that provably ends.

A repository keeps its plan in .claude/aot-loop-state.md (a graph) or in
.runner/tree.json (a tree). Commands look for it here and in the folders above,
up to the root of the repository."""

AFTERWARDS = """`dwindle` alone says where you stand; `dwindle COMMAND --help` says more about
a command, and `dwindle help` lists the pages of the documentation. Exit codes:
0 done, 2 refused with the reason on stderr; `dwindle help exit-codes` has the rest.
`dwindle state` and `dwindle hook` serve the plugin (`dwindle help plugin`)."""

GROUPS = {
    "Start": ("demo", "go", "align", "init", "doctor", "help"),
    "Run": ("run", "step", "stop", "redirect", "confirm"),
    "Look": ("status", "watch", "serve", "log", "explain", "graph", "report"),
    "Finish": ("diff", "verify", "land", "clean"),
    "Internals": ("validate", "replay", "torture", "schema", "completion", "version"),
}
"""In which part of `dwindle --help` each command is, in this order."""

ELSEWHERE = {
    "serve": "dwindle.surfaces.web.command:serve",
    "help": "dwindle.surfaces.cli.help:help_on",
}
"""Commands in another surface or by another name; the others are modules beside this one."""

COMMANDS = (
    (
        "init",
        "Make the folder of a tree plan: goal, notes, settings, tree.",
        (
            "Changes no existing file; called again, it makes what is missing. Ends with 0,\n"
            "or with 2 and the reason, having made nothing."
        ),
        ("dwindle init", "dwindle init --json"),
    ),
    (
        "align",
        "Agree on what is wanted and how it is checked; write the plan.",
        (
            "Asks on a terminal; --from FILE --yes asks nothing. The base case is run once\n"
            "and should be red. Ends with 0, with 3 if something has not been agreed on,\n"
            "with 2 for other defects, and with 10 if you leave. Only 0 writes a plan. What\n"
            "you typed is in .runner/draft.yaml until then; `dwindle align` goes on from it."
        ),
        ("dwindle align", "dwindle align --from draft.yaml --yes"),
    ),
    (
        "go",
        "Agree on a goal, run it, and say what to review and land.",
        (
            "An agent that can plan proposes the pieces of work; without one the goal is one\n"
            "piece, which agents may split. Your checks decide when it is done. You see the\n"
            "plan and its upper limits, and are asked before it starts; --yes does not ask.\n"
            "`dwindle status` shows what was decided, `dwindle redirect` changes it. Ends as\n"
            "`dwindle run`, or as `dwindle align` if nothing was started."
        ),
        (
            'dwindle go "Totals are right" --check "pytest -q tests/test_total.py"',
            'dwindle go "Totals are right" --check "pytest -q" --check "ruff check" --yes',
            'dwindle go "Totals are right" --check "make test" --agent codex --no-planner',
        ),
    ),
    (
        "run",
        "Run the plan until its checks pass or there is a reason to stop.",
        (
            "Agents of a graph plan work in git work trees of their own; your checkout is not\n"
            "touched. Agents of a tree plan work in your checkout, which has to be clean and\n"
            "is switched to the branch of the run. The result is on the branch runner/<run>.\n"
            "Ends with 0 when the checks hold, else with the code of the reason\n"
            "(`dwindle help exit-codes`). After a stop, the same command continues the run."
        ),
        (
            "dwindle run",
            "dwindle run --agent claude --agent verifier=codex",
            'dwindle run --agent "command:my-agent --quiet"',
            "dwindle run --agent scripted:answers.yaml",
            "dwindle run --no-sandbox",
        ),
    ),
    (
        "step",
        "Do one iteration of the run, then rest.",
        "",
        ("dwindle step",),
    ),
    (
        "stop",
        "End the run that is going on; nothing is lost.",
        "",
        ('dwindle stop --reason "out of coffee"',),
    ),
    (
        "redirect",
        "Change direction: goal, atoms, choices, limits, bindings.",
        (
            "Says what it would do, then ends what runs and goes on in the new direction.\n"
            "Without options it pauses the run and asks. Each scope of edits costs one of\n"
            "max_redirects."
        ),
        (
            "dwindle redirect",
            "dwindle redirect Leave the importer alone, and document the reader instead",
            'dwindle redirect --add-atom "Write the manual" --depends-on A3',
            "dwindle redirect --select token_method=A5 --set max_iterations=40 --yes",
            "dwindle redirect --retry A3,A4",
            "dwindle redirect --adopt",
        ),
    ),
    (
        "watch",
        "Watch a run as it goes on: plan, sessions, gauge, budgets, events.",
        (
            "Takes the whole screen: q quits, s stops the run, r redirects it, enter opens\n"
            "the log of the chosen atom, ? lists all keys. Any run of this repository can be\n"
            "watched: one started elsewhere, one that is over, one that has not begun. Piped,\n"
            "on a terminal that cannot draw, or with --lines: a line for each event, until\n"
            "the run is over."
        ),
        (
            "dwindle watch",
            "dwindle watch 01J00000000000000000000000",
            "dwindle watch --lines | tee run.log",
        ),
    ),
    (
        "verify",
        "Run the checks of the certificate again; say whether it still holds.",
        (
            "In a fresh checkout of the commit that was certified, or of the tip of the\n"
            "run's branch where there is no certificate. Ends with 0 if it holds, with 1 if\n"
            "it does not, and changes nothing."
        ),
        ("dwindle verify", "dwindle verify --json"),
    ),
    (
        "confirm",
        "Answer the questions that only a person can judge.",
        (
            "Without an answer: list the questions. ITEM may be left out if one question is\n"
            "open. A no is a failed check; your words go to the agent that fixes it."
        ),
        (
            "dwindle confirm",
            "dwindle confirm yes",
            'dwindle confirm "The manual reads well" no --words "page 3 is empty"',
        ),
    ),
    (
        "diff",
        "Show what a run changed, by atom: lines, tests, what was protected or set aside.",
        (
            "From the commit where the run began to the end of its branch; of an ATOM, its\n"
            "commits and those of what it was split into. A run that goes on can be looked at\n"
            "too. On a terminal with colours and through $PAGER. What a terminal would obey\n"
            "is spelt out, so apply the branch, not this text."
        ),
        (
            "dwindle diff",
            "dwindle diff --stat",
            "dwindle diff A3",
            "dwindle diff --run 01J00000000000000000000000 --json",
        ),
    ),
    (
        "land",
        "Bring the result of a run to your branch.",
        (
            "On the branch that the run began on: fast-forwards where that is possible, else\n"
            "merges; --squash makes one commit of it. Nothing is changed where that would\n"
            "touch uncommitted work, or where both sides changed the same lines. Nothing is\n"
            "pushed. Afterwards `dwindle clean` removes what the run no longer needs."
        ),
        (
            "dwindle land",
            "dwindle land --squash --dry-run",
            "dwindle land --merge --onto release",
        ),
    ),
    (
        "clean",
        "Remove what landed or old runs have left, and say what that frees.",
        (
            "Work trees, branches and attempts of runs that were landed, and their logs that\n"
            "are older than --days. Journals, certificates and the record of the landing\n"
            "stay. What was not landed stays too, unless you say --unlanded. Nothing is\n"
            "removed while a run goes on."
        ),
        (
            "dwindle clean --dry-run",
            "dwindle clean --days 7",
            "dwindle clean 01J00000000000000000000000 --unlanded",
        ),
    ),
    (
        "log",
        "Print everything that happened in a run, or to one atom.",
        (
            "Of an atom: each attempt, what its checks said, with the end of their output,\n"
            "and where its log, its prompt and its changes are."
        ),
        (
            "dwindle log",
            "dwindle log A3",
            "dwindle log --follow",
            "dwindle log --spending",
            "dwindle log 01J00000000000000000000000 --json",
        ),
    ),
    (
        "report",
        "Write what a run did and came to: one HTML file, or Markdown, or JSON.",
        (
            "Verdict, certificate, the plan drawn, how it dwindled, sessions, cost, trail,\n"
            "corrections, every attempt. The HTML needs nothing else and runs nothing; -o\n"
            "tells the format by its name. Any run: running, at rest, crashed or past."
        ),
        (
            "dwindle report -o report.html",
            "dwindle report --format md | gh pr create --body-file -",
            "dwindle report 01J00000000000000000000000 --format json",
        ),
    ),
    (
        "replay",
        "Decide a run again from its record; compare the plan byte for byte.",
        (
            "The record of a graph run is its journal; of a tree run, its commits.\n"
            "Ends with 0 if every decision and every byte is the same, with 1 and the first\n"
            "difference if not."
        ),
        ("dwindle replay", "dwindle replay 01J00000000000000000000000"),
    ),
    (
        "doctor",
        "Say whether a run could start here, and what is missing.",
        "Ends with 0 if it could, with 2 if not.",
        ("dwindle doctor", "dwindle doctor --json"),
    ),
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
        (
            "A plan that is not running is explained as if it were run now. Of one atom all\n"
            "attempts are shown, as by `dwindle log ATOM`."
        ),
        ("dwindle explain", "dwindle explain A6"),
    ),
    (
        "graph",
        "Draw the plan: atoms, choices, dependencies, decompositions.",
        "",
        ("dwindle graph > plan.mmd", "dwindle graph --format dot | dot -Tsvg > plan.svg"),
    ),
    (
        "serve",
        "Show the runs of this repository on a page, live.",
        (
            "Graph, curve, sessions, cost, logs; stop, redirect and confirm from the page.\n"
            "Prints the link to open; its token is needed to stop, redirect or confirm. Only\n"
            "this machine reaches the page, unless --host opens it to others; then reading\n"
            "needs the token too.\n"
            "Needs the extra `web`: pip install 'dwindle[web]'."
        ),
        ("dwindle serve", "dwindle serve --open", "dwindle serve --host 0.0.0.0 --port 9000"),
    ),
    (
        "schema",
        "Print the JSON Schema of a plan file.",
        "A graph plan's schema is that of its front matter.",
        ("dwindle schema graph", "dwindle schema tree > tree.schema.json"),
    ),
    (
        "completion",
        "Print a completion script for bash, zsh or fish.",
        (
            "Save it in a file that your shell reads when it starts, and again after an\n"
            "update of dwindle."
        ),
        (
            "dwindle completion bash > ~/.local/share/bash-completion/completions/dwindle",
            "dwindle completion zsh > ~/.zfunc/_dwindle",
            "dwindle completion fish > ~/.config/fish/completions/dwindle.fish",
        ),
    ),
    (
        "demo",
        "Show the whole loop on a small repository, with a scripted agent.",
        (
            "A few seconds; needs nothing but git. The repository is made in a temporary\n"
            "folder and removed afterwards, unless --dir says where to leave it. Ends with 0\n"
            "if the run was completed (and, of a graph, landed), else with 1."
        ),
        ("dwindle demo", "dwindle demo --dir till", "dwindle demo --plan tree --dir span"),
    ),
    (
        "torture",
        "Put agents to work that lie, cheat and break out; say what held.",
        (
            "Each runs in temporary repositories of its own, a few seconds long; yours is not\n"
            "touched. All of them take ten minutes or more: name some. Those that cheat at a\n"
            "tool (pytest, node, make, just, cargo) need it. Ends with 0 if every one whose\n"
            "tool is installed was tried and everything held, but for what is possible\n"
            "(`dwindle help security`), else with 1. With --honest the agents do right, in\n"
            "several kinds of projects and plans: 0 if all of their work got through."
        ),
        (
            "dwindle torture",
            "dwindle torture --list",
            "dwindle torture forks-daemons hides-failures --json",
            "dwindle torture --honest",
        ),
    ),
    (
        "help",
        "List commands and topics, or print a page of the documentation.",
        (
            "Without a topic, all of them are listed. On a terminal a page is shown by the\n"
            "pager of your choice ($PAGER, else less)."
        ),
        ("dwindle help", "dwindle help tutorial", "dwindle help exit-codes | less"),
    ),
    (
        "version",
        "Print the version.",
        "",
        ("dwindle version",),
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
    places = {
        name: (group, place)
        for number, (title, names) in enumerate(GROUPS.items())
        for group in [Group(title, sort_key=number)]
        for place, name in enumerate(names)
    }
    commands["--help"].show = False
    for name, summary, more, examples in COMMANDS:
        group, place = places[name]
        text = f"{summary}\n\n{more}" if more else summary
        shown = "\n".join(f"  {example}" for example in examples)
        commands.command(
            ELSEWHERE.get(name, f"dwindle.surfaces.cli.{name}:{name}"),
            name=name,
            help=text,
            help_epilogue=f"Examples:\n{shown}",
            group=group,
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
        raise Refused(str(error), hint=f"`{asked} --help` says how to use it") from None
    return ended if isinstance(ended, int) else 0
